/* Which ends of an attempt lead to another attempt. */
#pragma once
#include <stdbool.h>

#include "model/job.h"
#include "model/node.h"
#include "model/spec.h"
#include "record/state.h"

/* The policy borrows from spec. */
struct gpc_recovery_policy gpc_recover_policy(const struct gpc_spec *spec);
/* In a launch and in a node of `created`: the reason that the end of its
 * lifetime gives the job, as a word. */
#define GPC_EXPIRES_REASON "expires_reason"
/* An agent only knows that its node's lifetime ends. What bounded it may be the
 * job's own limit: then that is the reason, and no other attempt follows. */
void gpc_recover_name_end(const struct gpc_job_state *st, struct gpc_exit *x);
/* True when the attempt's end x should be journalled as `lost`: the machine was
 * taken away, or the spec asks for restarts after the program's own errors.
 * Otherwise it is the job's end. */
bool gpc_recover_goes_on(const struct gpc_recovery_policy *policy,
	const struct gpc_job_state *st, const struct gpc_exit *x);
