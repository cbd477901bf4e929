/* Recovery is for what the program cannot help: interruptions and lost nodes.
 * Its own errors end the job unless the spec asks for more. */
#include "record/recover.h"

#include "base/str.h"
#include "model/boot_failure.h"

struct gpc_recovery_policy gpc_recover_policy(const struct gpc_spec *spec)
{
	return (struct gpc_recovery_policy) {
		.none = spec->recovery.none,
		.restarts = spec->recovery.restarts,
		.on_exit = spec->recovery.on_exit.v,
		.n_on_exit = spec->recovery.on_exit.n,
		.has_checkpoint = spec->checkpoint.path != NULL,
	};
}

void gpc_recover_name_end(const struct gpc_job_state *st, struct gpc_exit *x)
{
	if (x->reason != GPC_REASON_LIFETIME)
		return;
	gpc_vec_each(n, &st->nodes) {
		const char *word = gpc_json_get_str(n->rest, GPC_EXPIRES_REASON);

		if (n->attempt != st->attempt || n->rank != x->rank)
			continue;
		/* A limit that was changed since then is not what ended it. */
		if (gpc_eq(word, gpc_reason_to_str(GPC_REASON_COST_LIMIT)) &&
			st->cost_limit_n < n->intent)
			x->reason = GPC_REASON_COST_LIMIT;
		if (gpc_eq(word, gpc_reason_to_str(GPC_REASON_TIME_LIMIT)) &&
			st->time_limit_n < n->intent)
			x->reason = GPC_REASON_TIME_LIMIT;
	}
}

bool gpc_recover_goes_on(const struct gpc_recovery_policy *policy,
	const struct gpc_job_state *st, const struct gpc_exit *x)
{
	const struct gpc_boot_failure *f = gpc_boot_failure_find(x->boot);

	return !st->cancel && !(f && f->final) && gpc_state_may_retry(st, policy, x->reason,
		x->code, x->signal);
}
