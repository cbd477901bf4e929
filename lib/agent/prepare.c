/* Making and unmaking the agent's parts. */
#include "agent/notice.h"
#include "agent/prepare.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/ask.h"
#include "agent/checkpoint.h"
#include "agent/gpus.h"
#include "agent/limits.h"
#include "agent/mirror.h"
#include "agent/peers.h"
#include "agent/publish.h"
#include "agent/reserve.h"
#include "agent/restore.h"
#include "agent/ssh.h"
#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "record/keys.h"
#include "record/secrets.h"
#include "record/update.h"

bool gpc_agent_may_retry(const struct gpc_error *err)
{
	if (err->sys == ENOSPC || err->sys == EDQUOT || err->sys == EACCES
		|| err->sys == EPERM || err->sys == EROFS || err->sys == EFBIG
		|| err->sys == EMFILE)
		return false;
	return err->code == GPC_EIO || gpc_code_retryable(err->code);
}

enum gpc_reason gpc_agent_reason_of(const struct gpc_error *err)
{
	if (err->sys == ENOSPC || err->sys == EDQUOT)
		return GPC_REASON_DISK_FULL;
	if (err->code == GPC_ECONFIG || err->code == GPC_EUNSUPPORTED)
		return GPC_REASON_SPEC_INVALID;
	if (gpc_code_retryable(err->code))
		return GPC_REASON_STORE_UNREACHABLE;
	return GPC_REASON_AGENT_FAILED;
}

static int read_secrets(struct gpc_agent *a, struct gpc_error *err)
{
	int r;

	if (a->job.secrets.n == 0)
		return 0;
	r = gpc_secrets_get(a->store, a->job.id, a->state.secrets, &a->secrets,
		err);
	if (r == -GPC_ENOTFOUND)
		return gpc_fail(err, GPC_ECONFIG, "the job's secrets are not in "
			"the store any more; submit or resume it with them");
	return r;
}

static void to_stream(void *arg, const char *line, size_t n)
{
	struct gpc_agent *a = arg;

	gpc_logs_metric(a->logs, line, n);
	gpc_publish_line(a, line, n);
}

static void to_metrics(void *arg, int source, const char *data, size_t n)
{
	struct gpc_agent *a = arg;

	if (a->metrics)
		gpc_metrics_feed(a->metrics, source, data, n);
}

/* The spec of job.json has no secret values; they come by their own object. */
static int read_spec(struct gpc_agent *a, struct gpc_error *err)
{
	int r = gpc_spec_from_json(a->job.spec, a->job.id, &a->spec, NULL, err);

	if (r < 0)
		a->spec.num_nodes = a->state.num_nodes;  /* others wait for us */
	if (a->spec.checkpoint.grace_ms <= 0)
		a->spec.checkpoint.grace_ms = GPC_SPEC_GRACE_DEFAULT_MS;
	gpc_update_spec(&a->spec, &a->state);
	return gpc_wrap(err, r, "job.json");
}

int gpc_prepare(struct gpc_agent *a, struct gpc_error *err)
{
	const struct gpc_node_file *n = a->node;
	int r = gpc_logs_new(a->store, a->job.id, a->attempt, a->rank, &a->logs,
		err);

	if (r == 0)
		r = gpc_worker_new(&a->worker, err);
	if (r < 0)
		return r;
	gpc_peers_self(a);
	gpc_ask_open(a);
	r = read_spec(a, err);
	if (r == 0)
		r = gpc_reserve_make(a, err);
	GPC_CRASH("agent.reserved");
	if (r == 0)
		r = read_secrets(a, err);
	if (r == 0)
		r = gpc_restore_places(a, err);
	if (r == 0)
		r = gpc_metrics_new(&a->spec.metrics, a->metrics_path,
			to_stream, a, &a->metrics, err);
	if (r < 0)
		return r;
	gpc_logs_on_bytes(a->logs, to_metrics, a);
	a->cgroup = gpc_cgroup_new(a->options->node_dir, n->id, n->cpus_milli,
		n->memory_bytes);
	gpc_publish_open(a);
	r = gpc_gpus_open(a, err);
	return r < 0 ? r : gpc_notice_open(a, err);
}

void gpc_prepare_undo(struct gpc_agent *a)
{
	gpc_ask_close(a);
	gpc_agent_ssh_close(a);
	gpc_notice_close(a);
	gpc_publish_close(a);
	gpc_worker_free(a->worker);
	gpc_saver_free(a->saver);
	gpc_mirrors_free(a->mirrors);
	gpc_metrics_free(a->metrics);
	gpc_logs_free(a->logs);
	gpc_cgroup_free(a->cgroup);
	gpc_nvml_free(a->nvml);
	gpc_json_free(a->gpus);
	gpc_peers_clear(&a->peers);
	gpc_exit_clear(&a->exit);
	gpc_exit_clear(&a->first_failed);
	gpc_job_state_clear(&a->state);
	gpc_spec_clear(&a->spec);
	gpc_job_clear(&a->job);
	gpc_pairs_clear(&a->secrets);
	gpc_json_free(a->beat_extra);
	gpc_store_free(a->store);
	free(a->stop.detail);
	free(a->resume_from);
	free(a->note);
	free(a->home);
	free(a->workdir);
	free(a->checkpoint_dir);
	free(a->bin_dir);
	free(a->metrics_path);
	free(a->job_home);
}
