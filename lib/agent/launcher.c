/* The launcher: the node's first process and its last.
 *
 * It takes the node over exactly once (a lock while it lives, its pid in
 * node.json for ever), forks the agent, and promises that when the agent ends,
 * for whatever reason, or the node's lifetime is over, nothing of the job is
 * left running. It reads no store and knows no job, so little can go wrong in
 * it; time is counted by the boot clock, which no one can set. */
#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/loop.h"
#include "agent/system.h"
#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/cgroup.h"
#include "provider/node_file.h"
#include "provider/procs.h"

enum { ALARM_MAX_S = 30, KILL_PAUSE_MS = 10, KILL_MAX_MS = 30000 };

struct launcher {
	const struct gpc_agent_options *options;
	struct gpc_node_file node;
	int lock;
	sigset_t signals;
	pid_t agent;
	int64_t deadline_ms;         /* boot clock; 0 = no lifetime */
};

static int take_over(struct launcher *l, struct gpc_error *err)
{
	const char *dir = l->options->node_dir;
	gpc_autostr *lock_path = gpc_path_join(dir, GPC_NODE_LOCK);
	int r = gpc_lock_file(lock_path, false, &l->lock, err);

	if (r == 0)
		r = gpc_node_file_read(dir, &l->node, err);
	if (r < 0)
		return r;
	if (l->node.pid != 0)
		return gpc_fail(err, GPC_ECONFLICT,
			"node %s was started before; it does not start twice",
			l->node.id);
	if (!gpc_node_file_on_this_boot(&l->node))
		return gpc_fail(err, GPC_ECONFLICT,
			"node %s is of an earlier boot of this machine",
			l->node.id);
	l->node.pid = getpid();
	l->node.start = (int64_t)gpc_proc_start(getpid());
	if (l->node.start == 0)
		return gpc_fail(err, GPC_EIO, "cannot read this process's own "
			"start time, by which others would know it");
	if (l->node.expires_ms)
		l->deadline_ms = l->node.created_boot_ms
			+ (l->node.expires_ms - l->node.created_ms);
	return gpc_node_file_write(dir, &l->node, err);
}

static void say_ready(int fd)
{
	if (fd <= 2)
		return;
	if (write(fd, "R", 1) == 1 || errno != EPIPE)
		close(fd);
}

/* SIGCHLD must not be ignored: then there would be nothing to wait for. */
static void block_signals(struct launcher *l)
{
	const int which[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGALRM };

	sigemptyset(&l->signals);
	for (size_t i = 0; i < sizeof(which) / sizeof(*which); i++) {
		signal(which[i], SIG_DFL);
		sigaddset(&l->signals, which[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);   /* a file that may not grow is an error */
	sigprocmask(SIG_BLOCK, &l->signals, NULL);
}

/* Returns in both processes: in the agent's, l->agent is 0. */
static int start_agent(struct launcher *l, struct gpc_error *err)
{
	pid_t launcher = getpid();

	l->agent = fork();
	if (l->agent < 0)
		return gpc_fail_sys(err, errno, "cannot start the agent");
	if (l->agent > 0)
		return 0;
	gpc_close(&l->lock);
	gpc_die_with(launcher);
	return 0;
}

static void arm_alarm(const struct launcher *l)
{
	int64_t left = ALARM_MAX_S * 1000;

	if (l->deadline_ms && l->deadline_ms - gpc_boot_ms() < left)
		left = l->deadline_ms - gpc_boot_ms();
	alarm(left < 1000 ? 1 : (unsigned)((left + 999) / 1000));
}

/* Returns why the node ends, in words that are owned. */
static char *watch(struct launcher *l)
{
	for (;;) {
		int sig = 0, status;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != l->agent)
				continue;
			l->agent = 0;
			if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
				return gpc_strdup("it ended");
			return WIFSIGNALED(status)
				? gpc_format("its agent was killed by signal %d",
					WTERMSIG(status))
				: gpc_format("its agent failed (%d)",
					WEXITSTATUS(status));
		}
		if (l->deadline_ms && gpc_boot_ms() >= l->deadline_ms)
			return gpc_strdup("its lifetime was over");
		arm_alarm(l);
		if (sigwait(&l->signals, &sig) == 0
			&& (sig == SIGTERM || sig == SIGINT || sig == SIGHUP))
			return gpc_strdup("it was released");
	}
}

/* One round over everything that may be ours; how much was found. */
static size_t kill_round(const struct launcher *l, const char *mark)
{
	gpc_auto(gpc_procs) struct gpc_procs p = {0};
	size_t n = gpc_cgroup_kill(l->options->node_dir);

	if (l->agent > 0)
		kill(l->agent, SIGKILL);
	gpc_procs_list(&p);
	n += gpc_procs_below(&p, getpid());
	for (size_t i = 0; i < p.n; i++)
		if (p.v[i].below)
			kill(p.v[i].pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return n + gpc_procs_kill_marked(mark);
}

static void kill_all(const struct launcher *l)
{
	gpc_autostr *mark = gpc_format(GPC_NODE_ENV "=%s", l->node.id);
	int64_t end = gpc_boot_ms() + KILL_MAX_MS;
	int quiet = 0;

	while (quiet < 2 && gpc_boot_ms() < end) {
		bool children;

		quiet = kill_round(l, mark) ? 0 : quiet + 1;
		children = waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
		if (children)
			quiet = 0;
		if (quiet < 2)
			gpc_sleep_ms(KILL_PAUSE_MS);
	}
	gpc_cgroup_kill(l->options->node_dir);
}

int gpc_agent_launch(const struct gpc_agent_options *options,
	struct gpc_error *err)
{
	struct launcher l = { .options = options, .lock = -1 };
	int r = take_over(&l, err);

	GPC_CRASH("launcher.named");
	if (r == 0) {
		say_ready(options->ready_fd);
		block_signals(&l);
		gpc_adopt_orphans();
		r = start_agent(&l, err);
	}
	if (r == 0 && l.agent == 0) {
		if (gpc_agent_run(options, &l.node) != 0)
			r = gpc_fail(err, GPC_EIO, "the agent could not start");
	} else if (r == 0) {
		GPC_CRASH("launcher.forked");
		l.node.why = watch(&l);
		GPC_CRASH("launcher.watched");
		kill_all(&l);
		GPC_CRASH("launcher.killed");
		r = gpc_node_file_write(options->node_dir, &l.node, err);
	}
	gpc_node_file_clear(&l.node);
	gpc_close(&l.lock);
	return r;
}
