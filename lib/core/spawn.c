/* Double fork: the child of a child is nobody's zombie and has no terminal. A
 * close-on-exec pipe tells whether exec worked. */
#include "core/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "provider/procs.h"

enum { REPORT_FD = 3 };

/* Between fork and exec: async-signal-safe calls only. */
static void become(const char *const *argv, int log_fd, int report_fd)
{
	static const int to_default[] = {
		SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXFSZ,
	};
	int null = open("/dev/null", O_RDWR);
	int error;

	for (size_t i = 0; i < sizeof(to_default) / sizeof(int); i++)
		signal(to_default[i], SIG_DFL);
	/* Above the numbers that are about to be taken. */
	report_fd = fcntl(report_fd, F_DUPFD, 10);
	if (report_fd < 0 || null < 0 || chdir("/") < 0 || dup2(null, 0) < 0 ||
		dup2(log_fd, 1) < 0 || dup2(log_fd, 2) < 0 ||
		dup2(report_fd, REPORT_FD) < 0) {
		error = errno;
	} else {
		/* What the caller's shell left open (the end of a pipe, a
		 * lock) would stay open for days. */
		gpc_close_from(REPORT_FD + 1);
		report_fd = REPORT_FD;
		fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC);
		execv(argv[0], (char *const *)argv);
		error = errno;
	}
	if (write(report_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static void fork_again(const char *const *argv, int log_fd, int report_fd)
{
	if (setsid() < 0 || fork() != 0)
		_exit(0);
	become(argv, log_fd, report_fd);
}

int gpc_spawn_detached(const char *const *argv, const char *log_path,
	struct gpc_error *err)
{
	gpc_autofd log_fd = -1;
	int fds[2] = { -1, -1 };
	int error = 0;
	ssize_t n;
	pid_t pid;
	int r = gpc_open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600, &log_fd,
		err);

	if (r == 0)
		r = gpc_pipe(fds, err);
	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0)
		fork_again(argv, log_fd, fds[1]);
	gpc_close(&fds[1]);
	if (pid < 0) {
		r = gpc_fail_sys(err, errno, "fork");
		gpc_close(&fds[0]);
		return r;
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	do {
		n = read(fds[0], &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	gpc_close(&fds[0]);
	if (n == (ssize_t)sizeof(error))
		return gpc_fail_sys(err, error, "start %s", argv[0]);
	return 0;
}
