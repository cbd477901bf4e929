/* Reading and writing whole things. Interrupted calls are repeated, short
 * writes are continued, every error names its file, and a file that is
 * written appears complete or not at all.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/draft.h"
#include "base/path.h"

void gpc_close(int *fd)
{
	/* After EINTR the descriptor is gone on Linux, and trying again could
	 * close another thread's. */
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int gpc_close_written(int *fd)
{
	int own = *fd;

	*fd = -1;
	return close(own) < 0 && errno != EINTR ? errno : 0;
}

int gpc_flush_written(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? errno : gpc_close_written(&copy);
}

/* The error of an operation on a file; a full disk gets its folder named. */
static int fail_file(struct gpc_error *err, int sys, const char *verb,
	const char *name)
{
	int r = gpc_fail_sys(err, sys, "cannot %s %s", verb, name);

	if (sys == ENOSPC) {
		gpc_autostr *dir = gpc_path_dir(name);

		gpc_hint(err, "free space on the disk that holds %s, then repeat",
			dir);
	}
	return r;
}

int gpc_open(const char *path, int flags, unsigned mode, int *ret_fd,
	struct gpc_error *err)
{
	int fd;

	do
		fd = open(path, flags | O_CLOEXEC, (mode_t)mode);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return fail_file(err, errno,
			flags & O_CREAT ? "create" : "open", path);
	*ret_fd = fd;
	return 0;
}

int gpc_write_all(int fd, const void *data, size_t n, const char *name,
	struct gpc_error *err)
{
	const char *p = data;

	while (n > 0) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fail_file(err, errno, "write to", name);
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

int gpc_pwrite_all(int fd, const void *data, size_t n, int64_t offset,
	const char *name, struct gpc_error *err)
{
	const char *p = data;

	while (n > 0) {
		ssize_t k = pwrite(fd, p, n, (off_t)offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fail_file(err, errno, "write to", name);
		p += k;
		offset += k;
		n -= (size_t)k;
	}
	return 0;
}

int gpc_read_full(int fd, void *data, size_t n, const char *name,
	size_t *ret_n, struct gpc_error *err)
{
	char *p = data;
	size_t got = 0;

	while (got < n) {
		ssize_t k = read(fd, p + got, n - got);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fail_file(err, errno, "read", name);
		if (k == 0)
			break;
		got += (size_t)k;
	}
	*ret_n = got;
	return 0;
}

int gpc_read_fd(int fd, size_t max, const char *name, struct gpc_buf *b,
	struct gpc_error *err)
{
	size_t total = 0, step = 4096;
	struct stat st;

	/* One byte more than the file shows its end in the same call. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		step = (uint64_t)st.st_size < max ? (size_t)st.st_size + 1 :
			max;
	for (;;) {
		size_t ask = step < max - total ? step : max - total;
		char extra;
		char *to = ask ? gpc_buf_try_reserve(b, ask) : &extra;
		size_t got;
		int r;

		if (!to)
			return gpc_wrap(err, gpc_buf_check(b, err), "%s", name);
		r = gpc_read_full(fd, to, ask ? ask : 1, name, &got, err);
		if (r < 0)
			return r;
		if (ask == 0 && got > 0)
			return gpc_fail(err, GPC_EPROTO,
				"%s is larger than %zu bytes, the most allowed here",
				name, max);
		b->len += ask ? got : 0;
		total += ask ? got : 0;
		if (got < (ask ? ask : 1))
			break;
		step = step < 65536 ? 65536 : step;
	}
	gpc_buf_str(b);
	return 0;
}

int gpc_read_file(const char *path, size_t max, struct gpc_buf *b,
	struct gpc_error *err)
{
	gpc_autofd fd = -1;
	int r = gpc_open(path, O_RDONLY, 0, &fd, err);

	return r < 0 ? r : gpc_read_fd(fd, max, path, b, err);
}

static int flush(int fd, const char *path, struct gpc_error *err)
{
	/* Pipes and some virtual file systems have nothing to flush. */
	while (fsync(fd) < 0)
		if (errno != EINTR) {
			if (errno == EINVAL || errno == ENOTSUP)
				break;
			return fail_file(err, errno, "flush", path);
		}
	return 0;
}

static int write_draft(struct gpc_draft *d, const char *path, const void *data,
	size_t n, struct gpc_error *err)
{
	int sys, r = gpc_write_all(d->fd, data, n, path, err);

	if (r == 0)
		r = flush(d->fd, path, err);
	GPC_CRASH("file.written");
	if (r < 0) {
		gpc_draft_drop(d);
		return r;
	}
	sys = gpc_draft_commit(d, gpc_path_base(path));
	return sys ? fail_file(err, sys, "replace", path) : 0;
}

int gpc_write_file(const char *path, const void *data, size_t n, unsigned mode,
	struct gpc_error *err)
{
	gpc_autostr *dir = gpc_path_dir(path);
	gpc_autofd at = -1;
	struct gpc_draft d;
	int sys, r;

	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sys = at < 0 ? errno : gpc_draft_open(&d, at, mode);
	if (sys)
		return fail_file(err, sys, "create", path);
	r = write_draft(&d, path, data, n, err);
	if (r < 0)
		return r;
	GPC_CRASH("file.named");
	return flush(at, dir, err);
}

int gpc_fsync_dir(const char *path, struct gpc_error *err)
{
	gpc_autofd fd = -1;
	int sys, r = gpc_open(path, O_RDONLY | O_DIRECTORY, 0, &fd, err);

	if (r == 0)
		r = flush(fd, path, err);
	if (r < 0)
		return r;
	sys = gpc_close_written(&fd);
	return sys ? fail_file(err, sys, "close", path) : 0;
}

int gpc_set_nonblock(int fd, struct gpc_error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return gpc_fail_sys(err, errno,
			"cannot make descriptor %d non-blocking", fd);
	return 0;
}

size_t gpc_pipe_filled(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}
