/* What a store that is a folder gets: puts, appends and late syncs. How a file is
 * complete before its name exists is told in file.c.
 */
#include "store/file_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"

#define TEMP_PREFIX GPC_STORE_TEMP
#define SWEPT_TRIES 3
#define CHUNK ((size_t)256 << 10)

static int root_of(const struct gpc_store *s)
{
	return ((const struct gpc_file_state *)s->state)->root;
}

static const char *path_of(const struct gpc_store *s)
{
	return ((const struct gpc_file_state *)s->state)->path;
}

/* --- put --------------------------------------------------------------- */

static int copy_from_fd(int fd, const struct gpc_body *body, const char *name,
	struct gpc_error *err)
{
	size_t cap = body->size < CHUNK ? (size_t)body->size + 1 : CHUNK;
	gpc_autostr *chunk = gpc_array(cap, 1);
	uint64_t done = 0;

	while (done < body->size) {
		uint64_t left = body->size - done;
		size_t want = left < CHUNK ? (size_t)left : CHUNK;
		ssize_t n = pread(body->fd, chunk, want,
			(off_t)(body->offset + (int64_t)done));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = gpc_fail_sys(err, errno, "reading what %s gets",
				name);
			err->sys = 0;   /* not the store's */
			return r;
		}
		if (n == 0)
			return gpc_fail(err, GPC_EPROTO, "what %s gets ended "
				"%llu bytes early", name,
				(unsigned long long)left);
		r = gpc_write_all(fd, chunk, (size_t)n, name, err);
		if (r < 0)
			return r;
		done += (uint64_t)n;
	}
	return 0;
}

static int write_body(struct gpc_store *s, int fd, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	int r;

	if (body->data)
		r = gpc_write_all(fd, body->data, (size_t)body->size, key, err);
	else
		r = copy_from_fd(fd, body, key, err);
	if (r < 0 && err->sys)
		return gpc_file_fail_at(s, "write", key, err->sys, err);
	if (r < 0)
		return r;
	if (flags & GPC_PUT_UNSYNCED)
		gpc_start_writeback(fd);
	else if (!(flags & GPC_PUT_HINT) && fsync(fd) < 0)
		return gpc_file_fail_at(s, "sync", key, errno, err);
	return 0;
}

static bool same_file(int fd, int root, const char *key)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 &&
		fstatat(root, key, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* Gives the finished file its name, if nothing has it. *ret_swept: somebody took
 * it for a dead writer's. */
static int link_once(struct gpc_store *s, int fd, const char *temp,
	const char *key, bool *ret_swept, struct gpc_error *err)
{
	int root = root_of(s);
	int sys;

	if (linkat(root, temp, root, key, 0) == 0)
		return 0;
	sys = errno;
	if (same_file(fd, root, key))
		return 0;
	*ret_swept = sys == ENOENT;
	if (sys == EEXIST)
		return gpc_fail(err, GPC_ECONFLICT, "%s/%s exists already",
			path_of(s), key);
	if (sys == EPERM || sys == ENOTSUP || sys == EOPNOTSUPP ||
		sys == ENOSYS || sys == EMLINK)
		return gpc_fail(err, GPC_EUNSUPPORTED, "the file system of %s "
			"has no hard links", path_of(s));
	return gpc_file_fail_at(s, "create", key, sys, err);
}

static int publish(struct gpc_store *s, int fd, const char *temp,
	const char *key, unsigned flags, bool *ret_swept, struct gpc_error *err)
{
	int root = root_of(s);
	char dir[520];
	int r = 0, sys;

	if (flags & GPC_PUT_IF_ABSENT) {
		r = link_once(s, fd, temp, key, ret_swept, err);
		GPC_CRASH("store.linked");
		unlinkat(root, temp, 0);
	} else if (renameat(root, temp, root, key) < 0) {
		*ret_swept = errno == ENOENT;
		r = gpc_file_fail_at(s, "replace", key, errno, err);
		unlinkat(root, temp, 0);
	}
	GPC_CRASH("store.named");
	if (r < 0 || (flags & (GPC_PUT_HINT | GPC_PUT_UNSYNCED)))
		return r;
	gpc_file_folder_of(key, dir);
	sys = gpc_file_sync_folder(root, dir);
	if (!sys)
		return 0;
	r = gpc_file_fail_at(s, "sync the folder of", key, sys, err);
	err->sys = 0;           /* it is there: even ENOSPC is unclear here */
	return r;
}

static void temp_name(const char *key, char ret_temp[560])
{
	const char *slash = strrchr(key, '/');
	size_t n = slash ? (size_t)(slash + 1 - key) : 0;

	memcpy(ret_temp, key, n);
	memcpy(ret_temp + n, TEMP_PREFIX, sizeof(TEMP_PREFIX));
	gpc_rand_base32(ret_temp + n + sizeof(TEMP_PREFIX) - 1, 16);
}

static int put_once(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, bool *ret_swept,
	struct gpc_error *err)
{
	struct gpc_file_state *f = s->state;
	char temp[560];
	struct stat st;
	gpc_autofd fd = -1;
	int r;

	*ret_swept = false;
	/* Spares writing a large object that is there already. */
	if ((flags & GPC_PUT_IF_ABSENT) &&
		fstatat(f->root, key, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return gpc_fail(err, GPC_ECONFLICT, "%s/%s exists already",
			f->path, key);
	temp_name(key, temp);
	fd = gpc_file_open_beside(f, key, temp, O_WRONLY | O_CREAT | O_EXCL,
		flags & GPC_PUT_UNSYNCED);
	if (fd < 0) {
		int sys = -fd;

		fd = -1;
		return gpc_file_fail_at(s, "create", key, sys, err);
	}
	r = write_body(s, fd, key, body, flags, err);
	GPC_CRASH("store.written");
	if (r < 0) {
		unlinkat(f->root, temp, 0);
		return r;
	}
	return publish(s, fd, temp, key, flags, ret_swept, err);
}

/* A writer that was stopped for long may find its temporary file swept: then
 * nothing has happened yet. */
int gpc_file_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	struct gpc_error local;
	bool swept = true;
	int r = 0;

	for (int i = 0; swept && i < SWEPT_TRIES; i++)
		r = put_once(s, key, body, flags, &swept, err ? err : &local);
	return r;
}

/* The file, and every folder up to the root: what is durable already costs
 * next to nothing. */
int gpc_file_sync(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	int root = root_of(s), sys;
	gpc_autofd fd = openat(root, key, O_RDONLY | O_CLOEXEC);
	char dir[520], upper[520];

	if (fd < 0 || fsync(fd) < 0)
		return gpc_file_fail_at(s, "sync", key, errno, err);
	gpc_file_folder_of(key, dir);
	for (;;) {
		sys = gpc_file_sync_folder(root, dir);
		if (sys)
			return gpc_file_fail_at(s, "sync the folder of", key,
				sys, err);
		if (strcmp(dir, ".") == 0)
			return 0;
		gpc_file_folder_of(dir, upper);
		memcpy(dir, upper, sizeof(dir));
	}
}

/* --- append ------------------------------------------------------------ */

static int append_bytes(struct gpc_store *s, int fd, const char *key,
	uint64_t offset, const void *data, size_t n, struct gpc_error *err)
{
	struct stat st;
	struct gpc_error local;
	int r;

	if (fstat(fd, &st) < 0)
		return gpc_file_fail_at(s, "read", key, errno, err);
	if ((uint64_t)st.st_size != offset)
		return gpc_fail(err, GPC_ECONFLICT, "%s/%s has %lld bytes, an "
			"append at %llu does not fit", path_of(s), key,
			(long long)st.st_size, (unsigned long long)offset);
	r = gpc_pwrite_all(fd, data, n, (int64_t)offset, key, &local);
	if (r == 0)
		return 0;
	/* Half an append would make the caller's next offset wrong. */
	if (ftruncate(fd, (off_t)offset) < 0)
		gpc_log(s->log, GPC_WARN, "%s: cannot undo half an append to "
			"%s", s->url, key);
	return gpc_file_fail_at(s, "append to", key,
		local.sys ? local.sys : EIO, err);
}

int gpc_file_append(struct gpc_store *s, const char *key, uint64_t offset,
	const void *data, size_t n, bool sync, struct gpc_error *err)
{
	struct gpc_file_state *f = s->state;
	/* Nobody may be made to wait for the reader of a pipe. */
	gpc_autofd fd = openat(f->root, key, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	bool made = false;
	char dir[520];
	int r, sys;

	if (fd < 0 && errno == ENOENT && offset == 0) {
		made = true;
		fd = gpc_file_open_beside(f, key, key, O_WRONLY | O_CREAT,
			false);
		if (fd < 0)
			errno = -fd;
	}
	if (fd < 0) {
		sys = errno;
		fd = -1;
		return gpc_file_fail_at(s, "append to", key, sys, err);
	}
	r = append_bytes(s, fd, key, offset, data, n, err);
	GPC_CRASH("store.appended");
	if (r < 0)
		return r;
	if (sync && fdatasync(fd) < 0)
		return gpc_file_fail_at(s, "sync", key, errno, err);
	if (!made)
		return 0;
	gpc_file_folder_of(key, dir);
	sys = gpc_file_sync_folder(f->root, dir);
	if (!sys)
		return 0;
	return gpc_file_fail_at(s, "sync the folder of", key, sys, err);
}
