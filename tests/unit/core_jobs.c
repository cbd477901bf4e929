/* Jobs that are submitted, saved, ended and removed, with real bytes in the store
 * but with nobody who runs them. */
#include "core_jobs.h"

#include <stdio.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/census.h"
#include "core/request.h"
#include "core/submit.h"
#include "core/view.h"
#include "record/checkpoint.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

/* Not synced: hundreds of them are made. */
static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

char *lab_folder(struct lab *lab, const char *name, const char *text)
{
	char *dir = gpc_path_join(lab->dir, name);
	gpc_autostr *own = gpc_path_join(dir, "own");
	gpc_autostr *same = gpc_path_join(dir, "same");
	struct gpc_error err;

	assert_ok(gpc_mkdirs(dir, 0700, &err));
	put_file(own, text);
	put_file(same, "all alike");
	return dir;
}

int lab_submit(struct gpc_session *s, const char *workdir, const char *once,
	char job[GPC_JOB_ID_SIZE], struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_mounts) struct gpc_mounts mounts = {0};
	struct gpc_submit_options options = { .once_key = once };
	struct gpc_submit_result res = {0};
	int r;

	lab_spec("\"checkpoint\":{\"path\":\"ck\"}", &spec);
	gpc_set_str(&spec.workdir, workdir);
	gpc_pairs_set(&spec.secrets, "TOKEN", "t");
	r = gpc_submit_scan(s, &spec, false, false, &tree, err);
	if (r < 0)
		return r;
	r = gpc_submit(s, &spec, &tree, &mounts, &options, &res, err);
	memcpy(job, res.job, sizeof(res.job));
	return r;
}

void lab_event(struct lab *lab, const char *job, enum gpc_event_type type,
	const char *text)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_json *data = NULL;
	struct gpc_error err;

	gpc_journal_init(&j, lab_inner(lab), job, "test");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_ok(gpc_json_parse(text, strlen(text), &data, &err));
	assert_ok(gpc_journal_append(&j, type, data, &err));
}

void lab_end(struct lab *lab, const char *job)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err;

	lab_event(lab, job, GPC_EVENT_ENDED, "{\"reason\":\"no_capacity\"}");
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	assert_ok(gpc_index_put_done(lab_inner(lab), &v.job, &v.state, &err));
}

void lab_attempt(struct lab *lab, const char *job, int n)
{
	gpc_autostr *text = gpc_format("{\"attempt\":%d}", n);

	lab_event(lab, job, GPC_EVENT_ATTEMPT, text);
}

void lab_save(struct lab *lab, const char *job, int a, int n)
{
	gpc_autostr *name = gpc_format("ck-%d-%d", a, n);
	gpc_autostr *dir = lab_folder(lab, name, name);
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_save_result) struct gpc_save_result saved = {0};
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = { .v = 1 };
	struct gpc_save_options o = {0};
	struct gpc_checkpoint_part *part = gpc_vec_push(&c.parts);
	struct gpc_error err;
	gpc_key prefix;

	o.prefix = gpc_key_attempt(prefix, job, a, "blobs/");
	assert_ok(gpc_scan(dir, &(struct gpc_scan_options){0}, &tree, &err));
	assert_ok(gpc_snapshot_save(lab_inner(lab), &tree, &o, false, &saved,
		&err));
	part->head = gpc_json_copy(saved.head);
	c.id = gpc_format("%d-%d-auto", a, n);
	c.attempt = a;
	c.n = n;
	c.label = gpc_strdup("auto");
	c.at_ms = gpc_wall_ms();
	assert_ok(gpc_checkpoint_put(lab_inner(lab), job, &c, &err));
}

void lab_ended(struct lab *lab, int checkpoints, char job[GPC_JOB_ID_SIZE])
{
	gpc_autostr *dir = lab_folder(lab, "work", "first");
	struct gpc_error err;

	assert_ok(lab_submit(lab->s, dir, NULL, job, &err));
	lab_attempt(lab, job, 1);
	for (int i = 1; i <= checkpoints; i++)
		lab_save(lab, job, 1, i);
	lab_end(lab, job);
}

int lab_mark_blob(void *arg, const char *hex, uint64_t size, struct gpc_error *e)
{
	(void)size;
	(void)e;
	gpc_map_set(arg, hex, arg);
	return 0;
}

void assert_whole(struct lab *lab, const char *job, int a, bool exact)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_auto(gpc_map) struct gpc_map needed = {0};
	struct gpc_error err;
	gpc_key prefix;

	gpc_key_attempt(prefix, job, a, "blobs/");
	assert_ok(gpc_checkpoint_list(lab_inner(lab), job, &ids, &err));
	for (size_t i = 0; i < ids.n; i++) {
		gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};

		if (ids.v[i].attempt != a)
			continue;
		assert_ok(gpc_checkpoint_get(lab_inner(lab), job, ids.v[i].id, &c,
			&err));
		assert_ok(gpc_snapshot_blobs(lab_inner(lab), c.parts.v[0].head,
			prefix, lab_mark_blob, &needed, &err));
	}
	for (size_t i = 0; i < needed.n; i++) {
		char key[520];

		gpc_blob_key(prefix, needed.entries[i].key, key);
		assert_ok(gpc_store_head(lab_inner(lab), key, NULL, &err));
	}
	if (exact)
		assert_int_equal(count_keys(lab_inner(lab), prefix, NULL),
			needed.n);
}

int lab_resume(struct gpc_session *s, const char *job, const char *from,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs secrets = {0};

	gpc_pairs_set(&secrets, "TOKEN", "t");
	return gpc_request_resume(s, job, from, &secrets, err);
}

int lab_remove_all(struct gpc_session *s, int64_t older_ms, bool all_users,
	struct gpc_removals *x, struct gpc_error *err)
{
	struct gpc_remove_options o = { .older_ms = older_ms,
		.all_users = all_users };
	gpc_auto(gpc_census) struct gpc_census c = {0};
	int r = gpc_census_take(s, &c, err);

	gpc_removals_clear(x);
	if (r == 0)
		r = gpc_remove_find(s, &c, &o, x, err);
	for (size_t i = 0; r == 0 && i < x->n; i++)
		r = gpc_remove_job(s, &o, &x->v[i], err);
	return r;
}
