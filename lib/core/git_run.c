/* Running git, which is somebody else's program fed with somebody else's
 * addresses: no shell, no hooks, no helper protocols, no configuration but the
 * user's own, and no secret in its argv. A token goes through the environment
 * to a credential helper that is set for the one host it is meant for.
 */
#include "core/git_run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/program.h"
#include "base/time.h"
#include "core/family.h"

extern char **environ;

#define OUT_MAX ((size_t)8 << 20)
#define SAID_MAX ((size_t)64 << 10)
#define TICK_MS 100
#define LINGER_MS 5000          /* for its helpers, once git itself is gone */

/* The token is read from the environment by the shell that git starts. */
static const char helper[] = "!f() { test \"$1\" = get && printf "
	"'username=x-access-token\\npassword=%s\\n' \"$GPUCLOUD_GIT_TOKEN\"; }; f";

/* --- what it is given ------------------------------------------------------ */
/* Variables of git that say how the user reaches servers, not what to do. */
static bool may_stay(const struct gpc_git_call *call, const char *variable)
{
	static const char *const kept[] = {
		"GIT_SSH=", "GIT_SSH_COMMAND=", "GIT_SSH_VARIANT=", "GIT_SSL_",
		"GIT_ASKPASS=", "GIT_PROXY_COMMAND=", "GIT_PROXY_SSL_",
		"GIT_HTTP_USER_AGENT=", "GIT_CONFIG_GLOBAL=",
		"GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=", "GIT_EXEC_PATH=",
		"GIT_CONFIG_COUNT=", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_",
	};

	if (call->ssh_key && gpc_starts_with(variable, "GIT_SSH_COMMAND="))
		return false;
	if (!gpc_starts_with(variable, "GIT_"))
		return !gpc_starts_with(variable, "LC_") &&
			!gpc_starts_with(variable, "LANGUAGE=") &&
			(call->ask || !gpc_starts_with(variable, "SSH_ASKPASS"));
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		if (gpc_starts_with(variable, kept[i]))
			return true;
	}
	return false;
}

static void add_ssh(const struct gpc_git_call *call, struct gpc_strv *env)
{
	if (call->ssh_key) {
		gpc_autostr *key = gpc_shell_quote(call->ssh_key);

		gpc_strv_addf(env, "GIT_SSH_COMMAND=ssh -i %s -o "
			"IdentitiesOnly=yes%s", key,
			call->ask ? "" : " -o BatchMode=yes");
	}
	if (!call->ask)
		gpc_strv_add(env, "SSH_ASKPASS_REQUIRE=never");
}

static void fill_env(const struct gpc_git_call *call, const char *scope,
	struct gpc_strv *env)
{
	gpc_autostr *above = gpc_path_dir(call->dir);

	for (char **e = environ; e && *e; e++) {
		if (may_stay(call, *e))
			gpc_strv_add(env, *e);
	}
	gpc_strv_add(env, "LC_ALL=C");          /* its words are read below */
	gpc_strv_addf(env, "GIT_CEILING_DIRECTORIES=%s", above);
	gpc_strv_add(env, "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file");
	if (!call->ask)
		gpc_strv_add(env, "GIT_TERMINAL_PROMPT=0");
	if (call->index)
		gpc_strv_addf(env, "GIT_INDEX_FILE=%s", call->index);
	if (call->url)
		add_ssh(call, env);
	if (scope)
		gpc_strv_addf(env, "GPUCLOUD_GIT_TOKEN=%s", call->token);
	gpc_strv_take(env, NULL);
}

/* "https://host:port" of an address that may get the token: an encrypted one,
 * or one of this machine. Owned; NULL for others. */
static char *token_scope(const char *url)
{
	static const char *const here[] = {"127.0.0.1", "localhost", "[::1]"};
	size_t scheme = gpc_starts_with(url, "https://") ? 8 :
		gpc_starts_with(url, "http://") ? 7 : 0;
	const char *host = url + scheme, *end = host + strcspn(host, "/");
	bool safe = scheme == 8;

	if (!scheme)
		return NULL;
	for (const char *p = host; p < end; p++)
		host = *p == '@' ? p + 1 : host;
	for (size_t i = 0; i < sizeof(here) / sizeof(*here); i++) {
		size_t n = strlen(here[i]);

		safe |= gpc_starts_with(host, here[i]) &&
			(host[n] == ':' || host + n == end);
	}
	return safe ? gpc_format("%.*s%.*s", (int)scheme, url,
		(int)(end - host), host) : NULL;
}

static void add_config(struct gpc_strv *argv, const char *setting)
{
	gpc_strv_add(argv, "-c");
	gpc_strv_add(argv, setting);
}

static void fill_argv(const struct gpc_git_call *call, const char *scope,
	const char *const *args, struct gpc_strv *argv)
{
	static const char *const settings[] = {
		"core.hooksPath=/dev/null", "core.fsmonitor=false",
		"core.attributesFile=/dev/null", "core.autocrlf=false",
		"core.eol=lf", "core.fileMode=true", "core.symlinks=true",
		"core.sparseCheckout=false", "protocol.ext.allow=never",
		"submodule.recurse=false", "fetch.recurseSubmodules=false",
		"fetch.unpackLimit=1", "fetch.writeCommitGraph=false",
		"gc.auto=0", "maintenance.auto=false", "http.lowSpeedLimit=1",
		"http.lowSpeedTime=60",
	};

	gpc_strv_add(argv, "git");
	gpc_strv_add(argv, "--no-pager");
	if (call->git_dir)
		gpc_strv_addf(argv, "--git-dir=%s", call->git_dir);
	if (call->tree)
		gpc_strv_addf(argv, "--work-tree=%s", call->tree);
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		add_config(argv, settings[i]);
	if (scope) {
		gpc_autostr *none = gpc_format("credential.%s.helper=", scope);
		gpc_autostr *own = gpc_format("credential.%s.helper=%s", scope,
			helper);

		add_config(argv, none);         /* an empty one drops the rest */
		add_config(argv, own);
	}
	for (size_t i = 0; args[i]; i++)
		gpc_strv_add(argv, args[i]);
	gpc_strv_take(argv, NULL);
}

/* --- the process ----------------------------------------------------------- */
struct process {
	struct gpc_program_run run;
	bool ended;             /* then: */
	int status;
	int64_t ended_ms;
};

static int no_git(int sys, struct gpc_error *err)
{
	int r;

	if (sys != ENOENT && sys != EACCES)
		return gpc_fail_sys(err, sys, "cannot start git");
	r = gpc_fail(err, GPC_ECONFIG, "workdir.url needs the program git, "
		"which is not here");
	gpc_hint(err, "install git, or name a folder as workdir");
	return r;
}

static int start(const struct gpc_git_call *call, char *const *argv,
	char *const *env, struct gpc_program_run *ret_run, struct gpc_error *err)
{
	const struct gpc_program program = {
		.argv = argv, .env = env, .dir = call->dir,
		.place = call->ask ? GPC_PROGRAM_WITH_US : GPC_PROGRAM_GROUP,
		.open_files = true,     /* the folders around them are private */
	};
	int sys = 0;
	int r = gpc_program_start(&program, ret_run, &sys, err);

	return sys ? no_git(sys, err) : r;
}

static bool is_ended(struct process *p)
{
	if (!p->ended && gpc_program_is_ended(p->run.pid, &p->status)) {
		p->ended = true;
		p->ended_ms = gpc_boot_ms();
	}
	return p->ended;
}

/* A transport that outlives its git, say where a server does not answer, keeps
 * the pipes open. */
static bool lingers(struct process *p)
{
	return is_ended(p) && gpc_boot_ms() - p->ended_ms > LINGER_MS;
}

static int gather(const struct gpc_git_call *call, struct process *p,
	struct gpc_buf *out, struct gpc_buf *said, struct gpc_error *err)
{
	size_t max = out->max ? out->max : OUT_MAX;

	while ((p->run.out >= 0 || p->run.said >= 0) && !lingers(p)) {
		struct pollfd fds[] = {
			{.fd = p->run.out, .events = POLLIN},
			{.fd = p->run.said, .events = POLLIN},
		};

		if (gpc_canceled(call->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (poll(fds, 2, TICK_MS) < 0 && errno != EINTR)
			return gpc_fail_sys(err, errno, "cannot wait for git");
		if (fds[0].revents && !gpc_program_take(&p->run.out, out, max))
			return gpc_fail(err, GPC_EPROTO, "git said more than "
				"%zu MiB", max >> 20);
		if (fds[1].revents)
			gpc_program_take(&p->run.said, said, SAID_MAX);
	}
	return 0;
}

/* --- what it said ---------------------------------------------------------- */
/* Covers a text, and what stands between // and @. */
static void cover(char *text, const char *secret)
{
	size_t n = secret ? strlen(secret) : 0;

	for (char *p = text; n && (p = strstr(p, secret)); p += n)
		memset(p, '*', n);
	for (char *p = text; (p = strstr(p, "://")); p += 3) {
		size_t stop = strcspn(p + 3, "/ \n'");
		char *at = memchr(p + 3, '@', stop);
		char *colon = at ? memchr(p + 3, ':', (size_t)(at - p - 3)) :
			NULL;

		if (colon)
			memset(colon + 1, '*', (size_t)(at - colon - 1));
	}
}

enum cause { UNKNOWN, AUTH, HOST_KEY, NETWORK, NO_REF, NO_REPO, OWNER, FULL };
static const struct { const char *text; enum cause cause; } causes[] = {
	{"No space left on device", FULL},
	{"quota exceeded", FULL},
	{"Host key verification failed", HOST_KEY},
	{"Authentication failed", AUTH},
	{"could not read Username", AUTH},
	{"could not read Password", AUTH},
	{"Permission denied", AUTH},
	{"returned error: 401", AUTH},
	{"returned error: 403", AUTH},
	{"dubious ownership", OWNER},
	{"find remote ref", NO_REF},
	{"not our ref", NO_REF},
	{"unadvertised object", NO_REF},
	{"Could not resolve host", NETWORK},
	{"unable to look up", NETWORK},
	{"Connection refused", NETWORK},
	{"Connection timed out", NETWORK},
	{"Connection reset", NETWORK},
	{"No route to host", NETWORK},
	{"Network is unreachable", NETWORK},
	{"Failed to connect", NETWORK},
	{"Operation too slow", NETWORK},
	{"unable to connect", NETWORK},
	{"returned error: 5", NETWORK},
	{"early EOF", NETWORK},
	{"SSL", NETWORK},
	{"not found", NO_REPO},
	{"does not appear to be a git repository", NO_REPO},
	{"does not exist", NO_REPO},
	{"not exported", NO_REPO},
	{"Could not read from remote repository", NETWORK},
	{"unable to access", NETWORK},
	{"hung up unexpectedly", NETWORK},
};

static enum cause find_cause(const char *said, const char **ret_text)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		if (strstr(said, causes[i].text)) {
			*ret_text = causes[i].text;
			return causes[i].cause;
		}
	}
	*ret_text = "fatal:";
	return UNKNOWN;
}

/* The line that holds the text, or else the first one; owned, printable. */
static char *line_with(const char *said, const char *text)
{
	const char *at = strstr(said, text), *begin = at ? at : said;
	size_t n;

	while (begin > said && begin[-1] != '\n')
		begin--;
	if (gpc_starts_with(begin, "fatal: "))
		begin += 7;
	n = strcspn(begin, "\r\n");
	return gpc_str_printable(begin, n < 300 ? n : 300);
}

static int fail_auth(const struct gpc_git_call *call, const char *line,
	struct gpc_error *err)
{
	bool web = call->url && gpc_starts_with(call->url, "http");
	int r = gpc_fail(err, GPC_EAUTH, "git was refused: %s", line);

	if (web && call->token)
		gpc_hint(err, "GIT_TOKEN is set, but was refused or is not "
			"sent there (only to https); renew it, or check what "
			"it may read");
	else if (web)
		gpc_hint(err, "give a token as GIT_TOKEN in the environment (or "
			"--secret GIT_TOKEN), or set up a credential helper of "
			"git");
	else if (!call->url || gpc_starts_with(call->url, "file:") ||
		*call->url == '/')
		gpc_hint(err, "check its permissions");
	else
		gpc_hint(err, "name a key with GIT_SSH_KEY_PATH, or load one "
			"into the ssh agent");
	return r;
}

static int sort_out(const struct gpc_git_call *call, char *said, int status,
	struct gpc_error *err)
{
	gpc_autostr *line = NULL;
	enum cause cause;
	const char *text;
	int r;

	cover(said, call->token);
	cause = find_cause(said, &text);
	line = line_with(said, text);
	switch (cause) {
	case AUTH:
		return fail_auth(call, line, err);
	case HOST_KEY:
		r = gpc_fail(err, GPC_EAUTH, "git: %s", line);
		gpc_hint(err, "run ssh to that host once and accept its key");
		return r;
	case NETWORK:
		r = gpc_fail(err, GPC_ENET, "git: %s", line);
		gpc_hint(err, "check the address, and whether this machine "
			"reaches it: git ls-remote URL");
		return r;
	case NO_REF:
		return gpc_fail(err, GPC_ENOTFOUND, "git: %s", line);
	case NO_REPO:
		r = gpc_fail(err, GPC_ECONFIG, "git: %s", line);
		gpc_hint(err, "check the address; a private repository needs "
			"GIT_TOKEN or an ssh key");
		return r;
	case OWNER:
		r = gpc_fail(err, GPC_EAUTH, "git: %s", line);
		gpc_hint(err, "the repository belongs to somebody else: git "
			"config --global --add safe.directory PATH");
		return r;
	case FULL:
		gpc_fail(err, GPC_EIO, "git: %s", line);
		if (err)
			err->sys = ENOSPC;
		return -GPC_EIO;
	case UNKNOWN:
		break;
	}
	if (*line)
		return gpc_fail(err, GPC_EIO, "git: %s", line);
	return gpc_fail(err, GPC_EIO, "git ended with %s %d",
		WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int gpc_git_run(const struct gpc_git_call *call, const char *const *args,
	struct gpc_buf *out, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv argv = {0}, env = {0};
	gpc_auto(gpc_buf) struct gpc_buf own = {0}, said = {0};
	gpc_autostr *scope = call->url && call->token ?
		token_scope(call->url) : NULL;
	struct process p = {0};
	bool failed;
	int r;

	fill_argv(call, scope, args, &argv);
	fill_env(call, scope, &env);
	r = start(call, argv.v, env.v, &p.run, err);
	if (r)
		return r;
	r = gather(call, &p, out ? out : &own, &said, err);
	while (!r && !gpc_canceled(call->cancel) && !is_ended(&p))
		gpc_sleep_ms(2);
	if (!r && gpc_canceled(call->cancel))
		r = gpc_fail(err, GPC_ECANCELED, "interrupted");
	failed = r || !WIFEXITED(p.status) || WEXITSTATUS(p.status) != 0;
	/* It takes its helpers along, mostly. */
	if (failed && (r || p.run.out >= 0 || p.run.said >= 0))
		gpc_family_end(p.run.pid, !call->ask, p.ended, &p.status);
	gpc_close(&p.run.out);
	gpc_close(&p.run.said);
	if (r || !failed)
		return r;
	gpc_buf_addc(&said, '\n');
	return sort_out(call, said.data, p.status, err);
}
