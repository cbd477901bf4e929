/* What `update` events changed: the folded state over the spec of job.json. */
#pragma once
#include "model/job.h"
#include "model/spec.h"

/* Puts the limits that the state has into the spec. May be done again after
 * every event. */
void gpc_update_spec(struct gpc_spec *spec, const struct gpc_job_state *st);
/* The limits of a job now, from its own spec; spec is that of job.json. */
struct gpc_spec_limits gpc_update_limits(const struct gpc_spec *spec,
	const struct gpc_job_state *st);
/* The same of its priority, and of those that are told. */
int gpc_update_priority(const struct gpc_spec *spec,
	const struct gpc_job_state *st);
int gpc_update_notify(const struct gpc_spec *spec,
	const struct gpc_job_state *st, struct gpc_spec_notify *ret_list,
	struct gpc_error *err) gpc_must_check;
