/* Two forks, so that the process is no child of one that may live on for days
 * without waiting for it. What failed between fork and exec is told on a pipe:
 * "E" and the errno, where a program of ours says another letter. */
#include "base/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"

#define FAILED 'E'

extern char **environ;

int gpc_fork_detached(bool *ret_child, struct gpc_error *err)
{
	pid_t child = fork(), again;
	int status = 0;

	*ret_child = false;
	if (child == 0) {
		setsid();
		again = fork();
		if (again != 0)
			_exit(again < 0 ? errno & 0xff : 0);
		setsid();       /* its group can be named by its own pid */
		*ret_child = true;
		return 0;
	}
	if (child < 0)
		return gpc_fail_sys(err, errno, "cannot start a process");
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return gpc_fail_sys(err, WEXITSTATUS(status),
			"cannot start a process");
	return 0;
}

static void fail_in_child(int fd)
{
	unsigned char text[2] = { FAILED, (unsigned char)errno };

	if (write(fd, text, sizeof(text)) < 0)
		_exit(126);
	_exit(127);
}

static void default_signals(void)
{
	sigset_t none;

	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void become(const struct gpc_detached *d, int null_fd, int report_fd)
{
	/* Above the numbers that are about to be taken. */
	int report = fcntl(report_fd, F_DUPFD, 10);

	if (report < 0 || chdir("/") < 0 || dup2(null_fd, 0) < 0 ||
		dup2(d->log_fd, 1) < 0 || dup2(d->log_fd, 2) < 0 ||
		dup2(report, GPC_REPORT_FD) < 0)
		fail_in_child(report_fd);
	/* What the caller's shell left open (the end of a pipe, a lock) would
	 * stay open for days. */
	gpc_close_from(GPC_REPORT_FD + 1);
	if (!d->reports)
		fcntl(GPC_REPORT_FD, F_SETFD, FD_CLOEXEC);
	default_signals();
	execve(d->path, (char *const *)d->argv, d->envp ? d->envp : environ);
	fail_in_child(GPC_REPORT_FD);
}

int gpc_detach(const struct gpc_detached *d, int *ret_fd, struct gpc_error *err)
{
	gpc_autofd null_fd = -1, in = -1, out = -1;
	bool is_child = false;
	int fds[2] = { -1, -1 };
	int r = gpc_open("/dev/null", O_RDWR, 0, &null_fd, err);

	if (r == 0)
		r = gpc_pipe(fds, err);
	if (r < 0)
		return r;
	in = fds[0];
	out = fds[1];
	r = gpc_fork_detached(&is_child, err);
	if (r == 0 && is_child)
		become(d, null_fd, out);
	if (r < 0)
		return r;
	*ret_fd = in;
	in = -1;
	return 0;
}

int gpc_detached_report(int fd, const char *path, int ms, char *ret_word,
	struct gpc_error *err)
{
	int64_t end = gpc_boot_ms() + ms;
	unsigned char text[2] = {0};

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = end - gpc_boot_ms();
		ssize_t n;

		if (left <= 0)
			return gpc_fail(err, GPC_ETIMEOUT, "%s does not start",
				path);
		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return gpc_fail_sys(err, errno, "poll");
		if (!p.revents)
			continue;
		n = read(fd, text, sizeof(text));
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 2 && text[0] == FAILED)
			return gpc_fail_sys(err, text[1], "cannot run %s", path);
		*ret_word = n > 0 ? (char)text[0] : 0;
		return 0;
	}
}
