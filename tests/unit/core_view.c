/* Jobs as readers see them and what clients ask of them: ends that are derived
 * before anybody wrote them down, the forms of JOB, requests in every state,
 * and what is held. */
#include "base/str.h"
#include "base/time.h"
#include "core/reconcile.h"
#include "core/release.h"
#include "core/request.h"
#include "core/supervision.h"
#include "core/view.h"
#include "core_lab.h"
#include "record/facts.h"
#include "store_keys.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/secrets.h"

static void run(struct lab *lab, struct gpc_supervision *sv, const char *job)
{
	lab_step(sv);
	lab_beat(lab, job, lab_state(sv)->attempt, 0, GPC_PHASE_RUN);
	lab_step(sv);
	assert_status(sv, "RUNNING");
}

static void finish(struct lab *lab, struct gpc_supervision *sv,
	const char *job, int code)
{
	run(lab, sv, job);
	lab_exit(lab, job, lab_state(sv)->attempt, 0, code ?
		GPC_REASON_EXIT_CODE : GPC_REASON_COMPLETED, code, 0);
	lab_script(lab, "{\"faults\":[{\"op\":\"list\",\"fault\":\"die\"}]}");
	lab_finish(sv, MINUTE);
}

/* --- views ------------------------------------------------------------------------ */

TEST(a_finished_job_looks_finished_at_once)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_view) struct gpc_view a = {0}, b = {0}, c = {0};
	struct gpc_error err;

	run(lab, sv, job);
	assert_ok(gpc_view_load(lab->s, job, &a, &err));
	assert_int_equal(a.state.status, GPC_JOB_RUNNING);
	assert_false(a.derived);
	assert_int_equal(a.rate.micros, 180000);
	lab_advance(MINUTE);
	lab_exit(lab, job, 1, 0, GPC_REASON_EXIT_CODE, 4, 0);
	assert_ok(gpc_view_load(lab->s, job, &b, &err));
	assert_int_equal(b.state.status, GPC_JOB_FAILED);
	assert_int_equal(b.state.code, 4);
	assert_true(b.derived);
	assert_false(gpc_view_is_over(&b));
	assert_in_range(b.ran_ms, MINUTE, MINUTE + 2000);
	lab_finish(sv, 3 * MINUTE);
	assert_ok(gpc_view_load(lab->s, job, &c, &err));
	assert_false(c.derived);
	assert_true(gpc_view_is_over(&c));
	assert_int_equal(c.rate.micros, 0);
	assert_in_range(c.ran_ms, MINUTE, MINUTE + 5000);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Who slept over the end tells when it was, and not when he woke: by itself, or
 * cancelled at once, when nobody waits for a word of the nodes. */
static void slept_over(bool cancelled)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err;
	int64_t first;
	bool ended;

	lab_run(lab, sv, job, 1);
	lab_advance(MINUTE);
	first = gpc_wall_ms();
	if (cancelled)
		assert_ok(gpc_request_cancel(lab->s, job, true, &ended, &err));
	lab_exit(lab, job, 1, 0, cancelled ? GPC_REASON_CANCELLED :
		GPC_REASON_COMPLETED, 0, 0);
	lab_advance(cancelled ? 0 : MINUTE);
	lab_exit(lab, job, 1, 1, cancelled ? GPC_REASON_CANCELLED :
		GPC_REASON_COMPLETED, 0, 0);
	lab_advance(20 * MINUTE);
	lab_finish(sv, 3 * MINUTE);
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	assert_false(v.derived);
	assert_int_equal(v.state.reason, cancelled ? GPC_REASON_CANCELLED :
		GPC_REASON_COMPLETED);
	if (!cancelled)
		first += MINUTE;        /* done when both are */
	assert_in_range(v.state.ended_ms, first, first + 5000);
	assert_in_range(v.ran_ms, cancelled ? MINUTE : 2 * MINUTE,
		(cancelled ? MINUTE : 2 * MINUTE) + 5000);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(who_slept_over_the_end_tells_its_time)
{
	slept_over(false);
	slept_over(true);
}

/* An end that leads to another attempt is none. */
TEST(an_end_that_recovers_is_not_derived)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"recovery\":{\"restarts\":1}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err;

	run(lab, sv, job);
	lab_exit(lab, job, 1, 0, GPC_REASON_EXIT_CODE, 4, 0);
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	assert_int_equal(v.state.status, GPC_JOB_RUNNING);
	assert_false(v.derived);
	gpc_supervision_free(sv);
	lab_free(lab);
}

static void spoil(struct lab *lab, const char *job, const char *name,
	const char *text)
{
	gpc_autostr *key = gpc_format("jobs/%s/1/%s", job, name);
	struct gpc_error err;

	assert_ok(gpc_store_put(lab->s->store, key, text, strlen(text), 0,
		&err));
}

/* What waits for the buckets of file_mounts, as the nodes say it. */
TEST(uploads_that_wait_are_counted)
{
	static const struct { const char *uploads; uint64_t files, bytes; } cases[] = {
		{ "{\"files\":2,\"bytes\":3000}", 2, 3000 },
		{ "{\"files\":0,\"bytes\":0}", 0, 0 },
		{ "{\"files\":-2,\"bytes\":\"many\"}", 0, 0 },
		{ "[7]", 0, 0 },
	};
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	run(lab, sv, job);
	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_view) struct gpc_view v = {0};
		gpc_autostr *beat = gpc_format("{\"v\":1,\"n\":%zu,\"phase\":"
			"\"run\",\"note\":\"slow\",\"uploads\":%s}", 9 + i,
			cases[i].uploads);
		gpc_autoptr(gpc_json) *j = NULL;
		struct gpc_error err;

		spoil(lab, job, "beats/00000", beat);
		assert_ok(gpc_view_load(lab->s, job, &v, &err));
		assert_int_equal(v.upload_files, cases[i].files);
		assert_int_equal(v.upload_bytes, cases[i].bytes);
		assert_string_equal(v.note, "slow");
		j = gpc_view_json(lab->s, &v);
		assert_int_equal(gpc_json_get_int(gpc_json_get(j, "uploads"),
			"bytes", -1), cases[i].files ? 3000 : -1);
	}
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(hostile_facts_are_named)
{
	static const char *const texts[] = {
		"", "{", "[]", "{\"v\":1}", ("{\"v\":1,\"phase\":\"run\","
		"\"reason\":\"no such reason\",\"code\":0}"), "\1\2\377",
	};
	static const char *const names[] = { "0/exit.json", "verdict.json" };

	for (size_t i = 0; i < 2 * COUNT(texts); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *job = lab_job(lab, "");
		struct gpc_supervision *sv = lab_supervise(lab->s, job);
		gpc_auto(gpc_view) struct gpc_view v = {0};
		struct gpc_error err;

		run(lab, sv, job);
		spoil(lab, job, names[i % 2], texts[i / 2]);
		spoil(lab, job, "beats/00000", texts[i / 2]);
		assert_ok(gpc_view_load(lab->s, job, &v, &err));
		assert_int_equal(v.state.status, GPC_JOB_RUNNING);
		assert_has(v.note, names[i % 2]);
		assert_has(v.note, "is damaged");
		lab_step(sv);
		assert_status(sv, "RUNNING");
		/* The agent's own words count once they are there. */
		lab_exit(lab, job, 1, 0, GPC_REASON_COMPLETED, 0, 0);
		lab_script(lab, "{\"faults\":[{\"op\":\"list\","
			"\"fault\":\"die\"}]}");
		lab_finish(sv, MINUTE);
		assert_status(sv, "SUCCEEDED");
		gpc_supervision_free(sv);
		lab_free(lab);
	}
}

TEST(a_newer_exit_is_an_error)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err;

	run(lab, sv, job);
	spoil(lab, job, "0/exit.json",
		"{\"v\":99,\"phase\":\"run\",\"reason\":\"completed\"}");
	assert_true(gpc_view_load(lab->s, job, &v, &err) < 0);
	assert_has(err.msg, "exit.json");
	lab_step(sv);
	assert_status(sv, "RUNNING");
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(a_damaged_exit_of_a_gone_node_is_the_failure_of_its_agent)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	gpc_auto(gpc_exit) struct gpc_exit x = {0}, y = {0};
	bool found = true;
	struct gpc_error err;

	spoil(lab, job, "0/exit.json", "{");
	assert_ok(gpc_facts_outcome(lab->s->store, job, 1, 1, false, &x, &found,
		&err));
	assert_false(found);
	assert_has(x.detail, "exit.json is damaged");
	assert_ok(gpc_facts_outcome(lab->s->store, job, 1, 1, true, &y, &found,
		&err));
	assert_true(found);
	assert_int_equal(y.reason, GPC_REASON_AGENT_FAILED);
	assert_has(y.detail, "exit.json is damaged");
	lab_free(lab);
}

/* Rank 1 fails first and so is the end; that rank 0's log is cut stays known. */
TEST(a_cut_log_is_told_of_whoever_fails)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	bool found = false;
	struct gpc_error err;

	spoil(lab, job, "0/exit.json", "{\"v\":1,\"phase\":\"run\",\"at_ms\":9,"
		"\"reason\":\"exit_code\",\"code\":1,\"log_cut\":\"rank 0: full\"}");
	spoil(lab, job, "1/exit.json", "{\"v\":1,\"phase\":\"run\",\"at_ms\":8,"
		"\"reason\":\"exit_code\",\"code\":2}");
	assert_ok(gpc_facts_outcome(lab->s->store, job, 1, 2, false, &x, &found,
		&err));
	assert_true(found);
	assert_int_equal(x.code, 2);
	assert_string_equal(x.log_cut, "rank 0: full");
	lab_free(lab);
}

TEST(a_cut_log_is_told_before_its_event)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_view) struct gpc_view a = {0}, b = {0};
	gpc_autostr *text = NULL;
	struct gpc_error err;

	run(lab, sv, job);
	lab_advance(MINUTE);
	text = gpc_format("{\"v\":1,\"phase\":\"run\",\"at_ms\":%lld,\"reason\":"
		"\"disk_full\",\"log_cut\":\"7 bytes\"}",
		(long long)gpc_wall_ms());
	spoil(lab, job, "0/exit.json", text);
	assert_ok(gpc_view_load(lab->s, job, &a, &err));
	assert_true(a.derived);
	assert_string_equal(a.state.tries.v[0].log_cut, "7 bytes");
	lab_finish(sv, 3 * MINUTE);
	assert_ok(gpc_view_load(lab->s, job, &b, &err));
	assert_false(b.derived);
	assert_int_equal(b.state.reason, GPC_REASON_DISK_FULL);
	assert_string_equal(b.state.tries.v[0].log_cut, "7 bytes");
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(json_has_its_names)
{
	static const char *const keys[] = { "job", "name", "owner", "state",
		"reason", "advice", "exit_code", "exit_status", "attempt",
		"num_nodes", "submitted", "ended", "ran_ms", "cost",
		"rate_per_hour", "attempts", "nodes", "spec" };
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_view) struct gpc_view v = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err;

	finish(lab, sv, job, 3);
	assert_ok(gpc_view_load(lab->s, job, &v, &err));
	j = gpc_view_json(lab->s, &v);
	for (size_t i = 0; i < COUNT(keys); i++) {
		if (!gpc_json_get(j, keys[i]))
			fail_msg("no %s", keys[i]);
	}
	assert_string_equal(gpc_json_get_str(j, "state"), "FAILED");
	assert_int_equal(gpc_json_get_int(j, "exit_status", 0), 3);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* --- JOB -------------------------------------------------------------------------- */

static int find(struct lab *lab, const char *word, bool ending, char *ret_job,
	struct gpc_error *err)
{
	return gpc_job_find(lab->s, word, ending, ret_job, err);
}

TEST(forms_of_job)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *old = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, old);
	gpc_autostr *a = NULL, *b = NULL, *prefix = NULL;
	char got[GPC_JOB_ID_SIZE];
	struct gpc_error err;

	finish(lab, sv, old, 0);
	/* A finished one alone can be named in each form. */
	assert_ok(find(lab, "lab", true, got, &err));
	assert_string_equal(got, old);
	lab_advance(5000);
	a = lab_job(lab, "");
	assert_ok(find(lab, "lab", true, got, &err));    /* one unfinished */
	assert_string_equal(got, a);
	lab_advance(5000);
	b = lab_job(lab, "");
	assert_ok(find(lab, a, true, got, &err));
	assert_string_equal(got, a);
	assert_ok(find(lab, "lab", false, got, &err));   /* the newest */
	assert_string_equal(got, b);
	assert_ok(find(lab, "@", true, got, &err));
	assert_string_equal(got, b);
	assert_ok(find(lab, NULL, false, got, &err));
	assert_string_equal(got, b);
	prefix = gpc_strndup(a, strlen(a) - 1);
	assert_ok(find(lab, prefix, true, got, &err));
	assert_string_equal(got, a);
	/* Ending needs to know which. */
	assert_fails(find(lab, "lab", true, got, &err), GPC_ECONFLICT);
	assert_has(err.msg, a);
	assert_has(err.msg, b);
	assert_null(strstr(err.msg, old));
	assert_fails(find(lab, "lab-", false, got, &err), GPC_ECONFLICT);
	assert_has(err.msg, old);
	assert_fails(find(lab, "lap", false, got, &err), GPC_ENOTFOUND);
	assert_has(err.hint, "lab");
	assert_fails(find(lab, "", false, got, &err), GPC_ENOTFOUND);
	assert_fails(find(lab, "../x", false, got, &err), GPC_ENOTFOUND);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* --- requests ----------------------------------------------------------------------- */

TEST(requests_of_a_live_job)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	int64_t n = 0;

	run(lab, sv, job);
	assert_ok(gpc_request_save(lab->s, job, "mine", &n, &err));
	assert_true(n > 0);
	assert_ok(gpc_request_signal(lab->s, job, "SIGUSR1", -1, &err));
	assert_ok(gpc_request_signal(lab->s, job, "usr1", 0, &err));
	assert_ok(gpc_request_signal(lab->s, job, "interrupt", -1, &err));
	assert_fails(gpc_request_signal(lab->s, job, "USR3", -1, &err),
		GPC_EUSAGE);
	assert_has(err.msg, "USR3");
	assert_fails(gpc_request_resume(lab->s, job, NULL, NULL, &err),
		GPC_ECONFLICT);
	lab_step(sv);
	assert_int_equal(lab_state(sv)->asked_n, n + 3);
	assert_int_equal(lab_events(lab, job, "signal"), 3);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(requests_of_an_ended_job)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	bool ended = false;
	int64_t n;

	finish(lab, sv, job, 5);
	assert_fails(gpc_request_save(lab->s, job, NULL, &n, &err),
		GPC_ECONFLICT);
	assert_has(err.msg, "exit_code");
	assert_fails(gpc_request_signal(lab->s, job, "TERM", -1, &err),
		GPC_ECONFLICT);
	assert_ok(gpc_request_cancel(lab->s, job, true, &ended, &err));
	assert_true(ended);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(requests_of_no_job)
{
	struct lab *lab = lab_new(0);
	struct gpc_error err;
	bool ended;

	assert_fails(gpc_request_cancel(lab->s, "lab-nojob2", false, &ended,
		&err), GPC_ENOTFOUND);
	assert_fails(gpc_request_resume(lab->s, "lab-nojob2", NULL, NULL,
		&err), GPC_ENOTFOUND);
	lab_free(lab);
}

/* cancel and cancel --now are each recorded once. */
TEST(cancel_is_asked_once)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	bool ended;

	run(lab, sv, job);
	for (int i = 0; i < 3; i++)
		assert_ok(gpc_request_cancel(lab->s, job, false, &ended, &err));
	assert_int_equal(lab_events(lab, job, "cancel"), 1);
	for (int i = 0; i < 3; i++)
		assert_ok(gpc_request_cancel(lab->s, job, true, &ended, &err));
	assert_ok(gpc_request_cancel(lab->s, job, false, &ended, &err));
	assert_int_equal(lab_events(lab, job, "cancel"), 2);
	lab_finish(sv, 2 * MINUTE);
	assert_status(sv, "CANCELLED");
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Somebody writes between a request's look and its put: decided again. */
struct intruder { struct lab *lab; const char *job; };

static void intrude(void *arg)
{
	struct intruder *x = arg;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;

	gpc_journal_init(&j, x->lab->inner, x->job, "intruder");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_ok(gpc_journal_append(&j, GPC_EVENT_SAVE, NULL, &err));
}

TEST(a_request_that_loses_a_race_is_made_again)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *job = lab_job(lab, "");
	gpc_autostr *events = gpc_format("jobs/%s/events/", job);
	struct intruder x = { lab, job };
	struct gpc_error err;
	bool ended;

	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
		.op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL, .nth = 1,
		.prefix = events, .call = intrude, .arg = &x });
	assert_ok(gpc_request_cancel(lab->s, job, false, &ended, &err));
	assert_int_equal(lab_events(lab, job, "save"), 1);
	assert_int_equal(lab_events(lab, job, "cancel"), 1);
	assert_ok(gpc_journal_verify(lab->inner, job, &err));
	lab_free(lab);
}

static void take_over(void *arg)
{
	struct intruder *x = arg;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_json *data = gpc_json_object();
	struct gpc_error err;

	gpc_json_set_str(data, "supervisor", "another");
	gpc_journal_init(&j, x->lab->inner, x->job, "intruder");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_ok(gpc_journal_append(&j, GPC_EVENT_SUPERVISOR, data, &err));
}

TEST(a_resume_that_loses_a_race_is_made_again)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *job = lab_job(lab, "");
	gpc_autostr *events = gpc_format("jobs/%s/events/", job);
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct intruder x = { lab, job };
	struct gpc_error err;

	finish(lab, sv, job, 3);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
		.op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL, .nth = 1,
		.prefix = events, .call = take_over, .arg = &x });
	assert_ok(gpc_request_resume(lab->s, job, NULL, NULL, &err));
	assert_int_equal(lab_events(lab, job, "resume"), 1);
	assert_ok(gpc_journal_verify(lab->inner, job, &err));
	gpc_supervision_free(sv);
	lab_free(lab);
}

static void resume_with_secrets(void *arg)
{
	struct intruder *x = arg;
	struct gpc_session other = *x->lab->s;
	gpc_auto(gpc_pairs) struct gpc_pairs secrets = {0};
	struct gpc_error err;

	other.store = x->lab->inner;
	gpc_pairs_set(&secrets, "TOKEN", "new");
	assert_ok(gpc_request_resume(&other, x->job, NULL, NULL, &err));
	assert_ok(gpc_secrets_put(other.store, x->job, NULL, &secrets, &err));
}

/* A supervisor that was stopped while it looked whether to close the job. */
TEST(a_late_closing_spares_a_resumed_job)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct intruder x = { lab, job };
	gpc_auto(gpc_pairs) struct gpc_pairs kept = {0};
	gpc_auto(gpc_index) struct gpc_index live = {0};
	struct gpc_error err;

	gpc_strv_add(&sv->job.secrets, "TOKEN");
	run(lab, sv, job);
	lab_exit(lab, job, 1, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_script(lab, "{\"faults\":[{\"op\":\"list\",\"fault\":\"die\"}]}");
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
		.op = GPC_FAULT_HEAD, .how = GPC_FAULT_CALL, .nth = 1,
		.prefix = "index/live/", .call = resume_with_secrets,
		.arg = &x });
	for (int i = 0; i < 100 && !lab_events(lab, job, "resume"); i++) {
		lab_step(sv);
		lab_advance(1000);
	}
	assert_int_equal(lab_events(lab, job, "resume"), 1);
	assert_ok(gpc_secrets_get(lab->inner, job, NULL, &kept, &err));
	assert_string_equal(gpc_pairs_get(&kept, "TOKEN"), "new");
	assert_ok(gpc_index_list_live(lab->inner, &live, &err));
	assert_int_equal(live.n, 1);
	lab_step(sv);
	assert_int_equal(lab_state(sv)->attempt, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

static void step_on(void *arg)
{
	lab_step(arg);
}

/* Who resumes a job at once after its end, and dies of it, finds no closing that
 * still drops the secrets. */
TEST(a_resume_lets_the_closing_go_first)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;

	run(lab, sv, job);
	lab_exit(lab, job, 1, 0, GPC_REASON_COMPLETED, 0, 0);
	for (int i = 0; i < 100 && !lab_events(lab, job, "ended"); i++) {
		lab_step(sv);
		lab_advance(1000);
	}
	assert_int_equal(lab_events(lab, job, "released"), 0);
	lab_script(lab, "{\"faults\":[{\"op\":\"list\",\"fault\":\"die\"}]}");
	lab_on_sleep(step_on, sv);
	assert_ok(gpc_request_resume(lab->s, job, NULL, NULL, &err));
	lab_on_sleep(NULL, NULL);
	assert_int_equal(lab_events(lab, job, "released"), 1);
	assert_int_equal(lab_events(lab, job, "resume"), 1);
	assert_int_equal(count_keys(lab->s->store, "index/done/", NULL), 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* --- what is held --------------------------------------------------------------------- */

static size_t orphans(struct lab *lab)
{
	struct gpc_held_list held = {0};
	struct gpc_error err;
	size_t n = 0;

	assert_ok(gpc_held_find(lab->s, false, &held, &err));
	gpc_vec_each(h, &held)
		n += h->orphan && !h->draining;
	gpc_held_clear(&held);
	return n;
}

static void buy_stray(struct lab *lab, const char *job, const char *owner)
{
	struct gpc_provider_context ctx;
	gpc_autoptr(gpc_provider) *p = NULL;
	gpc_auto(gpc_launch) struct gpc_launch l = { .v = 1, .attempt = 1,
		.count = 1 };
	gpc_auto(gpc_instances) struct gpc_instances made = {0};
	struct gpc_error err;

	assert_ok(gpc_session_provider(lab->s, "fake", &ctx, &p, &err));
	l.token = gpc_format("stray-%s-%s", job, owner);
	l.job = gpc_strdup(job);
	l.provider = gpc_strdup("fake");
	l.offer.provider = gpc_strdup("fake");
	gpc_pairs_set(&l.tags, "gpucloud-store", lab->s->store->id);
	gpc_pairs_set(&l.tags, "gpucloud-job", job);
	gpc_pairs_set(&l.tags, "gpucloud-owner", owner);
	assert_ok(p->ops->create(p, &l, &made, &err));
}

TEST(orphans_are_told_and_ended)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	const char *mine = lab->s->place.owner.hash;
	struct gpc_error err;
	int n = 0;

	run(lab, sv, job);
	assert_int_equal(orphans(lab), 0);
	buy_stray(lab, "gone-abcdef", mine);           /* no such job */
	buy_stray(lab, job, mine);                     /* not in its journal */
	buy_stray(lab, "gone-abcdef", "ffffffffffffffff");  /* not mine */
	assert_int_equal(lab_running(lab), 4);
	assert_int_equal(orphans(lab), 3);
	assert_ok(gpc_reconcile(lab->s, &n, &err));
	assert_int_equal(n, 2);
	assert_int_equal(lab_running(lab), 2);
	lab_step(sv);
	assert_status(sv, "RUNNING");
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* The answer of a create is still to come: that node is no orphan. */
TEST(a_node_of_an_open_intent_is_no_orphan)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	int n = 0;

	lab_script(lab, "{\"faults\":[{\"op\":\"create\","
		"\"fault\":\"lost_answer\",\"times\":-1}]}");
	lab_step(sv);
	assert_int_equal(lab_running(lab), 1);
	assert_ok(gpc_reconcile(lab->s, &n, &err));
	assert_int_equal(n, 0);
	assert_int_equal(lab_running(lab), 1);
	lab_advance(11 * MINUTE);
	assert_ok(gpc_reconcile(lab->s, &n, &err));
	assert_int_equal(n, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* A cloud that shows what is gone for a while. */
TEST(a_gone_node_that_is_still_shown_is_no_orphan)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	int n = 0;

	run(lab, sv, job);
	lab_exit(lab, job, 1, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_script(lab, "{\"gone_ms\":3600000}");
	lab_finish(sv, 2 * MINUTE);
	assert_status(sv, "SUCCEEDED");
	assert_ok(gpc_reconcile(lab->s, &n, &err));
	assert_int_equal(n, 0);
	assert_int_equal(orphans(lab), 0);
	gpc_supervision_free(sv);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_finished_job_looks_finished_at_once),
		cmocka_unit_test(who_slept_over_the_end_tells_its_time),
		cmocka_unit_test(an_end_that_recovers_is_not_derived),
		cmocka_unit_test(uploads_that_wait_are_counted),
		cmocka_unit_test(hostile_facts_are_named),
		cmocka_unit_test(a_cut_log_is_told_of_whoever_fails),
		cmocka_unit_test(a_cut_log_is_told_before_its_event),
		cmocka_unit_test(a_newer_exit_is_an_error),
		cmocka_unit_test(
			a_damaged_exit_of_a_gone_node_is_the_failure_of_its_agent),
		cmocka_unit_test(json_has_its_names),
		cmocka_unit_test(forms_of_job),
		cmocka_unit_test(requests_of_a_live_job),
		cmocka_unit_test(requests_of_an_ended_job),
		cmocka_unit_test(requests_of_no_job),
		cmocka_unit_test(cancel_is_asked_once),
		cmocka_unit_test(a_request_that_loses_a_race_is_made_again),
		cmocka_unit_test(a_resume_that_loses_a_race_is_made_again),
		cmocka_unit_test(a_late_closing_spares_a_resumed_job),
		cmocka_unit_test(a_resume_lets_the_closing_go_first),
		cmocka_unit_test(orphans_are_told_and_ended),
		cmocka_unit_test(a_node_of_an_open_intent_is_no_orphan),
		cmocka_unit_test(a_gone_node_that_is_still_shown_is_no_orphan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
