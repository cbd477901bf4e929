/* Runs somebody's program for credentials. Its stdout may hold secrets and is
 * never shown; its stderr is for people and becomes the message when it fails.
 * It gets no descriptor of ours, and does not outlive its time: unless it may ask
 * at the terminal, it has a process group of its own that is ended with it. */
#include "creds/process.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/program.h"
#include "base/time.h"

#define TIMEOUT_MS 60000
#define TICK_MS 100
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
static int start(const struct gpc_process *p, char *const *argv,
	char *const *env, struct gpc_program_run *ret_run, struct gpc_error *err)
{
	const struct gpc_program program = {
		.argv = argv, .env = env,
		.place = p->may_ask ? GPC_PROGRAM_WITH_US : GPC_PROGRAM_GROUP,
		/* Data that is piped to us is not for it to read. */
		.reads_terminal = p->may_ask,
	};
	int sys = 0;
	int r = gpc_program_start(&program, ret_run, &sys, err);

	if (!sys)
		return r;
	return gpc_fail(err, GPC_ECONFIG, "cannot run %s: %s", argv[0],
		sys == ENOENT ? "there is no such program" :
		sys == EACCES ? "it may not be executed" :
		"the system refuses to execute it");
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

/* Reads until both ends are closed, and waits for its end. */
static int gather(const struct gpc_process *p, struct gpc_program_run *run,
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
		if (fds[0].revents && !gpc_program_take(&run->out, out,
			GPC_PROCESS_MAX_OUT))
			return gpc_fail(err, GPC_EPROTO, "%s wrote more than "
				"%zu KiB", p->argv->v[0],
				GPC_PROCESS_MAX_OUT >> 10);
		if (fds[1].revents)
			gpc_program_take(&run->said, said, SAID_MAX);
		if (ended && n <= 0)
			break;
		if (!ended)
			ended = gpc_program_is_ended(run->pid, status);
		if (!ended && (gpc_canceled(p->cancel) ||
			gpc_boot_ms() > until))
			return fail_late(p, timeout_ms, err);
	}
	return 0;
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
	struct gpc_program_run run;
	int status = 0, r;

	gpc_strv_copy(&argv, p->argv);
	gpc_strv_take(&argv, NULL);
	gpc_program_env(p->env, &env);
	r = start(p, argv.v, env.v, &run, err);
	if (r)
		return r;
	r = gather(p, &run, out, &said, &status, err);
	gpc_close(&run.out);
	gpc_close(&run.said);
	if (r) {
		gpc_program_end(run.pid, !p->may_ask, false, &status);
		return r;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return explain(p, status, &said, err);
}
