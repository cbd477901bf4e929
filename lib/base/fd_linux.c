/* Pipes that no process started meanwhile by another thread can inherit, and
 * early writing. */
#define _GNU_SOURCE
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
