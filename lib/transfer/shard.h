/* Parts of a list for several who load it together: rank i of n takes its own, no two
 * take the same, nothing is left over, and the parts have nearly equal numbers of
 * bytes. Which entry is whose follows from the list alone, so that nobody has to ask
 * anybody. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "transfer/feed.h"

#define GPC_SHARDS_MAX 65536

struct gpc_shard { int i, n; };         /* 0 <= i < n; n = 0: everything */

/* "I/N", or "rank": this node's of its job, from the environment, whose lookup is
 * `env` (getenv). GPC_EUSAGE. */
int gpc_shard_parse(const char *text, char *(*env)(const char *),
	struct gpc_shard *ret_s, struct gpc_error *err) gpc_must_check;
/* The owner of each size: the largest first (of equal ones the first), to whoever has
 * the fewest bytes, of those the fewest entries, of those the lowest. So no part is
 * more than a third above the best that could be, nor more than the largest entry
 * above the smallest part. owners: n_sizes of them, set. GPC_EIO: no memory. */
int gpc_shard_assign(const uint64_t *sizes, size_t n_sizes, int n,
	uint16_t *owners, struct gpc_error *err) gpc_must_check;

/* A gpc_feed_fn that reads all of `from` and then gives its part of that. Some 40
 * bytes a key are in memory meanwhile. Notes are everybody's. */
struct gpc_shard_feed {
	struct gpc_feed *from;          /* borrowed */
	struct gpc_shard shard;
};
int gpc_shard_run(void *arg, struct gpc_feed *out, struct gpc_error *err)
	gpc_must_check;
