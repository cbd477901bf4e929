/* file://: a folder as an object store, on a local disk or a shared mount.
 *
 * An object is a file that was complete before its name existed: bytes go to a
 * temporary file in the same folder, are made durable, and then get the name by
 * link (if-absent: exactly one of several writers can have it) or by rename (a
 * plain put: old bytes or new, never a mixture). NFS may answer EEXIST to one's
 * own success, so the inode decides. Folders appear with their first object and go
 * with their last. Who may read and write them is said in file_mode.c.
 */
#include "store/file_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "store/file_walk.h"
#include "store/file_watch.h"

#define CHUNK ((size_t)256 << 10)

/* --- names and errors -------------------------------------------------- */

static struct gpc_file_state *state_of(const struct gpc_store *s)
{
	return s->state;
}

static int fail_absent(const struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	return gpc_fail(err, GPC_ENOTFOUND, "%s/%s does not exist",
		state_of(s)->path, key);
}

/* --- close ------------------------------------------------------------- */

static void file_close(struct gpc_store *s)
{
	struct gpc_file_state *f = s->state;

	gpc_file_watch_free(f->watch);
	gpc_close(&f->root);
	free(f->path);
}

/* --- get, head, delete ------------------------------------------------- */

static void describe(const struct stat *st, struct gpc_object *o)
{
	o->size = (uint64_t)st->st_size;
#ifdef __APPLE__
	o->modified_ms = (int64_t)st->st_mtime * 1000;
#else
	o->modified_ms = (int64_t)st->st_mtim.tv_sec * 1000 +
		st->st_mtim.tv_nsec / 1000000;
#endif
	o->now_ms = gpc_wall_ms();
}

static int deliver(struct gpc_store *s, int fd, const char *key, int64_t at,
	uint64_t left, gpc_sink_fn *sink, void *arg, struct gpc_error *err)
{
	size_t cap = left < CHUNK ? (size_t)left + 1 : CHUNK;
	gpc_autostr *chunk = gpc_array(cap, 1);

	while (left > 0) {
		size_t want = left < CHUNK ? (size_t)left : CHUNK;
		ssize_t n = pread(fd, chunk, want, (off_t)at);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return gpc_file_fail_at(s, "read", key, errno, err);
		if (n == 0)
			return 0;
		r = sink(arg, chunk, (size_t)n, err);
		if (r != 0)
			return r;
		at += n;
		left -= (uint64_t)n;
	}
	return 0;
}

static int file_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	gpc_autofd fd = openat(state_of(s)->root, key,
		O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	uint64_t left;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return fail_absent(s, key, err);
	if (fd < 0)
		return gpc_file_fail_at(s, "read", key, errno, err);
	if (fstat(fd, &st) < 0)
		return gpc_file_fail_at(s, "read", key, errno, err);
	if (!S_ISREG(st.st_mode))
		return fail_absent(s, key, err);
	describe(&st, ret_o);
	if (offset >= (int64_t)st.st_size)
		return 0;
	left = (uint64_t)((int64_t)st.st_size - offset);
	if (length >= 0 && (uint64_t)length < left)
		left = (uint64_t)length;
	return deliver(s, fd, key, offset, left, sink, arg, err);
}

static int file_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	struct stat st;

	if (fstatat(state_of(s)->root, key, &st, 0) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return fail_absent(s, key, err);
		return gpc_file_fail_at(s, "read", key, errno, err);
	}
	if (!S_ISREG(st.st_mode))
		return fail_absent(s, key, err);
	describe(&st, ret_o);
	return 0;
}

/* A delete may come undone by a power cut: nothing relies on one but secrets. */
static int file_del(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	int root = state_of(s)->root;
	char dir[520];

	if (unlinkat(root, key, 0) < 0) {
		struct stat st;
		int sys = errno;

		if (sys == ENOENT || sys == ENOTDIR)
			return 0;
		if (fstatat(root, key, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISDIR(st.st_mode))
			return 0;
		return gpc_file_fail_at(s, "delete", key, sys, err);
	}
	GPC_CRASH("store.deleted");
	gpc_file_folder_of(key, dir);
	if (gpc_file_is_secret(key) && gpc_file_sync_folder(root, dir) == EIO)
		return gpc_file_fail_at(s, "sync the folder of", key, EIO, err);
	while (strcmp(dir, ".") != 0 && unlinkat(root, dir, AT_REMOVEDIR) == 0) {
		char below[520];

		memcpy(below, dir, sizeof(below));
		gpc_file_folder_of(below, dir);
	}
	return 0;
}

/* --- list and wait ----------------------------------------------------- */

struct listing { gpc_list_fn *fn; void *arg; };

static int list_file(void *arg, const char *key, const struct stat *st)
{
	const struct listing *l = arg;
	struct gpc_object o = {0};

	memcpy(o.key, key, strlen(key) + 1);
	describe(st, &o);
	return l->fn(l->arg, &o);
}

static int file_unfinished(struct gpc_store *s, const char *prefix,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct listing l = { fn, arg };
	int sys = gpc_file_walk_temps(state_of(s)->root, prefix, list_file, &l);

	return sys ? gpc_file_fail_at(s, "list", prefix, sys, err) : 0;
}

static int file_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct listing l = { fn, arg };
	int sys = gpc_file_walk(state_of(s)->root, prefix, after, list_file,
		&l);

	return sys ? gpc_file_fail_at(s, "list", prefix, sys, err) : 0;
}

static void file_wait(struct gpc_store *s, const char *prefix, int timeout_ms)
{
	struct gpc_file_state *f = s->state;
	gpc_autostr *folder = gpc_format("%s/%s", f->path, prefix);

	gpc_file_watch_wait(f->watch, folder, timeout_ms);
}

static void file_folders(struct gpc_store *s, struct gpc_strv *paths)
{
	gpc_strv_add(paths, ((const struct gpc_file_state *)s->state)->path);
}

/* Moved, it is still ours, and may come back. */
static bool file_is_gone(struct gpc_store *s)
{
	struct stat ours, there;

	if (fstat(state_of(s)->root, &ours) < 0)
		return false;
	if (stat(state_of(s)->path, &there) < 0)
		return errno == ENOENT;
	return ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

const struct gpc_store_ops gpc_store_file = {
	.scheme = "file",
	.state_size = sizeof(struct gpc_file_state),
	.open = gpc_file_open,
	.close = file_close,
	.get = file_get,
	.put = gpc_file_put,
	.head = file_head,
	.list = file_list,
	.del = file_del,
	.append = gpc_file_append,
	.sync = gpc_file_sync,
	.unfinished = file_unfinished,
	.drop = file_del,
	.wait = file_wait,
	.folders = file_folders,
	.is_gone = file_is_gone,
};
