/* Which files and objects of a tree are meant: patterns as in gitignore(5), by --exclude
 * and --include. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct gpc_filter;                      /* opaque */
/* A pattern that begins with "!" includes. The last pattern that fits a path, or a
 * folder that it lies in, decides; what none fits is meant. So, unlike in a
 * .gitignore, a file in a folder that is out may come back, as with other tools that
 * move data. GPC_EUSAGE. */
int gpc_filter_new(const struct gpc_strv *patterns, struct gpc_filter **ret_f,
	struct gpc_error *err) gpc_must_check;
void gpc_filter_free(struct gpc_filter *f);
GPC_CLEANUP_POINTER(gpc_filter);
/* key is relative, with "/" between its parts. f may be NULL: all. */
bool gpc_filter_takes(const struct gpc_filter *f, const char *key);
/* Whether something below the folder may be meant; key has no "/" at its end. */
bool gpc_filter_enters(const struct gpc_filter *f, const char *key);
