/* Ending the program, in whatever state it is.
 *
 * SIGTERM to its whole group, a grace in which it may save, SIGKILL to all that
 * descends from this agent. The agent is a subreaper, so "all" is found by
 * parentage, whatever sessions the program made; nothing is left when waitpid
 * says that there are no children. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/context.h"
#include "agent/facts.h"
#include "agent/mirror.h"
#include "agent/ssh.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/procs.h"

enum { LEFTOVER_GRACE_MS = 2000 };

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* A program that is asked to save by a signal of its own hears that first, and
 * has half of the time for it. */
static void begin_end(struct gpc_agent *a, int64_t grace_ms)
{
	int ask = a->spec.checkpoint.ask_signal;

	if (grace_ms <= 0)
		return;
	if (ask && ask != SIGTERM && a->stop.save && a->step == GPC_STEP_RUN
		&& gpc_agent_handles(a, ask)) {
		gpc_agent_signal(a, ask);
		a->stop.term_ms = gpc_boot_ms() + grace_ms / 2;
	} else {
		kill(-a->group, SIGTERM);
	}
}

void gpc_agent_stop(struct gpc_agent *a, enum gpc_reason reason,
	int64_t grace_ms, const char *save_label, const char *detail)
{
	struct gpc_stop *s = &a->stop;
	int64_t kill_ms = gpc_boot_ms() + grace_ms;

	if (!save_label && a->step == GPC_STEP_SAVE)
		gpc_worker_cancel(a->worker);
	if (s->asked) {               /* only ever sooner */
		s->kill_ms = min64(s->kill_ms, kill_ms);
		s->save = s->save && save_label;
		return;
	}
	s->asked = true;
	s->reason = reason;
	s->save = save_label != NULL;
	s->label = save_label;
	s->kill_ms = kill_ms;
	gpc_set_str(&s->detail, detail);
	gpc_agent_say(a, GPC_INFO, "stopping: %s%s%s, SIGKILL in %lld s",
		gpc_reason_to_str(reason), detail ? ", " : "",
		detail ? detail : "", (long long)(grace_ms / 1000));
	if (a->step < GPC_STEP_SETUP && a->worker)
		gpc_worker_cancel(a->worker);
	if (a->child > 0)
		begin_end(a, grace_ms);
}

/* Marks what is the job's: not the SSH server of this node, and who is logged in. */
static void list_job(const struct gpc_agent *a, struct gpc_procs *ret_p)
{
	gpc_procs_list(ret_p);
	gpc_procs_below(ret_p, getpid());
	gpc_procs_spare(ret_p, gpc_agent_ssh_pid(a));
}

static void signal_all(const struct gpc_agent *a, int signal)
{
	gpc_auto(gpc_procs) struct gpc_procs p = {0};

	list_job(a, &p);
	for (size_t i = 0; i < p.n; i++)
		if (p.v[i].below)
			kill(p.v[i].pid, signal);
}

static void kill_everything(struct gpc_agent *a)
{
	if (!a->stop.killed && a->checkpoint_dir)
		a->writing_when_killed = gpc_procs_writing_below(getpid(),
			a->checkpoint_dir);
	if (!a->stop.killed)
		gpc_mirrors_killing(a);
	a->stop.killed = true;
	if (a->group > 0)
		kill(-a->group, SIGKILL);
	signal_all(a, SIGKILL);
}

void gpc_agent_stop_tick(struct gpc_agent *a, int64_t now_ms)
{
	if (!a->stop.asked || a->child <= 0)
		return;
	if (a->stop.term_ms && now_ms >= a->stop.term_ms) {
		a->stop.term_ms = 0;
		kill(-a->group, SIGTERM);
	}
	if (now_ms >= a->stop.kill_ms)
		kill_everything(a);
}

/* Those that handle the signal, wherever the program put them: the others (a
 * shell around it, a sleep, a tool) would only die of it. When nobody does, it
 * is the group's, but not its shell's. */
void gpc_agent_signal(struct gpc_agent *a, int signal)
{
	gpc_auto(gpc_procs) struct gpc_procs p = {0};
	size_t sent = 0;

	if (a->child <= 0)
		return;
	list_job(a, &p);
	for (size_t i = 0; i < p.n; i++) {
		if (!p.v[i].below || !gpc_proc_catches(p.v[i].pid, signal))
			continue;
		kill(p.v[i].pid, signal);
		sent++;
	}
	if (sent)
		return;
	for (size_t i = 0; i < p.n; i++) {
		if (p.v[i].pgid != a->group || p.v[i].pid == a->child
			|| p.v[i].zombie)
			continue;
		kill(p.v[i].pid, signal);
		sent++;
	}
	if (!sent)
		kill(a->child, signal);
}

bool gpc_agent_handles(const struct gpc_agent *a, int signal)
{
	gpc_auto(gpc_procs) struct gpc_procs p = {0};

	if (a->child <= 0)
		return false;
	list_job(a, &p);
	for (size_t i = 0; i < p.n; i++)
		if (p.v[i].below && gpc_proc_catches(p.v[i].pid, signal))
			return true;
	return p.n == 0;          /* not to be seen here */
}

/* --- ends ----------------------------------------------------------------- */

void gpc_agent_set_exit(struct gpc_agent *a, enum gpc_phase phase,
	enum gpc_reason reason, int code, int signal, const char *detail)
{
	if (a->exit_set)
		return;
	a->exit_set = true;
	a->exit.v = 1;
	a->exit.phase = phase;
	a->exit.reason = reason;
	a->exit.code = code;
	a->exit.signal = signal;
	a->exit.rank = a->failed_rank >= 0 ? a->failed_rank : a->rank;
	a->exit.at_ms = gpc_wall_ms();
	a->exit.run_started_ms = a->run_started_ms;
	if (a->run_started_boot_ms)
		a->exit.ran_ms = gpc_boot_ms() - a->run_started_boot_ms;
	gpc_set_str(&a->exit.detail, detail);
	gpc_agent_say(a, GPC_INFO, "ended: %s, code %d, signal %d%s%s",
		gpc_reason_to_str(reason), code, signal, detail ? ": " : "",
		detail ? detail : "");
}

static bool was_out_of_memory(const struct gpc_agent *a, int code, int signal)
{
	return (signal == SIGKILL || code == 128 + SIGKILL)
		&& gpc_cgroup_oom_kills(a->cgroup) > 0;
}

/* The phase's own process has ended. */
static void leader_ended(struct gpc_agent *a, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	bool setup = a->step == GPC_STEP_SETUP;

	a->child = 0;
	a->cleared_ms = gpc_boot_ms();
	if (a->stop.asked)
		gpc_agent_set_exit(a, a->phase, a->stop.reason, code, signal,
			a->stop.detail);
	else if (code == 0 && signal == 0 && setup)
		return;
	else if (was_out_of_memory(a, code, signal))
		gpc_agent_set_exit(a, a->phase, GPC_REASON_OUT_OF_MEMORY, code,
			signal, "the kernel ended it for want of memory");
	else if (setup)
		gpc_agent_set_exit(a, a->phase, GPC_REASON_SETUP_FAILED, code,
			signal, NULL);
	else
		gpc_agent_set_exit(a, a->phase, code == 0 && signal == 0
			? GPC_REASON_COMPLETED : GPC_REASON_EXIT_CODE, code,
			signal, NULL);
}

void gpc_agent_reap(struct gpc_agent *a)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == a->child)
			leader_ended(a, status);
		else if (pid == gpc_agent_ssh_pid(a))
			gpc_agent_ssh_ended(a);
}

/* A process that was begun between two of its looks is met by the second one. */
static bool only_ssh_is_left(struct gpc_agent *a)
{
	if (!gpc_agent_ssh_pid(a))
		return false;
	for (int i = 0; i < 2; i++) {
		gpc_auto(gpc_procs) struct gpc_procs p = {0};

		list_job(a, &p);
		if (!p.n)             /* nothing can be seen here */
			gpc_agent_ssh_close(a);
		gpc_vec_each(x, &p)
			if (x->below)
				return false;
	}
	return gpc_agent_ssh_pid(a) > 0;
}

bool gpc_agent_cleared(struct gpc_agent *a, int64_t now_ms)
{
	int64_t until = a->cleared_ms + LEFTOVER_GRACE_MS;

	gpc_agent_reap(a);
	if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
		return true;
	if (only_ssh_is_left(a))
		return true;
	if (a->stop.asked)            /* it may be saving behind its shell */
		until = a->stop.kill_ms;
	if (now_ms >= until)
		kill_everything(a);
	else if (!a->leftovers_told)
		signal_all(a, SIGTERM);
	a->leftovers_told = true;
	return false;
}
