/* Starts a launcher for a node's folder, as a process that nobody waits for. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct gpc_spawn {                      /* all borrowed */
	const char *self_path, *dir;
	const char *job;                /* or NULL */
	const char *store_url;
	const struct gpc_strv *buckets; /* URLs of what else it reaches */
	const char *ca_file;            /* to reach it; NULL: as we were told */
};
/* Runs `self_path agent --launch dir` in a session of its own, with dir's log
 * as its output and a small environment, and returns once it has taken the node
 * over. GPC_EIO when it could not; dir's log may say more. GPUCLOUD_JOB_ID in its
 * environment lets people find every process of a job, the agent's too; the mark
 * of the node, which is the last part of dir, lets us. The node reaches store_url
 * and the buckets with the identity of whoever starts it; its job does not get that. */
int gpc_spawn_launcher(const struct gpc_spawn *x, struct gpc_error *err)
	gpc_must_check;
