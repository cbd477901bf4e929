/* `gpucloud agent`: how a node's first process is started; nobody types it. It
 * reads neither configuration nor options beyond these two.
 */
#include "agent/agent.h"

#include "base/proc.h"
#include "cmd/command.h"

struct agent {
	const char *dir;
	int ready_fd;
};

static const struct gpc_opt options[] = {
	GPC_OPT_STR(0, "launch", struct agent, dir, "DIR",
		"take over the node of this folder"),
	GPC_OPT_INT(0, "ready-fd", struct agent, ready_fd, "N",
		"descriptor that is told when that is done", .max = 1000000),
	GPC_OPT_END
};

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct agent *o = c->ctx;
	gpc_autostr *self = gpc_proc_self();
	struct gpc_agent_options launch = { .node_dir = o->dir,
		.self_path = self, .ready_fd = o->ready_fd, .log = &c->log };

	if (!o->dir)
		return gpc_fail(err, GPC_EUSAGE, "agent is started by gpucloud "
			"itself, with --launch");
	if (!self)
		return gpc_fail(err, GPC_EUNSUPPORTED, "this system does not say "
			"where its running program lies");
	return gpc_agent_launch(&launch, err);
}

const struct gpc_command gpc_command_agent = {
	.name = "agent",
	.summary = "run a node (started by gpucloud itself)",
	.usage = "--launch DIR [--ready-fd N]",
	.group = GPC_GROUP_HIDDEN,
	.options = options,
	.ctx_size = sizeof(struct agent),
	.run = run,
};
