/* Pipes where pipe2 is missing: a fork of another thread between the two calls
 * may inherit them; only the node's half, which is Linux, forks in threads.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int gpc_pipe(int ret_fds[2], struct gpc_error *err)
{
	int fds[2];

	if (pipe(fds) < 0)
		return gpc_fail_sys(err, errno, "cannot make a pipe");
	if (fcntl(fds[0], F_SETFD, FD_CLOEXEC) < 0 ||
		fcntl(fds[1], F_SETFD, FD_CLOEXEC) < 0) {
		int sys = errno;

		gpc_close(&fds[0]);
		gpc_close(&fds[1]);
		return gpc_fail_sys(err, sys, "cannot set up a pipe");
	}
	ret_fds[0] = fds[0];
	ret_fds[1] = fds[1];
	return 0;
}

void gpc_start_writeback(int fd)
{
	(void)fd;
}

void gpc_close_from(int fd)
{
	for (int i = fd; i < 65536; i++)
		close(i);
}
