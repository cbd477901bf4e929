/* See faults_io.h. */
#include "faults_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct cJSON;

#define CLOUD "/fake"
#define MAX_FD 1024

const char *const io_fault_names[] = { "EIO", "ENOSPC", "EMFILE", "ENOMEM",
	"short" };

enum kind { OPENS = 1, NEEDS_ROOM = 2, MOVES_BYTES = 4, OTHER = 8, GROWS = 16 };

static struct {
	atomic_bool armed, paused, struck, all_after;
	enum io_fault fault;
	long nth;
	atomic_long seen;
	atomic_bool cloud[MAX_FD];
} io;

void io_arm(enum io_fault fault, long nth, bool and_all_after)
{
	io.fault = fault;
	io.nth = nth;
	io.seen = 0;
	io.struck = false;
	io.all_after = and_all_after;
	io.armed = true;
}

void io_pause(bool on)
{
	io.paused = on;
}

bool io_disarm(void)
{
	io.armed = false;
	return io.struck;
}

int io_count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static bool is_cloud(const char *path)
{
	return path && strstr(path, CLOUD);
}

static bool fd_is_cloud(int fd)
{
	return fd >= 0 && fd < MAX_FD && io.cloud[fd];
}

static int opened(int fd, const char *path)
{
	if (fd >= 0 && fd < MAX_FD)
		io.cloud[fd] = is_cloud(path);
	return fd;
}

static bool applies(unsigned kind)
{
	switch (io.fault) {
	case IO_EIO: return !(kind & GROWS);
	case IO_ENOMEM: return kind & GROWS;
	case IO_ENOSPC: return kind & NEEDS_ROOM;
	case IO_EMFILE: return kind & OPENS;
	default: return kind & MOVES_BYTES;
	}
}

/* Whether this call fails; errno says how. */
static bool fails(unsigned kind)
{
	long n;

	if (!io.armed || io.paused || !applies(kind))
		return false;
	n = ++io.seen;
	if (n != io.nth && !(io.all_after && n > io.nth))
		return false;
	io.struck = true;
	errno = io.fault == IO_ENOSPC ? ENOSPC :
		io.fault == IO_EMFILE ? EMFILE : EIO;
	return true;
}

static size_t less(size_t n)
{
	return io.fault == IO_SHORT && n > 1 ? n / 2 : n;
}

/* --- what is wrapped --------------------------------------------------------- */
#define WRAP(type, name, args) \
	type __real_##name args; \
	type __wrap_##name args; \
	type __wrap_##name args
#define MODE(flags, mode) \
	do { \
		va_list ap; \
		va_start(ap, flags); \
		mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0; \
		va_end(ap); \
	} while (0)

WRAP(int, open64, (const char *path, int flags, ...))
{
	mode_t mode;

	MODE(flags, mode);
	if (!is_cloud(path) && fails(OPENS | (flags & O_CREAT ? NEEDS_ROOM : 0)))
		return -1;
	return opened(__real_open64(path, flags, mode), path);
}

WRAP(int, openat64, (int at, const char *path, int flags, ...))
{
	mode_t mode;

	MODE(flags, mode);
	if (fails(OPENS | (flags & O_CREAT ? NEEDS_ROOM : 0)))
		return -1;
	return opened(__real_openat64(at, path, flags, mode), NULL);
}

WRAP(DIR *, opendir, (const char *path))
{
	if (!is_cloud(path) && fails(OPENS))
		return NULL;
	return __real_opendir(path);
}

WRAP(ssize_t, read, (int fd, void *data, size_t n))
{
	if (!fd_is_cloud(fd) && fails(MOVES_BYTES)) {
		if (io.fault != IO_SHORT)
			return -1;
		n = less(n);
	}
	return __real_read(fd, data, n);
}

WRAP(ssize_t, pread64, (int fd, void *data, size_t n, off_t at))
{
	if (!fd_is_cloud(fd) && fails(MOVES_BYTES)) {
		if (io.fault != IO_SHORT)
			return -1;
		n = less(n);
	}
	return __real_pread64(fd, data, n, at);
}

WRAP(ssize_t, write, (int fd, const void *data, size_t n))
{
	if (fd > 2 && !fd_is_cloud(fd) && fails(MOVES_BYTES | NEEDS_ROOM)) {
		if (io.fault != IO_SHORT)
			return -1;
		n = less(n);
	}
	return __real_write(fd, data, n);
}

WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t n, off_t at))
{
	if (!fd_is_cloud(fd) && fails(MOVES_BYTES | NEEDS_ROOM)) {
		if (io.fault != IO_SHORT)
			return -1;
		n = less(n);
	}
	return __real_pwrite64(fd, data, n, at);
}

WRAP(int, fsync, (int fd))
{
	return !fd_is_cloud(fd) && fails(NEEDS_ROOM) ? -1 : __real_fsync(fd);
}

WRAP(int, fdatasync, (int fd))
{
	return fails(NEEDS_ROOM) ? -1 : __real_fdatasync(fd);
}

WRAP(int, ftruncate64, (int fd, off_t size))
{
	return fails(OTHER) ? -1 : __real_ftruncate64(fd, size);
}

WRAP(int, rename, (const char *from, const char *to))
{
	return !is_cloud(from) && fails(NEEDS_ROOM) ? -1 : __real_rename(from, to);
}

WRAP(int, renameat, (int from_at, const char *from, int to_at, const char *to))
{
	return fails(NEEDS_ROOM) ? -1 : __real_renameat(from_at, from, to_at, to);
}

WRAP(int, linkat, (int from_at, const char *from, int to_at, const char *to,
	int flags))
{
	return fails(NEEDS_ROOM) ? -1
		: __real_linkat(from_at, from, to_at, to, flags);
}

WRAP(int, mkdir, (const char *path, mode_t mode))
{
	return !is_cloud(path) && fails(NEEDS_ROOM) ? -1 : __real_mkdir(path, mode);
}

WRAP(int, mkdirat, (int at, const char *path, mode_t mode))
{
	return fails(NEEDS_ROOM) ? -1 : __real_mkdirat(at, path, mode);
}

WRAP(void *, gpc_try_grow, (void *p, size_t n, size_t size))
{
	return fails(GROWS) ? NULL : __real_gpc_try_grow(p, n, size);
}

WRAP(struct cJSON *, cJSON_ParseWithLength, (const char *text, size_t n))
{
	return fails(GROWS) ? NULL : __real_cJSON_ParseWithLength(text, n);
}
