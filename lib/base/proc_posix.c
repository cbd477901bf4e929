/* Process identity where no start time is at hand: the pid alone. A reused pid
 * passes for the old process, which only delays a take-over.
 */
#include "base/proc.h"

#include <errno.h>
#include <signal.h>

uint64_t gpc_proc_start(pid_t pid)
{
	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

bool gpc_proc_alive(pid_t pid, uint64_t start)
{
	return start != 0 && gpc_proc_start(pid) == start;
}

char *gpc_proc_self(void)
{
	return NULL;
}
