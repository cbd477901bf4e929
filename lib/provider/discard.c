/* A workspace of millions of files takes minutes to remove. A supervisor that
 * waited for that would let every other job wait as well, so a child of a child
 * does it: nobody's zombie, no terminal, nothing of ours kept open. */
#include "provider/discard.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "provider/procs.h"

int gpc_discard(const char *path, struct gpc_error *err)
{
	pid_t child = fork();

	if (child < 0)
		return gpc_fail_sys(err, errno, "remove %s", path);
	if (child == 0) {
		if (setsid() < 0 || fork() != 0)
			_exit(0);
		gpc_close_from(0);
		_exit(gpc_rmtree(path, NULL) < 0);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
	return 0;
}
