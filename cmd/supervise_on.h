/* `gpucloud supervise --on INFRA`: a supervisor on a machine of its own. */
#pragma once
#include "cmd/command.h"
#include "core/session.h"

struct gpc_supervise_on {
	const char *infra;              /* "aws", "aws/us-east-1" */
	bool yes, dry_run;
	struct gpc_money max_cost;      /* "" = none */
	int64_t life_ms;                /* 0 = a week */
};
/* GPC_EUNSUPPORTED where no such machine can be had. */
int gpc_cmd_supervise_on_check(const char *infra, struct gpc_error *err)
	gpc_must_check;
/* Plans it, asks, makes its job, and watches until it runs; prints the job's id. Says so
 * where there is one already, or nothing for it to do. s has a store. */
int gpc_cmd_supervise_on(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_supervise_on *o, struct gpc_error *err) gpc_must_check;
