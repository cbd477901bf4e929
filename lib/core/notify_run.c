/* See notify_run.h. The command is a process group of its own session, so that
 * what it started ends with it. */
#include "core/notify_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/program.h"
#include "base/time.h"

#define NOT_RUN 127             /* as shells say it */

/* Borrowed words, NULL at the end; owned. */
static char **pointers(const struct gpc_strv *words)
{
	char **v = gpc_array(words->n + 1, sizeof(*v));

	for (size_t i = 0; i < words->n; i++)
		v[i] = words->v[i];
	return v;
}

int gpc_notice_start(const struct gpc_strv *command, const struct gpc_strv *env,
	struct gpc_notice_run *ret_run, struct gpc_error *err)
{
	gpc_autostr *home = NULL;
	char **argv = pointers(command), **envp = pointers(env);
	struct gpc_program_run run;
	int r, sys;

	if (gpc_home(&home, NULL) < 0)
		home = gpc_strdup("/");
	r = gpc_program_start(&(struct gpc_program){
		.argv = argv, .env = envp, .dir = home, .else_dir = "/",
		.place = GPC_PROGRAM_SESSION}, &run, &sys, err);
	free(argv);
	free(envp);
	if (r)
		return r;
	*ret_run = (struct gpc_notice_run){.pid = run.pid,
		.started_ms = gpc_boot_ms()};
	snprintf(ret_run->program, sizeof(ret_run->program), "%s",
		command->v[0]);
	return 0;
}

/* Before its setsid it is no group yet. */
static void tell_group(const struct gpc_notice_run *run, int sig)
{
	if (kill(-run->pid, sig) < 0)
		kill(run->pid, sig);
}

static char *describe(int status, bool asked)
{
	if (asked)
		return gpc_format("it ran for more than %d s and was ended",
			GPC_NOTICE_MS / 1000);
	if (WIFSIGNALED(status))
		return gpc_format("ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == NOT_RUN)
		return gpc_strdup("cannot be run: is there such a program?");
	return WEXITSTATUS(status) ? gpc_format("exit status %d",
		WEXITSTATUS(status)) : NULL;
}

bool gpc_notice_runs(struct gpc_notice_run *run, char **ret_why)
{
	int64_t age = gpc_boot_ms() - run->started_ms;
	siginfo_t info = {0};
	int status = 0;
	int w = waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT);

	if ((w == 0 && !info.si_pid) || (w < 0 && errno == EINTR)) {
		if (age >= GPC_NOTICE_MS + GPC_NOTICE_KILL_MS)
			tell_group(run, SIGKILL);
		else if (age >= GPC_NOTICE_MS && !run->asked)
			tell_group(run, SIGTERM);
		run->asked |= age >= GPC_NOTICE_MS;
		return true;
	}
	if (run->asked)                 /* what it leaves behind */
		kill(-run->pid, SIGKILL);
	while ((w = waitpid(run->pid, &status, 0)) < 0 && errno == EINTR)
		;
	*ret_why = w < 0 ? gpc_strdup("its end was not seen") :
		describe(status, run->asked);
	run->pid = 0;
	return false;
}

void gpc_notice_end(struct gpc_notice_run *run)
{
	if (run->pid <= 0)
		return;
	kill(-run->pid, SIGKILL);
	kill(run->pid, SIGKILL);
	while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
		;
	run->pid = 0;
}
