/* Names that a job finds in its environment. Nothing of the client's own
 * environment passes but what provider/spawn.c lets through. */
#include "agent/env.h"

#include <stdlib.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/facts.h"
#include "agent/limits.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/http.h"

extern char **environ;

static const char *const passed[] = {
	"USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
	"LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC",
	"LC_TIME",
};

static void add_machine(const struct gpc_agent *a, struct gpc_pairs *e)
{
	const char *path = getenv("PATH");

	gpc_pairs_setf(e, "PATH", "%s:%s", a->bin_dir, path && *path ? path
		: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	gpc_pairs_set(e, "HOME", a->job_home);
	gpc_pairs_set(e, "SHELL", "/bin/bash");
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		if (getenv(passed[i]))
			gpc_pairs_set(e, passed[i], getenv(passed[i]));
	gpc_pairs_set(e, "PYTHONUNBUFFERED", "1");
}

static void add_gpus(const struct gpc_agent *a, struct gpc_pairs *e)
{
	gpc_auto(gpc_strv) struct gpc_strv v = {0};
	gpc_autostr *list = NULL;

	for (const struct gpc_json *g = gpc_json_first(a->gpus); g;
		g = gpc_json_next(g))
		gpc_strv_addf(&v, "%d", (int)gpc_json_int_or(g, 0));
	list = gpc_strv_join(&v, ",");
	/* NVML counts in bus order; CUDA does so only when told to. */
	gpc_pairs_set(e, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	gpc_pairs_set(e, "CUDA_VISIBLE_DEVICES", list);
}

/* The reason that ended the attempt before this one. */
static const char *restart_reason(const struct gpc_agent *a)
{
	const char *reason = NULL;

	for (size_t i = 0; i < a->state.tries.n; i++)
		if (a->state.tries.v[i].n == a->attempt - 1)
			reason = gpc_reason_to_str(a->state.tries.v[i].reason);
	return reason && *reason ? reason : NULL;
}

static char *ips(const struct gpc_agent *a)
{
	gpc_auto(gpc_strv) struct gpc_strv v = {0};

	for (size_t i = 0; i < a->peers.nodes.n; i++)
		gpc_strv_add(&v, a->peers.nodes.v[i].address);
	return gpc_strv_join(&v, "\n");
}

static const char *master(const struct gpc_agent *a)
{
	return a->peers.nodes.n ? a->peers.nodes.v[0].address : a->address;
}

static void add_ours(const struct gpc_agent *a, struct gpc_pairs *e)
{
	gpc_autostr *addresses = ips(a);
	int64_t deadline = gpc_agent_deadline_ms(a);

	gpc_pairs_set(e, "GPUCLOUD_JOB_ID", a->job.id);
	gpc_pairs_setf(e, "GPUCLOUD_ATTEMPT", "%d", a->attempt);
	if (restart_reason(a))
		gpc_pairs_set(e, "GPUCLOUD_RESTART_REASON", restart_reason(a));
	gpc_pairs_setf(e, "GPUCLOUD_NODE_RANK", "%d", a->rank);
	gpc_pairs_setf(e, "GPUCLOUD_NUM_NODES", "%d", a->spec.num_nodes);
	gpc_pairs_set(e, "GPUCLOUD_NODE_IPS", addresses);
	gpc_pairs_set(e, "GPUCLOUD_MASTER_ADDR", master(a));
	gpc_pairs_setf(e, "GPUCLOUD_MASTER_PORT", "%d", a->peers.master_port);
	gpc_pairs_setf(e, "GPUCLOUD_GPUS_PER_NODE", "%d", gpc_agent_gpus(a));
	gpc_pairs_set(e, "GPUCLOUD_CHECKPOINT_DIR", a->checkpoint_dir);
	if (a->restored)
		gpc_pairs_set(e, "GPUCLOUD_RESUME_FROM", a->checkpoint_dir);
	if (deadline)
		gpc_pairs_setf(e, "GPUCLOUD_DEADLINE", "%lld",
			(long long)(deadline / 1000));
	gpc_pairs_set(e, "GPUCLOUD_METRICS", a->metrics_path);
	gpc_pairs_set(e, "GPUCLOUD_SHARD", "0");
	gpc_pairs_set(e, "GPUCLOUD_NUM_SHARDS", "1");
	gpc_pairs_set(e, "GPUCLOUD_STORE", a->node->store_url);
	if (getenv(GPC_HTTP_CA_ENV))
		gpc_pairs_set(e, GPC_HTTP_CA_ENV, getenv(GPC_HTTP_CA_ENV));
	if (a->ask_path)
		gpc_pairs_set(e, GPC_ASK_ENV, a->ask_path);
}

/* A supervisor speaks to its cloud: where that is, if the machine's own environment
 * says so. Who it is there, the machine's role says. */
static void add_cloud(struct gpc_pairs *e)
{
	static const char *const starts[] = { "AWS_ENDPOINT_URL",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT" };

	for (char **v = environ; *v; v++) {
		size_t n = strcspn(*v, "=");
		gpc_autostr *name = gpc_strndup(*v, n);

		for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
			if (gpc_starts_with(name, starts[i]) && (*v)[n])
				gpc_pairs_set(e, name, *v + n + 1);
	}
}

static void add_aliases(const struct gpc_agent *a, struct gpc_pairs *e)
{
	const char *addresses = gpc_pairs_get(e, "GPUCLOUD_NODE_IPS");
	int gpus = gpc_agent_gpus(a);

	gpc_pairs_setf(e, "SKYPILOT_NODE_RANK", "%d", a->rank);
	gpc_pairs_setf(e, "SKYPILOT_NUM_NODES", "%d", a->spec.num_nodes);
	gpc_pairs_set(e, "SKYPILOT_NODE_IPS", addresses);
	gpc_pairs_setf(e, "SKYPILOT_NUM_GPUS_PER_NODE", "%d", gpus);
	gpc_pairs_setf(e, "SKYPILOT_SETUP_NODE_RANK", "%d", a->rank);
	gpc_pairs_set(e, "SKYPILOT_SETUP_NODE_IPS", addresses);
	gpc_pairs_setf(e, "SKYPILOT_SETUP_NUM_GPUS_PER_NODE", "%d", gpus);
	/* The same over all attempts, as trackers of experiments rely on. */
	gpc_pairs_set(e, "SKYPILOT_TASK_ID", a->job.id);
	gpc_pairs_setf(e, "SKYPILOT_CLUSTER_INFO", "{\"cluster_name\": \"%s\", "
		"\"cloud\": \"local\", \"region\": \"local\", \"zone\": null}",
		a->job.name);
	if (a->job.owner.user)
		gpc_pairs_set(e, "SKYPILOT_USER", a->job.owner.user);
	gpc_pairs_setf(e, "PET_NNODES", "%d", a->spec.num_nodes);
	gpc_pairs_setf(e, "PET_NODE_RANK", "%d", a->rank);
	gpc_pairs_setf(e, "PET_NPROC_PER_NODE", "%d", gpus ? gpus : 1);
	gpc_pairs_set(e, "PET_MASTER_ADDR", master(a));
	gpc_pairs_setf(e, "PET_MASTER_PORT", "%d", a->peers.master_port);
}

void gpc_agent_env(const struct gpc_agent *a, struct gpc_pairs *ret_env)
{
	gpc_pairs_clear(ret_env);
	add_machine(a, ret_env);
	add_gpus(a, ret_env);
	add_ours(a, ret_env);
	add_aliases(a, ret_env);
	if (a->job.supervisor.profile)
		add_cloud(ret_env);
	for (size_t i = 0; i < a->spec.envs.n; i++)
		if (a->spec.envs.v[i].value)
			gpc_pairs_set(ret_env, a->spec.envs.v[i].key,
				a->spec.envs.v[i].value);
	for (size_t i = 0; i < a->secrets.n; i++)
		gpc_pairs_set(ret_env, a->secrets.v[i].key,
			a->secrets.v[i].value);
	/* Last: by it whatever outlives the node is found and ended. */
	gpc_pairs_set(ret_env, GPC_NODE_ENV, a->node->id);
}

/* By our own wall clock, from what the boot clock says is left of the life: the
 * buyer's clock, by which expires_ms was written, may be off. */
static int64_t life_end_ms(const struct gpc_agent *a)
{
	const struct gpc_node_file *n = a->node;
	int64_t left = n->created_boot_ms + (n->expires_ms - n->created_ms)
		- gpc_boot_ms();

	return n->expires_ms ? gpc_wall_ms() + left - gpc_limits_drain_ms(a)
		: 0;
}

int64_t gpc_agent_deadline_ms(const struct gpc_agent *a)
{
	int64_t end = a->spec.limits.deadline_ms;
	int64_t life = life_end_ms(a);
	int64_t run = a->spec.limits.time_ms
		? gpc_wall_ms() + a->spec.limits.time_ms - a->state.ran_ms : 0;

	if (life && (!end || life < end))
		end = life;
	if (run && (!end || run < end))
		end = run;
	return end;
}
