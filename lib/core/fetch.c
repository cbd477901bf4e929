/* Results come down as plain files, each atomic, none outside its folder. */
#include "core/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/draft.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "record/facts.h"
#include "record/keys.h"
#include "record/whole.h"
#include "snapshot/beneath.h"
#include "snapshot/snapshot.h"

struct artifact_job {
	struct gpc_session *session;
	size_t skip;                  /* length of the common key prefix */
	const char *dir;
	struct gpc_beneath below;     /* of dir: no link leads out of it */
	bool overwrite;
	struct gpc_fetched *done;
	struct gpc_strv keys;
};

static int collect_key(void *arg, const struct gpc_object *o)
{
	struct artifact_job *a = arg;

	return gpc_strv_try_add(&a->keys, o->key) ? 0 : GPC_LIST_NO_MEMORY;
}

static int to_fd(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	return gpc_write_all(*(int *)arg, data, n, "artifact", err);
}

/* Into the folder at, where nobody sees it before it is whole. */
static int get_to_file(struct artifact_job *a, const char *key, int at,
	const char *name, struct gpc_error *err)
{
	struct gpc_object o = {0};
	struct gpc_draft d;
	int r, sys = gpc_draft_open(&d, at, 0666);

	if (sys)
		return gpc_fail_sys(err, sys, "create %s", name);
	r = gpc_store_get_range(a->session->store, key, 0, -1, to_fd, &d.fd, &o,
		err);
	GPC_CRASH("fetch.written");
	if (r < 0) {
		gpc_draft_drop(&d);
		return r;
	}
	sys = gpc_draft_commit(&d, name);
	if (sys)
		return gpc_fail_sys(err, sys, "write %s", name);
	a->done->bytes += o.size;
	return 0;
}

static int fetch_one(struct artifact_job *a, const char *key,
	struct gpc_error *err)
{
	gpc_autostr *relative = gpc_key_unescape(key + a->skip);
	const char *name = NULL;
	struct stat st;
	int at = -1, r;

	if (!relative || !gpc_path_is_inside(relative))
		return gpc_fail(err, GPC_EPROTO,
			"artifact '%s' would be written outside %s",
			key + a->skip, a->dir);
	r = gpc_beneath_parent(&a->below, relative, GPC_BENEATH_CREATE, &at,
		&name, err);
	if (r == 0 && !a->overwrite) {
		if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			a->done->kept++;
			return 0;
		}
		if (errno != ENOENT)
			r = gpc_fail_sys(err, errno, "look for %s", name);
	}
	if (r == 0)
		r = get_to_file(a, key, at, name, err);
	if (r < 0)
		return gpc_wrap(err, r, "artifact '%s' to %s", relative, a->dir);
	a->done->files++;
	return 0;
}

int gpc_fetch_artifacts(struct gpc_session *s, const char *job, const char *dir,
	bool overwrite, struct gpc_fetched *ret_f, struct gpc_error *err)
{
	struct gpc_fetched done = {0};
	struct artifact_job a = {
		.session = s, .dir = dir, .overwrite = overwrite, .done = &done,
	};
	gpc_key prefix;
	int r;

	gpc_key_job_file(prefix, job, "artifacts/");
	a.skip = strlen(prefix);
	r = gpc_store_list(s->store, prefix, NULL, collect_key, &a, err);
	if (r == 0 && a.keys.n)
		r = gpc_mkdirs(dir, 0777, err);
	if (r == 0 && a.keys.n)
		r = gpc_beneath_open(&a.below, dir, err);
	for (size_t i = 0; r == 0 && i < a.keys.n; i++)
		r = fetch_one(&a, a.keys.v[i], err);
	gpc_strv_clear(&a.keys);
	gpc_beneath_clear(&a.below);
	if (r == 0)
		*ret_f = done;
	return gpc_wrap(err, r, "pull %s", job);
}

/* --- checkpoints ------------------------------------------------------------- */
static int choose(struct gpc_session *s, const char *job, const char *id,
	char **ret_id, struct gpc_error *err)
{
	int r;

	if (id) {
		*ret_id = gpc_strdup(id);
		return 0;
	}
	r = gpc_facts_newest_checkpoint(s->store, job, INT32_MAX, ret_id, err);
	if (r == 0 && !*ret_id)
		r = gpc_fail(err, GPC_ENOTFOUND, "job %s has no checkpoint", job);
	return r;
}

/* A folder that we made for nothing is not left empty. */
static void undo_folder(const char *dir, bool made)
{
	if (made)
		rmdir(dir);     /* unless something is in it */
}

static int fetch_part(struct gpc_session *s, const char *job,
	const struct gpc_checkpoint *c, const struct gpc_checkpoint_part *part,
	const char *dir, bool overwrite, struct gpc_fetched *done,
	struct gpc_error *err)
{
	struct gpc_restore_kept kept = {0};
	struct gpc_restore_options options = {
		.overwrite = overwrite, .cancel = s->cancel, .ret_kept = &kept,
	};
	struct stat st;
	bool made = lstat(dir, &st) < 0 && errno == ENOENT;
	gpc_key prefix;
	int r = gpc_mkdirs(dir, 0777, err);

	gpc_key_attempt(prefix, job, c->attempt, "blobs/");
	if (r == 0)
		r = gpc_snapshot_restore(s->store, part->head, prefix, dir,
			&options, err);
	if (r < 0)
		undo_folder(dir, made);
	if (r == 0) {
		done->files += (uint64_t)gpc_json_get_int(part->head, "files", 0)
			- kept.files;
		done->bytes += (uint64_t)gpc_json_get_int(part->head, "bytes", 0)
			- kept.bytes;
		done->kept += kept.files;
	}
	return r;
}

int gpc_fetch_checkpoint(struct gpc_session *s, const char *job, const char *id,
	int rank, const char *dir, bool overwrite, struct gpc_fetched *ret_f,
	struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	gpc_autostr *chosen = NULL;
	struct gpc_fetched done = {0};
	struct stat st;
	bool any = false, made = lstat(dir, &st) < 0 && errno == ENOENT;
	int r = choose(s, job, id, &chosen, err);

	if (r == 0)
		r = gpc_checkpoint_get(s->store, job, chosen, &c, err);
	for (size_t i = 0; r == 0 && i < c.parts.n; i++) {
		const struct gpc_checkpoint_part *p = &c.parts.v[i];
		gpc_autostr *below = rank < 0 && c.parts.n > 1 ?
			gpc_format("%s/rank-%d", dir, p->rank) : gpc_strdup(dir);

		if (rank >= 0 && p->rank != rank)
			continue;
		any = true;
		r = fetch_part(s, job, &c, p, below, overwrite, &done, err);
	}
	if (r < 0)              /* the one above those of several ranks */
		undo_folder(dir, made);
	if (chosen)
		r = gpc_whole_blame(s->store, job, chosen, GPC_WHOLE_DEEP,
			GPC_WHOLE_PULL, s->cancel, r, err);
	if (r == 0 && !any)
		r = gpc_fail(err, GPC_ENOTFOUND,
			"checkpoint %s has no part of rank %d", chosen, rank);
	if (r == 0)
		*ret_f = done;
	return r;
}
