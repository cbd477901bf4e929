/* Supervising a large gang: by lists of all ranks, with few events. */
#include "core_lab.h"

#include "base/str.h"
#include "base/time.h"
#include "core/release.h"
#include "core/view.h"
#include "record/facts.h"
#include "record/roll.h"

enum { N = 40 };

static void call_out(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_roll_word word, const char *value)
{
	struct gpc_error err;

	assert_ok(gpc_roll_put(lab_inner(lab), job, attempt, rank, word, value,
		&err));
}

static void beat_all(struct lab *lab, const char *job, int attempt, int but)
{
	for (int i = 0; i < N; i++)
		if (i != but)
			lab_beat(lab, job, attempt, i, GPC_PHASE_RUN);
}

/* Until that attempt runs. */
static void run_all(struct lab *lab, struct gpc_supervision *sv,
	const char *job, int attempt)
{
	for (int i = 0; i < 60 && (lab_state(sv)->attempt < attempt ||
		lab_state(sv)->status != GPC_JOB_STARTING); i++) {
		lab_step(sv);
		lab_advance(1000);
	}
	assert_status(sv, "STARTING");
	beat_all(lab, job, attempt, -1);
	for (int i = 0; i < N; i++)
		call_out(lab, job, attempt, i, GPC_ROLL_RUN, NULL);
	lab_advance(1000);
	lab_step(sv);
	lab_advance(1000);
	lab_step(sv);
	assert_status(sv, "RUNNING");
}

static void end(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_reason reason, int code)
{
	gpc_autostr *value = gpc_roll_end(gpc_wall_ms(), reason, false);

	call_out(lab, job, attempt, rank, GPC_ROLL_END, value);
	lab_exit(lab, job, attempt, rank, reason, code, 0);
	call_out(lab, job, attempt, rank, GPC_ROLL_EXIT, NULL);
	call_out(lab, job, attempt, rank, GPC_ROLL_DONE, NULL);
}

static struct lab *open_gang(char **ret_job, struct gpc_supervision **ret_sv,
	const char *more)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *members = gpc_format("\"num_nodes\":%d%s", N, more);

	*ret_job = lab_job(lab, members);
	*ret_sv = lab_supervise(lab->s, *ret_job);
	return lab;
}

static void close_gang(struct lab *lab, char *job, struct gpc_supervision *sv)
{
	lab_check(lab, job, N);
	gpc_supervision_free(sv);
	free(job);
	lab_free(lab);
}

TEST(all_end_well_with_few_events)
{
	struct gpc_supervision *sv;
	char *job;
	struct lab *lab = open_gang(&job, &sv, "");

	run_all(lab, sv, job, 1);
	for (int i = 0; i < N; i++)
		end(lab, job, 1, i, GPC_REASON_COMPLETED, 0);
	lab_finish(sv, 5 * MINUTE);
	assert_status(sv, "SUCCEEDED");
	assert_int_equal(lab_ledger(lab).creates, 1);
	assert_in_range(lab_events(lab, job, "ready"), 1, 3);
	assert_in_range(lab_events(lab, job, "released"), 1, 3);
	assert_in_range(lab_state(sv)->n, 8, 20);
	assert_true(lab_state(sv)->spent.micros > 0);
	close_gang(lab, job, sv);
}

TEST(ports_of_all_are_open_after_few_events)
{
	struct gpc_supervision *sv;
	char *job;
	struct lab *lab = open_gang(&job, &sv, ",\"resources\":{\"infra\":"
		"\"fake\",\"ports\":[\"8080\"],\"allow\":[\"192.0.2.0/24\"]}");

	run_all(lab, sv, job, 1);
	for (int i = 0; i < 12; i++) {
		beat_all(lab, job, 1, -1);
		lab_advance(1000);
		lab_step(sv);
	}
	gpc_vec_each(n, &lab_state(sv)->nodes)
		assert_non_null(n->opened);
	assert_in_range(lab_events(lab, job, "opened"), 1, 3);
	for (int i = 0; i < N; i++)
		end(lab, job, 1, i, GPC_REASON_COMPLETED, 0);
	lab_finish(sv, 5 * MINUTE);
	assert_status(sv, "SUCCEEDED");
	close_gang(lab, job, sv);
}

TEST(first_failure_is_told_before_the_verdict)
{
	struct gpc_supervision *sv;
	char *job;
	struct lab *lab = open_gang(&job, &sv, "");
	gpc_autostr *value = NULL;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err;

	run_all(lab, sv, job, 1);
	value = gpc_roll_end(gpc_wall_ms(), GPC_REASON_EXIT_CODE, false);
	call_out(lab, job, 1, 17, GPC_ROLL_END, value);
	lab_advance(1000);
	lab_step(sv);
	lab_step(sv);
	assert_status(sv, "RUNNING");
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	assert_has(v.note, "rank 17 failed first: exit_code");
	for (int i = 0; i < N; i++)
		end(lab, job, 1, i, GPC_REASON_EXIT_CODE, i == 17 ? 9 : 1);
	lab_verdict(lab, job, 1, 17, GPC_REASON_EXIT_CODE, 9);
	lab_finish(sv, 5 * MINUTE);
	assert_reason(sv, "exit_code");
	assert_int_equal(lab_state(sv)->rank, 17);
	assert_int_equal(lab_state(sv)->code, 9);
	close_gang(lab, job, sv);
}

/* One machine dies; or one falls silent, and is given back. */
static void lose_one(bool silent)
{
	struct gpc_supervision *sv;
	char *job;
	struct lab *lab = open_gang(&job, &sv, "");
	const struct gpc_try *t;

	run_all(lab, sv, job, 1);
	lab_log(lab, job, 1, 0, "step 1\n");
	if (!silent)
		lab_script(lab, "{\"faults\":[{\"op\":\"list\",\"fault\":\"die\","
			"\"index\":8}]}");
	for (int i = 0; i < 20 && lab_state(sv)->status == GPC_JOB_RUNNING; i++) {
		lab_advance(15000);
		beat_all(lab, job, 1, 7);
		lab_step(sv);
	}
	t = gpc_job_state_try((struct gpc_job_state *)lab_state(sv), 1);
	assert_int_equal(t->reason, GPC_REASON_NODE_LOST);
	assert_int_equal(t->rank, 7);
	/* The others hear of it and leave. */
	for (int i = 0; i < N; i++)
		if (i != 7)
			end(lab, job, 1, i, GPC_REASON_NODE_LOST, 0);
	run_all(lab, sv, job, 2);
	for (int i = 0; i < N; i++)
		end(lab, job, 2, i, GPC_REASON_COMPLETED, 0);
	lab_finish(sv, 5 * MINUTE);
	assert_status(sv, "SUCCEEDED");
	assert_int_equal(lab_ledger(lab).made, 2 * N);
	assert_in_range(lab_events(lab, job, "released"), 2, 10);
	close_gang(lab, job, sv);
}

TEST(lost_rank_begins_another_attempt) { lose_one(false); }
TEST(silent_rank_is_given_back) { lose_one(true); }

/* Orphans of a gang are found by one look at its journal, and ended by one call. */
TEST(orphans_go_together)
{
	struct gpc_supervision *sv;
	char *job;
	struct lab *lab = open_gang(&job, &sv, "");
	struct gpc_held_list held = {0};
	const struct gpc_held *all[N];
	struct gpc_error err;
	bool left[N];
	int before;

	run_all(lab, sv, job, 1);
	assert_ok(gpc_held_find(lab->s, false, &held, &err));
	assert_int_equal(held.n, N);
	gpc_held_look(lab->s, &held);
	for (int i = 0; i < N; i++) {
		assert_false(held.v[i].orphan);
		all[i] = &held.v[i];
	}
	before = lab_ledger(lab).destroys;
	assert_ok(gpc_held_release_all(lab->s, all, N, MINUTE, left, &err));
	assert_int_equal(lab_ledger(lab).destroys, before + 1);
	for (int i = 0; i < N; i++)
		assert_false(left[i]);
	assert_int_equal(lab_running(lab), 0);
	gpc_held_clear(&held);
	for (int i = 0; i < N; i++)
		end(lab, job, 1, i, GPC_REASON_COMPLETED, 0);
	lab_finish(sv, 5 * MINUTE);
	close_gang(lab, job, sv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_end_well_with_few_events),
		cmocka_unit_test(ports_of_all_are_open_after_few_events),
		cmocka_unit_test(first_failure_is_told_before_the_verdict),
		cmocka_unit_test(lost_rank_begins_another_attempt),
		cmocka_unit_test(silent_rank_is_given_back),
		cmocka_unit_test(orphans_go_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
