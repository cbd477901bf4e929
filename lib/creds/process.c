/* Runs somebody's program for credentials. Its stdout may hold secrets and is
 * never shown; its stderr is for people and becomes the message when it fails.
 * It gets no descriptor of ours, and does not outlive its time: unless it may ask
 * at the terminal, it has a process group of its own that is ended with it. */
#include "creds/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/program.h"
#include "base/time.h"

extern char **environ;

#define TIMEOUT_MS 60000
#define TICK_MS 100
#define PATIENCE_MS 1000        /* after SIGTERM, before SIGKILL */
#define SAID_MAX ((size_t)4 << 10)
#define SHOWN_MAX 400

/* --- the command ----------------------------------------------------------- */
static int split(const char *p, struct gpc_strv *argv, struct gpc_buf *word)
{
	char quote = 0;
	bool in_word = false;

	for (; *p; p++) {
		bool space = strchr(" \t\r\n", *p) != NULL;

		if (quote == '\'' && *p != '\'') {
			gpc_buf_addc(word, *p);
		} else if (*p == '\\' && (quote != '"' ||
			(p[1] && strchr("\"\\$`\n", p[1])))) {
			if (!p[1])
				return '\\';
			in_word = true;
			gpc_buf_addc(word, *++p);
		} else if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? 0 : *p;
			in_word = true;
		} else if (quote || !space) {
			gpc_buf_addc(word, *p);
			in_word = true;
		} else if (in_word) {
			gpc_strv_add(argv, gpc_buf_str(word));
			gpc_buf_reset(word);
			in_word = false;
		}
	}
	if (in_word)
		gpc_strv_add(argv, gpc_buf_str(word));
	return quote;
}

int gpc_process_split(const char *command, struct gpc_strv *ret_argv,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf word = {0};
	gpc_auto(gpc_strv) struct gpc_strv argv = {0};
	int open = split(command, &argv, &word);

	if (open)
		return gpc_fail(err, GPC_ECONFIG, open == '\\' ?
			"the command ends in a backslash" :
			"a quote of the command is not closed");
	if (argv.n == 0 || !argv.v[0][0])
		return gpc_fail(err, GPC_ECONFIG, "the command is empty");
	gpc_strv_clear(ret_argv);
	*ret_argv = argv;
	argv = (struct gpc_strv){0};
	return 0;
}

/* --- the process ----------------------------------------------------------- */
struct running {
	pid_t pid;
	bool own_group;
	int out, said;          /* where we read its stdout and stderr */
};

/* In the child: only what is safe after fork. */
static void become(char *const *argv, char **env, bool may_ask, int out,
	int said, int told)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	int none = open("/dev/null", O_RDONLY);
	int sys;

	sigemptyset(&plain.sa_mask);
	sigaction(SIGPIPE, &plain, NULL);
	sigaction(SIGXFSZ, &plain, NULL);
	if (!may_ask)
		setpgid(0, 0);
	/* Data that is piped to us is not for it to read. */
	if (none >= 0 && ((may_ask && isatty(STDIN_FILENO)) ||
		dup2(none, STDIN_FILENO) >= 0) &&
		dup2(out, STDOUT_FILENO) >= 0 &&
		dup2(said, STDERR_FILENO) >= 0) {
		environ = env;
		execvp(argv[0], argv);
	}
	sys = errno;
	if (write(told, &sys, sizeof(sys)) < 0)
		_exit(126);
	_exit(127);
}

static void reap(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
}

/* Which errno kept it from being executed; 0 when it runs. */
static int ask_child(pid_t pid, int told, bool own_group)
{
	int sys = 0, status;
	ssize_t n;

	if (own_group)
		setpgid(pid, pid);
	do
		n = read(told, &sys, sizeof(sys));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	reap(pid, &status);
	return sys;
}

static int spawn(char *const *argv, char **env, const int fds[3],
	struct running *ret_p, struct gpc_error *err)
{
	pid_t pid = fork();

	if (pid == 0)
		become(argv, env, !ret_p->own_group, fds[0], fds[1], fds[2]);
	if (pid < 0)
		return gpc_fail_sys(err, errno, "cannot start %s", argv[0]);
	ret_p->pid = pid;
	return 0;
}

static int start(char *const *argv, char **env, struct running *ret_p,
	struct gpc_error *err)
{
	int out[2] = {-1, -1}, said[2] = {-1, -1}, told[2] = {-1, -1};
	int sys, r = gpc_pipe(out, err);

	if (!r)
		r = gpc_pipe(said, err);
	if (!r)
		r = gpc_pipe(told, err);
	if (!r)
		r = spawn(argv, env, (int[]){out[1], said[1], told[1]}, ret_p,
			err);
	gpc_close(&out[1]);
	gpc_close(&said[1]);
	gpc_close(&told[1]);
	sys = r ? 0 : ask_child(ret_p->pid, told[0], ret_p->own_group);
	gpc_close(&told[0]);
	if (sys) {
		gpc_fail(err, GPC_ECONFIG, "cannot run %s: %s", argv[0],
			sys == ENOENT ? "there is no such program" :
			sys == EACCES ? "it may not be executed" :
			"the system refuses to execute it");
		r = -GPC_ECONFIG;
	}
	if (r) {
		gpc_close(&out[0]);
		gpc_close(&said[0]);
		return r;
	}
	ret_p->out = out[0];
	ret_p->said = said[0];
	return 0;
}

/* Takes what is there; closes at the end. False: more than may come. */
static bool take(int *fd, struct gpc_buf *to, size_t max)
{
	char piece[4096];
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

static int fail_late(const struct gpc_process *p, int timeout_ms,
	struct gpc_error *err)
{
	char time[32];

	if (gpc_canceled(p->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	return gpc_fail(err, GPC_ETIMEOUT, "%s gave no answer within %s",
		p->argv->v[0], gpc_format_duration(timeout_ms, time,
		sizeof(time)));
}

static bool is_ended(struct running *run, int *status)
{
	pid_t w = waitpid(run->pid, status, WNOHANG);

	return w == run->pid || (w < 0 && errno != EINTR);
}

/* Reads until both ends are closed, and waits for its end. */
static int gather(const struct gpc_process *p, struct running *run,
	struct gpc_buf *out, struct gpc_buf *said, int *status,
	struct gpc_error *err)
{
	int timeout_ms = p->timeout_ms ? p->timeout_ms : TIMEOUT_MS;
	int64_t until = gpc_boot_ms() + timeout_ms;
	bool ended = false;

	/* What it left running may hold the pipes: its own end is the end. */
	while (!ended || run->out >= 0) {
		struct pollfd fds[] = {
			{.fd = run->out, .events = POLLIN},
			{.fd = run->said, .events = POLLIN},
		};
		bool open = run->out >= 0 || run->said >= 0;
		int n = poll(fds, 2, ended ? 0 : open ? TICK_MS : 2);

		if (n < 0 && errno != EINTR)
			return gpc_fail_sys(err, errno, "cannot wait for %s",
				p->argv->v[0]);
		if (fds[0].revents && !take(&run->out, out,
			GPC_PROCESS_MAX_OUT))
			return gpc_fail(err, GPC_EPROTO, "%s wrote more than "
				"%zu KiB", p->argv->v[0],
				GPC_PROCESS_MAX_OUT >> 10);
		if (fds[1].revents)
			take(&run->said, said, SAID_MAX);
		if (ended && n <= 0)
			break;
		if (!ended)
			ended = is_ended(run, status);
		if (!ended && (gpc_canceled(p->cancel) ||
			gpc_boot_ms() > until))
			return fail_late(p, timeout_ms, err);
	}
	return 0;
}

static void end(struct running *run, int *status)
{
	pid_t whom = run->own_group ? -run->pid : run->pid;
	int64_t until = gpc_boot_ms() + PATIENCE_MS;

	kill(whom, SIGTERM);
	while (!is_ended(run, status)) {
		if (gpc_boot_ms() > until)
			kill(whom, SIGKILL);
		gpc_sleep_ms(10);
	}
}

static int explain(const struct gpc_process *p, int status,
	const struct gpc_buf *said, struct gpc_error *err)
{
	struct gpc_str text = gpc_str_trim((struct gpc_str){gpc_buf_str(said),
		said->len});
	gpc_autostr *shown = NULL;

	if (text.len > SHOWN_MAX) {     /* its last words say most */
		text.ptr += text.len - SHOWN_MAX;
		text.len = SHOWN_MAX;
	}
	shown = gpc_str_printable(text.ptr ? text.ptr : "", text.len);
	for (char *q = shown; *q; q++)
		*q = *q == '\n' ? ' ' : *q;
	return gpc_fail(err, GPC_EAUTH, "%s ended with %s %d%s%s",
		p->argv->v[0], WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		text.len ? ": " : "", shown);
}

int gpc_process_run(const struct gpc_process *p, struct gpc_buf *out,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv argv = {0}, env = {0};
	gpc_auto(gpc_buf) struct gpc_buf said = {0};
	struct running run = {.out = -1, .said = -1, .own_group = !p->may_ask};
	int status = 0, r;

	gpc_strv_copy(&argv, p->argv);
	gpc_strv_take(&argv, NULL);
	gpc_program_env(p->env, &env);
	r = start(argv.v, env.v, &run, err);
	if (r)
		return r;
	r = gather(p, &run, out, &said, &status, err);
	gpc_close(&run.out);
	gpc_close(&run.said);
	if (r) {
		end(&run, &status);
		return r;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return explain(p, status, &said, err);
}
