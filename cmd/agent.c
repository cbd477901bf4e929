/* `gpucloud agent`: how a node's first process is started; nobody types that.
 * --bundle makes what a node without our libraries is given, --add-bundle takes up one
 * that was made on, or for, another architecture.
 */
#include "agent/agent.h"

#include <inttypes.h>

#include "base/path.h"
#include "base/proc.h"
#include "cmd/command.h"
#include "cmd/phrase.h"
#include "core/bundle.h"
#include "core/bundle_other.h"

struct agent {
	const char *dir, *bundle, *taken;
	int ready_fd;
};

static const struct gpc_opt options[] = {
	GPC_OPT_STR(0, "launch", struct agent, dir, "DIR",
		"take over the node of this folder"),
	GPC_OPT_INT(0, "ready-fd", struct agent, ready_fd, "N",
		"descriptor that is told when that is done", .max = 1000000),
	GPC_OPT_STR(0, "bundle", struct agent, bundle, "FILE",
		"write this program with its libraries into a .tar.gz"),
	GPC_OPT_STR(0, "add-bundle", struct agent, taken, "FILE",
		"take up such a file of another architecture"),
	GPC_OPT_END
};

static int bundle(struct gpc_cmd *c, const char *self, const char *path,
	struct gpc_error *err)
{
	struct gpc_bundle_facts facts;
	int r = gpc_bundle_write(self, path, &facts, err);

	if (r)
		return r;
	gpc_autostr *size = gpc_phrase_size(facts.packed_bytes);
	gpc_autostr *unpacked = gpc_phrase_size(facts.size_bytes);
	gpc_say(&c->talk, "gpucloud: %" PRIu64 " files, %s, unpacked %s",
		facts.files, size, unpacked);
	return gpc_out_print(&c->out, err, "%s  %s\n", facts.sha256, path);
}

static int take(struct gpc_cmd *c, const char *path, struct gpc_error *err)
{
	gpc_autostr *data = NULL, *to = NULL;
	enum gpc_arch arch;
	int r = gpc_xdg(GPC_XDG_DATA, NULL, &data, err);

	if (!r)
		r = gpc_bundle_take(data, path, &arch, &to, err);
	if (r)
		return r;
	gpc_say(&c->talk, "gpucloud: machines of %s can be named from now on",
		gpc_arch_names[arch]);
	return gpc_out_print(&c->out, err, "%s\n", to);
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct agent *o = c->ctx;
	gpc_autostr *self = gpc_proc_self();
	struct gpc_agent_options launch = { .node_dir = o->dir,
		.self_path = self, .ready_fd = o->ready_fd, .log = &c->log };

	if (o->taken)
		return take(c, o->taken, err);
	if (!o->dir && !o->bundle)
		return gpc_fail(err, GPC_EUSAGE, "agent is started by gpucloud "
			"itself, with --launch");
	if (!self)
		return gpc_fail(err, GPC_EUNSUPPORTED, "this system does not say "
			"where its running program lies");
	if (o->bundle)
		return bundle(c, self, o->bundle, err);
	return gpc_agent_launch(&launch, err);
}

const struct gpc_command gpc_command_agent = {
	.name = "agent",
	.summary = "run a node (started by gpucloud itself)",
	.usage = "--launch DIR [--ready-fd N]\n--bundle FILE\n--add-bundle FILE",
	.group = GPC_GROUP_HIDDEN,
	.options = options,
	.ctx_size = sizeof(struct agent),
	.run = run,
};
