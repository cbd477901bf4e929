/* What is known of files that have not changed: key -> blob, in one file of the
 * user's cache folder. Keys are hashes of what identifies a file (device, inode,
 * size, times) or of the members of a pack, so one cache serves all trees and
 * stores. It is only ever a hint: a missing or damaged one is an empty one. It
 * is read as a stream, whatever its size. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "dep/crypto.h"

struct gpc_cache_key { uint8_t b[16]; };
struct gpc_cache_value {
	uint8_t sum[GPC_SHA256_SIZE];
	uint32_t size;
	uint8_t kind;           /* the caller's word */
};
struct gpc_cache;                                  /* opaque */

/* Never fails. path may be NULL. */
struct gpc_cache *gpc_cache_open(const char *path);
void gpc_cache_free(struct gpc_cache *c);
GPC_CLEANUP_POINTER(gpc_cache);

/* Keys to look up or to write, with a number that is the caller's. */
struct gpc_cache_want { struct gpc_cache_key key; uint32_t id; };
void gpc_cache_sort(struct gpc_cache_want *w, size_t n);
/* Calls found for each of n sorted wants that the cache knows. */
typedef void gpc_cache_found_fn(void *arg, uint32_t id,
	const struct gpc_cache_value *value);
void gpc_cache_find(struct gpc_cache *c, const struct gpc_cache_want *w,
	size_t n, gpc_cache_found_fn *found, void *arg);
/* Replaces the file by the n sorted wants, whose values `value` gives (false:
 * not known after all), and what was there before, without what has not been
 * used for a month and what exceeds 1,000,000 records. Atomic; when another
 * process is writing it, nothing is done. */
typedef bool gpc_cache_value_fn(void *arg, uint32_t id,
	struct gpc_cache_value *ret_value);
int gpc_cache_write(struct gpc_cache *c, const struct gpc_cache_want *w,
	size_t n, gpc_cache_value_fn *value, void *arg,
	struct gpc_error *err) gpc_must_check;
