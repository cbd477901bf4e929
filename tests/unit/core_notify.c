/* Who is told what: each event once, also by a supervisor that comes later; a
 * command that hangs, fails or is not there changes nothing for the job. */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/time.h"
#include "core/notify.h"
#include "core/supervision.h"
#include "core/update.h"
#include "core_lab.h"
#include "model/spec_notify.h"
#include "record/keys.h"

static struct gpc_error err;

/* What the commands have written. Owned. */
static char *heard(const struct lab *lab)
{
	gpc_autostr *path = gpc_format("%s/heard", lab->dir);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (gpc_read_file(path, 1 << 20, &b, NULL) < 0)
		return gpc_strdup("");
	return gpc_strdup(gpc_buf_str(&b));
}

/* An item that writes a line; owned. */
static char *item(const struct lab *lab, const char *line, const char *on)
{
	return gpc_format("{\"command\":[\"sh\",\"-c\",\"echo %s >>%s/heard\"],"
		"\"on\":[%s]}", line, lab->dir, on);
}

static char *job_with(struct lab *lab, const char *items, const char *more)
{
	gpc_autostr *members = gpc_format("\"notify\":[%s]%s%s", items,
		more[0] ? "," : "", more);

	return lab_job(lab, members);
}

/* Steps while real time passes, but hardly any of the clock's, until all that
 * has happened is told. */
static void tell(struct gpc_supervision *sv)
{
	struct timespec pause = {0, 2000000};

	for (int i = 0; i < 15000; i++) {
		lab_step(sv);
		if (sv->notifier.run.pid <= 0 && !gpc_notify_look(sv))
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("a command does not end");
}

static void run(struct lab *lab, struct gpc_supervision *sv, const char *job,
	int attempt)
{
	for (int i = 0; i < 20 && (lab_state(sv)->attempt < attempt ||
		lab_state(sv)->status != GPC_JOB_STARTING); i++) {
		tell(sv);
		lab_advance(1000);
	}
	lab_beat(lab, job, attempt, 0, GPC_PHASE_RUN);
	lab_step(sv);
	assert_status(sv, "RUNNING");
}

static void end(struct lab *lab, struct gpc_supervision *sv, const char *job,
	enum gpc_reason reason, int code)
{
	lab_exit(lab, job, lab_state(sv)->attempt, 0, reason, code, 0);
	lab_beat(lab, job, lab_state(sv)->attempt, 0, GPC_PHASE_DONE);
	lab_leave(lab, job);
	for (int i = 0; i < 60 && !gpc_job_status_is_end(
		lab_state(sv)->status); i++) {
		lab_step(sv);
		lab_advance(1000);
	}
}

static struct gpc_supervision *again(struct lab *lab, const char *job,
	struct gpc_supervision *old)
{
	struct gpc_error why;

	assert_int_equal(gpc_supervision_let_go(old, &why), 0);
	gpc_supervision_free(old);
	return lab_supervise(lab->s, job);
}

#define ALL "\"start\",\"checkpoint\",\"recovering\",\"end\""
#define LINE "$GPUCLOUD_EVENT $GPUCLOUD_STATE $GPUCLOUD_ATTEMPT" \
	" r=$GPUCLOUD_REASON c=$GPUCLOUD_CHECKPOINT"

TEST(a_life_is_told_in_order)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *one = item(lab, LINE, ALL), *got = NULL;
	gpc_autostr *job = job_with(lab, one, "\"checkpoint\":{\"path\":\"ck\"}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	run(lab, sv, job, 1);
	tell(sv);
	lab_checkpoint(lab, job, 1, 1, "a");
	lab_advance(2000);
	tell(sv);
	lab_leave(lab, job);            /* without a word */
	lab_advance(20000);
	run(lab, sv, job, 2);
	end(lab, sv, job, GPC_REASON_COMPLETED, 0);
	tell(sv);
	got = heard(lab);
	assert_string_equal(got,
		"start RUNNING 1 r= c=\n"
		"checkpoint RUNNING 1 r= c=1-1-a\n"
		"recovering RECOVERING 1 r=node_lost c=1-1-a\n"
		"start RUNNING 2 r= c=1-1-a\n"
		"end SUCCEEDED 2 r=completed c=1-1-a\n");
	assert_null(gpc_notify_failure(lab->s, job));
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* A new supervisor after each event, and several after the last. */
TEST(once_by_several_supervisors)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *one = item(lab, "$GPUCLOUD_EVENT", ALL), *got = NULL;
	gpc_autostr *job = job_with(lab, one, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	run(lab, sv, job, 1);
	tell(sv);
	for (int i = 0; i < 3; i++) {
		sv = again(lab, job, sv);
		tell(sv);
	}
	end(lab, sv, job, GPC_REASON_EXIT_CODE, 3);
	for (int i = 0; i < 3; i++) {
		tell(sv);
		sv = again(lab, job, sv);
	}
	lab_finish(sv, MINUTE);
	got = heard(lab);
	assert_string_equal(got, "start\nend\n");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* One that dies while a command runs leaves its job to be told again, and the
 * job is not closed before. */
TEST(an_interrupted_one_runs_again)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *gate = gpc_format("%s/gate", lab->dir), *got = NULL;
	gpc_autostr *items = gpc_format("{\"command\":[\"sh\",\"-c\",\"echo begun "
		">>%s/heard; [ -e %s ] || sleep 100; echo told >>%s/heard\"]}",
		lab->dir, gate, lab->dir);
	gpc_autostr *job = job_with(lab, items, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct timespec pause = {0, 2000000};
	pid_t pid;

	run(lab, sv, job, 1);
	end(lab, sv, job, GPC_REASON_COMPLETED, 0);
	for (int i = 0; i < 15000 && !got; i++) {
		gpc_autostr *now = heard(lab);

		assert_false(lab_step(sv));
		nanosleep(&pause, NULL);
		if (now[0])
			got = gpc_steal(&now);
	}
	pid = sv->notifier.run.pid;
	assert_true(pid > 0);
	sv = again(lab, job, sv);
	assert_int_equal(kill(pid, 0), -1);     /* it is gone with its shell */
	assert_ok(gpc_write_file(gate, "", 0, 0600, &err));
	tell(sv);
	free(got);
	got = heard(lab);
	assert_string_equal(got, "begun\nbegun\ntold\n");
	assert_true(lab_step(sv));
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* The job starts, runs and ends while the command hangs. */
TEST(one_that_hangs_is_ended)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *last = item(lab, "next", "\"start\""), *got = NULL;
	gpc_autostr *items = gpc_format("{\"command\":[\"sh\",\"-c\",\"trap '' "
		"TERM; echo $$ >>%s/heard; while :; do sleep 0.05; done\"],"
		"\"on\":[\"start\"]},%s", lab->dir, last);
	gpc_autostr *job = job_with(lab, items, "");
	gpc_autostr *why = NULL;
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	pid_t pid;

	run(lab, sv, job, 1);
	pid = sv->notifier.run.pid;
	assert_true(pid > 0);
	end(lab, sv, job, GPC_REASON_COMPLETED, 0);
	assert_status(sv, "SUCCEEDED");
	assert_int_equal(sv->notifier.run.pid, pid);
	for (int i = 0; i < 10; i++) {
		assert_false(lab_step(sv));
		lab_advance(10000);
	}
	tell(sv);
	assert_int_equal(kill(pid, 0), -1);
	why = gpc_notify_failure(lab->s, job);
	assert_non_null(why);
	assert_has(why, "60 s");
	got = heard(lab);
	assert_has(got, "next\n");
	assert_true(lab_step(sv));
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(failures_are_noted)
{
	static const struct { const char *command, *why; } cases[] = {
		{"[\"/nowhere/at-all\"]", "cannot be run"},
		{"[\"sh\",\"-c\",\"exit 3\"]", "exit status 3"},
		{"[\"sh\",\"-c\",\"kill -9 $$\"]", "signal 9"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *items = gpc_format("{\"command\":%s}",
			cases[i].command);
		gpc_autostr *job = job_with(lab, items, "");
		gpc_autostr *why = NULL;
		struct gpc_supervision *sv = lab_supervise(lab->s, job);

		run(lab, sv, job, 1);
		end(lab, sv, job, GPC_REASON_COMPLETED, 0);
		tell(sv);
		assert_reason(sv, "completed");
		why = gpc_notify_failure(lab->s, job);
		assert_non_null(why);
		assert_has(why, cases[i].why);
		gpc_supervision_free(sv);
		lab_free(lab);
	}
}

/* success and failure are parts of the end; cancelled is neither. */
TEST(ends_are_told_apart)
{
	static const struct {
		enum gpc_reason reason;
		const char *heard;
	} cases[] = {
		{GPC_REASON_COMPLETED, "success\n"},
		{GPC_REASON_EXIT_CODE, "failure\n"},
		{GPC_REASON_TIME_LIMIT, "failure\n"},
		{GPC_REASON_CANCELLED, ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *a = item(lab, "success", "\"success\"");
		gpc_autostr *b = item(lab, "failure", "\"failure\"");
		gpc_autostr *c = item(lab, "any", "\"end\"");
		gpc_autostr *items = gpc_format("%s,%s,%s", a, b, c);
		gpc_autostr *job = job_with(lab, items, "");
		gpc_autostr *want = gpc_format("%sany\n", cases[i].heard);
		gpc_autostr *got = NULL;
		struct gpc_supervision *sv = lab_supervise(lab->s, job);

		run(lab, sv, job, 1);
		end(lab, sv, job, cases[i].reason, 1);
		tell(sv);
		got = heard(lab);
		assert_string_equal(got, want);
		gpc_supervision_free(sv);
		lab_free(lab);
	}
}

TEST(no_secret_is_passed_on)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *one = item(lab, "[$TOKEN][$OTHER][$GPUCLOUD_STRAY]", "\"end\"");
	gpc_autostr *job = job_with(lab, one, ""), *got = NULL;
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	setenv("TOKEN", "t0ken", 1);
	setenv("OTHER", "other", 1);
	setenv("GPUCLOUD_STRAY", "stray", 1);
	gpc_strv_add(&sv->job.secrets, "TOKEN");
	run(lab, sv, job, 1);
	end(lab, sv, job, GPC_REASON_COMPLETED, 0);
	tell(sv);
	got = heard(lab);
	assert_string_equal(got, "[][other][]\n");
	gpc_supervision_free(sv);
	lab_free(lab);
}

static void set_notify(struct lab *lab, const char *job, const char *text)
{
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	struct gpc_update u = { .notify = &spec.notify };

	gpc_spec_init(&spec);
	assert_ok(gpc_spec_override(&spec, "notify", text, NULL, &err));
	assert_ok(gpc_update_job(lab->s, job, &u, &x, &err));
	assert_true(x.changed);
	gpc_update_result_clear(&x);
	assert_ok(gpc_update_job(lab->s, job, &u, &x, &err));
	assert_false(x.changed);        /* the same again is no event */
}

/* From then on: what happened before is not told to those who come later. */
TEST(an_update_changes_who_is_told)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *one = item(lab, "first $GPUCLOUD_EVENT", ALL);
	gpc_autostr *two = item(lab, "second $GPUCLOUD_EVENT", ALL), *got = NULL;
	gpc_autostr *job = job_with(lab, one, "\"checkpoint\":{\"path\":\"ck\"}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	run(lab, sv, job, 1);
	tell(sv);
	set_notify(lab, job, "none");
	lab_checkpoint(lab, job, 1, 1, "a");
	lab_advance(2000);
	tell(sv);
	set_notify(lab, job, two);
	tell(sv);
	sv = again(lab, job, sv);
	tell(sv);
	end(lab, sv, job, GPC_REASON_COMPLETED, 0);
	tell(sv);
	got = heard(lab);
	assert_string_equal(got, "first start\nsecond end\n");
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* It is as if there were none; the job is closed all the same. */
TEST(a_damaged_record_counts_as_none)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *one = item(lab, "$GPUCLOUD_EVENT", ALL), *got = NULL;
	gpc_autostr *job = job_with(lab, one, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_key key;

	run(lab, sv, job, 1);
	tell(sv);
	gpc_key_job_file(key, job, "notified");
	assert_ok(gpc_store_put(lab->s->store, key, "{\"n\":", 5, 0, &err));
	sv = again(lab, job, sv);
	tell(sv);
	end(lab, sv, job, GPC_REASON_COMPLETED, 0);
	tell(sv);
	got = heard(lab);
	assert_string_equal(got, "start\nstart\nend\n");
	assert_true(lab_step(sv));
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Nobody to tell: no record, and nothing is read for it. */
TEST(most_jobs_tell_nobody)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_key key;

	run(lab, sv, job, 1);
	end(lab, sv, job, GPC_REASON_COMPLETED, 0);
	lab_finish(sv, MINUTE);
	gpc_key_job_file(key, job, "notified");
	assert_int_equal(gpc_store_head(lab->s->store, key, NULL, NULL),
		-GPC_ENOTFOUND);
	gpc_supervision_free(sv);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_life_is_told_in_order),
		cmocka_unit_test(once_by_several_supervisors),
		cmocka_unit_test(an_interrupted_one_runs_again),
		cmocka_unit_test(one_that_hangs_is_ended),
		cmocka_unit_test(failures_are_noted),
		cmocka_unit_test(ends_are_told_apart),
		cmocka_unit_test(no_secret_is_passed_on),
		cmocka_unit_test(an_update_changes_who_is_told),
		cmocka_unit_test(a_damaged_record_counts_as_none),
		cmocka_unit_test(most_jobs_tell_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
