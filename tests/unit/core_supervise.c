/* One job's supervision from its first step to its last, with the agents'
 * facts written by hand: what ends a job, what starts its next attempt, and
 * that every machine is given back. */
#include <signal.h>

#include "base/str.h"
#include "base/time.h"
#include "core/reconcile.h"
#include "core/request.h"
#include "core_lab.h"
#include "record/index.h"

/* The agent's end: exit.json, a last beat, and the machine goes. */
static void end(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_reason reason, int code, int sig)
{
	lab_exit(lab, job, attempt, rank, reason, code, sig);
	lab_beat(lab, job, attempt, rank, GPC_PHASE_DONE);
}

static void let_die(struct lab *lab, int index)
{
	gpc_autostr *script = gpc_format("{\"faults\":[{\"op\":\"list\","
		"\"fault\":\"die\",\"index\":%d}]}", index);

	lab_script(lab, script);
}

static bool index_is_done(struct lab *lab, const char *job)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	struct gpc_error err;

	assert_ok(gpc_index_list(lab->s->store, 0, &index, &err));
	assert_int_equal(index.n, 1);
	assert_string_equal(index.v[0].job, job);
	return !index.v[0].live;
}

/* --- ends --------------------------------------------------------------------- */

TEST(happy_path)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	assert_false(lab_step(sv));
	assert_status(sv, "STARTING");
	assert_int_equal(lab_running(lab), 1);
	assert_int_equal(lab_state(sv)->nodes.n, 1);
	assert_true(lab_state(sv)->nodes.v[0].rate.micros > 0);
	lab_beat(lab, job, 1, 0, GPC_PHASE_BOOT);
	lab_step(sv);
	assert_int_equal(lab_state(sv)->nodes.v[0].status, GPC_NODE_READY);
	assert_status(sv, "STARTING");
	lab_beat(lab, job, 1, 0, GPC_PHASE_SETUP);
	lab_step(sv);
	assert_status(sv, "SETUP");
	lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
	lab_step(sv);
	assert_status(sv, "RUNNING");
	assert_false(index_is_done(lab, job));
	lab_advance(10 * MINUTE);
	end(lab, job, 1, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	assert_reason(sv, "completed");
	assert_true(lab_state(sv)->spent.micros > 0);
	assert_true(index_is_done(lab, job));
	lab_check(lab, job, 1);
	assert_int_equal(lab_ledger(lab).made, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* What a job's own end becomes. */
TEST(ends_are_kept)
{
	static const struct {
		enum gpc_reason reason;
		int code, signal;
		const char *status;
		int exit;
	} cases[] = {
		{ GPC_REASON_EXIT_CODE, 3, 0, "FAILED", 3 },
		{ GPC_REASON_EXIT_CODE, 0, SIGSEGV, "FAILED", 128 + SIGSEGV },
		{ GPC_REASON_SETUP_FAILED, 2, 0, "FAILED", 2 },
		{ GPC_REASON_OUT_OF_MEMORY, 0, SIGKILL, "FAILED", 137 },
		{ GPC_REASON_TIME_LIMIT, 0, 0, "FAILED", 124 },
		{ GPC_REASON_DISK_FULL, 1, 0, "FAILED", 125 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *job = lab_job(lab, "");
		struct gpc_supervision *sv = lab_supervise(lab->s, job);
		const struct gpc_job_state *st = lab_state(sv);

		lab_run(lab, sv, job, 1);
		end(lab, job, 1, 0, cases[i].reason, cases[i].code,
			cases[i].signal);
		lab_finish(sv, MINUTE);
		assert_status(sv, cases[i].status);
		assert_int_equal(st->reason, cases[i].reason);
		assert_int_equal(st->code, cases[i].code);
		assert_int_equal(st->signal, cases[i].signal);
		if (gpc_reason_exit(st->reason, st->code, st->signal) !=
			cases[i].exit)
			fail_msg("%s exits %d, not %d",
				gpc_reason_to_str(st->reason), gpc_reason_exit(
				st->reason, st->code, st->signal), cases[i].exit);
		assert_int_equal(st->attempt, 1);
		lab_check(lab, job, 1);
		gpc_supervision_free(sv);
		lab_free(lab);
	}
}

/* A node that wrote its end and vanished before anybody looked. */
TEST(last_words_of_a_gone_node_count)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_run(lab, sv, job, 1);
	end(lab, job, 1, 0, GPC_REASON_EXIT_CODE, 9, 0);
	let_die(lab, 0);
	lab_finish(sv, MINUTE);
	assert_reason(sv, "exit_code");
	assert_int_equal(lab_state(sv)->code, 9);
	assert_int_equal(lab_ledger(lab).made, 1);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* --- lost nodes ----------------------------------------------------------------- */

TEST(lost_node_resumes_from_newest_checkpoint)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"checkpoint\":{\"path\":\"ckpt\"}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_try *try;

	lab_run(lab, sv, job, 1);
	lab_checkpoint(lab, job, 1, 1, "auto");
	lab_advance(2000);
	lab_step(sv);
	assert_string_equal(lab_state(sv)->checkpoint, "1-1-auto");
	/* The newest one is found even if it came just before the loss. */
	lab_checkpoint(lab, job, 1, 2, "auto");
	let_die(lab, 0);
	lab_advance(2000);
	lab_step(sv);
	lab_run(lab, sv, job, 2);
	try = gpc_job_state_try((struct gpc_job_state *)lab_state(sv), 2);
	assert_string_equal(try->resume_from, "1-2-auto");
	try = gpc_job_state_try((struct gpc_job_state *)lab_state(sv), 1);
	assert_int_equal(try->reason, GPC_REASON_NODE_LOST);
	assert_string_equal(try->checkpoint, "1-2-auto");
	assert_int_equal(lab_state(sv)->no_progress, 0);
	/* A stray commit of the attempt that is over is never resumed. */
	lab_checkpoint(lab, job, 1, 3, "auto");
	lab_advance(2000);
	lab_step(sv);
	assert_string_equal(lab_state(sv)->checkpoint, "1-2-auto");
	end(lab, job, 2, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

static void lose_rank_1(bool error_first, bool verdict)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	const struct gpc_job_state *st = lab_state(sv);

	lab_run(lab, sv, job, 1);
	lab_log(lab, job, 1, 0, "step 1\n");
	if (!error_first)
		let_die(lab, 2);
	/* Rank 0's program fails because its peer went away. */
	end(lab, job, 1, 0, GPC_REASON_EXIT_CODE, 1, 0);
	if (verdict)
		lab_verdict(lab, job, 1, 0, GPC_REASON_EXIT_CODE, 1);
	if (error_first) {
		lab_step(sv);
		assert_status(sv, "RUNNING");
		lab_advance(3000);
		let_die(lab, 2);
	}
	lab_advance(2000);
	lab_step(sv);
	lab_run(lab, sv, job, 2);
	assert_int_equal(gpc_job_state_try((struct gpc_job_state *)st,
		1)->reason, GPC_REASON_NODE_LOST);
	assert_int_equal(gpc_job_state_try((struct gpc_job_state *)st,
		1)->rank, 1);
	assert_int_equal(st->restarts, 0);
	for (int rank = 0; rank < 2; rank++)
		end(lab, job, 2, rank, GPC_REASON_COMPLETED, 0, 0);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	assert_int_equal(lab_ledger(lab).made, 4);
	lab_check(lab, job, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(lost_rank_is_not_the_other_ranks_error)
{
	lose_rank_1(false, false);
	lose_rank_1(false, true);
	lose_rank_1(true, false);
	lose_rank_1(true, true);
}

/* The other rank is there and says nothing: the error is believed in the end. */
TEST(error_of_one_rank_ends_the_job)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_run(lab, sv, job, 1);
	end(lab, job, 1, 1, GPC_REASON_EXIT_CODE, 7, 0);
	lab_verdict(lab, job, 1, 1, GPC_REASON_EXIT_CODE, 7);
	lab_step(sv);
	assert_status(sv, "RUNNING");
	lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
	lab_finish(sv, 5 * MINUTE);
	assert_reason(sv, "exit_code");
	assert_int_equal(lab_state(sv)->code, 7);
	assert_int_equal(lab_state(sv)->rank, 1);
	lab_check(lab, job, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* A program that takes its machine down each time, though not without a word. */
TEST(no_progress_when_all_die_young)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	for (int attempt = 1; attempt <= 7; attempt++) {
		lab_run(lab, sv, job, attempt);
		lab_log(lab, job, attempt, 0, "starting\n");
		/* The second lives longer: counting begins after it. */
		lab_advance(attempt == 2 ? 2 * MINUTE : 2000);
		lab_step(sv);
		let_die(lab, 0);
		lab_advance(2000);
		lab_step(sv);
	}
	lab_finish(sv, MINUTE);
	assert_reason(sv, "no_progress");
	assert_int_equal(lab_state(sv)->attempt, 7);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* What the agent cannot do twice it cannot do at all, whatever ran before. */
TEST(no_progress_when_the_agent_fails_twice)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	for (int attempt = 1; attempt <= 2; attempt++) {
		lab_run(lab, sv, job, attempt);
		lab_log(lab, job, attempt, 0, "works\n");
		lab_advance(2 * MINUTE);
		end(lab, job, attempt, 0, GPC_REASON_AGENT_FAILED, 0, 0);
		lab_step(sv);
		lab_advance(2000);
		lab_step(sv);
	}
	lab_finish(sv, MINUTE);
	assert_reason(sv, "no_progress");
	assert_int_equal(lab_state(sv)->attempt, 2);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(no_progress_after_two)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	for (int attempt = 1; attempt <= 2; attempt++) {
		lab_run(lab, sv, job, attempt);
		let_die(lab, 0);
		lab_advance(2000);
		lab_step(sv);
	}
	lab_finish(sv, MINUTE);
	assert_status(sv, "FAILED");
	assert_reason(sv, "no_progress");
	assert_int_equal(lab_state(sv)->attempt, 2);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* A byte of log is progress: such a job goes on as often as it must. */
TEST(progress_goes_on)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	for (int attempt = 1; attempt <= 4; attempt++) {
		lab_run(lab, sv, job, attempt);
		lab_log(lab, job, attempt, 0, "x");
		let_die(lab, 0);
		lab_advance(2000);
		lab_step(sv);
	}
	lab_run(lab, sv, job, 5);
	end(lab, job, 5, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	assert_int_equal(lab_ledger(lab).made, 5);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(stale_beat_is_a_lost_node)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_run(lab, sv, job, 1);
	lab_log(lab, job, 1, 0, "x");
	for (int i = 0; i < 170; i++) {
		lab_advance(1000);
		lab_step(sv);
	}
	assert_status(sv, "RUNNING");
	assert_int_equal(lab_running(lab), 1);
	lab_advance(11 * 1000);
	lab_step(sv);
	/* Destroyed first, and only then called lost. */
	assert_int_equal(lab_ledger(lab).ended, 1);
	lab_run(lab, sv, job, 2);
	assert_int_equal(gpc_job_state_try(
		(struct gpc_job_state *)lab_state(sv), 1)->reason,
		GPC_REASON_NODE_LOST);
	/* As long as beats come it is not lost. */
	for (int i = 0; i < 20; i++) {
		lab_beat(lab, job, 2, 0, GPC_PHASE_RUN);
		lab_advance(30000);
		lab_step(sv);
	}
	assert_status(sv, "RUNNING");
	end(lab, job, 2, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* --- restarts --------------------------------------------------------------------- */

/* Fails with these codes, an attempt each, as long as it goes on. */
static void fail_with(const char *members, const int *codes, int n,
	int want_attempts, const char *want_reason)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, members);
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	int attempt;

	for (attempt = 1; attempt <= n; attempt++) {
		lab_run(lab, sv, job, attempt);
		lab_log(lab, job, attempt, 0, "x");
		end(lab, job, attempt, 0, codes[attempt - 1] ?
			GPC_REASON_EXIT_CODE : GPC_REASON_COMPLETED,
			codes[attempt - 1], 0);
		lab_step(sv);
		if (gpc_job_status_is_end(lab_state(sv)->status))
			break;
	}
	lab_finish(sv, MINUTE);
	assert_int_equal(attempt, want_attempts);
	assert_int_equal(lab_state(sv)->attempt, want_attempts);
	assert_reason(sv, want_reason);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(own_errors_restart_when_asked)
{
	static const int ones[] = { 1, 1, 1, 1, 1, 1 };
	static const int then_fine[] = { 1, 0 };
	static const int listed[] = { 77, 77, 77, 77, 0 };
	static const int mixed[] = { 77, 1, 77, 1, 77, 1 };

	fail_with("", ones, 6, 1, "exit_code");
	fail_with("\"recovery\":{\"restarts\":2}", ones, 6, 3, "exit_code");
	fail_with("\"recovery\":{\"restarts\":2}", then_fine, 2, 2,
		"completed");
	fail_with("\"recovery\":{\"on_exit\":[77]}", listed, 5, 5, "completed");
	fail_with("\"recovery\":{\"on_exit\":[77]}", ones, 6, 1, "exit_code");
	/* A listed code uses up no restart. */
	fail_with("\"recovery\":{\"on_exit\":[77],\"restarts\":2}", mixed, 6, 6,
		"exit_code");
}

TEST(interruptions_recover)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"resources\":{\"infra\":\"fake\","
		"\"use_spot\":true}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_run(lab, sv, job, 1);
	lab_log(lab, job, 1, 0, "x");
	end(lab, job, 1, 0, GPC_REASON_SPOT_INTERRUPTED, 0, SIGTERM);
	lab_step(sv);
	lab_run(lab, sv, job, 2);
	end(lab, job, 2, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* --- cancel ------------------------------------------------------------------------ */

enum when { AT_PENDING, AT_INTENT, AT_STARTING, AT_SETUP, AT_RUNNING,
	AT_RECOVERING, WHEN__COUNT };

static void bring_to(struct lab *lab, struct gpc_supervision *sv,
	const char *job, enum when when)
{
	switch (when) {
	case AT_PENDING:
		return;
	case AT_INTENT:
		lab_script(lab, "{\"faults\":[{\"op\":\"create\","
			"\"fault\":\"lost_answer\",\"times\":-1}]}");
		lab_step(sv);
		assert_status(sv, "PROVISIONING");
		assert_int_equal(lab_state(sv)->intents.n, 1);
		return;
	case AT_STARTING:
		lab_step(sv);
		assert_status(sv, "STARTING");
		return;
	case AT_SETUP:
		lab_step(sv);
		lab_beat(lab, job, 1, 0, GPC_PHASE_SETUP);
		lab_step(sv);
		assert_status(sv, "SETUP");
		return;
	case AT_RUNNING:
		lab_run(lab, sv, job, 1);
		return;
	case AT_RECOVERING:
		lab_run(lab, sv, job, 1);
		lab_log(lab, job, 1, 0, "x");
		/* It cannot be given back for now, so that it stays there. */
		lab_script(lab, "{\"faults\":[{\"op\":\"list\","
			"\"fault\":\"die\"},{\"op\":\"destroy\","
			"\"fault\":\"unreachable\",\"times\":3}]}");
		lab_advance(2000);
		lab_step(sv);
		assert_status(sv, "RECOVERING");
		return;
	case WHEN__COUNT:
		return;
	}
}

static void cancel_at(enum when when, bool now)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	bool ended = true;
	int64_t began;
	int swept = 0;

	bring_to(lab, sv, job, when);
	assert_ok(gpc_request_cancel(lab->s, job, now, &ended, &err));
	assert_false(ended);
	began = gpc_boot_ms();
	lab_step(sv);
	if ((when == AT_RUNNING || when == AT_SETUP) && !now) {
		/* The agent saves, stops and says so. */
		assert_status(sv, "STOPPING");
		lab_advance(3000);
		end(lab, job, 1, 0, GPC_REASON_CANCELLED, 0, SIGTERM);
	}
	lab_finish(sv, 15 * MINUTE);
	assert_status(sv, "CANCELLED");
	assert_reason(sv, "cancelled");
	if (now)
		assert_true(gpc_boot_ms() - began < 30000);
	assert_ok(gpc_request_cancel(lab->s, job, now, &ended, &err));
	assert_true(ended);
	/* A machine whose answer was lost dies by its birth rule, or the sweep
	 * ends it: no event names it. */
	assert_ok(gpc_reconcile(lab->s, &swept, &err));
	assert_int_equal(swept, when == AT_INTENT);
	assert_true(lab_ledger(lab).made <= 1);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(cancel_in_each_state)
{
	for (int when = 0; when < WHEN__COUNT; when++) {
		cancel_at((enum when)when, false);
		cancel_at((enum when)when, true);
	}
}

/* An agent that does not react to a cancel is ended in the end. */
TEST(cancel_of_a_deaf_agent)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	bool ended;

	lab_run(lab, sv, job, 1);
	assert_ok(gpc_request_cancel(lab->s, job, false, &ended, &err));
	for (int i = 0; i < 10 * 60 && !lab_step(sv); i += 5) {
		lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
		lab_advance(5000);
	}
	assert_status(sv, "CANCELLED");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* What the nodes have said before anybody asked is the end, whatever it is: nobody
 * has written it down yet, and the journal gets no cancel. */
static void cancel_after(enum gpc_reason reason, int code, const char *status)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	bool ended = false;

	lab_run(lab, sv, job, 1);
	end(lab, job, 1, 0, reason, code, 0);
	assert_ok(gpc_request_cancel(lab->s, job, true, &ended, &err));
	assert_true(ended);
	lab_finish(sv, 5 * MINUTE);
	assert_status(sv, status);
	assert_reason(sv, gpc_reason_to_str(reason));
	assert_false(lab_state(sv)->cancel);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(cancel_after_the_end_changes_nothing)
{
	cancel_after(GPC_REASON_COMPLETED, 0, "SUCCEEDED");
	cancel_after(GPC_REASON_EXIT_CODE, 3, "FAILED");
}

/* A failure that a new attempt would follow is no end yet. */
TEST(cancel_ends_what_would_go_on)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"recovery\":{\"restarts\":3}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	bool ended = true;

	lab_run(lab, sv, job, 1);
	end(lab, job, 1, 0, GPC_REASON_EXIT_CODE, 3, 0);
	assert_ok(gpc_request_cancel(lab->s, job, false, &ended, &err));
	assert_false(ended);
	lab_finish(sv, 5 * MINUTE);
	assert_reason(sv, "cancelled");
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* A job that completes while it is being cancelled has completed, also where
 * nobody waits for a word of its nodes. */
static void completes_while_cancelled(bool now)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	bool ended;

	lab_run(lab, sv, job, 1);
	assert_ok(gpc_request_cancel(lab->s, job, now, &ended, &err));
	end(lab, job, 1, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_finish(sv, 5 * MINUTE);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(cancel_loses_against_success)
{
	completes_while_cancelled(false);
	completes_while_cancelled(true);
}

/* --- resume ------------------------------------------------------------------------ */

TEST(resume_goes_on_from_the_checkpoint)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"checkpoint\":{\"path\":\"ckpt\"}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;

	lab_run(lab, sv, job, 1);
	lab_checkpoint(lab, job, 1, 1, "final");
	end(lab, job, 1, 0, GPC_REASON_EXIT_CODE, 1, 0);
	lab_finish(sv, MINUTE);
	assert_status(sv, "FAILED");
	assert_true(index_is_done(lab, job));
	assert_ok(gpc_request_resume(lab->s, job, NULL, NULL, &err));
	assert_false(index_is_done(lab, job));
	gpc_supervision_free(sv);
	sv = lab_supervise(lab->s, job);
	lab_run(lab, sv, job, 2);
	assert_string_equal(gpc_job_state_try(
		(struct gpc_job_state *)lab_state(sv), 2)->resume_from,
		"1-1-final");
	end(lab, job, 2, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	assert_true(index_is_done(lab, job));
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(happy_path),
		cmocka_unit_test(ends_are_kept),
		cmocka_unit_test(last_words_of_a_gone_node_count),
		cmocka_unit_test(lost_node_resumes_from_newest_checkpoint),
		cmocka_unit_test(lost_rank_is_not_the_other_ranks_error),
		cmocka_unit_test(error_of_one_rank_ends_the_job),
		cmocka_unit_test(no_progress_after_two),
		cmocka_unit_test(no_progress_when_all_die_young),
		cmocka_unit_test(no_progress_when_the_agent_fails_twice),
		cmocka_unit_test(progress_goes_on),
		cmocka_unit_test(stale_beat_is_a_lost_node),
		cmocka_unit_test(own_errors_restart_when_asked),
		cmocka_unit_test(interruptions_recover),
		cmocka_unit_test(cancel_in_each_state),
		cmocka_unit_test(cancel_of_a_deaf_agent),
		cmocka_unit_test(cancel_after_the_end_changes_nothing),
		cmocka_unit_test(cancel_ends_what_would_go_on),
		cmocka_unit_test(cancel_loses_against_success),
		cmocka_unit_test(resume_goes_on_from_the_checkpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
