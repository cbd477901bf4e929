/* Changing limits: what is set holds for the supervisor at once and for what is
 * bought next; what cannot be is refused with the reason. */
#include "base/str.h"
#include "base/time.h"
#include "core/update.h"
#include "core/view.h"
#include "core_jobs.h"
#include "record/journal.h"
#include "record/recover.h"
#include "record/update.h"

static struct gpc_error err;

static struct gpc_money usd(int64_t cents)
{
	return (struct gpc_money){ .micros = cents * 10000, .currency = "USD" };
}

static int update(struct lab *lab, const char *job, struct gpc_money cost,
	int64_t time_ms, bool may_end, struct gpc_update_result *x)
{
	struct gpc_update u = { .cost = cost, .time_ms = time_ms,
		.may_end = may_end };

	gpc_update_result_clear(x);
	return gpc_update_job(lab->s, job, &u, x, &err);
}

#define NONE ((struct gpc_money){0})

TEST(a_waiting_job_takes_both)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"limits\":{\"cost\":5}");
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	const struct gpc_json *limits;

	assert_ok(update(lab, job, usd(800), 7200000, false, &x));
	assert_true(x.changed);
	assert_int_equal(x.old_cost.micros, 5000000);
	assert_int_equal(x.new_cost.micros, 8000000);
	assert_int_equal(x.old_time_ms, 0);
	assert_int_equal(x.new_time_ms, 7200000);
	assert_int_equal(lab_events(lab, job, "update"), 1);
	/* The same again is no event. */
	assert_ok(update(lab, job, usd(800), 0, false, &x));
	assert_false(x.changed);
	assert_int_equal(lab_events(lab, job, "update"), 1);
	/* One limit leaves the other. */
	assert_ok(update(lab, job, NONE, 3600000, false, &x));
	assert_int_equal(x.new_cost.micros, 8000000);
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	j = gpc_view_json(lab->s, &v);
	limits = gpc_json_get(j, "limits");
	assert_int_equal(gpc_json_get_int(limits, "time_ms", 0), 3600000);
	assert_string_equal(gpc_json_get_str(gpc_json_get(limits, "cost"),
		"amount"), "8.00");
	assert_ok(gpc_journal_verify(lab->s->store, job, &err));
	lab_free(lab);
}

/* A higher limit keeps alive what the old one would have ended, and the next
 * node is bought for the new one. */
TEST(a_higher_cost_goes_on)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"limits\":{\"cost\":1},"
		"\"checkpoint\":{\"path\":\"ck\"}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	gpc_auto(gpc_exit) struct gpc_exit end = { .reason = GPC_REASON_LIFETIME };
	int64_t first;

	lab_run(lab, sv, job, 1);
	first = lab_state(sv)->nodes.v[0].expires_ms;
	assert_true(first > 0);
	/* Its node was bought for as long as the money lasts. */
	gpc_recover_name_end(lab_state(sv), &end);
	assert_int_equal(end.reason, GPC_REASON_COST_LIMIT);
	assert_ok(update(lab, job, usd(10000), 0, false, &x));
	assert_non_null(x.note);
	assert_has(x.note, "the next attempt goes on");
	lab_step(sv);
	end.reason = GPC_REASON_LIFETIME;
	gpc_recover_name_end(lab_state(sv), &end);
	assert_int_equal(end.reason, GPC_REASON_LIFETIME);
	lab_checkpoint(lab, job, 1, 1, "final");
	lab_exit(lab, job, 1, 0, GPC_REASON_LIFETIME, 0, 0);
	lab_beat(lab, job, 1, 0, GPC_PHASE_DONE);
	lab_leave(lab, job);
	lab_run(lab, sv, job, 2);
	assert_true(lab_state(sv)->nodes.v[lab_state(sv)->nodes.n - 1].expires_ms
		> first + 60 * MINUTE);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(a_lower_cost_ends_it)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"limits\":{\"cost\":50}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};

	lab_run(lab, sv, job, 1);
	lab_advance(30 * MINUTE);
	lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
	lab_step(sv);
	assert_status(sv, "RUNNING");
	/* Only when that is meant. */
	assert_ok(update(lab, job, usd(1), 0, false, &x));
	assert_false(x.changed);
	assert_has(x.would_end, "--max-cost");
	assert_int_equal(lab_events(lab, job, "update"), 0);
	assert_ok(update(lab, job, usd(1), 0, true, &x));
	assert_true(x.changed);
	lab_finish(sv, 10 * MINUTE);
	assert_status(sv, "FAILED");
	assert_reason(sv, "cost_limit");
	assert_fails(update(lab, job, usd(100), 0, false, &x), GPC_ECONFLICT);
	assert_has(err.msg, "has ended");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(time_fits_the_lifetime)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"limits\":{\"time\":\"2h\"}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};

	/* Nothing is bought yet: any time will do. */
	assert_ok(update(lab, job, NONE, 4 * 60 * MINUTE, false, &x));
	lab_run(lab, sv, job, 1);
	assert_ok(update(lab, job, NONE, 3 * 60 * MINUTE, false, &x));
	assert_true(x.changed);
	assert_fails(update(lab, job, NONE, 9 * 60 * MINUTE, false, &x),
		GPC_ECONFLICT);
	assert_has(err.msg, "lifetime");
	assert_has(err.msg, "4h");
	assert_has(err.hint, "submit");
	/* What has run already ends it. */
	lab_advance(30 * MINUTE);
	assert_ok(update(lab, job, NONE, 10 * MINUTE, false, &x));
	assert_false(x.changed);
	assert_has(x.would_end, "has run for 30m");
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Machines that were asked for and have not answered count, and the first end of all. */
TEST(time_fits_what_ends_first)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"limits\":{\"time\":\"2h\"}");
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	int64_t now = gpc_wall_ms();

	lab_event(lab, job, GPC_EVENT_ATTEMPT, "{\"attempt\":1}");
	for (int hours = 5; hours < 9; hours += 3) {
		gpc_autostr *intent = gpc_format("{\"attempt\":1,\"token\":\"t%d\","
			"\"request\":{\"expires_ms\":%lld}}", hours,
			(long long)(now + hours * 60 * MINUTE));

		lab_event(lab, job, GPC_EVENT_INTENT, intent);
	}
	assert_fails(update(lab, job, NONE, 6 * 60 * MINUTE, false, &x),
		GPC_ECONFLICT);
	assert_has(err.msg, "lifetime");
	assert_ok(update(lab, job, NONE, 4 * 60 * MINUTE, false, &x));
	lab_free(lab);
}

TEST(time_fits_the_node_that_ends_first)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2,\"limits\":{\"time\":\"2h\"}");
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	long long now = gpc_wall_ms();
	gpc_autostr *created = gpc_format("{\"intent\":3,\"nodes\":["
		"{\"rank\":0,\"id\":\"a\",\"provider\":\"fake\",\"expires_ms\":%lld},"
		"{\"rank\":1,\"id\":\"b\",\"provider\":\"fake\",\"expires_ms\":%lld}]}",
		now + 5 * 60 * MINUTE, now + 9 * 60 * MINUTE);

	lab_event(lab, job, GPC_EVENT_ATTEMPT, "{\"attempt\":1}");
	lab_event(lab, job, GPC_EVENT_INTENT,
		"{\"attempt\":1,\"token\":\"t\",\"request\":{}}");
	lab_event(lab, job, GPC_EVENT_CREATED, created);
	assert_fails(update(lab, job, NONE, 7 * 60 * MINUTE, false, &x),
		GPC_ECONFLICT);
	assert_ok(update(lab, job, NONE, 4 * 60 * MINUTE, false, &x));
	lab_free(lab);
}

TEST(another_currency_is_refused)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	struct gpc_money yuan = { .micros = 80000000, .currency = "CNY" };

	lab_run(lab, sv, job, 1);
	assert_fails(update(lab, job, yuan, 0, false, &x), GPC_EUSAGE);
	assert_has(err.msg, "USD");
	assert_int_equal(lab_events(lab, job, "update"), 0);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* An end that only its node has told so far is an end. */
TEST(an_end_that_is_not_recorded_yet)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};

	lab_run(lab, sv, job, 1);
	lab_verdict(lab, job, 1, 0, GPC_REASON_COMPLETED, 0);
	assert_fails(update(lab, job, usd(100), 0, false, &x), GPC_ECONFLICT);
	gpc_supervision_free(sv);
	lab_free(lab);
}

struct racer { struct lab *lab; const char *job; int calls; };

static void other_update(void *arg)
{
	struct racer *r = arg;
	struct gpc_session *s;
	struct gpc_update u = { .time_ms = 60 * MINUTE };
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};

	if (r->calls++)
		return;
	s = lab_session(r->lab);
	assert_ok(gpc_update_job(s, r->job, &u, &x, &err));
	gpc_session_free(s);
}

TEST(two_at_once_both_hold)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *job = lab_job(lab, "");
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct racer r = { .lab = lab, .job = job };
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
		.prefix = "jobs/", .nth = 1, .call = other_update, .arg = &r };

	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(update(lab, job, usd(300), 0, false, &x));
	gpc_store_fault_reset(lab->s->store);
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	assert_int_equal(v.state.cost_limit.micros, 3000000);
	assert_int_equal(v.state.time_limit_ms, 60 * MINUTE);
	assert_int_equal(lab_events(lab, job, "update"), 2);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiting_job_takes_both),
		cmocka_unit_test(a_higher_cost_goes_on),
		cmocka_unit_test(a_lower_cost_ends_it),
		cmocka_unit_test(time_fits_the_lifetime),
		cmocka_unit_test(time_fits_what_ends_first),
		cmocka_unit_test(time_fits_the_node_that_ends_first),
		cmocka_unit_test(another_currency_is_refused),
		cmocka_unit_test(an_end_that_is_not_recorded_yet),
		cmocka_unit_test(two_at_once_both_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
