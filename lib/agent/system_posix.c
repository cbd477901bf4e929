/* Systems without these calls: the launcher's process group and a node's end
 * by `destroy` are what keeps processes from being left. */
#include "agent/system.h"

void gpc_adopt_orphans(void)
{
}

void gpc_die_with(pid_t parent)
{
	(void)parent;
}

void gpc_be_first_victim(void)
{
}

void gpc_pipe_size(int fd, int bytes)
{
	(void)fd;
	(void)bytes;
}

void gpc_trim_memory(void)
{
}
