/* See ssh_key.h. The private half never passes through this program. */
#include "provider/ssh_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/program.h"
#include "base/str.h"
#include "model/ssh.h"

extern char **environ;

#define PUBLIC_MAX 4096
#define ELSEWHERE "/usr/sbin:/usr/local/sbin:/sbin:/usr/bin:/usr/local/bin:/bin"

char *gpc_ssh_program(const char *name)
{
	const char *path = getenv("PATH");
	gpc_autostr *all = gpc_format("%s:%s", path ? path : "", ELSEWHERE);
	struct gpc_str rest = gpc_str_of(all), part;

	while (gpc_str_split(&rest, ':', &part)) {
		gpc_autostr *found = gpc_format("%.*s/%s", (int)part.len,
			part.ptr, name);

		if (*found == '/' && part.len && access(found, X_OK) == 0)
			return gpc_steal(&found);
	}
	return NULL;
}

int gpc_ssh_key_read(const char *path, char **ret_public, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_autostr *name = gpc_format("%s.pub", path);
	char *key;
	int r = gpc_read_file(name, PUBLIC_MAX, &text, err);

	if (r == 0 && access(path, R_OK) < 0)
		r = gpc_fail_sys(err, errno, "%s", path);
	if (r < 0)
		return r;
	key = gpc_ssh_key_of(gpc_buf_str(&text));
	if (!key)
		return gpc_fail(err, GPC_EPROTO, "%s: no key of Ed25519", name);
	*ret_public = key;
	return 0;
}

/* It asks before it overwrites. */
static void remove_pair(const char *path)
{
	gpc_autostr *name = gpc_format("%s.pub", path);

	unlink(path);
	unlink(name);
}

int gpc_ssh_key_make(const char *path, char **ret_public, struct gpc_error *err)
{
	gpc_autostr *program = gpc_ssh_program("ssh-keygen");
	char *argv[] = { program, (char *)"-q", (char *)"-t", (char *)"ed25519",
		(char *)"-N", (char *)"", (char *)"-C", (char *)"gpucloud",
		(char *)"-f", (char *)path, NULL };
	struct gpc_program_run run;
	int status = 0, sys = 0, r;
	pid_t w;

	if (!program)
		return gpc_fail(err, GPC_ENOTFOUND, "there is no ssh-keygen");
	remove_pair(path);
	r = gpc_program_start(&(struct gpc_program){ .argv = argv, .env = environ,
		.place = GPC_PROGRAM_SESSION }, &run, &sys, err);
	if (r < 0)
		return r;
	while ((w = waitpid(run.pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (w < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return gpc_fail(err, GPC_EIO, "ssh-keygen made no key at %s",
			path);
	return gpc_ssh_key_read(path, ret_public, err);
}
