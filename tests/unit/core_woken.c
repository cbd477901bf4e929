/* Two supervisors of one job: the first is stopped (SIGSTOP) at a crash point
 * and the second, for whom more than the stale time passes, takes the job over
 * and brings it to its end. Then the first is woken and goes on with what it
 * was about to do. Nothing may be bought or given back twice, whatever the
 * point. Needs a build with crash points; without one there is nothing here. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/reconcile.h"
#include "core_lab.h"

#define STALE ((int64_t)61000)

static bool play_out(struct lab *lab, struct gpc_supervision *sv,
	const char *job)
{
	for (int i = 0; i < 1200; i++) {
		if (lab_step(sv))
			return true;
		lab_play(lab, job, lab_state(sv));
		lab_advance(1000);
	}
	return false;
}

/* The first supervisor, a process of its own: 0 when it came to the end. */
static pid_t first_one(struct lab *lab, const char *job, const char *armed)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	setenv("GPUCLOUD_CRASH", armed, 1);
	_exit(play_out(lab, lab_supervise(lab_session(lab), job), job) ? 0 : 1);
}

/* The names of the points that a supervisor passes, in their order. Those of the
 * pretend cloud are left out: it is locked there, which no cloud is. */
static void points(struct gpc_strv *ret_names)
{
	struct lab *lab = lab_new(LAB_FILE);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	gpc_autostr *path = gpc_path_join(lab->dir, "passed");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest, line, name;
	struct gpc_error err;
	int status;

	setenv("GPUCLOUD_CRASH_DIR", lab->dir, 1);
	assert_true(waitpid(first_one(lab, job, ""), &status, 0) > 0);
	unsetenv("GPUCLOUD_CRASH_DIR");
	assert_int_equal(status, 0);
	if (gpc_read_file(path, 1 << 20, &b, &err) == 0) {
		rest = gpc_str_of(gpc_buf_str(&b));
		while (gpc_str_split(&rest, '\n', &line)) {
			gpc_autostr *word = NULL;

			if (!gpc_str_split(&line, ' ', &name) || !name.len)
				continue;
			word = gpc_strndup(name.ptr, name.len);
			if (!gpc_starts_with(word, "fake.") &&
				!gpc_starts_with(word, "file.") &&
				!gpc_strv_has(ret_names, word))
				gpc_strv_add(ret_names, word);
		}
	}
	lab_free(lab);
}

/* What the first one was about to do when it was stopped for `ms`. twice: it may
 * buy as well, as it had looked whether its intent is the newest event. */
static void stopped_at(const char *point, int64_t ms, bool twice)
{
	struct lab *lab = lab_new(LAB_FILE);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	gpc_autostr *armed = gpc_format("%s=stop", point);
	struct gpc_supervision *sv;
	struct lab_ledger l;
	struct gpc_error err;
	int status, swept;
	pid_t pid;

	setenv("GPUCLOUD_CRASH_DIR", lab->dir, 1);      /* once, not each time */
	pid = first_one(lab, job, armed);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	unsetenv("GPUCLOUD_CRASH_DIR");
	if (!WIFSTOPPED(status))
		fail_msg("%s was not passed", point);
	sv = lab_supervise(lab->s, job);
	lab_step(sv);                   /* sees the holder, and then no change */
	lab_advance(ms);
	if (!play_out(lab, sv, job))
		fail_msg("stopped at %s: the second one gets no further than %s",
			point, gpc_job_status_to_str(lab_state(sv)->status));
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("stopped at %s: the first one ends with %d", point,
			status);
	l = lab_ledger(lab);
	/* A machine that only a void intent names is an orphan. */
	assert_ok(gpc_reconcile(lab->s, &swept, &err));
	if (!twice && (l.made != 2 || l.tokens != 1 || swept != 0))
		fail_msg("stopped at %s: %d machines by %d tokens", point, l.made,
			l.tokens);
	assert_int_equal(lab_events(lab, job, "ended"), 1);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(nothing_is_done_twice)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};

	points(&names);
	if (names.n == 0)
		skip();
	assert_true(gpc_strv_has(&names, "buy.asks"));
	assert_true(gpc_strv_has(&names, "supervise.destroyed"));
	for (size_t i = 0; i < names.n; i++)
		stopped_at(names.v[i], STALE, false);
}

/* Stopped for so long that the second one gave its intent up. */
TEST(what_comes_too_late_is_swept)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};

	points(&names);
	if (names.n == 0)
		skip();
	stopped_at("event.intent", 11 * MINUTE, false);
	stopped_at("buy.asks", 11 * MINUTE, true);
	stopped_at("buy.answered", 11 * MINUTE, true);
	stopped_at("event.created", 11 * MINUTE, true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_done_twice),
		cmocka_unit_test(what_comes_too_late_is_swept),
	};

	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
