/* The state machine of a job, as two pure functions over tables. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/event.h"
#include "model/job.h"

/* state = state after e. GPC_EPROTO (state untouched) when the table has no
 * entry for this event in this status, or its payload is wrong. */
int gpc_state_apply(struct gpc_job_state *st, const struct gpc_event *e,
	struct gpc_error *err) gpc_must_check;

/* What a supervisor has to do next; idempotent, may be asked again any time. */
enum gpc_action_kind {
	GPC_ACTION_ATTEMPT,   /* append `attempt` */
	GPC_ACTION_INTENT,    /* plan and append `intent` for the ranks without node */
	GPC_ACTION_CREATE,    /* send intents[i] (again), append `created`; of a
	                       * group: see that it is there, append `created` for
	                       * the node that it has started */
	GPC_ACTION_VOID,      /* intents[i] is too old or unwanted: append `void`;
	                       * of a group: once that is gone */
	GPC_ACTION_WATCH,     /* look after nodes[i]: beats, exit, provider. Also
	                       * for a RELEASED one of the running attempt: it went
	                       * without a word, so append `ended` or `lost` */
	GPC_ACTION_RELEASE,   /* destroy nodes[i], append `released` when absent */
	GPC_ACTION_END,       /* append `ended` with .reason */
};
struct gpc_action {
	enum gpc_action_kind kind;
	size_t index;         /* of state.nodes or state.intents */
	enum gpc_reason reason;
	int code, signal, rank;
	bool uncounted;       /* ATTEMPT: put "uncounted":true in its payload */
};
#define GPC_INTENT_MAX_AGE_MS 600000    /* an older one is never sent again */
struct gpc_recovery_policy {  /* from the spec */
	bool none;            /* never recover */
	int restarts;         /* own errors that may restart; -1 = none given */
	const int *on_exit;   /* exit codes that restart without limit */
	size_t n_on_exit;
	bool has_checkpoint;  /* lifetime ends go on from a save */
};
/* Whether an attempt that ended so may be followed by another one. */
bool gpc_state_may_retry(const struct gpc_job_state *st,
	const struct gpc_recovery_policy *policy, enum gpc_reason reason,
	int code, int signal);
/* Whether a group ends with its node, rather than going on to the next attempt: the
 * job is over or begins anew, or the group's own lifetime is over. */
bool gpc_state_ends_groups(const struct gpc_job_state *st);
/* Actions in order into ret_actions[max]; returns their number. */
size_t gpc_state_next(const struct gpc_job_state *st,
	const struct gpc_recovery_policy *policy, int64_t now_ms,
	struct gpc_action *ret_actions, size_t max);
