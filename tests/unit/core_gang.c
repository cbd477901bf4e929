/* One supervisor drives all jobs of its owner and ends with the last. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/request.h"
#include "core/supervision.h"
#include "core_lab.h"
#include "record/index.h"
#include "record/keys.h"
#include "record/journal.h"

static enum gpc_job_status status_of(struct lab *lab, const char *job,
	int *ret_attempt)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;

	gpc_journal_init(&j, lab->s->store, job, "");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	if (ret_attempt)
		*ret_attempt = j.state.attempt;
	return j.state.status;
}

static void play(struct lab *lab, const char *job)
{
	int attempt;

	switch (status_of(lab, job, &attempt)) {
	case GPC_JOB_STARTING:
	case GPC_JOB_SETUP:
		lab_beat(lab, job, attempt, 0, GPC_PHASE_RUN);
		return;
	case GPC_JOB_RUNNING:
		lab_exit(lab, job, attempt, 0, GPC_REASON_COMPLETED, 0, 0);
		lab_leave(lab, job);
		return;
	default:
		return;
	}
}

static void *supervise(void *arg)
{
	struct gpc_session *s = arg;

	return gpc_supervise_run(s, &(struct gpc_supervise_how){0}, NULL) == 0 ? NULL : s;
}

static bool ended(struct lab *lab, const char *job)
{
	return gpc_job_status_is_end(status_of(lab, job, NULL));
}

TEST(it_drives_all_and_ends_with_the_last)
{
	struct lab *lab = lab_new(0);
	struct gpc_session *s = lab_session(lab);
	gpc_autostr *a = lab_job(lab, ""), *b = lab_job(lab, ""), *c = NULL;
	gpc_auto(gpc_index) struct gpc_index index = {0};
	struct gpc_error err;
	pthread_t thread;
	void *failed = s;

	lab_real_sleep(true);
	assert_int_equal(pthread_create(&thread, NULL, supervise, s), 0);
	for (int i = 0; i < 1000 && !(ended(lab, a) && ended(lab, b)); i++) {
		play(lab, a);
		play(lab, b);
		/* One that comes while it runs is driven too. */
		if (!c && status_of(lab, a, NULL) >= GPC_JOB_RUNNING)
			c = lab_job(lab, "");
		if (c)
			play(lab, c);
		gpc_sleep_ms(10);
	}
	assert_non_null(c);
	for (int i = 0; i < 1000 && !ended(lab, c); i++) {
		play(lab, c);
		gpc_sleep_ms(10);
	}
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_ok(gpc_index_list(lab->s->store, 0, &index, &err));
	assert_int_equal(index.n, 3);
	gpc_vec_each(x, &index) {
		assert_false(x->live);
		assert_int_equal(x->status, GPC_JOB_SUCCEEDED);
	}
	assert_int_equal(lab_ledger(lab).made, 3);
	lab_check(lab, a, 1);
	gpc_session_free(s);
	lab_free(lab);
}

static bool closed(struct lab *lab, const char *job)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	struct gpc_error err;

	assert_ok(gpc_index_list(lab->s->store, 0, &index, &err));
	gpc_vec_each(x, &index) {
		if (gpc_eq(x->job, job))
			return !x->live;
	}
	return false;
}

/* By the same supervisor that closed it before. */
TEST(a_resumed_job_is_closed_again)
{
	struct lab *lab = lab_new(0);
	struct gpc_session *s = lab_session(lab);
	gpc_autostr *a = lab_job(lab, ""), *b = lab_job(lab, "");
	struct gpc_error err;
	pthread_t thread;
	void *failed = s;

	lab_real_sleep(true);
	assert_int_equal(pthread_create(&thread, NULL, supervise, s), 0);
	for (int i = 0; i < 1000 && !closed(lab, a); i++) {
		play(lab, a);
		gpc_sleep_ms(10);
	}
	assert_true(closed(lab, a));
	assert_ok(gpc_request_resume(lab->s, a, NULL, NULL, &err));
	assert_false(closed(lab, a));
	for (int i = 0; i < 1000 && !(ended(lab, a) && closed(lab, a)); i++) {
		play(lab, a);
		gpc_sleep_ms(10);
	}
	assert_true(closed(lab, a));
	for (int i = 0; i < 1000 && !ended(lab, b); i++) {
		play(lab, b);
		gpc_sleep_ms(10);
	}
	pthread_join(thread, &failed);
	assert_null(failed);
	lab_check(lab, a, 1);
	gpc_session_free(s);
	lab_free(lab);
}

TEST(nothing_to_do_ends_at_once)
{
	struct lab *lab = lab_new(0);
	struct gpc_error err;

	assert_ok(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){0}, &err));
	assert_ok(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){ .once = true }, &err));
	lab_free(lab);
}

/* What is left of a submit that died does not keep it running. */
TEST(an_entry_without_a_job_does_not_hold_it)
{
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_job) struct gpc_job job = { .created_ms = 1000 };
	struct gpc_error err;

	job.id = gpc_strdup("never-abcdef");
	job.name = gpc_strdup("never");
	job.owner.hash = gpc_strdup(lab->s->place.owner.hash);
	assert_ok(gpc_index_put_live(lab->s->store, &job, &err));
	assert_ok(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){0}, &err));
	lab_free(lab);
}

static int note_key(void *arg, const struct gpc_object *o)
{
	gpc_strv_add(arg, o->key);
	return 0;
}

static void delete_job(struct lab *lab, const char *job)
{
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	gpc_autostr *dir = gpc_format("jobs/%s/", job);
	struct gpc_error err;

	assert_ok(gpc_store_list(lab->s->store, dir, NULL, note_key, &keys,
		&err));
	for (size_t i = 0; i < keys.n; i++)
		assert_ok(gpc_store_del(lab->s->store, keys.v[i], &err));
}

/* Deleted by hand while it runs: no supervisor and no node stays for it. */
TEST(a_deleted_job_does_not_hold_it)
{
	struct lab *lab = lab_new(0);
	struct gpc_session *s = lab_session(lab);
	gpc_autostr *job = lab_job(lab, "");
	pthread_t thread;
	void *failed = s;

	lab_real_sleep(true);
	assert_int_equal(pthread_create(&thread, NULL, supervise, s), 0);
	while (status_of(lab, job, NULL) != GPC_JOB_STARTING)
		gpc_sleep_ms(10);
	delete_job(lab, job);
	lab_advance(20000);
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_int_equal(lab_ledger(lab).made, 1);
	assert_int_equal(lab_running(lab), 0);
	gpc_session_free(s);
	lab_free(lab);
}

TEST(jobs_of_others_are_theirs)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = NULL, *mine = gpc_strdup(lab->s->place.owner.hash);
	struct gpc_error err;

	gpc_set_str(&lab->s->place.owner.hash, "ffffffffffffffff");
	job = lab_job(lab, "");
	gpc_set_str(&lab->s->place.owner.hash, mine);
	assert_ok(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){0}, &err));
	assert_int_equal(status_of(lab, job, NULL), GPC_JOB_PENDING);
	assert_int_equal(lab_ledger(lab).creates, 0);
	lab_free(lab);
}

TEST(a_second_one_is_refused)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *name = gpc_format("supervise-%s.lock", lab->s->store->id);
	gpc_autostr *path = gpc_path_join(lab->s->place.state_dir, name);
	gpc_autofd fd = -1;
	struct gpc_error err;

	assert_ok(gpc_mkdirs(lab->s->place.state_dir, 0700, &err));
	assert_ok(gpc_lock_file(path, true, &fd, &err));
	assert_fails(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){0}, &err), GPC_ECONFLICT);
	/* And nobody starts another one beside it. */
	assert_ok(gpc_supervisor_ensure(lab->s, &err));
	lab_free(lab);
}

/* A wall clock that somebody sets makes nobody silent, nor keeps alive who is. */
TEST(silence_goes_by_the_clock_of_the_boot)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *path = gpc_supervisor_file(lab->s, "lock");
	static const int64_t jumps_s[] = {-3600, 3600};
	struct gpc_error err;

	assert_ok(gpc_mkdirs(lab->s->place.state_dir, 0700, &err));
	for (size_t i = 0; i < 2; i++) {
		struct timespec at = {time(NULL) + jumps_s[i], 0};
		struct timespec times[] = {at, at};
		gpc_autofd fd = -1, other = -1;

		assert_ok(gpc_supervisor_lock(lab->s, path, &fd, &err));
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		assert_int_equal(gpc_supervisor_silent_ms(lab->s), 0);
		assert_fails(gpc_supervisor_lock(lab->s, path, &other, &err),
			GPC_ECONFLICT);
		assert_true(gpc_supervisor_renew(lab->s, fd, path));
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		lab_advance(2 * MINUTE);
		assert_in_range(gpc_supervisor_silent_ms(lab->s), 2 * MINUTE,
			3 * MINUTE);
		assert_ok(gpc_supervisor_lock(lab->s, path, &other, &err));
		assert_false(gpc_supervisor_renew(lab->s, fd, path));
	}
	lab_free(lab);
}

/* What another boot, or nobody, wrote into the file leaves the file's own time. */
TEST(silence_of_another_boot_goes_by_the_wall_clock)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *path = gpc_supervisor_file(lab->s, "lock");
	static const char *const texts[] = {"",
		"00000000-0000-0000-0000-000000000000 5", "-", " ",
		"-                                    5\n"};
	struct gpc_error err;

	assert_ok(gpc_mkdirs(lab->s->place.state_dir, 0700, &err));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_ok(gpc_write_file(path, texts[i], strlen(texts[i]), 0600,
			&err));
		assert_int_equal(gpc_supervisor_silent_ms(lab->s), 0);
		lab_advance(2 * MINUTE);
		assert_in_range(gpc_supervisor_silent_ms(lab->s), 2 * MINUTE,
			3 * MINUTE);
		lab_advance(-2 * MINUTE);
	}
	lab_free(lab);
}

/* One that is about to start is waited for, so that there is no second one. */
TEST(one_is_started_once)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *lock = gpc_format("%s/supervise-%s.lock",
		lab->s->place.state_dir, lab->s->store->id);
	gpc_autostr *starts = gpc_path_join(lab->s->place.state_dir, "starts");
	gpc_autostr *program = gpc_path_join(lab->s->place.state_dir, "program");
	gpc_autostr *text = gpc_format("#!/bin/sh\necho \"$*\" >>'%s'\n"
		"sleep 0.1\nexec flock '%s' sleep 1\n", starts, lock);
	gpc_autostr *once = gpc_format("supervise --store %s\n",
		lab->s->store->url);
	gpc_auto(gpc_buf) struct gpc_buf got = {0};
	struct gpc_error err;

	assert_ok(gpc_mkdirs(lab->s->place.state_dir, 0700, &err));
	assert_ok(gpc_write_file(program, text, strlen(text), 0700, &err));
	gpc_set_str(&lab->s->place.self_path, program);
	lab_real_sleep(true);
	assert_ok(gpc_supervisor_ensure(lab->s, &err));
	assert_ok(gpc_supervisor_ensure(lab->s, &err));
	assert_ok(gpc_read_file(starts, 4096, &got, &err));
	lab_real_sleep(false);
	assert_string_equal(gpc_buf_str(&got), once);
	lab_free(lab);
}

/* One round for cron: what can be done now is done, and it returns. */
TEST(once_is_one_round)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_error err;

	assert_ok(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){ .once = true }, &err));
	assert_int_equal(status_of(lab, job, NULL), GPC_JOB_STARTING);
	assert_int_equal(lab_ledger(lab).made, 1);
	lab_free(lab);
}

/* Whoever supervised this job, elsewhere, was last seen `ago_ms` ago. */
static void held_elsewhere(struct lab *lab, const char *job, int64_t ago_ms)
{
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	static const char text[] = "{\"v\":1,\"id\":\"other\",\"host\":\"far\","
		"\"boot\":\"another\",\"pid\":7,\"start\":7,\"n\":1,"
		"\"boot_ms\":1}";
	struct gpc_error err;
	gpc_key key;

	lab_step(sv);
	gpc_supervision_free(sv);
	gpc_key_job_file(key, job, "supervisor");
	assert_ok(gpc_store_put(lab->s->store, key, text, strlen(text), 0, &err));
	lab_advance(ago_ms);
}

/* A round from cron is all that there is: it must be able to take a job over from
 * a machine that is gone, and must not wait for one that is well. */
TEST(once_waits_for_a_silent_holder)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *silent = lab_job(lab, ""), *well = NULL;
	int64_t start;
	struct gpc_error err;

	held_elsewhere(lab, silent, 5 * MINUTE);
	start = gpc_boot_ms();
	assert_ok(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){ .once = true }, &err));
	assert_int_equal(lab_events(lab, silent, "supervisor"), 2);
	assert_in_range(gpc_boot_ms() - start, GPC_SUPERVISOR_STALE_MS,
		GPC_SUPERVISOR_STALE_MS + 10000);
	well = lab_job(lab, "");
	held_elsewhere(lab, well, 1000);
	start = gpc_boot_ms();
	assert_ok(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){ .once = true }, &err));
	assert_int_equal(lab_events(lab, well, "supervisor"), 1);
	assert_in_range(gpc_boot_ms() - start, 1000, 10000);
	lab_free(lab);
}

TEST(a_signal_ends_it)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_error err;

	lab->cancel.signal = 15;
	assert_ok(gpc_supervise_run(lab->s, &(struct gpc_supervise_how){0}, &err));
	assert_int_equal(status_of(lab, job, NULL), GPC_JOB_PENDING);
	lab_free(lab);
}

TEST(people_are_told_who_supervises)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_autostr *before = gpc_supervisor_describe(lab->s, job);
	gpc_autostr *now = NULL, *pid = gpc_format("%ld", (long)getpid());

	assert_has(before, "nobody");
	lab_step(sv);
	now = gpc_supervisor_describe(lab->s, job);
	assert_has(now, pid);
	gpc_supervision_free(sv);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_drives_all_and_ends_with_the_last),
		cmocka_unit_test(a_resumed_job_is_closed_again),
		cmocka_unit_test(nothing_to_do_ends_at_once),
		cmocka_unit_test(an_entry_without_a_job_does_not_hold_it),
		cmocka_unit_test(a_deleted_job_does_not_hold_it),
		cmocka_unit_test(jobs_of_others_are_theirs),
		cmocka_unit_test(a_second_one_is_refused),
		cmocka_unit_test(silence_goes_by_the_clock_of_the_boot),
		cmocka_unit_test(silence_of_another_boot_goes_by_the_wall_clock),
		cmocka_unit_test(one_is_started_once),
		cmocka_unit_test(once_is_one_round),
		cmocka_unit_test(once_waits_for_a_silent_holder),
		cmocka_unit_test(a_signal_ends_it),
		cmocka_unit_test(people_are_told_who_supervises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
