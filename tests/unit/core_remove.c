/* Removing jobs: what goes is decided in the journal, a crash anywhere leaves only
 * what the next run takes, and nothing that anybody needs goes. */
#include "base/str.h"
#include "base/time.h"
#include "core/prune.h"
#include "core/view.h"
#include "core_jobs.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"

static struct gpc_error err;

TEST(old_jobs_go_with_all_they_left)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = lab_folder(lab, "work", "x");
	char old[GPC_JOB_ID_SIZE], live[GPC_JOB_ID_SIZE], young[GPC_JOB_ID_SIZE];
	char again[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_removals) struct gpc_removals x = {0};

	assert_ok(lab_submit(lab->s, dir, "key", old, &err));
	lab_attempt(lab, old, 1);
	lab_save(lab, old, 1, 1);
	lab_end(lab, old);
	assert_ok(lab_submit(lab->s, dir, NULL, live, &err));
	lab_advance(40 * DAY);
	lab_ended(lab, 2, young);
	assert_ok(lab_remove_all(lab->s, 30 * DAY, false, &x, &err));
	assert_int_equal(x.n, 1);
	assert_string_equal(x.v[0].job, old);
	assert_true(x.v[0].done && x.v[0].objects > 4 && x.v[0].bytes > 0);
	assert_int_equal(count_keys(lab_inner(lab), "", old), 0);
	assert_int_equal(count_keys(lab_inner(lab), "once/", NULL), 0);
	assert_true(count_keys(lab_inner(lab), "", live) > 2);
	assert_true(count_keys(lab_inner(lab), "", young) > 2);
	assert_whole(lab, young, 1, true);
	/* The key is free: it makes a new job. */
	assert_ok(lab_submit(lab->s, dir, "key", again, &err));
	assert_string_not_equal(again, old);
	assert_ok(lab_remove_all(lab->s, 30 * DAY, false, &x, &err));
	assert_int_equal(x.n, 0);
	lab_free(lab);
}

/* It was taken up by another job since: that one keeps it. */
TEST(a_once_key_of_another_job_stays)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = lab_folder(lab, "work", "x");
	gpc_auto(gpc_removals) struct gpc_removals x = {0};
	char old[GPC_JOB_ID_SIZE];
	gpc_key key;

	assert_ok(lab_submit(lab->s, dir, "key", old, &err));
	lab_attempt(lab, old, 1);
	lab_end(lab, old);
	gpc_key_once(key, lab->s->place.owner.hash, "key");
	assert_int_equal(count_keys(lab_inner(lab), key, NULL), 1);
	assert_ok(gpc_store_put(lab_inner(lab), key, "other-aaaaaa x", 14, 0, &err));
	lab_advance(40 * DAY);
	assert_ok(lab_remove_all(lab->s, 30 * DAY, false, &x, &err));
	assert_int_equal(x.n, 1);
	assert_int_equal(count_keys(lab_inner(lab), key, NULL), 1);
	lab_free(lab);
}

/* Between any two steps nobody is shown a job of which half is gone. */
static void assert_not_broken(struct lab *lab, const char *job)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};

	assert_ok(gpc_index_list(lab_inner(lab), 0, &index, &err));
	gpc_vec_each(e, &index)
		if (gpc_eq(e->job, job)) {
			assert_ok(gpc_view_load(lab->s, job, &v, &err));
			assert_ok(gpc_journal_verify(lab_inner(lab), job, &err));
			assert_whole(lab, job, 1, true);
		}
}

static bool removal_cut(enum gpc_fault_op op, enum gpc_fault_how how,
	unsigned nth)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct gpc_fault f = { .op = op, .how = how, .nth = nth,
		.code = GPC_EAUTH };
	gpc_autostr *dir = lab_folder(lab, "work", "x");
	gpc_auto(gpc_removals) struct gpc_removals x = {0};
	char job[GPC_JOB_ID_SIZE], again[GPC_JOB_ID_SIZE];
	bool cut;

	assert_ok(lab_submit(lab->s, dir, "key", job, &err));
	lab_attempt(lab, job, 1);
	lab_save(lab, job, 1, 1);
	lab_end(lab, job);
	lab_advance(40 * DAY);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	if (lab_remove_all(lab->s, 30 * DAY, false, &x, &err) < 0)
		err.code = GPC_OK;
	cut = gpc_store_fault_count(lab->s->store, op) >= nth;
	gpc_store_fault_reset(lab->s->store);
	assert_not_broken(lab, job);
	assert_ok(lab_remove_all(lab->s, 30 * DAY, false, &x, &err));
	assert_int_equal(count_keys(lab_inner(lab), "", job), 0);
	assert_ok(lab_submit(lab->s, dir, "key", again, &err));
	assert_string_not_equal(again, job);
	assert_ok(gpc_journal_verify(lab_inner(lab), again, &err));
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
		assert_ok(lab_resume(m->s, m->job, NULL, &err));
}

TEST(what_was_resumed_stays)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	char job[GPC_JOB_ID_SIZE];
	struct meanwhile m = { .lab = lab, .job = job };
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
		.nth = 1, .prefix = "jobs/", .call = resume_first, .arg = &m };
	gpc_auto(gpc_removals) struct gpc_removals x = {0};

	lab_ended(lab, 2, job);
	m.s = lab_session(lab);
	lab_advance(40 * DAY);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(lab_remove_all(lab->s, 30 * DAY, false, &x, &err));
	gpc_store_fault_reset(lab->s->store);
	assert_int_equal(x.n, 1);
	assert_false(x.v[0].done);
	assert_has(x.v[0].left, "PENDING");
	assert_whole(lab, job, 1, true);
	assert_ok(gpc_journal_verify(lab_inner(lab), job, &err));
	gpc_session_free(m.s);
	lab_free(lab);
}

/* Once it is decided, neither resume nor a repeated submit finds it. */
TEST(what_goes_cannot_come_back)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct gpc_fault f = { .op = GPC_FAULT_DEL, .how = GPC_FAULT_BEFORE,
		.nth = 1, .code = GPC_EAUTH };
	gpc_autostr *dir = lab_folder(lab, "work", "x");
	gpc_auto(gpc_removals) struct gpc_removals x = {0};
	char job[GPC_JOB_ID_SIZE], again[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_prune_result) struct gpc_prune_result pruned = {0};
	struct gpc_prune_options o = { .keep = 2 };

	assert_ok(lab_submit(lab->s, dir, "key", job, &err));
	lab_attempt(lab, job, 1);
	lab_end(lab, job);
	lab_advance(40 * DAY);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_fails(lab_remove_all(lab->s, 30 * DAY, false, &x, &err), GPC_EAUTH);
	gpc_store_fault_reset(lab->s->store);
	assert_fails(lab_resume(lab->s, job, NULL, &err), GPC_ECONFLICT);
	assert_fails(gpc_prune_checkpoints(lab->s, job, &o, &pruned, &err),
		GPC_ECONFLICT);
	assert_fails(lab_submit(lab->s, dir, "key", again, &err), GPC_ECONFLICT);
	lab_free(lab);
}

TEST(jobs_of_others_stay)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_removals) struct gpc_removals x = {0};

	lab_ended(lab, 1, job);
	lab_advance(40 * DAY);
	gpc_set_str(&lab->s->place.owner.hash, "ffffffffffffffff");
	assert_ok(lab_remove_all(lab->s, 30 * DAY, false, &x, &err));
	assert_int_equal(x.n, 0);
	assert_ok(lab_remove_all(lab->s, 30 * DAY, true, &x, &err));
	assert_int_equal(x.n, 1);
	assert_int_equal(count_keys(lab_inner(lab), "", job), 0);
	lab_free(lab);
}

/* An end dated by a clock that was off by months is no old end. */
TEST(a_wrong_clock_removes_nothing)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_removals) struct gpc_removals x = {0};
	gpc_autostr *dir = lab_folder(lab, "work", "x");
	gpc_autostr *text = NULL;
	gpc_auto(gpc_view) struct gpc_view v = {0};

	assert_ok(lab_submit(lab->s, dir, NULL, job, &err));
	text = gpc_format("{\"reason\":\"no_capacity\",\"at_ms\":%lld}",
		(long long)(gpc_wall_ms() - 90 * DAY));
	lab_event(lab, job, GPC_EVENT_ENDED, text);
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	assert_ok(gpc_index_put_done(lab_inner(lab), &v.job, &v.state, &err));
	assert_ok(lab_remove_all(lab->s, 30 * DAY, false, &x, &err));
	assert_int_equal(x.n, 1);
	assert_false(x.v[0].done);
	assert_non_null(x.v[0].left);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_jobs_go_with_all_they_left),
		cmocka_unit_test(a_once_key_of_another_job_stays),
		cmocka_unit_test(a_removal_that_was_cut_short_is_finished),
		cmocka_unit_test(what_was_resumed_stays),
		cmocka_unit_test(what_goes_cannot_come_back),
		cmocka_unit_test(jobs_of_others_stay),
		cmocka_unit_test(a_wrong_clock_removes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
