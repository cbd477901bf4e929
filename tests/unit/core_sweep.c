/* Sweeping blobs: only what is old and what no job needs goes, whoever submits
 * meanwhile; and what could not be prevented is said. */
#include "base/map.h"
#include "core/sweep.h"
#include "core/view.h"
#include "core_jobs.h"
#include "record/index.h"
#include "snapshot/snapshot.h"

static struct gpc_error err;

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

	lab_end(lab, job);
	assert_ok(lab_remove_all(lab->s, 0, false, &x, &err));
	assert_int_equal(count_keys(lab_inner(lab), "jobs/", job), 0);
}

TEST(only_old_unneeded_blobs_go)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *a = lab_folder(lab, "a", "a"), *b = lab_folder(lab, "b", "b");
	char one[GPC_JOB_ID_SIZE], two[GPC_JOB_ID_SIZE];
	struct gpc_sweep_result x;
	int all;

	assert_ok(lab_submit(lab->s, a, NULL, one, &err));
	assert_ok(lab_submit(lab->s, b, NULL, two, &err));
	all = count_keys(lab_inner(lab), "blobs/", NULL);
	forget(lab, one);
	lab_advance(13 * DAY);
	x = sweep(lab->s, false);
	assert_int_equal(x.blobs, 0);
	assert_true(x.young > 0);
	lab_advance(2 * DAY);
	x = sweep(lab->s, true);
	assert_true(x.blobs > 0 && x.bytes > 0);
	assert_int_equal(count_keys(lab_inner(lab), "blobs/", NULL), all);
	x = sweep(lab->s, false);
	assert_true(x.blobs > 0);
	assert_int_equal(count_keys(lab_inner(lab), "blobs/", NULL),
		all - (int)x.blobs);
	/* What the other one needs is all there. */
	assert_ok(lab_submit(lab->s, b, NULL, one, &err));
	x = sweep(lab->s, false);
	assert_int_equal(x.blobs, 0);
	lab_free(lab);
}

static void submit_again(void *arg)
{
	struct meanwhile *m = arg;
	char job[GPC_JOB_ID_SIZE];

	if (m->calls++ == 0)
		assert_ok(lab_submit(m->s, m->job, NULL, job, &err));
}

static void whole_workspaces(struct lab *lab)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};

	assert_ok(gpc_index_list(lab_inner(lab), 0, &index, &err));
	gpc_vec_each(e, &index) {
		gpc_auto(gpc_view) struct gpc_view v = {0};
		gpc_auto(gpc_map) struct gpc_map m = {0};
		gpc_autoptr(gpc_json) *head = NULL;

		assert_ok(gpc_view_load(lab->s, e->job, &v, &err));
		assert_ok(gpc_snapshot_get_head(lab_inner(lab), "blobs/",
			v.job.workspace, &head, &err));
		assert_ok(gpc_snapshot_blobs(lab_inner(lab), head, "blobs/",
			lab_mark_blob, &m, &err));
		for (size_t i = 0; i < m.n; i++) {
			char key[520];

			gpc_blob_key("blobs/", m.entries[i].key, key);
			assert_ok(gpc_store_head(lab_inner(lab), key, NULL, &err));
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
			gpc_autostr *a = lab_folder(lab, "a", "a");
			char job[GPC_JOB_ID_SIZE];
			struct meanwhile m = { .lab = lab, .job = a };
			struct gpc_fault f = { .op = ops[i], .nth = nth,
				.how = GPC_FAULT_CALL, .call = submit_again,
				.arg = &m };
			struct gpc_sweep_result x;

			assert_ok(lab_submit(lab->s, a, NULL, job, &err));
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

static int note_key(void *arg, const struct gpc_object *o)
{
	gpc_strv_add(arg, o->key);
	return 0;
}

static void late_delete(void *arg)
{
	struct meanwhile *m = arg;
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};

	if (m->calls++ > 0)
		return;
	assert_ok(gpc_store_list(lab_inner(m->lab), "blobs/", NULL, note_key,
		&keys, &err));
	assert_true(keys.n >= 3);
	for (size_t i = 0; i < keys.n; i++)
		assert_ok(gpc_store_del(lab_inner(m->lab), keys.v[i], &err));
}

/* Deletes that were decided before a put and land after it: the submit looks
 * once more, and puts everything again. */
TEST(a_delete_that_lands_late_is_mended)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *a = lab_folder(lab, "a", "a");
	char job[GPC_JOB_ID_SIZE];
	struct meanwhile m = { .lab = lab };
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
		.prefix = "blobs/", .nth = 3, .call = late_delete, .arg = &m };

	assert_ok(lab_submit(lab->s, a, NULL, job, &err));
	forget(lab, job);
	lab_advance(15 * DAY);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(lab_submit(lab->s, a, NULL, job, &err));
	gpc_store_fault_reset(lab->s->store);
	whole_workspaces(lab);
	lab_free(lab);
}

/* The worst case cannot be prevented without conditional deletes, but it never
 * passes in silence. */
TEST(a_blob_that_a_new_job_lost_is_told)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *a = lab_folder(lab, "a", "a");
	char job[GPC_JOB_ID_SIZE];
	struct meanwhile m = { .lab = lab, .job = a };
	struct gpc_fault f = { .op = GPC_FAULT_DEL, .how = GPC_FAULT_CALL,
		.prefix = "blobs/", .nth = 1, .call = submit_again, .arg = &m };
	struct gpc_sweep_options o = {0};
	struct gpc_sweep_result x = {0};

	assert_ok(lab_submit(lab->s, a, NULL, job, &err));
	forget(lab, job);
	lab_advance(15 * DAY);
	m.s = lab_session(lab);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_fails(gpc_sweep_blobs(lab->s, &o, &x, &err), GPC_ECONFLICT);
	assert_has(err.hint, "submit that job again");
	gpc_store_fault_reset(lab->s->store);
	/* Which mends it. */
	assert_ok(lab_submit(m.s, a, NULL, job, &err));
	whole_workspaces(lab);
	gpc_session_free(m.s);
	lab_free(lab);
}

static void take_long(void *arg)
{
	(void)arg;
	lab_advance(3000);
}

/* Between a look that took long and the delete a submit may have come. */
TEST(nothing_goes_by_a_look_that_took_long)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *a = lab_folder(lab, "a", "a");
	char job[GPC_JOB_ID_SIZE];
	struct gpc_fault f = { .op = GPC_FAULT_HEAD, .how = GPC_FAULT_CALL,
		.prefix = "blobs/", .call = take_long };
	int all;

	assert_ok(lab_submit(lab->s, a, NULL, job, &err));
	forget(lab, job);
	lab_advance(15 * DAY);
	all = count_keys(lab_inner(lab), "blobs/", NULL);
	gpc_store_fault_add(lab->s->store, &f);
	assert_int_equal(sweep(lab->s, false).blobs, 0);
	assert_int_equal(count_keys(lab_inner(lab), "blobs/", NULL), all);
	/* One that is stopped once looks again. */
	gpc_store_fault_reset(lab->s->store);
	f.nth = 1;
	gpc_store_fault_add(lab->s->store, &f);
	assert_int_equal(sweep(lab->s, false).blobs, all);
	assert_int_equal(gpc_store_fault_count(lab->s->store, GPC_FAULT_HEAD),
		all + 1);
	lab_free(lab);
}

TEST(what_cannot_be_read_keeps_all)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *a = lab_folder(lab, "a", "a"), *b = lab_folder(lab, "b", "b");
	char one[GPC_JOB_ID_SIZE], two[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_sweep_options o = {0};
	struct gpc_sweep_result x = {0};
	char key[520];
	int all;

	assert_ok(lab_submit(lab->s, a, NULL, one, &err));
	assert_ok(lab_submit(lab->s, b, NULL, two, &err));
	forget(lab, one);
	lab_advance(15 * DAY);
	assert_ok(gpc_view_load(lab->s, two, &v, &err));
	gpc_blob_key("blobs/", v.job.workspace, key);
	assert_ok(gpc_store_del(lab_inner(lab), key, &err));
	all = count_keys(lab_inner(lab), "blobs/", NULL);
	assert_fails(gpc_sweep_blobs(lab->s, &o, &x, &err), GPC_ENOTFOUND);
	assert_has(err.msg, two);
	assert_int_equal(count_keys(lab_inner(lab), "blobs/", NULL), all);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_old_unneeded_blobs_go),
		cmocka_unit_test(a_submit_meanwhile_renews_what_it_uses),
		cmocka_unit_test(a_delete_that_lands_late_is_mended),
		cmocka_unit_test(a_blob_that_a_new_job_lost_is_told),
		cmocka_unit_test(nothing_goes_by_a_look_that_took_long),
		cmocka_unit_test(what_cannot_be_read_keeps_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
