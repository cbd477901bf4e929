/* fork and exec of a phase's script.
 *
 * Everything that allocates happens before fork, because the agent has other
 * threads; the child reports a failed exec through a pipe that a successful
 * one closes. */
#include "agent/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/system.h"
#include "base/fd.h"
#include "base/str.h"

enum { SAY_CHDIR = 1, SAY_EXEC };
struct trouble { int what, sys; };

static const char *const shells[] = {
	"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash",
	"/opt/homebrew/bin/bash",
};

static const char *find_bash(void)
{
	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
		if (access(shells[i], X_OK) == 0)
			return shells[i];
	return NULL;
}

static void give_up(int fd, int what)
{
	struct trouble t = { what, errno };

	if (write(fd, &t, sizeof(t)) < 0)
		_exit(126);
	_exit(127);
}

static void run_child(const struct gpc_child *c, const char *bash,
	char *const *argv, char *const *envp, int null_fd, int say_fd,
	pid_t parent)
{
	sigset_t none;

	gpc_die_with(parent);
	setsid();
	gpc_be_first_victim();
	gpc_cgroup_join(c->cgroup);
	if (c->cpus > 0)
		gpc_cpus_restrict(c->cpus, c->salt);
	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	if (dup2(null_fd, 0) < 0 || dup2(c->out_fd, 1) < 0
		|| dup2(c->err_fd, 2) < 0)
		give_up(say_fd, SAY_EXEC);
	if (chdir(c->cwd) < 0)
		give_up(say_fd, SAY_CHDIR);
	execve(bash, argv, envp);
	give_up(say_fd, SAY_EXEC);
}

static size_t env_bytes(const struct gpc_strv *env)
{
	size_t n = 0;

	for (size_t i = 0; i < env->n; i++)
		n += env->v[i] ? strlen(env->v[i]) + 1 + sizeof(char *) : 0;
	return n;
}

static int explain(const struct gpc_child *c, const char *bash,
	const struct gpc_strv *env, struct trouble t, struct gpc_error *err)
{
	if (t.what == SAY_CHDIR)
		return gpc_fail_sys(err, t.sys, "cannot enter %s", c->cwd);
	if (t.sys != E2BIG)
		return gpc_fail_sys(err, t.sys, "cannot run %s", bash);
	gpc_fail(err, GPC_ECONFIG, "the job's environment of %zu bytes is too "
		"large: this system takes %ld for a process, and less for one "
		"variable", env_bytes(env), sysconf(_SC_ARG_MAX));
	gpc_hint(err, "pass large values as files, by file_mounts or the workdir");
	return -GPC_ECONFIG;
}

int gpc_child_start(const struct gpc_child *c, pid_t *ret_pid,
	struct gpc_error *err)
{
	const char *bash = find_bash();
	const char *strict[] = { "bash", "-e", "-o", "pipefail", c->script, NULL };
	const char *plain[] = { "bash", c->script, NULL };
	gpc_auto(gpc_strv) struct gpc_strv env = {0};
	gpc_autofd null_fd = -1, in = -1, out = -1;
	pid_t self = getpid(), pid;
	struct trouble t = {0};
	int fds[2], r;
	size_t n = 0;

	if (!bash)
		return gpc_fail(err, GPC_ENOTFOUND, "this node has no bash");
	for (size_t i = 0; i < c->env->n; i++)
		if (c->env->v[i].value)
			gpc_strv_addf(&env, "%s=%s", c->env->v[i].key,
				c->env->v[i].value);
	gpc_strv_take(&env, NULL);
	r = gpc_open("/dev/null", O_RDWR, 0, &null_fd, err);
	if (r == 0)
		r = gpc_pipe(fds, err);
	if (r < 0)
		return r;
	in = fds[0];
	out = fds[1];
	pid = fork();
	if (pid < 0)
		return gpc_fail_sys(err, errno, "cannot start a process");
	if (pid == 0)
		run_child(c, bash, (char *const *)(c->strict ? strict : plain),
			env.v, null_fd, out, self);
	gpc_close(&out);
	r = gpc_read_full(in, &t, sizeof(t), "pipe", &n, err);
	if (r == 0 && n == sizeof(t)) {
		waitpid(pid, NULL, 0);
		return explain(c, bash, &env, t, err);
	}
	*ret_pid = pid;
	return r;
}
