/* Several errors of one cause, such as all mistakes of a file: who has made five is
 * not to try six times. A function that tells more than one takes, beside `err`, a
 * list of the others; the program prints each with its own hint. */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

struct gpc_errors { struct gpc_error *v; size_t n, cap; };

void gpc_errors_add(struct gpc_errors *list, const struct gpc_error *one);
void gpc_errors_add_all(struct gpc_errors *list, const struct gpc_errors *more);
/* The first of them becomes err, the rest is added to others; either may be NULL.
 * Empties the list. 0 if there is none, else -code of the first. */
int gpc_errors_take(struct gpc_errors *list, struct gpc_errors *others,
	struct gpc_error *err) gpc_must_check;
void gpc_errors_clear(struct gpc_errors *list);
GPC_CLEANUP_VALUE(gpc_errors);
