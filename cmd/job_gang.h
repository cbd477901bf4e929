/* What `gpucloud status JOB` shows of many nodes: how many are in which state, and the
 * one that failed first. */
#pragma once
#include "cmd/command.h"
#include "core/view.h"

/* A row for each kind of node: state, provider and offer. */
int gpc_gang_rows(struct gpc_cmd *c, const struct gpc_job_state *st,
	struct gpc_error *err) gpc_must_check;
/* The last lines of the rank that failed first, once the job has failed; nothing when
 * it has not, or they cannot be read. */
int gpc_gang_last_lines(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_view *v, struct gpc_error *err) gpc_must_check;
