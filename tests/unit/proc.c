/* Process identity: start times, zombies, hostile names. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/proc.h"

static pid_t start_sleeper(const char *name)
{
	pid_t pid;
	int fds[2];
	char c;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
#ifdef __linux__
		prctl(PR_SET_NAME, name);
#else
		(void)name;
#endif
		if (write(fds[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

TEST(knows_itself)
{
	uint64_t start = gpc_proc_start(getpid());

	assert_true(start > 0);
	assert_true(gpc_proc_start(getpid()) == start);
	assert_true(gpc_proc_alive(getpid(), start));
#ifdef __linux__
	assert_false(gpc_proc_alive(getpid(), start + 1));
#endif
	assert_false(gpc_proc_alive(getpid(), 0));
	assert_true(gpc_proc_start(1) > 0);
}

TEST(knows_nobody)
{
	assert_true(gpc_proc_start(0) == 0);
	assert_true(gpc_proc_start(-1) == 0);
	assert_true(gpc_proc_start(0x7fffffff) == 0);
	assert_false(gpc_proc_alive(0x7fffffff, 0));
	assert_false(gpc_proc_alive(0, 0));
}

TEST(reads_past_hostile_names)
{
	static const char *const names[] = {
		") R 1 2 3", "a b", "((", "))", ") Z 0 0 0 0 0",
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		uint64_t first = gpc_proc_start(getpid()), start;
		pid_t pid = start_sleeper(names[i]);

		start = gpc_proc_start(pid);
		assert_true(start >= first);
		assert_true(gpc_proc_alive(pid, start));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_true(gpc_proc_start(pid) == 0);
		assert_false(gpc_proc_alive(pid, start));
	}
}

TEST(takes_zombies_for_dead)
{
#ifdef __linux__
	pid_t pid = start_sleeper("sleeper");
	uint64_t start = gpc_proc_start(pid);
	siginfo_t info;

	assert_true(gpc_proc_alive(pid, start));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(gpc_proc_alive(pid, start));
	assert_true(gpc_proc_start(pid) == start);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_itself),
		cmocka_unit_test(knows_nobody),
		cmocka_unit_test(reads_past_hostile_names),
		cmocka_unit_test(takes_zombies_for_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
