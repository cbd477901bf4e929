/* Submitting, in an order in which every prefix is harmless: blobs (swept when
 * unreferenced), secrets (deleted by whoever meets them without a job), the
 * index entry (ignored without job.json), job.json (the commit), the first
 * event (a supervisor adds it when it is missing). */
#include "core/bundle_send.h"
#include "core/submit.h"

#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "core/kept.h"
#include "core/own_folders.h"
#include "core/supervise.h"
#include "record/hooks.h"
#include "record/index.h"
#include "record/job.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/secrets.h"

#define PUT_TRIES 6
#define SAVE_TRIES 3
#define CLAIM_MAX ((size_t)256)

static void exclude_checkpoints(const struct gpc_spec *spec,
	struct gpc_strv *exclude)
{
	const char *path = spec->checkpoint.path;

	if (path && path[0] != '/')
		gpc_strv_take(exclude, gpc_path_join(spec->workdir, path));
	else if (path)
		gpc_strv_add(exclude, path);
}

int gpc_submit_scan(struct gpc_session *s, const struct gpc_spec *spec,
	bool with_git, bool skip_unreadable, struct gpc_tree *ret_tree,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv exclude = {0};
	struct gpc_scan_options options = {
		.ignore_files = true,
		.with_git = with_git,
		.exclude = &exclude,
		.unreadable = skip_unreadable ? GPC_UNREADABLE_SKIP :
			GPC_UNREADABLE_FAIL,
		.cancel = s ? s->cancel : NULL,
	};
	int r = 0;

	if (!spec->workdir) {
		*ret_tree = (struct gpc_tree) {0};
		return 0;
	}
	exclude_checkpoints(spec, &exclude);
	if (s)
		gpc_own_folders_add(s, &exclude);
	if (s)
		r = gpc_own_folders_check(s, spec->workdir, err);
	if (r == 0)
		r = gpc_scan(spec->workdir, &options, ret_tree, err);
	return gpc_wrap(err, r, "workdir");
}

static int pack_tree(struct gpc_session *s, const struct gpc_tree *tree,
	const struct gpc_submit_options *options, char **ret_head,
	struct gpc_submit_result *res, struct gpc_error *err)
{
	gpc_auto(gpc_save_result) struct gpc_save_result saved = {0};
	gpc_autostr *cache = NULL;
	struct gpc_save_options save = {
		.prefix = "blobs/",
		.cancel = s->cancel,
		.progress = options->progress,
		.progress_arg = options->progress_arg,
	};
	int r = gpc_mkdirs(s->place.cache_dir, 0700, NULL);

	/* Without its cache packing is slower, not wrong. */
	cache = gpc_path_join(s->place.cache_dir, "files");
	save.cache_path = r == 0 ? cache : NULL;
	/* A conflict: a sweep took an old blob just when it was renewed. */
	for (int i = 0; i < SAVE_TRIES; i++) {
		r = gpc_snapshot_save(s->store, tree, &save, true, &saved, err);
		if (r != -GPC_ECONFLICT)
			break;
	}
	GPC_CRASH("submit.blobs_put");
	if (r < 0)
		return gpc_wrap(err, r, "pack %s", tree->root);
	*ret_head = gpc_strdup(saved.head_blob);
	res->files += saved.n_files;
	res->bytes += saved.n_bytes;
	res->sent_bytes += saved.sent_bytes;
	return 0;
}

static int pack_mount(struct gpc_session *s, const struct gpc_mount *m,
	const struct gpc_submit_options *options, struct gpc_job *job,
	struct gpc_submit_result *res, struct gpc_error *err)
{
	struct gpc_job_mount *to;
	char *head;
	int r = pack_tree(s, &m->tree, options, &head, res, err);

	if (r < 0)
		return gpc_wrap(err, r, "file_mounts.%s", m->target);
	to = gpc_vec_push(&job->mounts);
	to->target = gpc_strdup(m->target);
	to->head = head;
	to->file = gpc_strdup(m->file);
	return 0;
}

static int pack_all(struct gpc_session *s, const struct gpc_tree *tree,
	const struct gpc_mounts *mounts,
	const struct gpc_submit_options *options, struct gpc_job *job,
	struct gpc_submit_result *res, struct gpc_error *err)
{
	int r = 0;

	if (tree->root)
		r = pack_tree(s, tree, options, &job->workspace, res, err);
	for (size_t i = 0; r == 0 && i < mounts->n; i++)
		r = pack_mount(s, &mounts->v[i], options, job, res, err);
	return r;
}

static bool is_unclear(int r)
{
	return r == -GPC_ETIMEOUT || r == -GPC_ENET || r == -GPC_ERATE;
}

/* After an unclear answer the same bytes go out again. *ret_repeated (may be
 * NULL): a conflict may be with our own earlier put. */
static int put_text(struct gpc_store *s, const char *key, const char *text,
	unsigned flags, bool *ret_repeated, struct gpc_error *err)
{
	int64_t pause = 100;
	int r;

	for (int i = 0; i < PUT_TRIES; i++) {
		r = gpc_store_put(s, key, text, strlen(text), flags, err);
		if (!is_unclear(r) || i == PUT_TRIES - 1)
			break;
		if (ret_repeated)
			*ret_repeated = true;
		gpc_sleep_ms(pause);
		pause *= 2;
	}
	return r;
}

static int put_json(struct gpc_store *s, const char *key, struct gpc_json *j,
	unsigned flags, bool *ret_repeated, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *owned = j;
	gpc_autostr *text = NULL;
	int r = gpc_json_try_print(owned, GPC_JOB_MAX_BYTES, &text, err);

	return r < 0 ? gpc_wrap(err, r, "%s", key) : put_text(s, key, text, flags, ret_repeated, err);
}

/* "<id> <created ms>": both, so that whoever finishes a submit that was cut
 * short finds the same index entry. */
static int read_claim(const char *key, struct gpc_str text, struct gpc_job *job,
	struct gpc_error *err)
{
	struct gpc_str rest = gpc_str_trim(text), id, at;
	gpc_autostr *digits = NULL;
	int64_t created_ms = 0;
	int r = 0;

	if (!gpc_str_split(&rest, ' ', &id) || id.len == 0 ||
		id.len >= GPC_JOB_ID_SIZE)
		return gpc_fail(err, GPC_EPROTO, "%s: not a job id", key);
	if (gpc_str_split(&rest, ' ', &at)) {
		digits = gpc_strndup(at.ptr, at.len);
		r = gpc_parse_i64(digits, 1, INT64_MAX, key, &created_ms, err);
	}
	if (r < 0)
		return r;
	free(job->id);
	job->id = gpc_strndup(id.ptr, id.len);
	if (created_ms)
		job->created_ms = created_ms;
	return 0;
}

/* The job of an old claim may be on its way out: nothing is to be made of what
 * is left of it, and a moment later its claim is gone. */
static int check_stays(struct gpc_session *s, const char *job,
	struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int r;

	gpc_journal_init(&j, s->store, job, "");
	r = gpc_journal_refresh(&j, NULL, NULL);
	if (r < 0 || !j.state.removing)
		return 0;               /* whoever needs it says what is wrong */
	r = gpc_fail(err, GPC_ECONFLICT, "job %s of this --once key is being "
		"removed by `gpucloud prune`", job);
	gpc_hint(err, "the same again makes a new job when that is done");
	return r;
}

/* Claims the key for this job; when an earlier submit has it, job becomes the
 * one that it claimed it for. */
static int claim_once(struct gpc_session *s, const char *once_key,
	struct gpc_job *job, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *text = gpc_format("%s %lld\n", job->id,
		(long long)job->created_ms);
	gpc_key key;
	int r;

	gpc_key_once(key, s->place.owner.hash, once_key);
	r = put_text(s->store, key, text, GPC_PUT_IF_ABSENT, NULL, err);
	GPC_CRASH("submit.once_put");
	if (r != -GPC_ECONFLICT)
		return r;
	r = gpc_store_get(s->store, key, CLAIM_MAX, &b, err);
	if (r == 0)
		r = read_claim(key, (struct gpc_str){ b.data, b.len }, job, err);
	return r < 0 ? r : check_stays(s, job->id, err);
}

static void fill_job(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_submit_options *options, struct gpc_job *job)
{
	char tail[8];

	job->v = 1;
	gpc_rand_base32(tail, 6);
	job->name = gpc_strdup(spec->name);
	job->original_name = gpc_strdup(spec->original_name);
	job->id = gpc_format("%s-%s", spec->name, tail);
	job->kind = gpc_strdup("job");
	job->created_ms = gpc_wall_ms();
	job->owner.hash = gpc_strdup(s->place.owner.hash);
	job->owner.user = gpc_strdup(s->place.owner.user);
	job->owner.host = gpc_strdup(s->place.owner.host);
	job->spec = gpc_spec_to_json(spec);
	job->workdir = gpc_strdup(spec->workdir);
	if (options->git && options->git->root) {
		const struct gpc_spec_git *git = &spec->workdir_git;

		job->git.url = gpc_strdup(git->url);
		job->git.ref = gpc_strdup(git->ref);
		job->git.commit = gpc_strdup(options->git->commit);
		job->workdir = gpc_git_describe(git->url, git->ref,
			options->git->commit);
	}
	job->cloudwatch = gpc_strdup(s->options.aws_cloudwatch);
	if (options->supervisor) {
		job->supervisor.profile = gpc_strdup(options->supervisor->profile);
		job->supervisor.life_ms = options->supervisor->life_ms;
	}
	if (options->buckets)
		gpc_bucket_mounts_note(options->buckets, job);
	job->once_key = gpc_strdup(options->once_key);
	gpc_session_describe_local(s, &job->local);
	gpc_vec_each(p, &spec->secrets)
		gpc_strv_add(&job->secrets, p->key);
}

static int put_first_event(struct gpc_session *s, const char *job,
	int num_nodes, struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal journal = {0};
	gpc_autostr *by = gpc_session_by(s, "client");
	struct gpc_json *data = gpc_json_object();
	int r;

	gpc_journal_init(&journal, s->store, job, by);
	gpc_json_set_int(data, "num_nodes", num_nodes);
	r = gpc_journal_append(&journal, GPC_EVENT_SUBMITTED, data, err);
	return r == -GPC_ECONFLICT ? 0 : r;
}

int gpc_submit_finish(struct gpc_session *s, const char *id,
	struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	int r = gpc_job_get_spec(s->store, id, &job, &spec, err);

	if (r < 0)
		return gpc_wrap(err, r, "job %s", id);
	return put_first_event(s, id, spec.num_nodes, err);
}

static bool has_hooks(const struct gpc_spec *spec)
{
	gpc_vec_each(x, &spec->notify)
		if (x->url)
			return true;
	return false;
}

/* Of a job that certainly was not made; else the sweep sees to it. */
static int forget_secrets(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_job *job, int r)
{
	gpc_key key;

	if ((!job->secrets.n && !has_hooks(spec)) || is_unclear(r) || gpc_store_head(s->store,
		gpc_key_job(key, job->id), NULL, NULL) != -GPC_ENOTFOUND)
		return r;
	if (gpc_store_del(s->store, gpc_key_secrets(key, job->id, NULL), NULL) < 0 ||
		gpc_hooks_drop(s->store, job->id, NULL) < 0)
		gpc_log(s->log, GPC_WARN, "%s is left in the store", key);
	return r;
}

static int write_records(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_job *job, struct gpc_tether *tether,
	bool *ret_existed, struct gpc_error *err)
{
	struct gpc_error why = {0};
	bool repeated = false;
	gpc_key key;
	int r = gpc_secrets_put(s->store, job->id, NULL, &spec->secrets, err);

	if (r == 0)
		r = gpc_hooks_put(s->store, job->id, &spec->notify, err);
	GPC_CRASH("submit.secrets_put");
	/* Before the job: from its first moment on it is tethered. */
	if (r == 0 && tether)
		r = gpc_tether_put(tether, s->store, job->id, err);
	GPC_CRASH("submit.tether_put");
	if (r == 0)
		r = gpc_index_put_live(s->store, job, err);
	GPC_CRASH("submit.live_put");
	if (r < 0)
		return forget_secrets(s, spec, job, r);
	r = put_json(s->store, gpc_key_job(key, job->id), gpc_job_write(job),
		GPC_PUT_IF_ABSENT, &repeated, err);
	GPC_CRASH("submit.job_put");
	*ret_existed = r == -GPC_ECONFLICT && !repeated;
	if (r < 0 && r != -GPC_ECONFLICT)
		return forget_secrets(s, spec, job, r);
	/* The commit is behind us, so this is not the submit's failure: whoever
	 * needs the event next adds it. */
	if (put_first_event(s, job->id, spec->num_nodes, &why) < 0)
		gpc_log(s->log, GPC_WARN, "%s", why.msg);
	gpc_supervisor_wake(s);
	if (!*ret_existed)
		gpc_keep_job(s, job);
	GPC_CRASH("submit.done");
	return 0;
}

static int job_exists(struct gpc_session *s, const char *id, bool *ret_exists,
	struct gpc_error *err)
{
	struct gpc_object o;
	gpc_key key;
	int r = gpc_store_head(s->store, gpc_key_job(key, id), &o, err);

	*ret_exists = r == 0;
	return r == -GPC_ENOTFOUND ? 0 : r;
}

int gpc_submit(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_tree *tree, const struct gpc_mounts *mounts,
	const struct gpc_submit_options *options,
	struct gpc_submit_result *ret_r, struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	struct gpc_submit_result res = {0};
	int r = 0;

	fill_job(s, spec, options, &job);
	if (options->once_key) {
		r = claim_once(s, options->once_key, &job, err);
		if (r == 0)
			r = job_exists(s, job.id, &res.existed, err);
	}
	snprintf(res.job, sizeof(res.job), "%s", job.id);
	if (r == 0 && res.existed)
		r = gpc_submit_finish(s, job.id, err);
	if (r == 0 && res.existed)
		*ret_r = res;
	if (r < 0 || res.existed)
		return r;
	r = pack_all(s, tree, mounts, options, &job, &res, err);
	if (r == 0 && gpc_bundle_is_needed(spec))
		r = gpc_bundles_send(s, options->archs, &job.bundles, err);
	/* the last moment at which an interrupt leaves nothing behind */
	if (r == 0 && gpc_canceled(s->cancel))
		r = gpc_fail(err, GPC_ECANCELED, "interrupted");
	if (r == 0)
		r = write_records(s, spec, &job, options->tether,
			&res.existed, err);
	if (r < 0)
		return gpc_wrap(err, r, "submit %s", job.name);
	*ret_r = res;
	return 0;
}
