/* Pipes that no process started meanwhile by another thread can inherit, early
 * writing, and closing a whole range. */
#define _GNU_SOURCE
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436   /* the same number on every architecture */
#endif

int gpc_pipe(int ret_fds[2], struct gpc_error *err)
{
	if (pipe2(ret_fds, O_CLOEXEC) < 0)
		return gpc_fail_sys(err, errno, "cannot make a pipe");
	return 0;
}

void gpc_start_writeback(int fd)
{
	(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

void gpc_close_from(int fd)
{
	if (syscall(SYS_close_range, (unsigned)fd, ~0U, 0U) == 0)
		return;
	for (int i = fd; i < 65536; i++)
		close(i);
}
