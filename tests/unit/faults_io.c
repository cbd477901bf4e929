/* See faults_io.h. */
#include "faults_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct cJSON;

#define CLOUD "/fake"
#define MAX_FD 1024

const char *const io_fault_names[] = { "EIO", "ENOSPC", "EMFILE", "ENOMEM",
	"short", "look", "remove", "close", "start" };

enum kind {
	OPENS = 1, NEEDS_ROOM = 2, MOVES_BYTES = 4, OTHER = 8, GROWS = 16,
	LOOKS = 32, REMOVES = 64, CLOSES = 128, STARTS = 256,
};

static struct {
	atomic_bool armed, paused, all_after;
	_Atomic(const char *) *struck;  /* shared with what was forked */
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
	if (!io.struck)
		io.struck = mmap(NULL, sizeof(*io.struck),
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	*io.struck = NULL;
	io.all_after = and_all_after;
	io.armed = true;
}

void io_pause(bool on)
{
	io.paused = on;
}

void io_disarm(void)
{
	io.armed = false;
}

const char *io_struck(void)
{
	return io.struck ? *io.struck : NULL;
}

void io_forget(void)
{
	if (io.struck)
		*io.struck = NULL;
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

static int opened_as(int fd, bool cloud)
{
	if (fd >= 0 && fd < MAX_FD)
		io.cloud[fd] = cloud;
	return fd;
}

static int opened(int fd, const char *path)
{
	return opened_as(fd, is_cloud(path));
}

static bool applies(unsigned kind)
{
	switch (io.fault) {
	case IO_EIO: return kind & (OPENS | NEEDS_ROOM | MOVES_BYTES | OTHER);
	case IO_ENOMEM: return kind & GROWS;
	case IO_ENOSPC: return kind & NEEDS_ROOM;
	case IO_EMFILE: return kind & OPENS;
	case IO_LOOK: return kind & LOOKS;
	case IO_REMOVE: return kind & REMOVES;
	case IO_CLOSE: return kind & CLOSES;
	case IO_START: return kind & STARTS;
	default: return kind & MOVES_BYTES;
	}
}

/* Whether this call fails; errno says how. */
static bool fails_at(unsigned kind, const char *call)
{
	long n;

	if (!io.armed || io.paused || !applies(kind))
		return false;
	n = ++io.seen;
	if (n != io.nth && !(io.all_after && n > io.nth))
		return false;
	if (!*io.struck)
		*io.struck = call;
	errno = io.fault == IO_ENOSPC ? ENOSPC :
		io.fault == IO_EMFILE ? EMFILE :
		io.fault == IO_START ? EAGAIN : EIO;
	return true;
}

#define fails(kind) fails_at(kind, __func__ + strlen("__wrap_"))

static size_t less(size_t n)
{
	return io.fault == IO_SHORT && n > 1 ? n / 2 : n;
}

/* --- what is wrapped --------------------------------------------------------- */
#define WRAP(type, name, args) \
	type __real_##name args; \
	type __wrap_##name args; \
	type __wrap_##name args
#define MAKES(flags) \
	((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE)
#define MODE(flags, mode) \
	do { \
		va_list ap; \
		va_start(ap, flags); \
		mode = MAKES(flags) ? va_arg(ap, mode_t) : 0; \
		va_end(ap); \
	} while (0)

WRAP(int, open64, (const char *path, int flags, ...))
{
	mode_t mode;

	MODE(flags, mode);
	if (!is_cloud(path) && fails(OPENS | (MAKES(flags) ? NEEDS_ROOM : 0)))
		return -1;
	return opened(__real_open64(path, flags, mode), path);
}

WRAP(int, openat64, (int at, const char *path, int flags, ...))
{
	mode_t mode;

	MODE(flags, mode);
	if (!fd_is_cloud(at) && fails(OPENS | (MAKES(flags) ? NEEDS_ROOM : 0)))
		return -1;
	return opened_as(__real_openat64(at, path, flags, mode), fd_is_cloud(at));
}

WRAP(DIR *, opendir, (const char *path))
{
	DIR *d;

	if (!is_cloud(path) && fails(OPENS))
		return NULL;
	d = __real_opendir(path);
	if (d)
		opened(dirfd(d), path);
	return d;
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
	return !fd_is_cloud(to_at) && fails(NEEDS_ROOM) ? -1
		: __real_renameat(from_at, from, to_at, to);
}

WRAP(int, linkat, (int from_at, const char *from, int to_at, const char *to,
	int flags))
{
	return !fd_is_cloud(to_at) && fails(NEEDS_ROOM) ? -1
		: __real_linkat(from_at, from, to_at, to, flags);
}

WRAP(int, symlinkat, (const char *target, int at, const char *path))
{
	return fails(NEEDS_ROOM) ? -1 : __real_symlinkat(target, at, path);
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

/* --- looks ------------------------------------------------------------------- */
WRAP(int, stat64, (const char *path, void *st))
{
	return !is_cloud(path) && fails(LOOKS) ? -1 : __real_stat64(path, st);
}

WRAP(int, lstat64, (const char *path, void *st))
{
	return !is_cloud(path) && fails(LOOKS) ? -1 : __real_lstat64(path, st);
}

WRAP(int, fstat64, (int fd, void *st))
{
	return !fd_is_cloud(fd) && fails(LOOKS) ? -1 : __real_fstat64(fd, st);
}

WRAP(int, fstatat64, (int at, const char *path, void *st, int flags))
{
	return fails(LOOKS) ? -1 : __real_fstatat64(at, path, st, flags);
}

WRAP(int, access, (const char *path, int how))
{
	return !is_cloud(path) && fails(LOOKS) ? -1 : __real_access(path, how);
}

WRAP(int, faccessat, (int at, const char *path, int how, int flags))
{
	return fails(LOOKS) ? -1 : __real_faccessat(at, path, how, flags);
}

WRAP(struct dirent *, readdir64, (DIR *d))
{
	return !fd_is_cloud(dirfd(d)) && fails(LOOKS) ? NULL
		: __real_readdir64(d);
}

WRAP(off_t, lseek64, (int fd, off_t at, int whence))
{
	return fails(LOOKS) ? -1 : __real_lseek64(fd, at, whence);
}

WRAP(ssize_t, readlink, (const char *path, char *to, size_t n))
{
	return fails(LOOKS) ? -1 : __real_readlink(path, to, n);
}

WRAP(ssize_t, readlinkat, (int at, const char *path, char *to, size_t n))
{
	return fails(LOOKS) ? -1 : __real_readlinkat(at, path, to, n);
}

WRAP(char *, realpath, (const char *path, char *to))
{
	return fails(LOOKS) ? NULL : __real_realpath(path, to);
}

WRAP(char *, getcwd, (char *to, size_t n))
{
	return fails(LOOKS) ? NULL : __real_getcwd(to, n);
}

WRAP(int, statvfs64, (const char *path, void *v))
{
	return fails(LOOKS) ? -1 : __real_statvfs64(path, v);
}

/* --- removes and closes -------------------------------------------------------- */
WRAP(int, unlink, (const char *path))
{
	return !is_cloud(path) && fails(REMOVES) ? -1 : __real_unlink(path);
}

WRAP(int, unlinkat, (int at, const char *path, int flags))
{
	return !fd_is_cloud(at) && fails(REMOVES) ? -1
		: __real_unlinkat(at, path, flags);
}

WRAP(int, rmdir, (const char *path))
{
	return !is_cloud(path) && fails(REMOVES) ? -1 : __real_rmdir(path);
}

/* The descriptor is gone all the same, as on Linux. */
WRAP(int, close, (int fd))
{
	bool cloud = fd_is_cloud(fd);
	int r = __real_close(fd);

	return r == 0 && fd > 2 && !cloud && fails(CLOSES) ? -1 : r;
}

/* --- what else the kernel lends -------------------------------------------------- */
WRAP(DIR *, fdopendir, (int fd))
{
	return fails(OPENS) ? NULL : __real_fdopendir(fd);
}

WRAP(int, fcntl64, (int fd, int what, ...))
{
	bool copies = what == F_DUPFD || what == F_DUPFD_CLOEXEC;
	long arg;
	va_list ap;
	int r;

	va_start(ap, what);
	arg = va_arg(ap, long);
	va_end(ap);
	if (!fd_is_cloud(fd) && fails(copies ? OPENS : OTHER))
		return -1;
	r = __real_fcntl64(fd, what, arg);
	return copies ? opened_as(r, fd_is_cloud(fd)) : r;
}

WRAP(int, pipe2, (int *fds, int flags))
{
	return fails(OPENS) ? -1 : __real_pipe2(fds, flags);
}

WRAP(int, socket, (int domain, int type, int protocol))
{
	return fails(OPENS) ? -1 : __real_socket(domain, type, protocol);
}

WRAP(int, inotify_init1, (int flags))
{
	return fails(OPENS) ? -1 : __real_inotify_init1(flags);
}

WRAP(int, inotify_add_watch, (int fd, const char *path, uint32_t mask))
{
	return fails(OTHER) ? -1 : __real_inotify_add_watch(fd, path, mask);
}

WRAP(int, flock, (int fd, int how))
{
	return !fd_is_cloud(fd) && fails(OTHER) ? -1 : __real_flock(fd, how);
}

WRAP(int, poll, (struct pollfd *p, nfds_t n, int timeout))
{
	return fails(OTHER) ? -1 : __real_poll(p, n, timeout);
}

WRAP(int, fchmod, (int fd, mode_t mode))
{
	return fails(OTHER) ? -1 : __real_fchmod(fd, mode);
}

WRAP(int, futimens, (int fd, const struct timespec *times))
{
	return !fd_is_cloud(fd) && fails(OTHER) ? -1
		: __real_futimens(fd, times);
}

WRAP(int, utimensat, (int at, const char *path, const struct timespec *times,
	int flags))
{
	return fails(OTHER) ? -1 : __real_utimensat(at, path, times, flags);
}

WRAP(pid_t, fork, (void))
{
	return fails(OPENS | STARTS) ? -1 : __real_fork();
}

WRAP(int, pthread_create, (pthread_t *thread, const pthread_attr_t *attr,
	void *(*run)(void *arg), void *arg))
{
	return fails(OPENS | STARTS) ? EAGAIN
		: __real_pthread_create(thread, attr, run, arg);
}
