/* Recovery is for what the program cannot help: interruptions and lost nodes.
 * Its own errors end the job unless the spec asks for more. */
#include "core/recover.h"

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

static bool exit_is_listed(const struct gpc_recovery_policy *policy, int code)
{
	for (size_t i = 0; i < policy->n_on_exit; i++) {
		if (policy->on_exit[i] == code)
			return true;
	}
	return false;
}

bool gpc_recover_goes_on(const struct gpc_recovery_policy *policy,
	const struct gpc_job_state *st, const struct gpc_exit *x)
{
	if (policy->none || st->cancel)
		return false;
	switch (gpc_reason_retry(x->reason)) {
	case GPC_RETRY_RECOVER:
		return x->reason != GPC_REASON_LIFETIME ||
			policy->has_checkpoint;
	case GPC_RETRY_IF_ASKED:
		return (x->signal == 0 && exit_is_listed(policy, x->code)) ||
			st->restarts < policy->restarts;
	case GPC_RETRY_NEVER:
		break;
	}
	return false;
}
