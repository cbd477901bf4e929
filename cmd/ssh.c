/* `gpucloud ssh`: a shell on a job's node, or a command there, by the system's ssh,
 * which takes the place of this program once the way is open.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cidr.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/session_open.h"
#include "core/ssh.h"
#include "core/view.h"
#include "provider/ssh_key.h"

#define USER_CONFIG_MAX ((size_t)1 << 20)

struct ssh {
	int rank;
	struct gpc_strv forward;
	bool only_forward, tty;
	const char *allow;
};

static const struct gpc_opt options[] = {
	GPC_OPT_INT(0, "rank", struct ssh, rank, "N", "the node of this rank, not 0",
		.complete = GPC_COMPLETE_RANK, .key = GPC_OPT_NO_KEY),
	GPC_OPT_LIST('L', "forward", struct ssh, forward, "PORT",
		"make a port of the node one of this machine, as ssh -L does",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('N', "only-forward", struct ssh, only_forward,
		"only forward ports", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('t', "tty", struct ssh, tty,
		"give the command a terminal", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "allow", struct ssh, allow, "ADDRESS",
		"who may reach the node, not this machine alone: an address "
		"or CIDR", .guarded = true),
	GPC_OPT_END
};

/* --- what ssh is told ------------------------------------------------------- */

static bool is_port(struct gpc_str text)
{
	gpc_autostr *word = gpc_strndup(text.ptr, text.len);
	int64_t port;

	return gpc_parse_i64(word, 1, 65535, "port", &port, NULL) == 0;
}

/* "8888" and "8888:80" mean localhost there; the rest is as ssh has it. */
static int expand(const char *text, struct gpc_strv *to, struct gpc_error *err)
{
	struct gpc_str rest = gpc_str_of(text), part[5];
	size_t n = 0;
	bool plain = true;
	int r;

	for (const char *at = text; *at; at++)
		plain = plain && isgraph((unsigned char)*at);
	while (n < 5 && gpc_str_split(&rest, ':', &part[n]))
		n++;
	if (plain && n == 1 && is_port(part[0])) {
		gpc_strv_addf(to, "%s:localhost:%s", text, text);
		return 0;
	}
	if (plain && n == 2 && is_port(part[0]) && is_port(part[1])) {
		gpc_strv_addf(to, "%.*s:localhost:%.*s", (int)part[0].len,
			part[0].ptr, (int)part[1].len, part[1].ptr);
		return 0;
	}
	if (plain && n > 2) {
		gpc_strv_add(to, text);
		return 0;
	}
	r = gpc_fail(err, GPC_EUSAGE, "-L %s: expected PORT, PORT:PORT or "
		"[ADDRESS:]PORT:HOST:PORT", text);
	gpc_hint(err, "-L 8888 lets http://localhost:8888 here reach that port "
		"of the node");
	return r;
}

/* One word is a command line, several are a command and its arguments: what arrives
 * is what was given here. */
static void add_command(const struct gpc_cmd *c, struct gpc_strv *to)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};

	if (c->n_rest == 1)
		gpc_strv_add(to, c->rest[0]);
	for (int i = 0; c->n_rest > 1 && i < c->n_rest; i++)
		gpc_strv_take(&words, gpc_shell_quote(c->rest[i]));
	if (words.n)
		gpc_strv_take(to, gpc_strv_join(&words, " "));
}

static int build(const struct gpc_cmd *c, const struct gpc_ssh_way *way,
	struct gpc_strv *to, struct gpc_error *err)
{
	const struct ssh *o = c->ctx;
	int r = 0;

	gpc_strv_add(to, "ssh");
	gpc_strv_add(to, "-F");
	gpc_strv_add(to, way->config);
	for (size_t i = 0; r == 0 && i < o->forward.n; i++) {
		gpc_strv_add(to, "-L");
		r = expand(o->forward.v[i], to, err);
	}
	if (o->forward.n) {
		gpc_strv_add(to, "-o");
		gpc_strv_add(to, "ExitOnForwardFailure=yes");
	}
	if (o->only_forward)
		gpc_strv_add(to, "-N");
	if (o->tty)
		gpc_strv_add(to, "-t");
	gpc_strv_add(to, "--");
	gpc_strv_add(to, way->alias);
	add_command(c, to);
	gpc_strv_take(to, NULL);
	return r;
}

/* Before anything is asked of anybody. */
static int check(const struct gpc_cmd *c, struct gpc_error *err)
{
	const struct ssh *o = c->ctx;
	gpc_auto(gpc_strv) struct gpc_strv ignored = {0};
	gpc_autostr *program = gpc_ssh_program("ssh");
	char cidr[GPC_CIDR_SIZE];
	int r = 0;

	for (size_t i = 0; r == 0 && i < o->forward.n; i++)
		r = expand(o->forward.v[i], &ignored, err);
	if (r == 0 && o->allow)
		r = gpc_wrap(err, gpc_cidr_parse(o->allow, cidr, err), "--allow");
	if (r < 0)
		return r;
	if (o->only_forward && c->n_rest)
		return gpc_fail(err, GPC_EUSAGE, "--only-forward runs no command");
	if (c->rest && !c->n_rest)
		return gpc_fail(err, GPC_EUSAGE, "no command after --");
	if (program)
		return 0;
	r = gpc_fail(err, GPC_ENOTFOUND, "there is no ssh here");
	gpc_hint(err, "install OpenSSH's client (openssh-client)");
	return r;
}

/* --- the entry for other programs ------------------------------------------- */

static bool is_included(const char *config)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_autostr *home = NULL, *path = NULL;

	if (gpc_home(&home, NULL) < 0)
		return true;            /* who has no home has no such file */
	path = gpc_path_join(home, ".ssh/config");
	return gpc_read_file(path, USER_CONFIG_MAX, &text, NULL) == 0 &&
		strstr(gpc_buf_str(&text), gpc_path_base(config));
}

static void say_include(struct gpc_cmd *c, const struct gpc_ssh_way *way)
{
	if (!c->n_rest && !is_included(way->config))
		gpc_say(&c->talk, "gpucloud: with the line `Include %s` at the "
			"top of ~/.ssh/config, `ssh %s` and VS Code find it too",
			way->config, way->alias);
}

static int become(const struct gpc_strv *args, struct gpc_error *err)
{
	fflush(NULL);
	gpc_signals_restore();
	execvp("ssh", args->v);
	return gpc_fail_sys(err, errno, "cannot run ssh");
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct ssh *o = c->ctx;
	const struct gpc_ssh_ask ask = { .rank = o->rank, .from = o->allow };
	gpc_auto(gpc_ssh_way) struct gpc_ssh_way way = {0};
	gpc_auto(gpc_strv) struct gpc_strv args = {0};
	gpc_autoptr(gpc_session) *s = NULL;
	char job[GPC_JOB_ID_SIZE];
	int r = check(c, err);

	if (!r)
		r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);
	if (!r)
		r = gpc_job_find(s, gpc_cmd_job_word(c->argc ? c->argv[0] : NULL),
			false, job, err);
	if (r)
		return r;
	gpc_ssh_tidy(s);
	gpc_cmd_ensure_supervisor(c, s);
	r = gpc_ssh_open(s, job, &ask, &way, err);
	if (!r)
		r = build(c, &way, &args, err);
	if (r)
		return r;
	say_include(c, &way);
	return become(&args, err);
}

const struct gpc_command gpc_command_ssh = {
	.name = "ssh",
	.summary = "open a shell on a job's node, or run a command there",
	.usage = "[OPTION]... [JOB] [-- COMMAND [ARG]...]",
	.about = "Logs in to the node of JOB (by default the newest one), in the "
		"job's folder and with its environment, by the system's ssh, "
		"whose exit status is this command's. Nothing listens on a node "
		"before it is asked for, and it lets in this user's key alone.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_REST,
	.options = options,
	.ctx_size = sizeof(struct ssh),
	.max_args = 1,
	.complete = GPC_COMPLETE_LIVE_JOB,
	.run = run,
};
