/* See beneath.h. O_NOFOLLOW only guards the last part of a path, hence the walk
 * part by part; openat2 would do it in one call, but is Linux only.
 */
#include "snapshot/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define SHOWN_MAX ((size_t)200)         /* of a name in a message */
enum { DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

int gpc_beneath_open(struct gpc_beneath *b, const char *root,
	struct gpc_error *err)
{
	int r = gpc_open(root, O_RDONLY | O_DIRECTORY, 0, &b->root, err);

	if (r < 0)
		return r;
	b->fd = -1;
	b->is_open = true;
	return 0;
}

void gpc_beneath_forget(struct gpc_beneath *b)
{
	gpc_close(&b->fd);
	gpc_set_str(&b->dir, NULL);
}

void gpc_beneath_clear(struct gpc_beneath *b)
{
	if (!b->is_open)
		return;
	gpc_beneath_forget(b);
	gpc_close(&b->root);
	b->is_open = false;
}

static int open_part(int at, const char *name, unsigned flags)
{
	int fd = openat(at, name, DIR_FLAGS);

	if (fd >= 0 || !(flags & GPC_BENEATH_CREATE))
		return fd;
	if (errno == ENOTDIR || errno == ELOOP) {
		if (!(flags & GPC_BENEATH_REPLACE) || unlinkat(at, name, 0) < 0)
			return -1;
	} else if (errno != ENOENT) {
		return -1;
	}
	if (mkdirat(at, name, 0777) < 0 && errno != EEXIST)
		return -1;
	return openat(at, name, DIR_FLAGS);
}

/* Opens `rest` below at part by part. *ret_done: bytes of rest that are open,
 * or the end of the part that failed. */
static int open_parts(int at, const char *rest, size_t n, unsigned flags,
	size_t *ret_done)
{
	int fd = -1;

	for (size_t i = 0; i < n;) {
		const char *end = memchr(rest + i, '/', n - i);
		size_t len = end ? (size_t)(end - rest) - i : n - i;
		gpc_autostr *name = gpc_strndup(rest + i, len);
		int next = open_part(fd < 0 ? at : fd, name, flags);
		int sys = errno;

		gpc_close(&fd);
		fd = next;
		*ret_done = i + len;
		if (fd < 0) {
			errno = sys;
			return -1;
		}
		i += len + 1;
	}
	return fd;
}

/* True when the folder that is open is dir itself or lies above it. */
static bool leads_to(const struct gpc_beneath *b, const char *dir, size_t n,
	size_t *ret_done)
{
	size_t have;

	if (b->fd < 0)
		return false;
	have = strlen(b->dir);
	if (have > n || memcmp(b->dir, dir, have) != 0
		|| (have < n && dir[have] != '/'))
		return false;
	*ret_done = have < n ? have + 1 : have;
	return true;
}

int gpc_beneath_dir(struct gpc_beneath *b, const char *dir, size_t n,
	unsigned flags, int *ret_fd, struct gpc_error *err)
{
	size_t done = 0, failed = 0;
	int fd;

	if (n == 0) {
		*ret_fd = b->root;
		return 0;
	}
	if (!leads_to(b, dir, n, &done))
		gpc_beneath_forget(b);
	if (done < n) {
		fd = open_parts(b->fd < 0 ? b->root : b->fd, dir + done,
			n - done, flags, &failed);
		if (fd < 0) {
			int sys = errno;
			gpc_autostr *upto = gpc_strndup(dir, done + failed);
			gpc_autostr *shown = gpc_str_brief(upto, SHOWN_MAX);

			return gpc_fail_sys(err, sys, "folder %s", shown);
		}
		gpc_beneath_forget(b);
		b->fd = fd;
		b->dir = gpc_strndup(dir, n);
	}
	*ret_fd = b->fd;
	return 0;
}

int gpc_beneath_parent(struct gpc_beneath *b, const char *path, unsigned flags,
	int *ret_fd, const char **ret_name, struct gpc_error *err)
{
	const char *slash = strrchr(path, '/');

	*ret_name = slash ? slash + 1 : path;
	return gpc_beneath_dir(b, path, slash ? (size_t)(slash - path) : 0,
		flags, ret_fd, err);
}
