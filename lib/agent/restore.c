/* Workspace, file mounts and checkpoint onto the node. */
#include "agent/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/buckets.h"
#include "agent/mirror.h"
#include "agent/mounts.h"
#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "record/checkpoint.h"
#include "record/keys.h"
#include "record/whole.h"
#include "snapshot/snapshot.h"

enum { RETRY_MAX_MS = 10 * 60 * 1000, RETRY_MS = 2000 };

int gpc_agent_path(const struct gpc_agent *a, const char *text,
	const char *what, char **ret_path, struct gpc_error *err)
{
	gpc_autostr *joined = NULL, *path = NULL;
	bool tilde = gpc_eq(text, "~") || gpc_starts_with(text, "~/");
	int r;

	if (tilde && a->node->user_home)
		return gpc_fail(err, GPC_ECONFIG, "%s: %s is the user's own home "
			"here (local.home), which gpucloud does not touch; name "
			"a path below the workdir", what, text);
	if (tilde)
		joined = gpc_path_join(a->home, text[1] ? text + 2 : ".");
	else
		joined = gpc_path_join(a->workdir, text);
	r = gpc_path_absolute(joined, &path, err);
	if (r < 0)
		return r;
	if (!gpc_path_contains(a->home, path))
		return gpc_fail(err, GPC_ECONFIG, "%s: %s lies outside the job's "
			"home, which is all that a job on this machine may "
			"change", what, text);
	*ret_path = gpc_steal(&path);
	return 0;
}

/* The program on the job's PATH, under its name. Not as a link: a bundle finds
 * its parts beside the path that it was called by. */
static int link_self(struct gpc_agent *a, struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(a->bin_dir, "gpucloud");
	gpc_autostr *quoted = gpc_shell_quote(a->options->self_path);
	gpc_autostr *text = gpc_format("#!/bin/sh\nexec %s \"$@\"\n", quoted);
	int r = gpc_mkdirs(a->bin_dir, 0700, err);

	return r < 0 ? r : gpc_write_file(path, text, strlen(text), 0700, err);
}

int gpc_restore_places(struct gpc_agent *a, struct gpc_error *err)
{
	const char *dir = a->options->node_dir;
	const char *ckpt = a->spec.checkpoint.path;
	gpc_autofd fd = -1;
	int r = 0;

	a->home = gpc_path_join(dir, "home");
	a->workdir = gpc_path_join(a->home, "sky_workdir");
	a->bin_dir = gpc_path_join(dir, "bin");
	a->metrics_path = gpc_path_join(dir, "metrics.jsonl");
	if (a->node->user_home)
		r = gpc_home(&a->job_home, err);
	else
		a->job_home = gpc_strdup(a->home);
	if (r == 0 && ckpt)
		r = gpc_agent_path(a, ckpt, "checkpoint.path",
			&a->checkpoint_dir, err);
	else if (r == 0)
		a->checkpoint_dir = gpc_path_join(a->home, "checkpoint");
	if (r == 0 && (gpc_eq(a->checkpoint_dir, a->workdir)
		|| gpc_eq(a->checkpoint_dir, a->home)))
		r = gpc_fail(err, GPC_ECONFIG, "checkpoint.path: %s is the whole "
			"workdir; name a folder in it", ckpt);
	if (r == 0)
		r = gpc_mkdirs(a->workdir, 0755, err);
	if (r == 0)
		r = link_self(a, err);
	if (r == 0)
		r = gpc_open(a->metrics_path, O_WRONLY | O_CREAT | O_APPEND,
			0600, &fd, err);
	return r;
}

static int restore_workspace(struct gpc_agent *a,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct gpc_restore_options o = { .overwrite = true, .cancel = cancel };
	gpc_autoptr(gpc_json) *head = NULL;
	int r;

	if (!a->job.workspace)
		return 0;
	r = gpc_snapshot_get_head(a->store, "blobs/", a->job.workspace, &head,
		err);
	if (r == 0)
		r = gpc_snapshot_restore(a->store, head, "blobs/", a->workdir,
			&o, err);
	return gpc_wrap(err, r, "workspace");
}

static const struct gpc_json *part_of(const struct gpc_checkpoint *c, int rank)
{
	const struct gpc_json *head = NULL;

	/* One part is rank 0's, which every rank goes on from. */
	gpc_vec_each(p, &c->parts)
		if (p->rank == rank || (!head && c->parts.n == 1))
			head = p->head;
	return head;
}

static int restore_checkpoint(struct gpc_agent *a,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct gpc_restore_options o = { .overwrite = true, .cancel = cancel };
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	const struct gpc_json *head;
	gpc_key prefix;
	int r = gpc_mkdirs(a->checkpoint_dir, 0755, err);

	if (r < 0 || !a->resume_from)
		return r;
	r = gpc_checkpoint_get(a->store, a->job.id, a->resume_from, &c, err);
	head = r == 0 ? part_of(&c, a->rank) : NULL;
	if (r == 0 && !head)
		return 0;
	if (r == 0)
		r = gpc_snapshot_restore(a->store, head, gpc_key_attempt(prefix,
			a->job.id, c.attempt, "blobs/"), a->checkpoint_dir, &o,
			err);
	GPC_CRASH("agent.checkpoint_restored");
	a->restored = r == 0;
	return gpc_whole_blame(a->store, a->job.id, a->resume_from,
		GPC_WHOLE_DEEP, GPC_WHOLE_RESUME, cancel, r, err);
}

static int restore_all(struct gpc_agent *a, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	int r = restore_workspace(a, cancel, err);

	GPC_CRASH("agent.workspace_restored");
	if (r == 0)
		r = gpc_mounts_restore(a, cancel, err);
	if (r == 0)
		r = gpc_buckets_restore(a, cancel, err);
	if (r == 0)
		r = gpc_mirrors_begin(a, cancel, err);
	return r < 0 ? r : restore_checkpoint(a, cancel, err);
}

int gpc_restore_task(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	struct gpc_agent *a = arg;
	int64_t end = gpc_boot_ms() + RETRY_MAX_MS;
	gpc_autostr *said = NULL;

	for (;;) {
		int r = restore_all(a, cancel, err);

		if (r == 0 || !gpc_agent_may_retry(err) || gpc_canceled(cancel)
			|| gpc_boot_ms() >= end)
			return r;
		if (!gpc_eq(said, err->msg))
			gpc_agent_say(a, GPC_WARN, "%s; tries again", err->msg);
		gpc_set_str(&said, err->msg);
		for (int i = 0; i < 10 && !gpc_canceled(cancel); i++)
			gpc_sleep_ms(RETRY_MS / 10);
	}
}
