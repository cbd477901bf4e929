/* Starting a launcher.
 *
 * Two forks, so that the launcher is no child of a client that may live on for
 * days without waiting for it. It says "R" on a pipe once node.json bears its
 * name; a failed exec says "E" and the errno; the end of the pipe without
 * either means that it gave up by itself. Only async-signal-safe calls stand
 * between fork and exec, as the client may have threads. */
#include "provider/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/node_file.h"
#include "provider/procs.h"

enum { READY_FD = 3, READY_WAIT_MS = 20000 };

extern char **environ;

/* What a node inherits from whoever starts it: how programs are found and how
 * text is written, nothing that could grant access. */
static const char *const inherited[] = {
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ",
	"TMPDIR", "LD_LIBRARY_PATH",
	"ASAN_OPTIONS", "UBSAN_OPTIONS",    /* where their reports go */
	GPC_CRASH_ENV
};

static bool is_inherited(const char *entry)
{
	size_t n = strcspn(entry, "=");

	if (gpc_starts_with(entry, "LC_"))
		return true;
	for (size_t i = 0; i < sizeof(inherited) / sizeof(*inherited); i++)
		if (strlen(inherited[i]) == n
			&& strncmp(entry, inherited[i], n) == 0)
			return true;
	return false;
}

struct start {
	const char *path;
	char *const *argv, *const *envp;
	int log_fd, ready_fd, null_fd;
};

static void say_errno(int fd)
{
	unsigned char text[2] = { 'E', (unsigned char)errno };

	if (write(fd, text, sizeof(text)) < 0)
		_exit(126);
	_exit(127);
}

/* In the grandchild. */
static void become_launcher(const struct start *s)
{
	sigset_t none;
	int ready;

	setsid();            /* its group can be named by its own pid */
	if (chdir("/") < 0)  /* the client's folder may be deleted */
		say_errno(s->ready_fd);
	/* Above the numbers that are about to be taken. */
	ready = fcntl(s->ready_fd, F_DUPFD, 10);
	if (ready < 0 || dup2(s->null_fd, 0) < 0 || dup2(s->log_fd, 1) < 0
		|| dup2(s->log_fd, 2) < 0 || dup2(ready, READY_FD) < 0)
		say_errno(s->ready_fd);
	gpc_close_from(READY_FD + 1);
	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(s->path, s->argv, s->envp);
	say_errno(READY_FD);
}

static int start_detached(const struct start *s, struct gpc_error *err)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return gpc_fail_sys(err, errno, "cannot start a process");
	if (child == 0) {
		setsid();
		switch (fork()) {
		case 0:
			become_launcher(s);
			break;
		case -1:
			say_errno(s->ready_fd);
			break;
		default:
			_exit(0);
		}
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int wait_ready(int fd, const char *dir, const char *self_path,
	struct gpc_error *err)
{
	int64_t end = gpc_boot_ms() + READY_WAIT_MS;
	unsigned char text[2] = {0};

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = end - gpc_boot_ms();
		ssize_t n;

		if (left <= 0)
			return gpc_fail(err, GPC_ETIMEOUT,
				"the node in %s does not start", dir);
		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return gpc_fail_sys(err, errno, "poll");
		if (!p.revents)
			continue;
		n = read(fd, text, sizeof(text));
		if (n < 0 && errno == EINTR)
			continue;
		if (n >= 1 && text[0] == 'R')
			return 0;
		if (n == 2 && text[0] == 'E')
			return gpc_fail_sys(err, text[1], "cannot run %s",
				self_path);
		gpc_fail(err, GPC_EIO, "the node in %s ended at once", dir);
		gpc_hint(err, "see %s/" GPC_NODE_LOG, dir);
		return -GPC_EIO;
	}
}

int gpc_spawn_launcher(const char *self_path, const char *dir, const char *job,
	struct gpc_error *err)
{
	gpc_autostr *log_path = gpc_path_join(dir, GPC_NODE_LOG);
	const char *argv[] = { self_path, "agent", "--launch", dir,
		"--ready-fd", "3", NULL };
	gpc_autofd log_fd = -1, null_fd = -1, in = -1, out = -1;
	gpc_auto(gpc_strv) struct gpc_strv env = {0};
	struct start s;
	int fds[2], r;

	for (char **e = environ; *e; e++)
		if (is_inherited(*e))
			gpc_strv_add(&env, *e);
	gpc_strv_addf(&env, "GPUCLOUD_JOB_ID=%s", job ? job : "");
	gpc_strv_addf(&env, GPC_NODE_ENV "=%s", gpc_path_base(dir));
	gpc_strv_take(&env, NULL);
	r = gpc_open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600, &log_fd, err);
	if (r == 0)
		r = gpc_open("/dev/null", O_RDWR, 0, &null_fd, err);
	if (r == 0)
		r = gpc_pipe(fds, err);
	if (r < 0)
		return r;
	in = fds[0];
	out = fds[1];
	s = (struct start){ .path = self_path, .argv = (char *const *)argv,
		.envp = env.v, .log_fd = log_fd, .ready_fd = out,
		.null_fd = null_fd };
	r = start_detached(&s, err);
	gpc_close(&out);
	return r < 0 ? r : wait_ready(in, dir, self_path, err);
}
