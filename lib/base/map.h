/* gpc_map: hashed string -> pointer, kept in insertion order; keys are copied,
 * values are the caller's. gpc_pairs: a small ordered list of name and value
 * (environment, labels, metrics), both owned. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct gpc_map_entry { char *key; void *value; };
struct gpc_map {
	struct gpc_map_entry *entries;   /* in insertion order */
	size_t n, cap;
	size_t *slots, n_slots;
};
void *gpc_map_get(const struct gpc_map *m, const char *key);  /* or NULL */
bool gpc_map_has(const struct gpc_map *m, const char *key);
void gpc_map_set(struct gpc_map *m, const char *key, void *value);
/* The same for as many as the outside world has: false when there is no memory,
 * and the map stays as it was. */
bool gpc_map_try_set(struct gpc_map *m, const char *key, void *value);
void gpc_map_clear(struct gpc_map *m);
GPC_CLEANUP_VALUE(gpc_map);

struct gpc_pair { char *key, *value; };          /* value may be NULL */
struct gpc_pairs { struct gpc_pair *v; size_t n, cap; };
const char *gpc_pairs_get(const struct gpc_pairs *p, const char *key);
bool gpc_pairs_has(const struct gpc_pairs *p, const char *key);
void gpc_pairs_set(struct gpc_pairs *p, const char *key, const char *value);
/* The same for a key that is not there, without looking. */
void gpc_pairs_add(struct gpc_pairs *p, const char *key, const char *value);
void gpc_pairs_setf(struct gpc_pairs *p, const char *key, const char *fmt, ...)
	gpc_printf(3, 4);
void gpc_pairs_unset(struct gpc_pairs *p, const char *key);
void gpc_pairs_copy(struct gpc_pairs *to, const struct gpc_pairs *from);
void gpc_pairs_clear(struct gpc_pairs *p);
void gpc_pairs_wipe(struct gpc_pairs *p);        /* the values first, then clears */
GPC_CLEANUP_VALUE(gpc_pairs);
