/* The bundle of this program, as it is kept in the cache, and those of others. */
#pragma once
#include <stdint.h>

#include "base/arch.h"
#include "core/session.h"
#include "dep/crypto.h"

struct gpc_bundle_cached {
	char *path;
	int fd;
	uint64_t size;
	uint8_t sum[GPC_SHA256_SIZE];
};
/* Makes it when there is none of this very program, or one that is not the file that was
 * made, by all that the system tells of it; then only the newest ones of other builds
 * stay beside it. Its sum is as noted when it was made. */
int gpc_bundle_cached_open(struct gpc_session *s, struct gpc_bundle_cached *ret_b,
	struct gpc_error *err) gpc_must_check;
/* One of another architecture, which was taken up (bundle_other.h): looked at once, and
 * known by a note beside it from then on. */
int gpc_bundle_other_open(struct gpc_session *s, enum gpc_arch arch,
	struct gpc_bundle_cached *ret_b, struct gpc_error *err) gpc_must_check;
/* Reads it: whether its bytes still have that sum. To be called before they go
 * anywhere. GPC_EPROTO when not: then it is removed, and the next open makes another. */
int gpc_bundle_cached_check(struct gpc_bundle_cached *b, struct gpc_error *err)
	gpc_must_check;
void gpc_bundle_cached_clear(struct gpc_bundle_cached *b);
GPC_CLEANUP_VALUE(gpc_bundle_cached);
