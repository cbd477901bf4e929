/* Removing: what goes is decided in the journal, a crash anywhere leaves only
 * what the next run takes, and nothing that anybody needs goes. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/census.h"
#include "core/prune.h"
#include "core/remove.h"
#include "core/request.h"
#include "core/submit.h"
#include "core/sweep.h"
#include "core/view.h"
#include "core_lab.h"
#include "record/checkpoint.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

#define DAY (INT64_C(24) * 60 * MINUTE)

static struct gpc_error err;

static struct gpc_store *inner(struct lab *lab)
{
	return lab->inner ? lab->inner : lab->s->store;
}

struct count { int n; const char *part; };

static int count_key(void *arg, const struct gpc_object *o)
{
	struct count *c = arg;

	c->n += !c->part || strstr(o->key, c->part);
	return 0;
}

static int count(struct lab *lab, const char *prefix, const char *part)
{
	struct count c = { .part = part };

	assert_ok(gpc_store_list(inner(lab), prefix, NULL, count_key, &c, &err));
	return c.n;
}

/* --- jobs with bytes -------------------------------------------------------- */

/* Not synced: hundreds of them are made. */
static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* A folder with a file that is the same for all, and one of its own. */
static char *folder(struct lab *lab, const char *name, const char *text)
{
	char *dir = gpc_path_join(lab->dir, name);
	gpc_autostr *own = gpc_path_join(dir, "own");
	gpc_autostr *same = gpc_path_join(dir, "same");

	assert_ok(gpc_mkdirs(dir, 0700, &err));
	put_file(own, text);
	put_file(same, "all alike");
	return dir;
}

static int submit(struct gpc_session *s, const char *workdir, const char *once,
	char job[GPC_JOB_ID_SIZE])
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
	assert_ok(gpc_submit_scan(s, &spec, false, false, &tree, &err));
	r = gpc_submit(s, &spec, &tree, &mounts, &options, &res, &err);
	memcpy(job, res.job, sizeof(res.job));
	return r;
}

static void event(struct lab *lab, const char *job, enum gpc_event_type type,
	const char *text)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_json *data = NULL;

	gpc_journal_init(&j, inner(lab), job, "test");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_ok(gpc_json_parse(text, strlen(text), &data, &err));
	assert_ok(gpc_journal_append(&j, type, data, &err));
}

static void end(struct lab *lab, const char *job)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};

	event(lab, job, GPC_EVENT_ENDED, "{\"reason\":\"no_capacity\"}");
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	assert_ok(gpc_index_put_done(inner(lab), &v.job, &v.state, &err));
}

static void attempt(struct lab *lab, const char *job, int n)
{
	gpc_autostr *text = gpc_format("{\"attempt\":%d}", n);

	event(lab, job, GPC_EVENT_ATTEMPT, text);
}

/* A whole checkpoint whose bytes are there. */
static void save(struct lab *lab, const char *job, int a, int n)
{
	gpc_autostr *name = gpc_format("ck-%d-%d", a, n);
	gpc_autostr *dir = folder(lab, name, name);
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_save_result) struct gpc_save_result saved = {0};
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = { .v = 1 };
	struct gpc_save_options o = {0};
	struct gpc_checkpoint_part *part = gpc_vec_push(&c.parts);
	gpc_key prefix;

	o.prefix = gpc_key_attempt(prefix, job, a, "blobs/");
	assert_ok(gpc_scan(dir, &(struct gpc_scan_options){0}, &tree, &err));
	assert_ok(gpc_snapshot_save(inner(lab), &tree, &o, false, &saved, &err));
	part->head = gpc_json_copy(saved.head);
	c.id = gpc_format("%d-%d-auto", a, n);
	c.attempt = a;
	c.n = n;
	c.label = gpc_strdup("auto");
	c.at_ms = gpc_wall_ms();
	assert_ok(gpc_checkpoint_put(inner(lab), job, &c, &err));
}

/* A job that ended with so many checkpoints. */
static void ended(struct lab *lab, int checkpoints, char job[GPC_JOB_ID_SIZE])
{
	gpc_autostr *dir = folder(lab, "work", "first");

	assert_ok(submit(lab->s, dir, NULL, job));
	attempt(lab, job, 1);
	for (int i = 1; i <= checkpoints; i++)
		save(lab, job, 1, i);
	end(lab, job);
}

static int mark(void *arg, const char *hex, uint64_t size, struct gpc_error *e)
{
	(void)size;
	(void)e;
	gpc_map_set(arg, hex, arg);
	return 0;
}

/* Every head's blobs are there, and with `exact` no other one. */
static void assert_whole(struct lab *lab, const char *job, int a, bool exact)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_auto(gpc_map) struct gpc_map needed = {0};
	gpc_key prefix;

	gpc_key_attempt(prefix, job, a, "blobs/");
	assert_ok(gpc_checkpoint_list(inner(lab), job, &ids, &err));
	for (size_t i = 0; i < ids.n; i++) {
		gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};

		if (ids.v[i].attempt != a)
			continue;
		assert_ok(gpc_checkpoint_get(inner(lab), job, ids.v[i].id, &c,
			&err));
		assert_ok(gpc_snapshot_blobs(inner(lab), c.parts.v[0].head,
			prefix, mark, &needed, &err));
	}
	for (size_t i = 0; i < needed.n; i++) {
		char key[520];

		gpc_blob_key(prefix, needed.entries[i].key, key);
		assert_ok(gpc_store_head(inner(lab), key, NULL, &err));
	}
	if (exact)
		assert_int_equal(count(lab, prefix, NULL), needed.n);
}

static void assert_heads(struct lab *lab, const char *job, const char *want)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	gpc_autostr *text = NULL;

	assert_ok(gpc_checkpoint_list(inner(lab), job, &ids, &err));
	for (size_t i = 0; i < ids.n; i++)
		gpc_strv_add(&words, ids.v[i].id);
	text = gpc_strv_join(&words, " ");
	assert_string_equal(text, want);
}

static int prune(struct gpc_session *s, const char *job, int keep,
	enum gpc_prune_how *ret_how)
{
	struct gpc_prune_options o = { .keep = keep };
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};
	int r = gpc_prune_checkpoints(s, job, &o, &x, &err);

	*ret_how = x.how;
	return r;
}

static bool is_pruning(struct lab *lab, const char *job)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};

	gpc_journal_init(&j, inner(lab), job, "");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	return j.state.pruning;
}

static int resume(struct gpc_session *s, const char *job, const char *from)
{
	gpc_auto(gpc_pairs) struct gpc_pairs secrets = {0};

	gpc_pairs_set(&secrets, "TOKEN", "t");
	return gpc_request_resume(s, job, from, &secrets, &err);
}

/* --- checkpoints ------------------------------------------------------------- */

TEST(the_newest_stay)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;
	struct gpc_prune_options dry = { .keep = 1, .dry_run = true };
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};

	ended(lab, 5, job);
	assert_ok(gpc_prune_checkpoints(lab->s, job, &dry, &x, &err));
	assert_int_equal(x.how, GPC_PRUNE_WOULD);
	assert_int_equal(x.removed.n, 3);
	assert_true(x.swept.blobs > 0 && x.swept.bytes > 0);
	assert_heads(lab, job, "1-1-auto 1-2-auto 1-3-auto 1-4-auto 1-5-auto");
	/* Never fewer than two, whatever is asked. */
	assert_ok(prune(lab->s, job, 1, &how));
	assert_int_equal(how, GPC_PRUNE_DONE);
	assert_heads(lab, job, "1-4-auto 1-5-auto");
	assert_whole(lab, job, 1, true);
	assert_false(is_pruning(lab, job));
	assert_ok(prune(lab->s, job, 1, &how));
	assert_int_equal(how, GPC_PRUNE_NOTHING);
	assert_int_equal(lab_events(lab, job, "pruning"), 1);
	assert_ok(gpc_journal_verify(inner(lab), job, &err));
	assert_ok(resume(lab->s, job, NULL));
	lab_free(lab);
}

TEST(a_pinned_one_stays)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;

	ended(lab, 5, job);
	assert_fails(resume(lab->s, job, "1-9-auto"), GPC_ENOTFOUND);
	assert_ok(resume(lab->s, job, "1-1-auto"));
	end(lab, job);
	assert_ok(prune(lab->s, job, 2, &how));
	assert_heads(lab, job, "1-1-auto 1-4-auto 1-5-auto");
	assert_whole(lab, job, 1, true);
	lab_free(lab);
}

/* A job that lives is only asked: its agent does it. */
TEST(a_live_job_is_asked)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = folder(lab, "work", "x");
	char job[GPC_JOB_ID_SIZE];
	struct gpc_prune_options o = { .keep = 2 };
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};
	gpc_auto(gpc_prune_fact) struct gpc_prune_fact f = { .v = 1 };
	bool served = true;

	assert_ok(submit(lab->s, dir, NULL, job));
	attempt(lab, job, 1);
	for (int i = 1; i <= 3; i++)
		save(lab, job, 1, i);
	assert_ok(gpc_prune_checkpoints(lab->s, job, &o, &x, &err));
	assert_int_equal(x.how, GPC_PRUNE_ASKED);
	assert_heads(lab, job, "1-1-auto 1-2-auto 1-3-auto");
	assert_ok(gpc_prune_served(lab->s, job, x.event, &served, &x, &err));
	assert_false(served);
	f.request = x.event;
	gpc_strv_add(&f.removed, "1-1-auto");
	f.bytes = 7;
	assert_ok(gpc_prune_fact_put(inner(lab), job, 1, &f, &err));
	assert_ok(gpc_prune_served(lab->s, job, x.event, &served, &x, &err));
	assert_true(served);
	assert_int_equal(x.removed.n, 1);
	assert_int_equal(x.swept.bytes, 7);
	lab_free(lab);
}

TEST(nodes_that_may_save_are_waited_for)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = folder(lab, "work", "x");
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;

	assert_ok(submit(lab->s, dir, NULL, job));
	attempt(lab, job, 1);
	event(lab, job, GPC_EVENT_INTENT, "{\"attempt\":1,\"token\":\"t\","
		"\"request\":{\"count\":1}}");
	event(lab, job, GPC_EVENT_CREATED, "{\"intent\":3,\"nodes\":[{\"rank\":0,"
		"\"id\":\"n\",\"provider\":\"fake\"}]}");
	for (int i = 1; i <= 3; i++)
		save(lab, job, 1, i);
	event(lab, job, GPC_EVENT_ENDED, "{\"reason\":\"cancelled\"}");
	assert_fails(prune(lab->s, job, 2, &how), GPC_ECONFLICT);
	event(lab, job, GPC_EVENT_RELEASED,
		"{\"attempt\":1,\"rank\":0,\"id\":\"n\"}");
	assert_ok(prune(lab->s, job, 2, &how));
	assert_int_equal(how, GPC_PRUNE_DONE);
	lab_free(lab);
}

/* Cut short at its nth delete, listing or read; then whoever comes next, a
 * prune or a resume, ends it. */
static bool cut_short(enum gpc_fault_op op, unsigned nth, bool by_resume)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct gpc_fault f = { .op = op, .how = GPC_FAULT_BEFORE, .nth = nth,
		.code = GPC_EAUTH };
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;
	bool cut;

	ended(lab, 4, job);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	if (prune(lab->s, job, 2, &how) < 0)
		err.code = GPC_OK;
	cut = gpc_store_fault_count(lab->s->store, op) >= nth;
	gpc_store_fault_reset(lab->s->store);
	assert_whole(lab, job, 1, false);
	if (by_resume) {
		assert_ok(resume(lab->s, job, NULL));
	} else {
		assert_ok(prune(lab->s, job, 2, &how));
		assert_heads(lab, job, "1-3-auto 1-4-auto");
		assert_whole(lab, job, 1, true);
	}
	assert_false(is_pruning(lab, job));
	assert_ok(gpc_journal_verify(inner(lab), job, &err));
	lab_free(lab);
	return cut;
}

TEST(a_prune_that_was_cut_short_is_finished)
{
	static const enum gpc_fault_op ops[] = { GPC_FAULT_DEL, GPC_FAULT_LIST,
		GPC_FAULT_GET, GPC_FAULT_PUT };

	for (size_t i = 0; i < COUNT(ops); i++) {
		bool deletes = ops[i] == GPC_FAULT_DEL;
		unsigned n = 1;

		/* Every delete both ways, the others in turn. */
		while (cut_short(ops[i], n, n % 2) &&
			(!deletes || cut_short(ops[i], n, n % 2 == 0)))
			n++;
		assert_true(n > 1);
	}
}

struct meanwhile {
	struct lab *lab;
	struct gpc_session *s;        /* another client's */
	const char *job;
	bool resume;
	int calls;
};

static void other_client(void *arg)
{
	struct meanwhile *m = arg;
	enum gpc_prune_how how;

	if (m->calls++)
		return;
	assert_ok(prune(m->s, m->job, 2, &how));
	if (!m->resume)
		return;
	assert_ok(resume(m->s, m->job, NULL));
	attempt(m->lab, m->job, 2);
	for (int i = 1; i <= 3; i++)
		save(m->lab, m->job, 2, i);
}

/* The first deleter is stopped before one of its deletes; another one does all
 * of it, and the job may even have run on before the first one wakes up. */
static void two_pruners(bool resumed, unsigned nth)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	char job[GPC_JOB_ID_SIZE];
	struct meanwhile m = { .lab = lab, .job = job, .resume = resumed };
	struct gpc_fault f = { .op = GPC_FAULT_DEL, .how = GPC_FAULT_CALL,
		.nth = nth, .prefix = "jobs/", .call = other_client, .arg = &m };
	enum gpc_prune_how how;

	ended(lab, 5, job);
	m.s = lab_session(lab);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(prune(lab->s, job, 2, &how));
	gpc_store_fault_reset(lab->s->store);
	assert_int_equal(m.calls, 1);
	assert_heads(lab, job, resumed ? "1-4-auto 1-5-auto 2-1-auto 2-2-auto "
		"2-3-auto" : "1-4-auto 1-5-auto");
	assert_whole(lab, job, 1, true);
	assert_whole(lab, job, 2, true);
	assert_false(is_pruning(lab, job));
	assert_ok(gpc_journal_verify(inner(lab), job, &err));
	gpc_session_free(m.s);
	lab_free(lab);
}

TEST(two_pruners_agree)
{
	for (unsigned nth = 1; nth <= 5; nth++) {
		two_pruners(false, nth);
		two_pruners(true, nth);
	}
}

/* A head whose list is gone shows less than it needs: its attempt keeps all. */
TEST(damage_keeps_blobs)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	enum gpc_prune_how how;
	gpc_key prefix;
	char key[520];
	int before;

	ended(lab, 4, job);
	gpc_key_attempt(prefix, job, 1, "blobs/");
	assert_ok(gpc_checkpoint_get(inner(lab), job, "1-4-auto", &c, &err));
	gpc_blob_key(prefix, gpc_json_get_str(gpc_json_first(gpc_json_get(
		c.parts.v[0].head, "lists")), "sha256"), key);
	assert_ok(gpc_store_del(inner(lab), key, &err));
	before = count(lab, prefix, NULL);
	assert_ok(prune(lab->s, job, 2, &how));
	assert_heads(lab, job, "1-3-auto 1-4-auto");
	assert_int_equal(count(lab, prefix, NULL), before);
	assert_ok(resume(lab->s, job, "1-3-auto"));
	lab_free(lab);
}

/* --- jobs -------------------------------------------------------------------- */

static int remove_all(struct gpc_session *s, int64_t older_ms, bool all_users,
	struct gpc_removals *x)
{
	struct gpc_remove_options o = { .older_ms = older_ms,
		.all_users = all_users };
	gpc_auto(gpc_census) struct gpc_census c = {0};
	int r = gpc_census_take(s, &c, &err);

	gpc_removals_clear(x);
	if (r == 0)
		r = gpc_remove_find(s, &c, &o, x, &err);
	for (size_t i = 0; r == 0 && i < x->n; i++)
		r = gpc_remove_job(s, &o, &x->v[i], &err);
	return r;
}

TEST(old_jobs_go_with_all_they_left)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = folder(lab, "work", "x");
	char old[GPC_JOB_ID_SIZE], live[GPC_JOB_ID_SIZE], young[GPC_JOB_ID_SIZE];
	char again[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_removals) struct gpc_removals x = {0};

	assert_ok(submit(lab->s, dir, "key", old));
	attempt(lab, old, 1);
	save(lab, old, 1, 1);
	end(lab, old);
	assert_ok(submit(lab->s, dir, NULL, live));
	lab_advance(40 * DAY);
	ended(lab, 2, young);
	assert_ok(remove_all(lab->s, 30 * DAY, false, &x));
	assert_int_equal(x.n, 1);
	assert_string_equal(x.v[0].job, old);
	assert_true(x.v[0].done && x.v[0].objects > 4 && x.v[0].bytes > 0);
	assert_int_equal(count(lab, "", old), 0);
	assert_int_equal(count(lab, "once/", NULL), 0);
	assert_true(count(lab, "", live) > 2);
	assert_true(count(lab, "", young) > 2);
	assert_whole(lab, young, 1, true);
	/* The key is free: it makes a new job. */
	assert_ok(submit(lab->s, dir, "key", again));
	assert_string_not_equal(again, old);
	assert_ok(remove_all(lab->s, 30 * DAY, false, &x));
	assert_int_equal(x.n, 0);
	lab_free(lab);
}

/* Between any two steps nobody is shown a job of which half is gone. */
static void assert_not_broken(struct lab *lab, const char *job)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};

	assert_ok(gpc_index_list(inner(lab), 0, &index, &err));
	gpc_vec_each(e, &index)
		if (gpc_eq(e->job, job)) {
			assert_ok(gpc_view_load(lab->s, job, &v, &err));
			assert_ok(gpc_journal_verify(inner(lab), job, &err));
			assert_whole(lab, job, 1, true);
		}
}

static bool removal_cut(enum gpc_fault_op op, enum gpc_fault_how how,
	unsigned nth)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct gpc_fault f = { .op = op, .how = how, .nth = nth,
		.code = GPC_EAUTH };
	gpc_autostr *dir = folder(lab, "work", "x");
	gpc_auto(gpc_removals) struct gpc_removals x = {0};
	char job[GPC_JOB_ID_SIZE], again[GPC_JOB_ID_SIZE];
	bool cut;

	assert_ok(submit(lab->s, dir, "key", job));
	attempt(lab, job, 1);
	save(lab, job, 1, 1);
	end(lab, job);
	lab_advance(40 * DAY);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	if (remove_all(lab->s, 30 * DAY, false, &x) < 0)
		err.code = GPC_OK;
	cut = gpc_store_fault_count(lab->s->store, op) >= nth;
	gpc_store_fault_reset(lab->s->store);
	assert_not_broken(lab, job);
	assert_ok(remove_all(lab->s, 30 * DAY, false, &x));
	assert_int_equal(count(lab, "", job), 0);
	assert_ok(submit(lab->s, dir, "key", again));
	assert_string_not_equal(again, job);
	assert_ok(gpc_journal_verify(inner(lab), again, &err));
	lab_free(lab);
	return cut;
}

TEST(a_removal_that_was_cut_short_is_finished)
{
	static const enum gpc_fault_op ops[] = { GPC_FAULT_DEL, GPC_FAULT_LIST,
		GPC_FAULT_GET, GPC_FAULT_PUT, GPC_FAULT_HEAD };

	for (size_t i = 0; i < COUNT(ops); i++)
		for (int after = 0; after < 2; after++) {
			unsigned n = 1;

			/* Only of what changes something an answer is lost. */
			if (after && ops[i] != GPC_FAULT_DEL &&
				ops[i] != GPC_FAULT_PUT)
				continue;
			while (removal_cut(ops[i], after ? GPC_FAULT_AFTER :
				GPC_FAULT_BEFORE, n))
				n++;
			assert_true(n > 1);
		}
}

static void resume_first(void *arg)
{
	struct meanwhile *m = arg;

	if (m->calls++ == 0)
		assert_ok(resume(m->s, m->job, NULL));
}

TEST(what_was_resumed_stays)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	char job[GPC_JOB_ID_SIZE];
	struct meanwhile m = { .lab = lab, .job = job };
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
		.nth = 1, .prefix = "jobs/", .call = resume_first, .arg = &m };
	gpc_auto(gpc_removals) struct gpc_removals x = {0};

	ended(lab, 2, job);
	m.s = lab_session(lab);
	lab_advance(40 * DAY);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(remove_all(lab->s, 30 * DAY, false, &x));
	gpc_store_fault_reset(lab->s->store);
	assert_int_equal(x.n, 1);
	assert_false(x.v[0].done);
	assert_has(x.v[0].left, "PENDING");
	assert_whole(lab, job, 1, true);
	assert_ok(gpc_journal_verify(inner(lab), job, &err));
	gpc_session_free(m.s);
	lab_free(lab);
}

/* Once it is decided, neither resume nor a repeated submit finds it. */
TEST(what_goes_cannot_come_back)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct gpc_fault f = { .op = GPC_FAULT_DEL, .how = GPC_FAULT_BEFORE,
		.nth = 1, .code = GPC_EAUTH };
	gpc_autostr *dir = folder(lab, "work", "x");
	gpc_auto(gpc_removals) struct gpc_removals x = {0};
	char job[GPC_JOB_ID_SIZE], again[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;

	assert_ok(submit(lab->s, dir, "key", job));
	attempt(lab, job, 1);
	end(lab, job);
	lab_advance(40 * DAY);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_fails(remove_all(lab->s, 30 * DAY, false, &x), GPC_EAUTH);
	gpc_store_fault_reset(lab->s->store);
	assert_fails(resume(lab->s, job, NULL), GPC_ECONFLICT);
	assert_fails(prune(lab->s, job, 2, &how), GPC_ECONFLICT);
	assert_fails(submit(lab->s, dir, "key", again), GPC_ECONFLICT);
	lab_free(lab);
}

TEST(jobs_of_others_stay)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_removals) struct gpc_removals x = {0};

	ended(lab, 1, job);
	lab_advance(40 * DAY);
	gpc_set_str(&lab->s->place.owner.hash, "ffffffffffffffff");
	assert_ok(remove_all(lab->s, 30 * DAY, false, &x));
	assert_int_equal(x.n, 0);
	assert_ok(remove_all(lab->s, 30 * DAY, true, &x));
	assert_int_equal(x.n, 1);
	assert_int_equal(count(lab, "", job), 0);
	lab_free(lab);
}

/* An end dated by a clock that was off by months is no old end. */
TEST(a_wrong_clock_removes_nothing)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_removals) struct gpc_removals x = {0};
	gpc_autostr *dir = folder(lab, "work", "x");
	gpc_autostr *text = NULL;
	gpc_auto(gpc_view) struct gpc_view v = {0};

	assert_ok(submit(lab->s, dir, NULL, job));
	text = gpc_format("{\"reason\":\"no_capacity\",\"at_ms\":%lld}",
		(long long)(gpc_wall_ms() - 90 * DAY));
	event(lab, job, GPC_EVENT_ENDED, text);
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	assert_ok(gpc_index_put_done(inner(lab), &v.job, &v.state, &err));
	assert_ok(remove_all(lab->s, 30 * DAY, false, &x));
	assert_int_equal(x.n, 1);
	assert_false(x.v[0].done);
	assert_non_null(x.v[0].left);
	lab_free(lab);
}

/* --- blobs ------------------------------------------------------------------- */

static struct gpc_sweep_result sweep(struct gpc_session *s, bool dry)
{
	struct gpc_sweep_options o = { .dry_run = dry };
	struct gpc_sweep_result x = {0};

	assert_ok(gpc_sweep_blobs(s, &o, &x, &err));
	return x;
}

/* Forgets a job but not its blobs. */
static void forget(struct lab *lab, const char *job)
{
	gpc_auto(gpc_removals) struct gpc_removals x = {0};

	end(lab, job);
	assert_ok(remove_all(lab->s, 0, false, &x));
	assert_int_equal(count(lab, "jobs/", job), 0);
}

TEST(only_old_unneeded_blobs_go)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *a = folder(lab, "a", "a"), *b = folder(lab, "b", "b");
	char one[GPC_JOB_ID_SIZE], two[GPC_JOB_ID_SIZE];
	struct gpc_sweep_result x;
	int all;

	assert_ok(submit(lab->s, a, NULL, one));
	assert_ok(submit(lab->s, b, NULL, two));
	all = count(lab, "blobs/", NULL);
	forget(lab, one);
	lab_advance(13 * DAY);
	x = sweep(lab->s, false);
	assert_int_equal(x.blobs, 0);
	assert_true(x.young > 0);
	lab_advance(2 * DAY);
	x = sweep(lab->s, true);
	assert_true(x.blobs > 0 && x.bytes > 0);
	assert_int_equal(count(lab, "blobs/", NULL), all);
	x = sweep(lab->s, false);
	assert_true(x.blobs > 0);
	assert_int_equal(count(lab, "blobs/", NULL), all - (int)x.blobs);
	/* What the other one needs is all there. */
	assert_ok(submit(lab->s, b, NULL, one));
	x = sweep(lab->s, false);
	assert_int_equal(x.blobs, 0);
	lab_free(lab);
}

static void submit_again(void *arg)
{
	struct meanwhile *m = arg;
	char job[GPC_JOB_ID_SIZE];

	if (m->calls++ == 0)
		assert_ok(submit(m->s, m->job, NULL, job));
}

static void whole_workspaces(struct lab *lab)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};

	assert_ok(gpc_index_list(inner(lab), 0, &index, &err));
	gpc_vec_each(e, &index) {
		gpc_auto(gpc_view) struct gpc_view v = {0};
		gpc_auto(gpc_map) struct gpc_map m = {0};
		gpc_autoptr(gpc_json) *head = NULL;

		assert_ok(gpc_view_load(lab->s, e->job, &v, &err));
		assert_ok(gpc_snapshot_get_head(inner(lab), "blobs/",
			v.job.workspace, &head, &err));
		assert_ok(gpc_snapshot_blobs(inner(lab), head, "blobs/", mark,
			&m, &err));
		for (size_t i = 0; i < m.n; i++) {
			char key[520];

			gpc_blob_key("blobs/", m.entries[i].key, key);
			assert_ok(gpc_store_head(inner(lab), key, NULL, &err));
		}
	}
}

/* A submit of the same old files, at every moment of the sweep but the last. */
TEST(a_submit_meanwhile_renews_what_it_uses)
{
	static const enum gpc_fault_op ops[] = { GPC_FAULT_LIST, GPC_FAULT_HEAD };

	for (size_t i = 0; i < COUNT(ops); i++)
		for (unsigned nth = 1; nth <= 6; nth++) {
			struct lab *lab = lab_new(LAB_FAULTY);
			gpc_autostr *a = folder(lab, "a", "a");
			char job[GPC_JOB_ID_SIZE];
			struct meanwhile m = { .lab = lab, .job = a };
			struct gpc_fault f = { .op = ops[i], .nth = nth,
				.how = GPC_FAULT_CALL, .call = submit_again,
				.arg = &m };
			struct gpc_sweep_result x;

			assert_ok(submit(lab->s, a, NULL, job));
			forget(lab, job);
			lab_advance(15 * DAY);
			m.s = lab_session(lab);
			gpc_store_fault_reset(lab->s->store);
			gpc_store_fault_add(lab->s->store, &f);
			x = sweep(lab->s, false);
			gpc_store_fault_reset(lab->s->store);
			whole_workspaces(lab);
			if (i == 0 && nth == 1)
				assert_int_equal(x.blobs, 0);
			gpc_session_free(m.s);
			lab_free(lab);
		}
}

static void late_delete(void *arg)
{
	struct meanwhile *m = arg;

	if (m->calls++ == 0)
		assert_ok(gpc_store_del(inner(m->lab), m->job, &err));
}

static int first_key(void *arg, const struct gpc_object *o)
{
	char **key = arg;

	*key = gpc_strdup(o->key);
	return 1;
}

/* A delete that was decided before a put and lands after it: the submit looks
 * once more, and puts it again. */
TEST(a_delete_that_lands_late_is_mended)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *a = folder(lab, "a", "a"), *key = NULL;
	char job[GPC_JOB_ID_SIZE];
	struct meanwhile m = { .lab = lab };
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
		.prefix = "blobs/", .nth = 3, .call = late_delete, .arg = &m };

	assert_ok(submit(lab->s, a, NULL, job));
	forget(lab, job);
	lab_advance(15 * DAY);
	gpc_store_fault_reset(lab->s->store);
	assert_ok(gpc_store_list(inner(lab), "blobs/", NULL, first_key, &key,
		&err));
	m.job = key;
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(submit(lab->s, a, NULL, job));
	gpc_store_fault_reset(lab->s->store);
	whole_workspaces(lab);
	lab_free(lab);
}

/* The worst case cannot be prevented without conditional deletes, but it never
 * passes in silence. */
TEST(a_blob_that_a_new_job_lost_is_told)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *a = folder(lab, "a", "a");
	char job[GPC_JOB_ID_SIZE];
	struct meanwhile m = { .lab = lab, .job = a };
	struct gpc_fault f = { .op = GPC_FAULT_DEL, .how = GPC_FAULT_CALL,
		.prefix = "blobs/", .nth = 1, .call = submit_again, .arg = &m };
	struct gpc_sweep_options o = {0};
	struct gpc_sweep_result x = {0};

	assert_ok(submit(lab->s, a, NULL, job));
	forget(lab, job);
	lab_advance(15 * DAY);
	m.s = lab_session(lab);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_fails(gpc_sweep_blobs(lab->s, &o, &x, &err), GPC_ECONFLICT);
	assert_has(err.hint, "submit that job again");
	gpc_store_fault_reset(lab->s->store);
	/* Which mends it. */
	assert_ok(submit(m.s, a, NULL, job));
	whole_workspaces(lab);
	gpc_session_free(m.s);
	lab_free(lab);
}

TEST(what_cannot_be_read_keeps_all)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *a = folder(lab, "a", "a"), *b = folder(lab, "b", "b");
	char one[GPC_JOB_ID_SIZE], two[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_sweep_options o = {0};
	struct gpc_sweep_result x = {0};
	char key[520];
	int all;

	assert_ok(submit(lab->s, a, NULL, one));
	assert_ok(submit(lab->s, b, NULL, two));
	forget(lab, one);
	lab_advance(15 * DAY);
	assert_ok(gpc_view_load(lab->s, two, &v, &err));
	gpc_blob_key("blobs/", v.job.workspace, key);
	assert_ok(gpc_store_del(inner(lab), key, &err));
	all = count(lab, "blobs/", NULL);
	assert_fails(gpc_sweep_blobs(lab->s, &o, &x, &err), GPC_ENOTFOUND);
	assert_has(err.msg, two);
	assert_int_equal(count(lab, "blobs/", NULL), all);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_stay),
		cmocka_unit_test(a_pinned_one_stays),
		cmocka_unit_test(a_live_job_is_asked),
		cmocka_unit_test(nodes_that_may_save_are_waited_for),
		cmocka_unit_test(a_prune_that_was_cut_short_is_finished),
		cmocka_unit_test(two_pruners_agree),
		cmocka_unit_test(damage_keeps_blobs),
		cmocka_unit_test(old_jobs_go_with_all_they_left),
		cmocka_unit_test(a_removal_that_was_cut_short_is_finished),
		cmocka_unit_test(what_was_resumed_stays),
		cmocka_unit_test(what_goes_cannot_come_back),
		cmocka_unit_test(jobs_of_others_stay),
		cmocka_unit_test(a_wrong_clock_removes_nothing),
		cmocka_unit_test(only_old_unneeded_blobs_go),
		cmocka_unit_test(a_submit_meanwhile_renews_what_it_uses),
		cmocka_unit_test(a_delete_that_lands_late_is_mended),
		cmocka_unit_test(a_blob_that_a_new_job_lost_is_told),
		cmocka_unit_test(what_cannot_be_read_keeps_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
