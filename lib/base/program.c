/* See program.h. What lies between fork and exec is only what is safe there, since
 * others of our threads may hold any lock.
 */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"

extern char **environ;

#define NOT_RUN 127             /* as shells say it */
#define PATIENCE_MS 2000        /* after SIGTERM, before SIGKILL */

void gpc_program_env(const struct gpc_strv *vars, struct gpc_strv *ret_env)
{
	size_t n_vars = vars ? vars->n : 0;

	for (char **e = environ; e && *e; e++) {
		size_t n = strcspn(*e, "=") + 1;
		bool replaced = false;

		for (size_t i = 0; i < n_vars; i++)
			replaced |= strncmp(vars->v[i], *e, n) == 0;
		if (!replaced)
			gpc_strv_add(ret_env, *e);
	}
	for (size_t i = 0; i < n_vars; i++)
		gpc_strv_add(ret_env, vars->v[i]);
	gpc_strv_take(ret_env, NULL);
}

/* --- the child ------------------------------------------------------------- */
struct pipes { int out[2], said[2], told[2]; };

/* We ignore these two; of a session nobody is left who might have meant more. */
static void plain_signals(bool all)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	sigemptyset(&plain.sa_mask);
	sigaction(SIGPIPE, &plain, NULL);
	sigaction(SIGXFSZ, &plain, NULL);
	if (all) {
		sigaction(SIGHUP, &plain, NULL);
		sigprocmask(SIG_SETMASK, &plain.sa_mask, NULL);
	}
}

static bool set_fds(const struct gpc_program *p, const struct pipes *pipes)
{
	bool session = p->place == GPC_PROGRAM_SESSION;
	int none = open("/dev/null", O_RDONLY);

	if (none < 0 || (!(p->reads_terminal && isatty(STDIN_FILENO)) &&
		dup2(none, STDIN_FILENO) < 0))
		return false;
	if (session)
		return dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
	return dup2(pipes->out[1], STDOUT_FILENO) >= 0 &&
		dup2(pipes->said[1], STDERR_FILENO) >= 0;
}

static bool enter(const struct gpc_program *p)
{
	return !p->dir || chdir(p->dir) == 0 ||
		(p->else_dir && chdir(p->else_dir) == 0);
}

static _Noreturn void become(const struct gpc_program *p,
	const struct pipes *pipes)
{
	bool session = p->place == GPC_PROGRAM_SESSION;
	int sys;

	plain_signals(session);
	if (p->open_files)
		umask(022);
	if (p->place == GPC_PROGRAM_GROUP)
		setpgid(0, 0);
	if (session)
		setsid();
	if (set_fds(p, pipes) && enter(p)) {
		if (session)
			gpc_close_from(STDERR_FILENO + 1);
		environ = (char **)p->env;
		execvp(p->argv[0], p->argv);
	}
	sys = errno;
	if (!session && write(pipes->told[1], &sys, sizeof(sys)) < 0)
		_exit(126);
	_exit(NOT_RUN);
}

/* --- starting -------------------------------------------------------------- */
static void pipes_clear(struct pipes *pipes)
{
	for (int i = 0; i < 2; i++) {
		gpc_close(&pipes->out[i]);
		gpc_close(&pipes->said[i]);
		gpc_close(&pipes->told[i]);
	}
}
GPC_CLEANUP_VALUE(pipes);

static int open_pipes(struct pipes *pipes, struct gpc_error *err)
{
	int r = gpc_pipe(pipes->out, err);

	if (!r)
		r = gpc_pipe(pipes->said, err);
	return r ? r : gpc_pipe(pipes->told, err);
}

/* Which errno kept it from being executed; 0 when it runs. */
static int ask_child(pid_t pid, int told)
{
	int sys = 0;
	ssize_t n;

	do
		n = read(told, &sys, sizeof(sys));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return sys;
}

int gpc_program_start(const struct gpc_program *p, struct gpc_program_run *ret_run,
	int *ret_sys, struct gpc_error *err)
{
	gpc_auto(pipes) struct pipes pipes = {{-1, -1}, {-1, -1}, {-1, -1}};
	bool session = p->place == GPC_PROGRAM_SESSION;
	int r = session ? 0 : open_pipes(&pipes, err);
	pid_t pid;

	if (r)
		return r;
	pid = fork();
	if (pid == 0)
		become(p, &pipes);
	if (pid < 0)
		return gpc_fail_sys(err, errno, "cannot start %s", p->argv[0]);
	gpc_close(&pipes.told[1]);
	if (p->place == GPC_PROGRAM_GROUP)
		setpgid(pid, pid);      /* both do: who comes first is unknown */
	*ret_sys = session ? 0 : ask_child(pid, pipes.told[0]);
	if (*ret_sys)
		return 0;
	*ret_run = (struct gpc_program_run){pid, pipes.out[0], pipes.said[0]};
	pipes.out[0] = pipes.said[0] = -1;
	return 0;
}

/* --- listening and ending -------------------------------------------------- */
bool gpc_program_take(int *fd, struct gpc_buf *to, size_t max)
{
	char piece[16384];
	ssize_t n = read(*fd, piece, sizeof(piece));
	bool fits = true;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		gpc_close(fd);
	else if (to->len + (size_t)n <= max)
		gpc_buf_add(to, piece, (size_t)n);
	else
		fits = false;
	gpc_wipe(piece, n > 0 ? (size_t)n : 0);
	return fits;
}

bool gpc_program_is_ended(pid_t child, int *ret_status)
{
	pid_t w = waitpid(child, ret_status, WNOHANG);

	return w == child || (w < 0 && errno != EINTR);
}

void gpc_program_end(pid_t child, bool leads_group, bool reaped, int *ret_status)
{
	pid_t whom = leads_group ? -child : child;
	int64_t until = gpc_boot_ms() + PATIENCE_MS;

	if (reaped && !leads_group)
		return;
	kill(whom, SIGTERM);
	for (;;) {
		int64_t now = gpc_boot_ms();

		reaped = reaped || gpc_program_is_ended(child, ret_status);
		if (reaped && (!leads_group || kill(whom, 0) < 0))
			return;
		if (now > until)
			kill(whom, SIGKILL);
		/* What waits for a dead disk is init's then. */
		if (reaped && now > until + PATIENCE_MS)
			return;
		gpc_sleep_ms(10);
	}
}
