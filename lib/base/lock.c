/* File locks by flock(2). POSIX record locks vanish when any descriptor of the
 * file is closed anywhere in the process; flock's belong to the open file, end
 * with its last descriptor, and so survive a fork: a child that keeps the
 * descriptor keeps the lock. It is opened O_CLOEXEC, so exec ends that.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/time.h"

/* Whether path still names the file that fd holds. 0 or an errno. */
static int is_same_file(int fd, const char *path, bool *ret_same)
{
	struct stat held, named;

	*ret_same = false;
	if (fstat(fd, &held) < 0)
		return errno;
	if (stat(path, &named) < 0)
		return errno == ENOENT ? 0 : errno;
	*ret_same = held.st_dev == named.st_dev && held.st_ino == named.st_ino;
	return 0;
}

bool gpc_lock_renew(int fd, const char *path)
{
	bool same;

	(void)futimens(fd, NULL);
	/* What cannot be looked at is not lost: only another file tells that. */
	return is_same_file(fd, path, &same) != 0 || same;
}

int64_t gpc_lock_age_ms(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -1;
	return gpc_wall_ms() - ((int64_t)st.st_mtim.tv_sec * 1000 +
		st.st_mtim.tv_nsec / 1000000);
}

int gpc_lock_file(const char *path, bool wait, int *ret_fd,
	struct gpc_error *err)
{
	for (;;) {
		gpc_autofd fd = -1;
		bool same;
		int r = gpc_open(path, O_RDWR | O_CREAT, 0600, &fd, err);

		if (r < 0)
			return r;
		do
			r = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
		while (r < 0 && errno == EINTR);
		if (r < 0 && errno == EWOULDBLOCK)
			return gpc_fail(err, GPC_ECONFLICT,
				"%s is locked by another process", path);
		if (r < 0)
			return gpc_fail_sys(err, errno, "cannot lock %s", path);
		/* A lock on a file that was deleted meanwhile excludes nobody. */
		r = is_same_file(fd, path, &same);
		if (r)
			return gpc_fail_sys(err, r, "cannot look at %s", path);
		if (!same)
			continue;
		(void)futimens(fd, NULL);
		*ret_fd = fd;
		fd = -1;
		return 0;
	}
}
