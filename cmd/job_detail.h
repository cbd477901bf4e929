/* One job in detail, for people. */
#pragma once
#include "cmd/command.h"
#include "core/session.h"
#include "core/view.h"

int gpc_job_detail(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_view *v, struct gpc_error *err) gpc_must_check;
