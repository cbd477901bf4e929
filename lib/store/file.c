/* file://: a folder as an object store, on a local disk or a shared mount.
 *
 * An object is a file that was complete before its name existed: bytes go to a
 * temporary file in the same folder, are made durable, and then get the name by
 * link (if-absent: exactly one of several writers can have it) or by rename (a
 * plain put: old bytes or new, never a mixture). NFS may answer EEXIST to one's
 * own success, so the inode decides. Everything goes through one descriptor of
 * the root, so that a store that is deleted under us is an error and not a new
 * empty store. Folders appear with their first object and go with their last.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "store/file_walk.h"
#include "store/file_watch.h"

#define TEMP_PREFIX ".tmp-"
#define TRIES 100                   /* a folder may vanish between two calls */
#define CHUNK ((size_t)256 << 10)

struct file_state {
	int root;
	char *path;
	struct gpc_file_watch *watch;
};

/* --- names and errors -------------------------------------------------- */

static struct file_state *state_of(const struct gpc_store *s)
{
	return s->state;
}

/* The folder of a key, "." for the root. */
static void folder_of(const char *key, char ret_dir[520])
{
	const char *slash = strrchr(key, '/');
	size_t n = slash ? (size_t)(slash - key) : 0;

	if (n == 0) {
		memcpy(ret_dir, ".", 2);
		return;
	}
	memcpy(ret_dir, key, n);
	ret_dir[n] = '\0';
}

static bool is_secret(const char *key)
{
	return gpc_starts_with(key, "secrets/");
}

static bool is_forbidden(int sys)
{
	return sys == EACCES || sys == EPERM || sys == EROFS;
}

static int fail_at(const struct gpc_store *s, const char *verb,
	const char *key, int sys, struct gpc_error *err)
{
	const char *path = state_of(s)->path;

	if (is_forbidden(sys)) {
		struct gpc_error why;

		(void)gpc_fail_sys(&why, sys, "cannot %s %s/%s", verb, path,
			key);
		(void)gpc_fail(err, GPC_EAUTH, "%s", why.msg);
		gpc_hint(err, "make %s writable for this user, or choose "
			"another store", path);
		return -GPC_EAUTH;
	}
	if (sys == ENOTDIR || sys == EISDIR)
		return gpc_fail(err, GPC_EPROTO, "cannot %s %s/%s: a part of "
			"this key is an object, or the key is a folder", verb,
			path, key);
	(void)gpc_fail_sys(err, sys, "cannot %s %s/%s", verb, path, key);
	if (sys == ENOSPC || sys == EDQUOT)
		gpc_hint(err, "free space on the disk that holds %s", path);
	if (sys == EEXIST)
		return -GPC_ECONFLICT;
	if (sys == ENOENT)
		return -GPC_ENOTFOUND;
	return gpc_recode(err, GPC_EIO);
}

static int fail_absent(const struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	return gpc_fail(err, GPC_ENOTFOUND, "%s/%s does not exist",
		state_of(s)->path, key);
}

/* --- open -------------------------------------------------------------- */

static int file_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	struct file_state *f = s->state;
	int fd, r;

	if (flags & GPC_STORE_CREATE) {
		struct gpc_error why = {0};

		r = gpc_mkdirs(where, 0700, &why);
		if (r < 0 && is_forbidden(why.sys))
			gpc_hint(&why, "make the folder above it writable for "
				"this user, or choose another store");
		if (r < 0 && err)
			*err = why;
		if (r < 0)
			return gpc_wrap(err, r, "store %s", s->url);
	}
	fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		int sys = errno;

		r = gpc_fail_sys(err, sys, "cannot open the store folder %s",
			where);
		if (sys == ENOENT)
			gpc_hint(err, "the first `gpucloud submit` makes it");
		return r;
	}
	f->root = fd;
	f->path = gpc_strdup(where);
	f->watch = gpc_file_watch_new();
	s->caps = GPC_STORE_IF_ABSENT | GPC_STORE_APPEND | GPC_STORE_LOCAL;
	return 0;
}

static void file_close(struct gpc_store *s)
{
	struct file_state *f = s->state;

	gpc_file_watch_free(f->watch);
	gpc_close(&f->root);
	free(f->path);
}

/* --- folders ----------------------------------------------------------- */

static int sync_folder(int root, const char *dir)
{
	gpc_autofd fd = openat(root, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	/* Some network file systems cannot sync a folder and need not. */
	if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return errno;
	return 0;
}

/* Makes the folders of a key and makes their names durable, unless `later`: 0
 * or an errno. */
static int make_folders(int root, const char *key, bool later)
{
	char dir[520], parent[520];
	unsigned mode = is_secret(key) ? 0700 : 0777;
	const char *p = key;

	while ((p = strchr(p, '/')) != NULL) {
		size_t n = (size_t)(p++ - key);

		memcpy(dir, key, n);
		dir[n] = '\0';
		if (mkdirat(root, dir, (mode_t)mode) == 0) {
			int sys;

			GPC_CRASH("store.folder_made");
			folder_of(dir, parent);
			sys = later ? 0 : sync_folder(root, parent);
			if (sys)
				return sys;
		} else if (errno != EEXIST) {
			return errno;
		}
	}
	return 0;
}

/* Opens a new file beside where key will be: its descriptor, or -errno. */
static int open_beside(int root, const char *key, const char *name, int flags,
	unsigned mode, bool later)
{
	int i, fd, sys;

	for (i = 0; i < TRIES; i++) {
		fd = openat(root, name, flags | O_CLOEXEC, (mode_t)mode);
		if (fd >= 0)
			return fd;
		if (errno == EINTR)
			continue;
		if (errno != ENOENT)
			return -errno;
		sys = make_folders(root, key, later);
		/* ENOENT: a delete took an upper folder away meanwhile. */
		if (sys && sys != ENOENT)
			return -sys;
	}
	return -ENOENT;
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
		return fail_at(s, "write", key, err->sys, err);
	if (r < 0)
		return r;
	if (flags & GPC_PUT_UNSYNCED)
		gpc_start_writeback(fd);
	else if (!(flags & GPC_PUT_HINT) && fsync(fd) < 0)
		return fail_at(s, "sync", key, errno, err);
	return 0;
}

static bool same_file(int fd, int root, const char *key)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 &&
		fstatat(root, key, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* Gives the finished file its name, if nothing has it. */
static int link_once(struct gpc_store *s, int fd, const char *temp,
	const char *key, struct gpc_error *err)
{
	int root = state_of(s)->root;
	int sys;

	if (linkat(root, temp, root, key, 0) == 0)
		return 0;
	sys = errno;
	if (same_file(fd, root, key))
		return 0;
	if (sys == EEXIST)
		return gpc_fail(err, GPC_ECONFLICT, "%s/%s exists already",
			state_of(s)->path, key);
	if (sys == EPERM || sys == ENOTSUP || sys == EOPNOTSUPP ||
		sys == ENOSYS || sys == EMLINK)
		return gpc_fail(err, GPC_EUNSUPPORTED, "the file system of %s "
			"has no hard links", state_of(s)->path);
	return fail_at(s, "create", key, sys, err);
}

static int publish(struct gpc_store *s, int fd, const char *temp,
	const char *key, unsigned flags, struct gpc_error *err)
{
	int root = state_of(s)->root;
	char dir[520];
	int r = 0, sys;

	if (flags & GPC_PUT_IF_ABSENT) {
		r = link_once(s, fd, temp, key, err);
		GPC_CRASH("store.linked");
		unlinkat(root, temp, 0);
	} else if (renameat(root, temp, root, key) < 0) {
		r = fail_at(s, "replace", key, errno, err);
		unlinkat(root, temp, 0);
	}
	GPC_CRASH("store.named");
	if (r < 0 || (flags & (GPC_PUT_HINT | GPC_PUT_UNSYNCED)))
		return r;
	folder_of(key, dir);
	sys = sync_folder(root, dir);
	if (!sys)
		return 0;
	r = fail_at(s, "sync the folder of", key, sys, err);
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

static int file_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	struct file_state *f = s->state;
	struct gpc_error local;
	char temp[560];
	struct stat st;
	gpc_autofd fd = -1;
	int r;

	if (!err)
		err = &local;
	/* Spares writing a large object that is there already. */
	if ((flags & GPC_PUT_IF_ABSENT) &&
		fstatat(f->root, key, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return gpc_fail(err, GPC_ECONFLICT, "%s/%s exists already",
			f->path, key);
	temp_name(key, temp);
	fd = open_beside(f->root, key, temp, O_WRONLY | O_CREAT | O_EXCL,
		is_secret(key) ? 0600 : 0666, flags & GPC_PUT_UNSYNCED);
	if (fd < 0) {
		int sys = -fd;

		fd = -1;
		return fail_at(s, "create", key, sys, err);
	}
	r = write_body(s, fd, key, body, flags, err);
	GPC_CRASH("store.written");
	if (r < 0) {
		unlinkat(f->root, temp, 0);
		return r;
	}
	return publish(s, fd, temp, key, flags, err);
}

/* The file, and every folder up to the root: what is durable already costs
 * next to nothing. */
static int file_sync(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	int root = state_of(s)->root, sys;
	gpc_autofd fd = openat(root, key, O_RDONLY | O_CLOEXEC);
	char dir[520], upper[520];

	if (fd < 0 || fsync(fd) < 0)
		return fail_at(s, "sync", key, errno, err);
	folder_of(key, dir);
	for (;;) {
		sys = sync_folder(root, dir);
		if (sys)
			return fail_at(s, "sync the folder of", key, sys, err);
		if (strcmp(dir, ".") == 0)
			return 0;
		folder_of(dir, upper);
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
		return fail_at(s, "read", key, errno, err);
	if ((uint64_t)st.st_size != offset)
		return gpc_fail(err, GPC_ECONFLICT, "%s/%s has %lld bytes, an "
			"append at %llu does not fit", state_of(s)->path, key,
			(long long)st.st_size, (unsigned long long)offset);
	r = gpc_pwrite_all(fd, data, n, (int64_t)offset, key, &local);
	if (r == 0)
		return 0;
	/* Half an append would make the caller's next offset wrong. */
	if (ftruncate(fd, (off_t)offset) < 0)
		gpc_log(s->log, GPC_WARN, "%s: cannot undo half an append to "
			"%s", s->url, key);
	return fail_at(s, "append to", key, local.sys ? local.sys : EIO, err);
}

static int file_append(struct gpc_store *s, const char *key, uint64_t offset,
	const void *data, size_t n, bool sync, struct gpc_error *err)
{
	struct file_state *f = s->state;
	/* Nobody may be made to wait for the reader of a pipe. */
	gpc_autofd fd = openat(f->root, key, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	bool made = false;
	char dir[520];
	int r, sys;

	if (fd < 0 && errno == ENOENT && offset == 0) {
		made = true;
		fd = open_beside(f->root, key, key, O_WRONLY | O_CREAT,
			is_secret(key) ? 0600 : 0666, false);
		if (fd < 0)
			errno = -fd;
	}
	if (fd < 0) {
		sys = errno;
		fd = -1;
		return fail_at(s, "append to", key, sys, err);
	}
	r = append_bytes(s, fd, key, offset, data, n, err);
	GPC_CRASH("store.appended");
	if (r < 0)
		return r;
	if (sync && fdatasync(fd) < 0)
		return fail_at(s, "sync", key, errno, err);
	if (!made)
		return 0;
	folder_of(key, dir);
	sys = sync_folder(f->root, dir);
	return sys ? fail_at(s, "sync the folder of", key, sys, err) : 0;
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
			return fail_at(s, "read", key, errno, err);
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
		return fail_at(s, "read", key, errno, err);
	if (fstat(fd, &st) < 0)
		return fail_at(s, "read", key, errno, err);
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
		return fail_at(s, "read", key, errno, err);
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
		return fail_at(s, "delete", key, sys, err);
	}
	GPC_CRASH("store.deleted");
	folder_of(key, dir);
	if (is_secret(key) && sync_folder(root, dir) == EIO)
		return fail_at(s, "sync the folder of", key, EIO, err);
	while (strcmp(dir, ".") != 0 && unlinkat(root, dir, AT_REMOVEDIR) == 0) {
		char below[520];

		memcpy(below, dir, sizeof(below));
		folder_of(below, dir);
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

static int file_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct listing l = { fn, arg };
	int sys = gpc_file_walk(state_of(s)->root, prefix, after, list_file,
		&l);

	return sys ? fail_at(s, "list", prefix, sys, err) : 0;
}

static void file_wait(struct gpc_store *s, const char *prefix, int timeout_ms)
{
	struct file_state *f = s->state;
	gpc_autostr *folder = gpc_format("%s/%s", f->path, prefix);

	gpc_file_watch_wait(f->watch, folder, timeout_ms);
}

const struct gpc_store_ops gpc_store_file = {
	.scheme = "file",
	.state_size = sizeof(struct file_state),
	.open = file_open,
	.close = file_close,
	.get = file_get,
	.put = file_put,
	.head = file_head,
	.list = file_list,
	.del = file_del,
	.append = file_append,
	.sync = file_sync,
	.wait = file_wait,
};
