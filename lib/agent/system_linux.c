/* Linux: subreapers, parent death signals, bigger pipes, glibc's heap. */
#define _GNU_SOURCE
#include "agent/system.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#else
#define malloc_trim(pad) ((void)(pad))
#endif

void gpc_adopt_orphans(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void gpc_die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(137);
}

void gpc_be_first_victim(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = write(fd, "300", 3);
	(void)n;             /* only a preference */
	close(fd);
}

void gpc_pipe_size(int fd, int bytes)
{
	fcntl(fd, F_SETPIPE_SZ, bytes);
}

void gpc_trim_memory(void)
{
	malloc_trim(0);
}
