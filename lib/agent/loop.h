/* The agent proper, as the launcher's child runs it. */
#pragma once
#include "agent/agent.h"
#include "provider/node_file.h"

/* Returns the exit status of the process: 0 when the node ended in an orderly
 * way, whatever became of the job. */
int gpc_agent_run(const struct gpc_agent_options *options,
	const struct gpc_node_file *node);
