/* Leave to spend money: asked for on a terminal, else given beforehand. */
#pragma once
#include "cmd/command.h"
#include "core/plan.h"
#include "model/spec.h"

/* The plan was shown. yes: the option -y. No question where it costs nothing, or at
 * most what the setting confirm_above allows. GPC_ECANCELED: refused; GPC_EUSAGE:
 * there is nobody to ask, and no limit of cost. */
int gpc_leave_ask(struct gpc_cmd *c, const struct gpc_spec *spec,
	const struct gpc_plan *p, bool yes, struct gpc_error *err) gpc_must_check;
