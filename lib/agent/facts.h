/* Facts below this rank, and reading those of the other ranks. */
#pragma once
#include <stdbool.h>

#include "agent/context.h"

/* How many GPUs this node gives its job. */
int gpc_agent_gpus(const struct gpc_agent *a);
/* Puts the beat now; a failed one is tried again with the next. */
void gpc_agent_beat(struct gpc_agent *a);
/* A new phase, told at once. */
void gpc_agent_phase(struct gpc_agent *a, enum gpc_phase phase);
/* Rank 0: other ranks learn from its beat that this rank has failed. */
void gpc_agent_tell_failed(struct gpc_agent *a, int rank,
	enum gpc_reason reason);

/* In a large gang (record/roll.h): this rank waits for the others. Beats tell the
 * rest. */
int gpc_agent_enter_ready(struct gpc_agent *a, struct gpc_error *err)
	gpc_must_check;

/* Both succeed when the object is there already: nobody else writes them. */
int gpc_agent_put_exit(struct gpc_agent *a, struct gpc_error *err)
	gpc_must_check;
int gpc_agent_put_verdict(struct gpc_agent *a, const struct gpc_exit *x,
	struct gpc_error *err) gpc_must_check;
/* Absent is no error: *ret_found says. rank < 0: the verdict. */
int gpc_agent_get_exit(struct gpc_agent *a, int rank, struct gpc_exit *ret_x,
	bool *ret_found, struct gpc_error *err) gpc_must_check;
int gpc_agent_get_beat(struct gpc_agent *a, int rank, struct gpc_beat *ret_b,
	bool *ret_found, struct gpc_error *err) gpc_must_check;
