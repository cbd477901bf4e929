/* Files: whole or not at all, with a full disk, signals, limits and locks. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>

#include "base/draft.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

enum { SKIPPED = 77 };

static size_t count_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(opens_close_on_exec_and_closes)
{
	struct gpc_error err = {0};
	int fd = -1, copy;

	assert_ok(gpc_open("/dev/null", O_RDWR, 0, &fd, &err));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	copy = fd;
	gpc_close(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	gpc_close(&fd);
}

TEST(names_what_cannot_be_opened)
{
	struct gpc_error err = {0};
	int fd = -1;

	assert_fails(gpc_open("/no/such/file", O_RDONLY, 0, &fd, &err),
		GPC_ENOTFOUND);
	assert_has(err.msg, "/no/such/file");
	assert_has(err.msg, "No such file");
	assert_int_equal(err.sys, ENOENT);
	assert_int_equal(fd, -1);
	assert_fails(gpc_open("", O_RDONLY, 0, &fd, &err), GPC_ENOTFOUND);
	assert_fails(gpc_open("/dev/null/x", O_RDONLY, 0, &fd, &err), GPC_EIO);
	assert_int_equal(err.sys, ENOTDIR);
}

TEST(writes_and_reads_whole_files)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "f");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};
	struct stat st;

	assert_ok(gpc_write_file(path, "old", 3, 0600, &err));
	assert_ok(gpc_write_file(path, "a\0new", 5, 0640, &err));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	gpc_buf_adds(&b, "x");
	assert_ok(gpc_read_file(path, 5, &b, &err));
	assert_int_equal(b.len, 6);
	assert_memory_equal(b.data, "xa\0new", 7);
	assert_ok(gpc_write_file(path, "", 0, 0600, &err));
	gpc_buf_reset(&b);
	assert_ok(gpc_read_file(path, 0, &b, &err));
	assert_int_equal(b.len, 0);
	assert_int_equal(count_entries(dir), 1);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(refuses_larger_files)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "f");
	gpc_auto(gpc_buf) struct gpc_buf b = {0}, small = {.max = 2};
	struct gpc_error err = {0};

	assert_ok(gpc_write_file(path, "12345", 5, 0600, &err));
	assert_fails(gpc_read_file(path, 4, &b, &err), GPC_EPROTO);
	assert_has(err.msg, path);
	assert_fails(gpc_read_file(path, 0, &b, &err), GPC_EPROTO);
	assert_fails(gpc_read_file(path, 100, &small, &err), GPC_EPROTO);
	/* Endless, and no size to ask for. */
	gpc_buf_reset(&b);
	assert_fails(gpc_read_file("/dev/zero", 1 << 20, &b, &err),
		GPC_EPROTO);
	/* Files of /proc say 0 and hold more. */
	gpc_buf_reset(&b);
	assert_ok(gpc_read_file("/proc/self/status", 1 << 20, &b, &err));
	assert_has(gpc_buf_str(&b), "Name:");
	assert_fails(gpc_read_file(dir, 100, &b, &err), GPC_EIO);
	assert_int_equal(err.sys, EISDIR);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(names_a_full_disk)
{
	struct gpc_error err = {0};
	gpc_autofd fd = -1;

	assert_ok(gpc_open("/dev/full", O_WRONLY, 0, &fd, &err));
	assert_fails(gpc_write_all(fd, "x", 1, "/dev/full", &err), GPC_EIO);
	assert_int_equal(err.sys, ENOSPC);
	assert_has(err.msg, "/dev/full");
	assert_string_equal(err.hint,
		"free space on the disk that holds /dev, then repeat");
}

/* What it returns in a process of its own. */
static int in_child(int (*what)(const char *dir),
	const char *dir)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(what(dir));
	return wait_for(pid);
}

/* On a disk of 64 KiB; the child has its own mounts. */
static int fill_a_disk(const char *dir)
{
	gpc_autostr *path = gpc_path_join(dir, "f");
	gpc_autostr *data = gpc_array(1 << 20, 1);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};

	if (unshare(CLONE_NEWNS) < 0 ||
		mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", dir, "tmpfs", 0, "size=64k") < 0)
		return SKIPPED;
	if (gpc_write_file(path, "old", 3, 0600, &err) < 0)
		return 1;
	if (gpc_write_file(path, data, 1 << 20, 0600, &err) != -GPC_EIO)
		return 2;
	if (err.sys != ENOSPC || !strstr(err.hint, dir) ||
		!strstr(err.msg, path))
		return 3;
	if (gpc_read_file(path, 100, &b, &err) < 0 || !gpc_eq(b.data, "old"))
		return 4;
	return count_entries(dir) == 1 ? 0 : 5;
}

TEST(leaves_nothing_on_a_full_disk)
{
	gpc_autostr *dir = scratch();
	struct gpc_error err = {0};
	int code = in_child(fill_a_disk, dir);

	assert_ok(gpc_rmtree(dir, &err));
	if (code == SKIPPED)
		skip();
	assert_int_equal(code, 0);
}

/* Two drafts of one name in a folder: how many names there are before the first
 * has its own, and what is there in the end. */
static int draft_twice(const char *dir, size_t names)
{
	gpc_autostr *path = gpc_path_join(dir, "f");
	struct gpc_draft d;
	gpc_autofd at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < 2; i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		struct gpc_error err = {0};

		if (gpc_draft_open(&d, at, 0600) != 0 ||
			gpc_write_all(d.fd, i ? "new" : "old", 3, path, &err) < 0)
			return 1;
		if (count_entries(dir) != names + i)
			return 2;
		if (gpc_draft_commit(&d, "f") != 0 || d.fd != -1 ||
			count_entries(dir) != 1)
			return 3;
		if (gpc_read_file(path, 9, &b, &err) < 0 ||
			!gpc_eq(gpc_buf_str(&b), i ? "new" : "old"))
			return 4;
	}
	if (gpc_draft_open(&d, at, 0600) != 0)
		return 5;
	gpc_draft_drop(&d);
	return count_entries(dir) == 1 && d.fd == -1 ? 0 : 6;
}

TEST(a_draft_has_no_name_where_the_system_can_do_that)
{
	gpc_autostr *dir = scratch();
	struct gpc_error err = {0};
	size_t names = 1;

#ifdef O_TMPFILE
	gpc_autofd fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	names = fd < 0;
#endif
	assert_int_equal(draft_twice(dir, names), 0);
	assert_ok(gpc_rmtree(dir, &err));
}

/* Without /proc nothing could get its name later. */
static int draft_without_proc(const char *dir)
{
	if (unshare(CLONE_NEWNS) < 0 ||
		mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", "/proc", "tmpfs", 0, "size=64k") < 0)
		return SKIPPED;
	return draft_twice(dir, 1);
}

TEST(a_draft_has_a_name_elsewhere)
{
	gpc_autostr *dir = scratch();
	struct gpc_error err = {0};
	int code = in_child(draft_without_proc, dir);

	assert_ok(gpc_rmtree(dir, &err));
	if (code == SKIPPED)
		skip();
	assert_int_equal(code, 0);
}

static int pass_the_size_limit(const char *dir)
{
	gpc_autostr *path = gpc_path_join(dir, "f");
	gpc_autostr *data = gpc_array(1 << 20, 1);
	struct rlimit limit = {4096, 4096};
	struct gpc_error err = {0};

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	if (gpc_write_file(path, data, 1 << 20, 0600, &err) != -GPC_EIO ||
		err.sys != EFBIG)
		return 1;
	return count_entries(dir) == 1 ? 0 : 2;
}

TEST(keeps_the_old_file_when_the_new_fails)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "f");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};

	assert_ok(gpc_write_file(path, "old", 3, 0600, &err));
	assert_int_equal(in_child(pass_the_size_limit, dir), 0);
	assert_ok(gpc_read_file(path, 100, &b, &err));
	assert_string_equal(b.data, "old");
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(names_the_target_not_the_temporary)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "d");
	struct gpc_error err = {0};

	assert_fails(gpc_write_file("/no/such/dir/f", "x", 1, 0600, &err),
		GPC_ENOTFOUND);
	assert_has(err.msg, "/no/such/dir/f");
	assert_null(strstr(err.msg, ".gpucloud-"));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_fails(gpc_write_file(path, "x", 1, 0600, &err), GPC_EIO);
	assert_int_equal(count_entries(dir), 1);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(writes_at_offsets)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "f");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};
	gpc_autofd fd = -1;

	assert_ok(gpc_open(path, O_RDWR | O_CREAT, 0600, &fd, &err));
	assert_ok(gpc_pwrite_all(fd, "cd", 2, 2, path, &err));
	assert_ok(gpc_pwrite_all(fd, "ab", 2, 0, path, &err));
	assert_ok(gpc_read_file(path, 10, &b, &err));
	assert_string_equal(b.data, "abcd");
	assert_fails(gpc_pwrite_all(fd, "x", 1, -5, path, &err), GPC_EIO);
	assert_ok(gpc_rmtree(dir, &err));
}

static void ignore_it(int signal_number)
{
	(void)signal_number;
}

/* A signal every 2 ms that does not restart calls. */
static void interrupt_often(long us)
{
	struct sigaction action = {.sa_handler = ignore_it};
	struct itimerval timer = {{0, us}, {0, us}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

TEST(goes_on_after_signals)
{
	struct gpc_error err = {0};
	char data[100] = "";
	size_t n = 0;
	int fds[2];
	pid_t pid;

	assert_ok(gpc_pipe(fds, &err));
	assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fds[1], F_GETFD) & FD_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 10; i++) {
			usleep(10000);
			if (write(fds[1], "0123456789", 10) != 10)
				_exit(1);
		}
		_exit(0);
	}
	gpc_close(&fds[1]);
	interrupt_often(2000);
	assert_ok(gpc_read_full(fds[0], data, 100, "pipe", &n, &err));
	interrupt_often(0);
	assert_int_equal(n, 100);
	assert_memory_equal(data + 90, "0123456789", 10);
	assert_ok(gpc_read_full(fds[0], data, 100, "pipe", &n, &err));
	assert_int_equal(n, 0);
	assert_int_equal(wait_for(pid), 0);
	gpc_close(&fds[0]);
}

TEST(writes_through_a_slow_pipe)
{
	static char data[1 << 20];
	struct gpc_error err = {0};
	int fds[2];
	pid_t pid;

	assert_ok(gpc_pipe(fds, &err));
	pid = fork();
	if (pid == 0) {
		size_t total = 0;
		ssize_t k;

		close(fds[1]);
		while ((k = read(fds[0], data, 30000)) > 0) {
			total += (size_t)k;
			usleep(1000);
		}
		_exit(total == sizeof(data) ? 0 : 1);
	}
	gpc_close(&fds[0]);
	interrupt_often(2000);
	assert_ok(gpc_write_all(fds[1], data, sizeof(data), "pipe", &err));
	interrupt_often(0);
	gpc_close(&fds[1]);
	assert_int_equal(wait_for(pid), 0);
}

TEST(makes_descriptors_non_blocking)
{
	struct gpc_error err = {0};
	int fds[2];
	char c;

	assert_ok(gpc_pipe(fds, &err));
	assert_ok(gpc_set_nonblock(fds[0], &err));
	assert_int_equal(read(fds[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	gpc_close(&fds[0]);
	gpc_close(&fds[1]);
	assert_fails(gpc_set_nonblock(-1, &err), GPC_EIO);
}

/* 0: got the lock; else the code. */
static int try_lock(const char *path)
{
	int fd = -1;

	return -gpc_lock_file(path, false, &fd, NULL);
}

TEST(locks_against_other_processes)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "lock");
	struct gpc_error err = {0};
	gpc_autofd fd = -1, other = -1;
	pid_t pid;

	assert_ok(gpc_lock_file(path, false, &fd, &err));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_fails(gpc_lock_file(path, false, &other, &err), GPC_ECONFLICT);
	assert_has(err.msg, path);
	/* Another descriptor of the file that closes does not end it. */
	assert_ok(gpc_open(path, O_RDONLY, 0, &other, &err));
	gpc_close(&other);
	pid = fork();
	if (pid == 0) {
		close(fd);
		_exit(try_lock(path));
	}
	assert_int_equal(wait_for(pid), GPC_ECONFLICT);
	gpc_close(&fd);
	assert_int_equal(try_lock(path), 0);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(lock_ends_with_its_holder)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "lock");
	struct gpc_error err = {0};
	gpc_autofd fd = -1;
	int fds[2], status;
	char c;
	pid_t pid;

	assert_ok(gpc_pipe(fds, &err));
	pid = fork();
	if (pid == 0) {
		int mine = -1;

		if (gpc_lock_file(path, false, &mine, NULL) < 0 ||
			write(fds[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	assert_fails(gpc_lock_file(path, false, &fd, &err), GPC_ECONFLICT);
	kill(pid, SIGKILL);
	assert_ok(gpc_lock_file(path, true, &fd, &err));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	gpc_close(&fds[0]);
	gpc_close(&fds[1]);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(waits_for_a_file_that_still_has_its_name)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "lock");
	struct gpc_error err = {0};
	struct stat held, named;
	gpc_autofd fd = -1, mine = -1;
	pid_t pid;

	assert_ok(gpc_lock_file(path, false, &fd, &err));
	pid = fork();
	if (pid == 0) {
		usleep(30000);
		unlink(path);
		_exit(0);
	}
	/* The child keeps the lock until it deleted the file. */
	gpc_close(&fd);
	assert_ok(gpc_lock_file(path, true, &mine, &err));
	assert_int_equal(fstat(mine, &held), 0);
	assert_int_equal(stat(path, &named), 0);
	assert_int_equal(held.st_ino, named.st_ino);
	assert_int_equal(wait_for(pid), 0);
	assert_ok(gpc_rmtree(dir, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_close_on_exec_and_closes),
		cmocka_unit_test(names_what_cannot_be_opened),
		cmocka_unit_test(writes_and_reads_whole_files),
		cmocka_unit_test(refuses_larger_files),
		cmocka_unit_test(names_a_full_disk),
		cmocka_unit_test(leaves_nothing_on_a_full_disk),
		cmocka_unit_test(
			a_draft_has_no_name_where_the_system_can_do_that),
		cmocka_unit_test(a_draft_has_a_name_elsewhere),
		cmocka_unit_test(keeps_the_old_file_when_the_new_fails),
		cmocka_unit_test(names_the_target_not_the_temporary),
		cmocka_unit_test(writes_at_offsets),
		cmocka_unit_test(goes_on_after_signals),
		cmocka_unit_test(writes_through_a_slow_pipe),
		cmocka_unit_test(makes_descriptors_non_blocking),
		cmocka_unit_test(locks_against_other_processes),
		cmocka_unit_test(lock_ends_with_its_holder),
		cmocka_unit_test(waits_for_a_file_that_still_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
