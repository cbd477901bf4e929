/* The half of gpucloud that runs on a node.
 *
 * launcher -> agent -> the job's processes. The launcher is a subreaper and in
 * a session of its own; it forks the agent, waits for it, ends whatever is left
 * of the job when the agent dies, and so releases the node: an agent never
 * resumes on the same boot. */
#pragma once
#include "base/err.h"
#include "base/log.h"

struct gpc_agent_options {
	const char *node_dir;      /* holds node.json (see provider/local.c) */
	const char *self_path;     /* put on the job's PATH as gpucloud */
	int ready_fd;              /* gets "R" once the node is taken over; 0 = none */
	const struct gpc_log *log;
};
/* Runs the launcher in this process until the node has ended. It forks the
 * agent, in whose process this returns too; both then leave main. */
int gpc_agent_launch(const struct gpc_agent_options *options,
	struct gpc_error *err) gpc_must_check;
