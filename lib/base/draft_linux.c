/* Files without a name. Which file systems have them is told by the attempt: not
 * NFS, nor some of FUSE. Naming one later goes through /proc (linkat(2)), so that
 * is looked at first; the way without it needs a privilege. */
#define _GNU_SOURCE
#include "base/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { PATH = sizeof("/proc/self/fd/") + 11 };

static const char *path_of(int fd, char ret_path[PATH])
{
	snprintf(ret_path, PATH, "/proc/self/fd/%d", fd);
	return ret_path;
}

int gpc_draft_unnamed(int dir, unsigned mode)
{
	char path[PATH];
	int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
		(mode_t)mode);

	if (fd < 0 || access(path_of(fd, path), F_OK) == 0)
		return fd;
	close(fd);
	return -1;
}

int gpc_draft_link(int fd, int dir, const char *name)
{
	char path[PATH];

	return linkat(AT_FDCWD, path_of(fd, path), dir, name,
		AT_SYMLINK_FOLLOW) < 0 ? errno : 0;
}
