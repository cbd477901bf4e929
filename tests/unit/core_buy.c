/* Buying exactly once, whatever fails: answers that are lost, clouds without
 * machines, caps, supervisors that die at any put or race with each other. The
 * pretend cloud's ledger is the witness. */
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/reconcile.h"
#include "core/request.h"
#include "core_lab.h"
#include "record/keys.h"
#include "record/tether.h"

/* Steps and plays until the job is done. */
static void play_out(struct lab *lab, struct gpc_supervision *sv,
	const char *job, int64_t ms)
{
	int64_t end = gpc_boot_ms() + ms;

	while (!lab_step(sv)) {
		if (gpc_boot_ms() > end)
			fail_msg("still %s", gpc_job_status_to_str(
				lab_state(sv)->status));
		lab_play(lab, job, lab_state(sv));
		lab_advance(1000);
	}
}

/* One job under a script, played to its end. */
static void one(const char *members, const char *script, const char *reason,
	int creates, int made)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, members);
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct lab_ledger l;

	lab_script(lab, script);
	play_out(lab, sv, job, 60 * MINUTE);
	l = lab_ledger(lab);
	if (!gpc_eq(gpc_reason_to_str(lab_state(sv)->reason), reason) ||
		l.creates != creates || l.made != made)
		fail_msg("%s: %s after %d creates of %d nodes", script,
			gpc_reason_to_str(lab_state(sv)->reason), l.creates,
			l.made);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

#define FAULTS(text) "{\"faults\":[" text "]}"
#define FAKE_RESOURCES(more) "\"resources\":{\"infra\":\"fake\"" more "}"
#define CREATE(fault, more) "{\"op\":\"create\",\"fault\":\"" fault "\"" more "}"

TEST(failures_of_a_create)
{
	one("", FAULTS(CREATE("lost_answer", "")), "completed", 2, 1);
	one("", FAULTS(CREATE("lost_answer", ",\"times\":3")), "completed", 4, 1);
	one("", FAULTS(CREATE("unreachable", ",\"times\":2")), "completed", 3, 1);
	one("", FAULTS(CREATE("throttle", ",\"ms\":9000")), "completed", 2, 1);
	one("", FAULTS(CREATE("slow", ",\"ms\":9000")), "completed", 1, 1);
	/* The next offer, until one is free; then all again. */
	one("", FAULTS(CREATE("no_capacity", "")), "completed", 2, 1);
	one("", FAULTS(CREATE("no_capacity", ",\"times\":12")), "completed", 13,
		1);
	one("", FAULTS(CREATE("error", ",\"times\":2")), "completed", 3, 1);
	one("", FAULTS(CREATE("quota", ",\"times\":2")), "completed", 3, 1);
	/* The next region; then none is left. */
	one("", FAULTS(CREATE("lacks", "")), "completed", 2, 1);
	one("", FAULTS(CREATE("lacks", ",\"times\":-1")), "spec_invalid", 2, 0);
	/* One region lacks it, and the other one has no capacity for a while. */
	one("", FAULTS(CREATE("no_capacity", "") "," CREATE("lacks", "")), "completed",
		3, 1);
	/* These would fail again. */
	one("", FAULTS(CREATE("auth", "")), "auth", 1, 0);
	one("", FAULTS(CREATE("refused", "")), "spec_invalid", 1, 0);
	/* Somebody makes room; nobody does. */
	one("", FAULTS(CREATE("full", ",\"times\":9")), "completed", 10, 1);
	one("", FAULTS(CREATE("full", ",\"times\":-1")), "disk_full", 31, 0);
}

TEST(failures_of_other_calls)
{
	one("", FAULTS("{\"op\":\"offers\",\"fault\":\"unreachable\","
		"\"times\":3}"), "completed", 1, 1);
	one("", FAULTS("{\"op\":\"list\",\"fault\":\"throttle\","
		"\"times\":5}"), "completed", 1, 1);
	one("", FAULTS("{\"op\":\"destroy\",\"fault\":\"lost_answer\","
		"\"times\":2}"), "completed", 1, 1);
	one("", FAULTS("{\"op\":\"destroy\",\"fault\":\"unreachable\","
		"\"times\":2}"), "completed", 1, 1);
}

TEST(waiting_for_capacity_has_an_end_when_asked)
{
	one("\"recovery\":{\"wait_capacity\":\"10m\"}",
		FAULTS(CREATE("quota", ",\"times\":-1")), "quota", 2 * 8, 0);
}

static double rate_of(const struct gpc_supervision *sv)
{
	return (double)lab_state(sv)->nodes.v[0].rate.micros / 1e6;
}

TEST(the_next_zone_is_tried)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	/* south-a is the cheapest; north-a is next. */
	lab_script(lab, FAULTS(CREATE("no_capacity",
		",\"zone\":\"south-a\",\"times\":-1")));
	lab_step(sv);
	assert_status(sv, "STARTING");
	assert_true(rate_of(sv) > 0.199 && rate_of(sv) < 0.201);
	assert_int_equal(lab_ledger(lab).creates, 2);
	assert_int_equal(lab_events(lab, job, "void"), 1);
	play_out(lab, sv, job, MINUTE);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* No attempt is counted for a machine that never ran, and what was tried is kept. */
TEST(a_machine_that_never_ran_is_an_offer_that_was_not_to_be_had)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab,
		FAKE_RESOURCES(",\"job_recovery\":\"none\""));
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	const struct gpc_refusal *x;

	lab_script(lab, FAULTS(CREATE("stillborn",
		",\"zone\":\"south-a\",\"times\":-1") ","
		CREATE("no_capacity", ",\"zone\":\"north-a\",\"times\":-1")));
	for (int i = 0; i < 20 && lab_state(sv)->refused.n < 2; i++) {
		lab_step(sv);
		lab_advance(2000);
	}
	lab_step(sv);
	assert_status(sv, "STARTING");
	assert_true(rate_of(sv) > 0.219 && rate_of(sv) < 0.221); /* north-b */
	assert_int_equal(lab_state(sv)->attempt, 2);
	assert_int_equal(lab_state(sv)->restarts, 0);
	assert_int_equal(lab_state(sv)->no_progress, 0);
	assert_true(lab_state(sv)->spent.micros == 0);
	assert_int_equal(lab_state(sv)->refused.n, 2);
	x = lab_state(sv)->refused.v;
	assert_string_equal(x[0].offer, "fake/south/south-a/cpu-4/on-demand");
	assert_has(x[0].why, "died before it ran");
	assert_string_equal(x[1].offer, "fake/north/north-a/cpu-4/on-demand");
	assert_has(x[1].why, "no such machine");
	assert_int_equal(x[1].attempt, 2);
	play_out(lab, sv, job, MINUTE);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(no_capacity_waits_without_end)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_script(lab, FAULTS(CREATE("no_capacity", ",\"times\":-1")));
	for (int i = 0; i < 120; i++) {
		lab_step(sv);
		lab_advance(MINUTE);
	}
	assert_status(sv, "PROVISIONING");
	assert_int_equal(lab_ledger(lab).made, 0);
	lab_script(lab, "{}");
	play_out(lab, sv, job, 10 * MINUTE);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* A job that has no node yet has no agent that misses its client. */
TEST(who_waits_without_its_client_is_cancelled)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_tether t = { .within_ms = 2 * MINUTE };

	lab_script(lab, FAULTS(CREATE("no_capacity", ",\"times\":-1")));
	for (int i = 0; i < 60; i++) {
		gpc_tether_renew(&t, lab->s->store, job);
		lab_step(sv);
		lab_advance(5000);
	}
	assert_status(sv, "PROVISIONING");
	lab_finish(sv, 5 * MINUTE);
	assert_status(sv, "CANCELLED");
	assert_int_equal(lab_ledger(lab).made, 0);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(an_unanswered_intent_is_void_after_ten_minutes)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	int swept = 0;
	struct gpc_error err;

	/* The machine is there, but no answer ever says so. */
	lab_script(lab, FAULTS(CREATE("lost_answer", ",\"times\":-1")));
	for (int i = 0; i < 9 * 60; i++) {
		lab_step(sv);
		lab_advance(1000);
	}
	assert_int_equal(lab_events(lab, job, "void"), 0);
	assert_int_equal(lab_events(lab, job, "intent"), 1);
	for (int i = 0; i < 100; i++) {
		lab_step(sv);
		lab_advance(1000);
	}
	assert_int_equal(lab_events(lab, job, "void"), 1);
	assert_int_equal(lab_events(lab, job, "intent"), 2);
	lab_script(lab, "{}");
	play_out(lab, sv, job, MINUTE);
	/* Two tokens, two machines; the one that no event names is swept. */
	assert_int_equal(lab_ledger(lab).tokens, 2);
	assert_int_equal(lab_ledger(lab).made, 2);
	assert_ok(gpc_reconcile(lab->s, &swept, &err));
	assert_int_equal(swept, 1);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* A machine that lists do not show yet is neither lost nor released. */
TEST(a_list_that_lags_behind)
{
	for (int now = 0; now < 2; now++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *job = lab_job(lab, "");
		struct gpc_supervision *sv = lab_supervise(lab->s, job);
		struct gpc_error err;
		bool ended;

		lab_script(lab, FAULTS(CREATE("hide", ",\"ms\":120000")));
		lab_step(sv);
		for (int i = 0; i < 10; i++) {
			lab_advance(2000);
			lab_step(sv);
		}
		assert_status(sv, "STARTING");
		if (now)
			assert_ok(gpc_request_cancel(lab->s, job, true, &ended,
				&err));
		play_out(lab, sv, job, 10 * MINUTE);
		assert_status(sv, now ? "CANCELLED" : "SUCCEEDED");
		assert_int_equal(lab_ledger(lab).made, 1);
		lab_check(lab, job, 1);
		gpc_supervision_free(sv);
		lab_free(lab);
	}
}

/* --- caps ------------------------------------------------------------------------ */

TEST(caps_end_a_job)
{
	one("\"resources\":{\"infra\":\"fake\",\"max_hourly_cost\":0.01}", "{}",
		"price_above_cap", 0, 0);
	one("\"resources\":{\"infra\":\"fake\",\"max_hourly_cost\":0.01},"
		"\"limits\":{\"cost\":5}", "{}", "price_above_cap", 0, 0);
}

TEST(a_cost_limit_holds)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"limits\":{\"cost\":1}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	int64_t began = gpc_boot_ms();

	lab_step(sv);
	/* 1 USD buys 5 h 33 min at 0.18. */
	assert_true(lab_state(sv)->nodes.v[0].expires_ms - gpc_wall_ms() <
		334 * MINUTE);
	for (int i = 0; i < 400 && !lab_step(sv); i++) {
		if (lab_state(sv)->status < GPC_JOB_SUCCEEDED)
			lab_beat(lab, job, lab_state(sv)->attempt, 0,
				GPC_PHASE_RUN);
		lab_log(lab, job, 1, 0, "x");
		lab_advance(MINUTE);
	}
	assert_status(sv, "FAILED");
	assert_reason(sv, "cost_limit");
	assert_true(gpc_boot_ms() - began < 340 * MINUTE);
	assert_true(lab_state(sv)->spent.micros < 1020000);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* The agent stops when its node's lifetime ends; what bounded that is why. */
TEST(the_end_of_a_lifetime_is_named)
{
	static const struct { const char *members, *reason; } cases[] = {
		{ "\"limits\":{\"cost\":1}", "cost_limit" },
		{ "\"limits\":{\"time\":\"1h\"}", "time_limit" },
		{ "", "lifetime" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *job = lab_job(lab, cases[i].members);
		struct gpc_supervision *sv = lab_supervise(lab->s, job);

		lab_step(sv);
		lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
		lab_step(sv);
		lab_exit(lab, job, 1, 0, GPC_REASON_LIFETIME, 0, 15);
		play_out(lab, sv, job, 10 * MINUTE);
		assert_reason(sv, cases[i].reason);
		assert_int_equal(lab_ledger(lab).made, 1);
		lab_check(lab, job, 1);
		gpc_supervision_free(sv);
		lab_free(lab);
	}
}

/* --- crashes and races ---------------------------------------------------------- */

TEST(a_dead_holder_is_followed_at_once)
{
	struct lab *lab = lab_new(LAB_FILE);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct gpc_session *s = lab_session(lab);

		lab_step(lab_supervise(s, job));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	sv = lab_supervise(lab->s, job);
	lab_step(sv);
	assert_int_equal(lab_events(lab, job, "supervisor"), 2);
	play_out(lab, sv, job, MINUTE);
	assert_int_equal(lab_ledger(lab).made, 1);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Who comes late sees from the record of a holder on this boot since when it has
 * been silent, and need not wait for that time once more. */
TEST(a_silent_holder_here_is_followed_at_once_by_who_comes_late)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *a = lab_supervise(lab->s, job);
	struct gpc_supervision *b = lab_supervise(lab->s, job);
	struct gpc_supervision *c = lab_supervise(lab->s, job);

	lab_step(a);
	lab_advance(GPC_SUPERVISOR_STALE_MS - 30000);
	lab_step(b);
	assert_int_equal(lab_events(lab, job, "supervisor"), 1);
	lab_advance(30000);
	lab_step(c);
	assert_int_equal(lab_events(lab, job, "supervisor"), 2);
	lab_step(a);
	assert_string_equal(lab_state(a)->supervisor, lab_state(c)->supervisor);
	play_out(lab, c, job, MINUTE);
	assert_int_equal(lab_ledger(lab).made, 1);
	lab_check(lab, job, 1);
	gpc_supervision_free(a);
	gpc_supervision_free(b);
	gpc_supervision_free(c);
	lab_free(lab);
}

TEST(a_silent_holder_is_followed_after_a_minute)
{
	struct lab *lab = lab_new(0);
	struct gpc_session *other = lab_session(lab);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *a = lab_supervise(lab->s, job);
	struct gpc_supervision *b = lab_supervise(other, job);

	lab_step(a);
	for (int i = 0; i < 100; i++) {       /* a lives: b looks on */
		lab_step(a);
		lab_step(b);
		lab_advance(1000);
	}
	assert_int_equal(lab_events(lab, job, "supervisor"), 1);
	for (int i = 0; i < 50; i++) {
		lab_step(b);
		lab_advance(1000);
	}
	assert_int_equal(lab_events(lab, job, "supervisor"), 1);
	for (int i = 0; i < 30; i++) {
		lab_step(b);
		lab_advance(1000);
	}
	assert_int_equal(lab_events(lab, job, "supervisor"), 2);
	/* a comes back to life and finds that it was followed. */
	lab_step(a);
	assert_string_equal(lab_state(a)->supervisor, lab_state(b)->supervisor);
	play_out(lab, b, job, MINUTE);
	lab_step(a);
	assert_int_equal(lab_ledger(lab).made, 1);
	lab_check(lab, job, 1);
	gpc_supervision_free(a);
	gpc_supervision_free(b);
	gpc_session_free(other);
	lab_free(lab);
}

/* A place where even root makes no file: false where there is none. */
static bool close_disk(struct lab *lab)
{
	gpc_autostr *dir = gpc_format("%s/fake", lab->s->place.state_dir);
	gpc_autostr *lock = gpc_format("%s/.lock", dir);
	struct gpc_error err;
	struct stat st;

	if (stat("/sys/kernel", &st) < 0)
		return false;
	assert_ok(gpc_mkdirs(dir, 0700, &err));
	unlink(lock);
	return symlink("/sys/kernel/gpucloud-none", lock) == 0;
}

/* before: the disk closes before the intent, else between intent and create. */
static void closed(bool before)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	if (!before) {
		lab_script(lab, FAULTS(CREATE("unreachable", "")));
		lab_step(sv);
		assert_int_equal(lab_events(lab, job, "intent"), 1);
	}
	if (!close_disk(lab))
		skip();
	lab_finish(sv, MINUTE);
	assert_status(sv, "FAILED");
	assert_reason(sv, "auth");
	assert_has(lab_state(sv)->detail, "cannot start: ");
	assert_int_equal(lab_events(lab, job, "void"), before ? 0 : 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(a_disk_that_forbids_a_node_ends_the_job)
{
	closed(true);
	closed(false);
}

TEST(a_full_disk_is_waited_for)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_script(lab, FAULTS(CREATE("full", ",\"times\":-1")));
	for (int i = 0; i < 25; i++) {
		lab_step(sv);
		lab_advance(2000);
	}
	assert_status(sv, "PROVISIONING");
	lab_finish(sv, MINUTE);
	assert_status(sv, "FAILED");
	assert_reason(sv, "disk_full");
	assert_has(lab_state(sv)->detail, "cannot start: fake create: no room");
	assert_int_equal(lab_events(lab, job, "void"), 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

static void forget_holder(struct lab *lab, const char *job)
{
	struct gpc_error err;
	gpc_key key;

	assert_ok(gpc_store_del(lab->s->store,
		gpc_key_job_file(key, job, "supervisor"), &err));
}

/* As agents do when they have ended. */
static void power_off(struct lab *lab)
{
	lab_script(lab, FAULTS("{\"op\":\"list\",\"fault\":\"die\"}"));
}

/* Each takes the job from the other before every step. */
TEST(two_that_alternate_buy_once)
{
	struct lab *lab = lab_new(0);
	struct gpc_session *other = lab_session(lab);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	struct gpc_supervision *sv[] = { lab_supervise(lab->s, job),
		lab_supervise(other, job) };
	bool done = false;

	for (int i = 0; i < 600 && !done; i++) {
		forget_holder(lab, job);
		done = lab_step(sv[i % 2]);
		lab_play(lab, job, lab_state(sv[i % 2]));
		lab_advance(1000);
	}
	assert_true(done);
	lab_step(sv[0]);
	lab_step(sv[1]);
	assert_true(lab_events(lab, job, "supervisor") > 4);
	assert_int_equal(lab_events(lab, job, "created"), 1);
	assert_int_equal(lab_events(lab, job, "released"), 1);
	assert_int_equal(lab_ledger(lab).made, 2);
	lab_check(lab, job, 2);
	gpc_supervision_free(sv[0]);
	gpc_supervision_free(sv[1]);
	gpc_session_free(other);
	lab_free(lab);
}

struct racer { struct gpc_supervision *sv; bool done; };

static void *race(void *arg)
{
	struct racer *x = arg;

	for (int i = 0; i < 3000 && !x->done; i++) {
		x->done = lab_step(x->sv);
		gpc_sleep_ms(1);
	}
	return NULL;
}

TEST(threads_that_race_buy_once)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	struct gpc_session *sessions[3];
	struct gpc_supervision *look = lab_supervise(lab->s, job);
	struct racer racers[3] = {0};
	pthread_t threads[3];
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;

	lab_real_sleep(true);
	gpc_journal_init(&j, lab->s->store, job, "");
	for (int i = 0; i < 3; i++) {
		sessions[i] = lab_session(lab);
		racers[i].sv = lab_supervise(sessions[i], job);
		assert_int_equal(pthread_create(&threads[i], NULL, race,
			&racers[i]), 0);
	}
	for (int i = 0; i < 1000; i++) {
		assert_ok(gpc_journal_refresh(&j, NULL, &err));
		if (gpc_job_status_is_end(j.state.status))
			break;
		forget_holder(lab, job);
		lab_play(lab, job, &j.state);
		gpc_sleep_ms(5);
	}
	power_off(lab);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_true(racers[i].done);
		gpc_supervision_free(racers[i].sv);
		gpc_session_free(sessions[i]);
	}
	assert_int_equal(lab_events(lab, job, "created"), 1);
	assert_int_equal(lab_events(lab, job, "ended"), 1);
	assert_int_equal(lab_ledger(lab).made, 2);
	lab_check(lab, job, 2);
	gpc_supervision_free(look);
	lab_free(lab);
}

TEST(processes_that_race_buy_once)
{
	struct lab *lab = lab_new(LAB_FILE);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;
	pid_t pids[3];
	int status;

	lab_real_sleep(true);
	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct racer x = { .sv = lab_supervise(
				lab_session(lab), job) };

			race(&x);
			_exit(x.done ? 0 : 1);
		}
	}
	gpc_journal_init(&j, lab->s->store, job, "");
	for (int i = 0; i < 1000; i++) {
		assert_ok(gpc_journal_refresh(&j, NULL, &err));
		if (gpc_job_status_is_end(j.state.status))
			break;
		forget_holder(lab, job);
		lab_play(lab, job, &j.state);
		gpc_sleep_ms(5);
	}
	power_off(lab);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(lab_events(lab, job, "created"), 1);
	assert_int_equal(lab_ledger(lab).made, 2);
	lab_check(lab, job, 2);
	lab_free(lab);
}

/* Every put of the whole flow in turn fails in one of three ways. */
TEST(a_failure_at_each_put)
{
	static const enum gpc_fault_how hows[] = {
		GPC_FAULT_BEFORE, GPC_FAULT_AFTER, GPC_FAULT_LATE,
	};
	int most = 0;

	for (size_t h = 0; h < COUNT(hows); h++) {
		for (unsigned nth = 1;; nth += stride(5)) {
			struct lab *lab = lab_new(LAB_FAULTY);
			gpc_autostr *job = lab_job(lab, "");
			struct gpc_supervision *sv = lab_supervise(lab->s, job);
			unsigned puts;

			gpc_store_fault_reset(lab->s->store);
			gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
				.op = GPC_FAULT_PUT, .how = hows[h], .nth = nth,
				.late_ms = 20 });
			play_out(lab, sv, job, 10 * MINUTE);
			puts = gpc_store_fault_count(lab->s->store,
				GPC_FAULT_PUT);
			assert_status(sv, "SUCCEEDED");
			assert_int_equal(lab_ledger(lab).made, 1);
			assert_int_equal(lab_state(sv)->attempt, 1);
			lab_check(lab, job, 1);
			gpc_supervision_free(sv);
			lab_free(lab);
			most = (int)puts;
			if (nth > puts)
				break;
		}
	}
	assert_true(most > 15);
}

static void die(void *arg)
{
	(void)arg;
	_exit(77);
}

/* A supervisor is killed before each put of the flow in turn, and another one
 * goes on: the same token, one machine. */
TEST(a_kill_at_each_put)
{
	for (unsigned nth = 1;; nth += stride(5)) {
		struct lab *lab = lab_new(LAB_FILE | LAB_FAULTY);
		gpc_autostr *job = lab_job(lab, "");
		struct gpc_supervision *sv;
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			gpc_store_fault_reset(lab->s->store);
			gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
				.op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
				.nth = nth, .call = die });
			play_out(lab, lab_supervise(lab->s, job), job, MINUTE);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		sv = lab_supervise(lab->s, job);
		play_out(lab, sv, job, 10 * MINUTE);
		assert_status(sv, "SUCCEEDED");
		assert_int_equal(lab_ledger(lab).tokens, 1);
		assert_int_equal(lab_ledger(lab).made, 1);
		assert_int_equal(lab_state(sv)->attempt, 1);
		lab_check(lab, job, 1);
		gpc_supervision_free(sv);
		lab_free(lab);
		if (WEXITSTATUS(status) == 0)
			break;
		assert_int_equal(WEXITSTATUS(status), 77);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_of_a_create),
		cmocka_unit_test(failures_of_other_calls),
		cmocka_unit_test(waiting_for_capacity_has_an_end_when_asked),
		cmocka_unit_test(the_next_zone_is_tried),
		cmocka_unit_test(
			a_machine_that_never_ran_is_an_offer_that_was_not_to_be_had),
		cmocka_unit_test(no_capacity_waits_without_end),
		cmocka_unit_test(who_waits_without_its_client_is_cancelled),
		cmocka_unit_test(an_unanswered_intent_is_void_after_ten_minutes),
		cmocka_unit_test(a_list_that_lags_behind),
		cmocka_unit_test(caps_end_a_job),
		cmocka_unit_test(a_cost_limit_holds),
		cmocka_unit_test(the_end_of_a_lifetime_is_named),
		cmocka_unit_test(a_dead_holder_is_followed_at_once),
		cmocka_unit_test(a_silent_holder_is_followed_after_a_minute),
		cmocka_unit_test(
			a_silent_holder_here_is_followed_at_once_by_who_comes_late),
		cmocka_unit_test(a_disk_that_forbids_a_node_ends_the_job),
		cmocka_unit_test(a_full_disk_is_waited_for),
		cmocka_unit_test(two_that_alternate_buy_once),
		cmocka_unit_test(threads_that_race_buy_once),
		cmocka_unit_test(processes_that_race_buy_once),
		cmocka_unit_test(a_failure_at_each_put),
		cmocka_unit_test(a_kill_at_each_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
