/* How an attempt ended, in the data of events: the same whether a supervisor writes it,
 * or the node that goes on where there is none. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "dep/json.h"
#include "model/job.h"
#include "model/node.h"
#include "store/store.h"

/* Whether the running attempt's program was not seen to run: then its exit or its
 * beat may tell when it began. */
bool gpc_outcome_unseen(struct gpc_job_state *st);
/* Of a `phase`: it runs since then, by the node's wall clock. Owned. */
struct gpc_json *gpc_outcome_ran(struct gpc_job_state *st, int64_t began_ms);
/* Of an `ended`, with this reason, which may differ from x's. Owned. */
struct gpc_json *gpc_outcome_end(const struct gpc_exit *x, enum gpc_reason reason);
/* Of a `lost`: another attempt follows. Looks whether this one got anywhere. Owned. */
struct gpc_json *gpc_outcome_lost(struct gpc_store *s, const char *job,
	struct gpc_job_state *st, const struct gpc_exit *x);
