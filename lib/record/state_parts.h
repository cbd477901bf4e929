/* What state.c, state_nodes.c and state_asked.c share: an event on its way into a
 * state. */
#pragma once
#include "record/payload.h"
#include "record/state.h"

/* What follows besides a status: nothing, as the event may not happen; the same one;
 * or what the event's function says. */
enum { GPC_TO_NONE = -3, GPC_TO_SAME = -2, GPC_TO_VARIES = -1 };

struct gpc_step {
	struct gpc_job_state *st;
	const struct gpc_event *e;
	struct gpc_payload *p;
	int64_t at_ms;          /* when it happened */
	int to;                 /* status after it; may be set by the function */
};

/* Whether it speaks of the current attempt. */
int gpc_step_check_attempt(const struct gpc_step *s, struct gpc_error *err);
/* The job's reason, code and so on become the event's. */
void gpc_step_set_reason(const struct gpc_step *s);

/* state_nodes.c, state_asked.c: record an event that the table allows. Checks come
 * first, so that a refused one leaves the state untouched. */
int gpc_on_submitted(struct gpc_step *s, struct gpc_error *err);
int gpc_on_attempt(struct gpc_step *s, struct gpc_error *err);
int gpc_on_intent(struct gpc_step *s, struct gpc_error *err);
int gpc_on_void(struct gpc_step *s, struct gpc_error *err);
int gpc_on_created(struct gpc_step *s, struct gpc_error *err);
int gpc_on_rate(struct gpc_step *s, struct gpc_error *err);
int gpc_on_opened(struct gpc_step *s, struct gpc_error *err);
int gpc_on_ready(struct gpc_step *s, struct gpc_error *err);
int gpc_on_phase(struct gpc_step *s, struct gpc_error *err);
int gpc_on_lost(struct gpc_step *s, struct gpc_error *err);
int gpc_on_released(struct gpc_step *s, struct gpc_error *err);
int gpc_on_ended(struct gpc_step *s, struct gpc_error *err);
int gpc_on_supervisor(struct gpc_step *s, struct gpc_error *err);
int gpc_on_checkpoint(struct gpc_step *s, struct gpc_error *err);
int gpc_on_cancel(struct gpc_step *s, struct gpc_error *err);
int gpc_on_request(struct gpc_step *s, struct gpc_error *err);
int gpc_on_resume(struct gpc_step *s, struct gpc_error *err);
int gpc_on_update(struct gpc_step *s, struct gpc_error *err);
int gpc_on_prune(struct gpc_step *s, struct gpc_error *err);
int gpc_on_pruning(struct gpc_step *s, struct gpc_error *err);
int gpc_on_ssh(struct gpc_step *s, struct gpc_error *err);
int gpc_on_pruned(struct gpc_step *s, struct gpc_error *err);
