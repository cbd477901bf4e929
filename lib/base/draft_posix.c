/* Here every file has a name. */
#include "base/draft.h"

#include <errno.h>

int gpc_draft_unnamed(int dir, unsigned mode)
{
	(void)dir;
	(void)mode;
	return -1;
}

int gpc_draft_link(int fd, int dir, const char *name)
{
	(void)fd;
	(void)dir;
	(void)name;
	return ENOSYS;
}
