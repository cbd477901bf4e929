/* Jobs that are over, kept on this machine: their records do not change any more,
 * and where each look costs money a list of a day's jobs would ask for all of them
 * again and again. */
#pragma once
#include "core/view.h"
#include "record/index.h"

/* The view of a job that the index says is done, from the cache if it is there,
 * else from the store, and then kept. On a store of this machine just loads it. */
int gpc_view_load_done(struct gpc_session *s, const struct gpc_index_entry *x,
	struct gpc_view *ret_v, struct gpc_error *err) gpc_must_check;
