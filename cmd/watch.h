/* Showing something again and again while it changes. */
#pragma once
#include "base/buf.h"
#include "cmd/command.h"

/* GPC_OPT_WATCH(struct status, watch): an int64_t, 0 = not given. */
#define GPC_OPT_WATCH(ctx, field) \
	GPC_OPT_DURATION(0, "watch", ctx, field, "SECONDS", \
		"show it again as it changes, in place on a terminal", \
		.implied = "2", .key = GPC_OPT_NO_KEY)

/* Prints the thing to c->out, as it does when it is shown once, and says with
 * mark what a reader would call a change: not the time that goes by. *ret_over:
 * it will not change any more. */
typedef int gpc_watch_fn(struct gpc_cmd *c, void *arg, struct gpc_buf *mark,
	bool *ret_over, struct gpc_error *err);
/* Calls fn every every_ms until it is over or we are interrupted, which is no
 * error but sets the exit status. On a terminal tables are drawn in place;
 * elsewhere what fn printed appears when its mark is another than before.
 * Failures that may pass are warned about. */
int gpc_watch(struct gpc_cmd *c, int64_t every_ms, gpc_watch_fn *fn, void *arg,
	struct gpc_error *err) gpc_must_check;
