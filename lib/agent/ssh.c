/* See ssh.h.
 *
 * The host key is made here, for this node of this job, and its public half is told
 * in the store, by which clients pin it: ssh.json, a fact of this rank. Nothing waits
 * for the server: it is started, asked each 100 ms whether it listens, and told of
 * then. What keeps it from that is told in the same place. */
#include "agent/ssh.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/peers.h"
#include "agent/ssh_files.h"
#include "agent/system.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/program.h"
#include "base/str.h"
#include "base/time.h"
#include "model/ssh.h"
#include "provider/provider.h"
#include "provider/ssh_key.h"
#include "record/keys.h"

extern char **environ;

enum { KEYS_MAX = 100, TRIES = 3, LOOK_MS = 100, PATIENCE_MS = 30000,
	RETRY_MS = 2000, LOG_MAX = 65536, SAID_MAX = 200 };
#define EVERYWHERE "0.0.0.0"
#define SEPARATION "/run/sshd"   /* a folder that the server of Debian demands */

enum state { NOT_BEGUN, STARTING, LISTENS, FAILED };

struct gpc_agent_ssh {
	char *dir;
	struct gpc_ssh_fact fact;
	enum state state;
	pid_t pid;
	int tries;
	int64_t started_ms, look_ms; /* boot clock */
	bool untold;                 /* ssh.json is to be put */
	enum gpc_step scripted;      /* the step that the session's script is of */
};

pid_t gpc_agent_ssh_pid(const struct gpc_agent *a)
{
	return a->ssh ? a->ssh->pid : 0;
}

bool gpc_agent_ssh_is_busy(const struct gpc_agent *a)
{
	return a->ssh && (a->ssh->state == STARTING || a->ssh->untold);
}

/* --- what it is ------------------------------------------------------------ */

static int find_user(struct gpc_ssh_fact *to, struct gpc_error *err)
{
	struct passwd entry, *found = NULL;
	char room[4096];
	int sys = getpwuid_r(geteuid(), &entry, room, sizeof(room), &found);

	if (sys || !found)
		return gpc_fail(err, GPC_ENOTFOUND, "user %u of this node has no "
			"name", (unsigned)geteuid());
	if (!gpc_ssh_word_valid(found->pw_name))
		return gpc_fail(err, GPC_EUNSUPPORTED, "sshd takes no user with "
			"such a name");
	to->user = gpc_strdup(found->pw_name);
	return 0;
}

/* On a machine of others that has the address that its provider told, there alone. */
static const char *listen_on(const struct gpc_agent *a)
{
	gpc_vec_each(n, &a->state.nodes) {
		if (!gpc_eq(n->id, a->node->id))
			continue;
		if (gpc_provider_caps(n->provider) & GPC_PROVIDER_THIS_HOST)
			return a->address;
		if (n->address && gpc_peers_free_port(n->address))
			return n->address;
	}
	return EVERYWHERE;
}

static void set_up(struct gpc_agent *a)
{
	char boot[64];
	struct gpc_agent_ssh *s = gpc_alloc(sizeof(*s));

	s->dir = gpc_path_join(a->options->node_dir, "ssh");
	s->fact.v = 1;
	s->fact.instance = gpc_strdup(a->node->id);
	s->fact.boot = gpc_strdup(gpc_boot_id(boot));
	s->fact.address = gpc_strdup(listen_on(a));
	a->ssh = s;
}

/* --- starting -------------------------------------------------------------- */

/* A session of its own, which dies with the agent: its environment, by which others
 * would find it, is overwritten by the server itself. */
static void become(char *const *argv, int null_fd, pid_t agent)
{
	sigset_t none;

	gpc_die_with(agent);
	setsid();
	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(null_fd, 0) >= 0 && dup2(null_fd, 1) >= 0 &&
		dup2(null_fd, 2) >= 0) {
		gpc_close_from(3);
		execve(argv[0], argv, environ);
	}
	_exit(127);
}

static int launch(struct gpc_agent_ssh *s, const char *program,
	struct gpc_error *err)
{
	gpc_autostr *config = gpc_agent_ssh_config_path(s->dir);
	gpc_autostr *said = gpc_agent_ssh_log_path(s->dir);
	char *argv[] = { (char *)program, (char *)"-D", (char *)"-f", config,
		(char *)"-E", said, NULL };
	gpc_autofd null_fd = -1;
	pid_t self = getpid();
	int r = gpc_open("/dev/null", O_RDWR, 0, &null_fd, err);

	if (r < 0)
		return r;
	s->pid = fork();
	if (s->pid == 0)
		become(argv, null_fd, self);
	if (s->pid < 0) {
		s->pid = 0;
		return gpc_fail_sys(err, errno, "cannot start a process");
	}
	s->state = STARTING;
	s->started_ms = gpc_boot_ms();
	return 0;
}

static int make_files(struct gpc_agent *a, struct gpc_error *err)
{
	struct gpc_agent_ssh *s = a->ssh;
	gpc_autostr *key = gpc_path_join(s->dir, "host_key");
	int r = gpc_mkdirs(s->dir, 0700, err);

	if (r == 0 && !s->fact.user)
		r = find_user(&s->fact, err);
	if (r == 0 && !s->fact.host_key)
		r = gpc_ssh_key_make(key, &s->fact.host_key, err);
	if (r == 0)
		r = gpc_agent_ssh_config(s->dir, &s->fact, err);
	if (r == 0)
		r = gpc_agent_ssh_keys(s->dir, &s->fact.keys, err);
	if (r == 0)
		r = gpc_agent_ssh_session(a, s->dir, err);
	s->scripted = a->step;
	return r;
}

static int start(struct gpc_agent *a, struct gpc_error *err)
{
	struct gpc_agent_ssh *s = a->ssh;
	gpc_autostr *program = gpc_ssh_program("sshd");
	int r;

	if (!program)
		return gpc_fail(err, GPC_ENOTFOUND, "this node has no sshd: its "
			"image needs the package openssh-server");
	s->tries++;
	s->fact.port = gpc_peers_free_port(s->fact.address);
	if (!s->fact.port)
		return gpc_fail(err, GPC_EIO, "no port of %s is free",
			s->fact.address);
	r = make_files(a, err);
	if (r < 0)
		return r;
	if (geteuid() == 0)
		(void)mkdir(SEPARATION, 0755);  /* where it lacks, sshd says so */
	return launch(s, program, err);
}

static void fail(struct gpc_agent *a, const char *why)
{
	a->ssh->state = FAILED;
	a->ssh->untold = true;
	gpc_set_str(&a->ssh->fact.error, why);
	gpc_agent_say(a, GPC_WARN, "ssh: %s", why);
}

static void begin(struct gpc_agent *a)
{
	struct gpc_error err = {0};

	if (start(a, &err) < 0)
		fail(a, err.msg);
}

/* --- requests -------------------------------------------------------------- */

void gpc_agent_ssh_ask(struct gpc_agent *a, const struct gpc_event *e)
{
	const char *key = gpc_json_get_str(e->data, "key");
	struct gpc_error err = {0};
	struct gpc_agent_ssh *s;

	if (gpc_json_get_int(e->data, "rank", 0) != a->rank ||
		!gpc_ssh_key_valid(key))
		return;
	if (!a->ssh)
		set_up(a);
	s = a->ssh;
	if (gpc_strv_has(&s->fact.keys, key) || s->fact.keys.n >= KEYS_MAX)
		return;
	gpc_strv_add(&s->fact.keys, key);
	gpc_agent_say(a, GPC_INFO, "ssh: asked for by %s", e->by ? e->by : "?");
	if (s->state == NOT_BEGUN || s->state == FAILED) {
		s->tries = 0;
		gpc_set_str(&s->fact.error, NULL);
		begin(a);
	} else if (gpc_agent_ssh_keys(s->dir, &s->fact.keys, &err) < 0) {
		fail(a, err.msg);
	}
	s->untold = s->state != STARTING;
}

/* --- looking --------------------------------------------------------------- */

static bool listens(const struct gpc_ssh_fact *f)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)f->port) };
	gpc_autofd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* an address of this machine: at once, or not at all */
	return fd >= 0 && inet_pton(AF_INET, f->address, &in.sin_addr) == 1 &&
		connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0;
}

/* What it said last; owned. */
static char *last_words(const struct gpc_agent_ssh *s)
{
	gpc_autostr *path = gpc_agent_ssh_log_path(s->dir);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest, line, last = {0};

	if (gpc_read_file(path, LOG_MAX, &b, NULL) < 0)
		return gpc_strdup("it says nothing");
	rest = (struct gpc_str){ gpc_buf_str(&b), b.len };
	while (rest.len && gpc_str_split(&rest, '\n', &line))
		if (gpc_str_trim(line).len)
			last = gpc_str_trim(line);
	return last.len ? gpc_str_printable(last.ptr, last.len < SAID_MAX ?
		last.len : SAID_MAX) : gpc_strdup("it says nothing");
}

/* Another process may have taken the port meanwhile. */
void gpc_agent_ssh_ended(struct gpc_agent *a)
{
	gpc_autostr *said = last_words(a->ssh);
	gpc_autostr *why = gpc_format("the node's sshd ended: %s", said);

	a->ssh->pid = 0;
	if (a->ssh->tries < TRIES)
		begin(a);
	else
		fail(a, why);
}

static void look(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_agent_ssh *s = a->ssh;

	if (listens(&s->fact)) {
		s->state = LISTENS;
		s->tries = 0;
		s->untold = true;
		gpc_agent_say(a, GPC_INFO, "ssh: listens at %s, port %d",
			s->fact.address, s->fact.port);
	} else if (now_ms - s->started_ms >= PATIENCE_MS) {
		kill(s->pid, SIGKILL);  /* and it is begun anew */
	}
}

static void tell(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_agent_ssh *s = a->ssh;
	gpc_autoptr(gpc_json) *j = gpc_ssh_fact_write(&s->fact);
	gpc_autostr *text = gpc_json_print(j);
	struct gpc_error err = {0};
	gpc_key key;

	gpc_key_rank(key, a->job.id, a->attempt, a->rank, "ssh.json");
	if (gpc_store_put(a->store, key, text, strlen(text), 0, &err) == 0) {
		s->untold = false;
		return;
	}
	s->look_ms = now_ms + RETRY_MS;
	gpc_agent_say(a, GPC_WARN, "ssh.json: %s", err.msg);
}

void gpc_agent_ssh_tick(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_agent_ssh *s = a->ssh;
	struct gpc_error err = {0};

	if (!s || now_ms < s->look_ms)
		return;
	s->look_ms = now_ms + LOOK_MS;
	if (s->state == STARTING)
		look(a, now_ms);
	if (s->untold)
		tell(a, now_ms);
	if (s->state == FAILED || s->scripted == a->step)
		return;
	s->scripted = a->step;  /* the environment is known better now */
	if (gpc_agent_ssh_session(a, s->dir, &err) < 0)
		gpc_agent_say(a, GPC_WARN, "ssh: %s", err.msg);
}

void gpc_agent_ssh_close(struct gpc_agent *a)
{
	struct gpc_agent_ssh *s = a->ssh;
	struct gpc_error err = {0};
	int status;

	if (!s)
		return;
	if (s->pid > 0)
		gpc_program_end(s->pid, true, false, &status);
	if (gpc_rmtree(s->dir, &err) < 0)
		gpc_agent_say(a, GPC_VERBOSE, "ssh: %s", err.msg);
	gpc_ssh_fact_clear(&s->fact);
	free(s->dir);
	free(s);
	a->ssh = NULL;
}
