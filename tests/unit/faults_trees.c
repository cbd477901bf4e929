/* Trees on their way to the store and back, each system call of which fails in
 * turn; see faults_walk.h. */
#include <sys/stat.h>

#include "base/path.h"
#include "base/time.h"
#include "core/census.h"
#include "core/fetch.h"
#include "core/prune.h"
#include "core/remove.h"
#include "core/sweep.h"
#include "core/verify.h"
#include "core/view.h"
#include "faults_walk.h"
#include "record/checkpoint.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

#define JOB "lab-abcdef"
#define BLOBS "jobs/" JOB "/1/blobs/"

static int save(struct bench *b, const char *job, int n, struct gpc_error *err)
{
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_save_result) struct gpc_save_result saved = {0};
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = { .v = 1,
		.attempt = 1, .n = n, .at_ms = n };
	gpc_autostr *cache = gpc_path_join(b->lab->dir, "known");
	struct gpc_scan_options scan = {0};
	gpc_key prefix;
	struct gpc_save_options o = { .cache_path = cache,
		.prefix = gpc_key_attempt(prefix, job, 1, "blobs/") };
	struct gpc_checkpoint_part *part = gpc_vec_push(&c.parts);
	int r = gpc_scan(b->tree, &scan, &tree, err);

	if (r == 0)
		r = gpc_snapshot_save(b->lab->s->store, &tree, &o, false, &saved,
			err);
	if (r < 0)
		return r;
	c.id = gpc_format("1-%d-user", n);
	c.label = gpc_strdup("user");
	part->head = gpc_json_copy(saved.head);
	return gpc_checkpoint_put(b->lab->s->store, job, &c, err);
}

static int run_save(struct bench *b, struct gpc_error *err)
{
	return save(b, JOB, 1, err);
}

static int run_restore(struct bench *b, struct gpc_error *err)
{
	struct gpc_restore_options o = { .overwrite = true };
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	int r = gpc_checkpoint_get(b->lab->s->store, JOB, "1-1-user", &c, err);

	return r < 0 ? r : gpc_snapshot_restore(b->lab->s->store,
		c.parts.v[0].head, BLOBS, b->target, &o, err);
}

static void check_save(struct bench *b)
{
	struct gpc_error err;

	assert_ok(run_restore(b, &err));
	check_restored(b);
}

static void set_up_small(struct bench *b)
{
	struct gpc_error err;

	make_small_tree(b);
	assert_ok(run_save(b, &err));
}

static void set_up_restore(struct bench *b)
{
	struct gpc_error err;

	make_tree(b);
	assert_ok(run_save(b, &err));
}

/* --- verify ------------------------------------------------------------------ */

static int run_verify(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_verdicts) struct gpc_verdicts x = {0};
	struct gpc_verify_options o = {0};
	int r = gpc_verify_checkpoint(b->lab->s, JOB, "1-1-user", &o, &x, err);

	/* What cannot be read now is no damage of the store. */
	if (r == 0 && io_struck() == NULL)
		assert_true(x.n == 1 && x.v[0].sound);
	return r;
}

/* --- pull ---------------------------------------------------------------------- */

static void set_up_pull(struct bench *b)
{
	struct gpc_store *s = b->lab->s->store;
	struct gpc_error err;

	make_tree(b);
	assert_ok(gpc_mkdirs(b->target, 0700, &err));
	put_file(b->target, "mine", 7);
	assert_ok(gpc_store_put(s, "jobs/" JOB "/artifacts/mine", "other", 5, 0,
		&err));
	assert_ok(gpc_store_put(s, "jobs/" JOB "/artifacts/x/y", "result", 6, 0,
		&err));
}

static int run_pull(struct bench *b, struct gpc_error *err)
{
	struct gpc_fetched f = {0};

	return gpc_fetch_artifacts(b->lab->s, JOB, b->target, false, &f, err);
}

static void check_pull(struct bench *b)
{
	gpc_autostr *mine = gpc_path_join(b->target, "mine");
	gpc_autostr *got = gpc_path_join(b->target, "x/y");
	struct stat st;

	assert_int_equal(stat(mine, &st), 0);
	assert_int_equal(st.st_size, 7);       /* was kept */
	assert_int_equal(stat(got, &st), 0);
	assert_int_equal(st.st_size, 6);
}

/* --- prune -------------------------------------------------------------------- */

static void event(struct bench *b, enum gpc_event_type type, const char *text)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_json *data = NULL;
	struct gpc_error err;

	gpc_journal_init(&j, b->lab->s->store, b->job, "test");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_ok(gpc_json_parse(text, strlen(text), &data, &err));
	assert_ok(gpc_journal_append(&j, type, data, &err));
}

/* A job that has ended, with four checkpoints. */
static void set_up_prune(struct bench *b)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err;

	make_small_tree(b);
	assert_ok(run_submit(b, &err));
	event(b, GPC_EVENT_ATTEMPT, "{\"attempt\":1}");
	for (int n = 1; n <= 4; n++) {
		put_file(b->tree, "a", (size_t)n);
		assert_ok(save(b, b->job, n, &err));
	}
	event(b, GPC_EVENT_ENDED, "{\"reason\":\"no_capacity\"}");
	assert_ok(gpc_view_load(b->lab->s, b->job, &v, &err));
	assert_ok(gpc_index_put_done(b->lab->s->store, &v.job, &v.state, &err));
}

static int run_prune(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};
	struct gpc_prune_options o = { .keep = 2 };

	return gpc_prune_checkpoints(b->lab->s, b->job, &o, &x, err);
}

/* What stays is whole. */
static void check_prune(struct bench *b)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_auto(gpc_verdicts) struct gpc_verdicts x = {0};
	struct gpc_verify_options o = {0};
	struct gpc_error err;

	assert_ok(gpc_checkpoint_list(b->lab->s->store, b->job, &ids, &err));
	assert_int_equal(ids.n, 2);
	assert_ok(gpc_verify_checkpoint(b->lab->s, b->job, "1-3-user", &o, &x,
		&err));
	assert_ok(gpc_verify_checkpoint(b->lab->s, b->job, "1-4-user", &o, &x,
		&err));
	assert_true(x.n == 2 && x.v[0].sound && x.v[1].sound);
}

/* --- prune of old jobs and blobs ------------------------------------------------- */
#define DAY (1440 * MINUTE)

/* An ended job and one that lives, each with blobs of its own. */
static void set_up_old(struct bench *b)
{
	struct gpc_error err;

	set_up_prune(b);
	put_file(b->tree, "a", 100);
	b->once_key = "another";
	assert_ok(run_submit(b, &err));
	lab_advance(30 * DAY);
}

static int run_old(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_census) struct gpc_census c = {0};
	gpc_auto(gpc_removals) struct gpc_removals gone = {0};
	struct gpc_remove_options o = { .older_ms = 7 * DAY };
	struct gpc_sweep_options how = {0};
	struct gpc_sweep_result x = {0};
	int r = gpc_census_take(b->lab->s, &c, err);

	if (r == 0)
		r = gpc_remove_find(b->lab->s, &c, &o, &gone, err);
	gpc_vec_each(g, &gone) {
		if (r == 0)
			r = gpc_remove_job(b->lab->s, &o, g, err);
		if (r == 0 && g->left)
			r = gpc_fail(err, GPC_EIO, "it stays: %s", g->left);
	}
	return r < 0 ? r : gpc_sweep_blobs(b->lab->s, &how, &x, err);
}

static void check_old(struct bench *b)
{
	gpc_auto(gpc_verdicts) struct gpc_verdicts x = {0};
	struct gpc_verify_options o = {0};
	struct gpc_error err;

	assert_int_equal(count(b, "index/live/"), 1);
	assert_int_equal(count(b, "index/done/"), 0);
	assert_ok(gpc_verify_workspace(b->lab->s, b->job, &o, &x, &err));
	assert_true(x.n == 1 && x.v[0].sound);
}

/* Of a large file each call is slow, and most are like the one before. */
TEST(a_save)
{
	in_turn(&(struct flow){ make_small_tree, run_save, check_save });
	in_turn(&(struct flow){ make_tree, run_save, check_save, 41 });
}
TEST(a_restore)
{
	in_turn(&(struct flow){ set_up_small, run_restore, check_restored });
	in_turn(&(struct flow){ set_up_restore, run_restore, check_restored,
		41 });
}
TEST(a_verify)
{
	in_turn(&(struct flow){ set_up_small, run_verify, NULL });
	in_turn(&(struct flow){ set_up_restore, run_verify, NULL, 41 });
}
TEST(a_prune)
{
	in_turn(&(struct flow){ set_up_prune, run_prune, check_prune, 11 });
}
TEST(a_prune_of_old_jobs)
{
	in_turn(&(struct flow){ set_up_old, run_old, check_old, 19 });
}
TEST(a_pull) { in_turn(&(struct flow){ set_up_pull, run_pull, check_pull }); }

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_save),
		cmocka_unit_test(a_restore),
		cmocka_unit_test(a_verify),
		cmocka_unit_test(a_pull),
		cmocka_unit_test(a_prune),
		cmocka_unit_test(a_prune_of_old_jobs),
	};

	use_memory();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
