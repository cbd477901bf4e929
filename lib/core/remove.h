/* Removing old jobs that have ended, with all that they left in the store. */
#pragma once
#include <stdint.h>

#include "base/vec.h"
#include "core/census.h"
#include "core/session.h"

struct gpc_removal {
	char job[GPC_JOB_ID_SIZE];
	int64_t ended_ms;             /* 0 = unknown */
	uint64_t objects, bytes;      /* all below jobs/<job>/ */
	bool rest;                    /* of a removal that was cut short */
	bool done;
	char *left;                   /* why it stays; NULL = it goes */
};
struct gpc_removals { struct gpc_removal *v; size_t n, cap; };
void gpc_removals_clear(struct gpc_removals *x);
GPC_CLEANUP_VALUE(gpc_removals);

struct gpc_remove_options {
	int64_t older_ms;             /* since the end, by the store's clock */
	bool all_users;
};
/* Jobs that ended so long ago, oldest first; also what removals that were cut
 * short have left, and old ones that must stay (left says why). */
int gpc_remove_find(struct gpc_session *s, const struct gpc_census *c,
	const struct gpc_remove_options *o, struct gpc_removals *ret_x,
	struct gpc_error *err) gpc_must_check;
/* Removes one of them. What was resumed meanwhile stays, and `left` says so.
 * May be done by several at once, and again after a crash anywhere. */
int gpc_remove_job(struct gpc_session *s, const struct gpc_remove_options *o,
	struct gpc_removal *x, struct gpc_error *err) gpc_must_check;
