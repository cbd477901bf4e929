/* See place.h. What comes from outside is walked part by part and follows no link;
 * what the user wrote is taken as any program takes it. */
#define _DEFAULT_SOURCE                 /* realpath, flock */
#include "transfer/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/str.h"

enum { TRIES = 8 };
#define HINT_NAME "copy that object by itself, to a name that a file can have: gpucloud " \
	"data cp URL FILE"

static void close_top(struct gpc_place_top *top)
{
	gpc_beneath_clear(&top->beneath);
	gpc_set_str(&top->root, NULL);
}

void gpc_place_top_clear(struct gpc_place_top *top)
{
	close_top(top);
	gpc_made_clear(&top->made);
}

static int open_top(struct gpc_place_top *top, const char *root,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r;

	if (top->beneath.is_open && gpc_eq(top->root, root))
		return 0;
	close_top(top);
	r = gpc_beneath_open(&top->beneath, root, &why);
	if (r < 0 && err)
		*err = why;
	/* Where something else has the place, making it says so. */
	if (r == -GPC_ENOTFOUND || why.sys == ENOTDIR) {
		gpc_made_note(&top->made, root);
		r = gpc_mkdirs(root, 0777, err);
		if (r == 0)
			r = gpc_beneath_open(&top->beneath, root, err);
	}
	if (r == 0)
		top->root = gpc_strdup(root);
	return r;
}

char *gpc_place_shown(const char *path, const char *below)
{
	gpc_autostr *all = below ? gpc_path_join(path, below) : gpc_strdup(path);

	return gpc_str_brief(all, GPC_PLACE_SHOWN);
}

static int refuse(const char *below, const char *why, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_brief(below, GPC_PLACE_SHOWN);
	int r = gpc_fail(err, GPC_EPROTO, "no file can be written for the name "
		"\"%s\": %s", shown, why);

	gpc_hint(err, HINT_NAME);
	return r;
}

/* How long a part may be is the file system's to say. */
static int explain(int r, struct gpc_error *err)
{
	if (r < 0 && err && err->sys == ENAMETOOLONG)
		gpc_hint(err, HINT_NAME);
	return r;
}

static int check_below(const char *below, struct gpc_error *err)
{
	const char *name = gpc_path_base(below);

	if (!gpc_path_is_inside(below))
		return refuse(below, "it would lead out of its folder, or has a "
			"part that is empty, \".\" or \"..\"", err);
	if (gpc_starts_with(name, GPC_PLACE_PREFIX))
		return refuse(below, "temporary files are called so", err);
	return 0;
}

/* A link in the user's own path is followed to the file that it names, so that this
 * one is replaced and not the link. */
static int resolve(const char *path, char **ret_path, struct gpc_error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode)) {
		*ret_path = gpc_strdup(path);
		return 0;
	}
	*ret_path = realpath(path, NULL);
	return *ret_path ? 0 : gpc_fail_sys(err, errno, "link %s", path);
}

static void keep_folders(struct gpc_place_top *top, const char *root,
	const char *inside)
{
	gpc_autostr *path = top->made.folders.n > 0 ? gpc_path_join(root, inside) : NULL;

	if (path)
		gpc_made_keep(&top->made, path);
}

static void remove_folders(struct gpc_place *p)
{
	struct gpc_place_top *top = p->top;

	if (!p->root || top->made.folders.n == 0)
		return;
	if (!gpc_eq(top->root, p->root)) {
		close_top(top);
		if (gpc_beneath_open(&top->beneath, p->root, NULL) == 0)
			top->root = gpc_strdup(p->root);
	}
	gpc_made_remove(&top->made, &top->beneath, p->root, p->inside);
	if (!top->beneath.is_open)
		close_top(top);
}

/* Splits it into folder, folder in that, and name. */
static int find_names(struct gpc_place *p, const char *path, const char *below,
	struct gpc_error *err)
{
	gpc_autostr *real = NULL;
	const char *slash;
	int r = below ? check_below(below, err) : resolve(path, &real, err);

	if (r < 0)
		return r;
	slash = below ? strrchr(below, '/') : NULL;
	p->root = below ? gpc_strdup(path) : gpc_path_dir(real);
	p->inside = gpc_strndup(slash ? below : "", slash ? (size_t)(slash - below) : 0);
	p->name = gpc_strdup(slash ? slash + 1 : below ? below : gpc_path_base(real));
	return 0;
}

static int open_dir(struct gpc_place *p, struct gpc_error *err)
{
	struct gpc_beneath *b = &p->top->beneath;
	int fd, r = open_top(p->top, p->root, err);

	if (r == 0)
		gpc_made_note_below(&p->top->made, b, p->root, p->inside);
	if (r == 0)
		r = gpc_beneath_dir(b, p->inside, strlen(p->inside),
			GPC_BENEATH_CREATE, &fd, err);
	if (r < 0)
		return r;
	p->dir = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return p->dir >= 0 ? 0 : gpc_fail_sys(err, errno, "%s", p->shown);
}

/* Renaming onto a device or a pipe would replace it. */
static int check_target(const struct gpc_place *p, struct gpc_error *err)
{
	struct stat st;
	int r;

	if (!*p->name || gpc_eq(p->name, ".") || gpc_eq(p->name, ".."))
		return gpc_fail(err, GPC_ECONFLICT, "%s names no file", p->shown);
	if (fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : gpc_fail_sys(err, errno, "%s",
			p->shown);
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return 0;
	r = gpc_fail(err, GPC_ECONFLICT, S_ISDIR(st.st_mode) ? "%s is a folder" :
		"%s is there and is no regular file", p->shown);
	if (err && S_ISDIR(st.st_mode))
		err->sys = EISDIR;
	return r;
}

/* A temporary of somebody else's, or one with other names, is not written to. */
static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1;
}

static int fail_busy(const struct gpc_place *p, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFLICT, "%s: another process is writing it just now",
		p->shown);

	gpc_hint(err, "the same copy may run already: wait until it has ended, then `gpucloud "
		"data sync` copies only what is still missing");
	return r;
}

/* 0: locked; 1: once more. */
static int open_once(struct gpc_place *p, struct gpc_error *err)
{
	struct stat is, named;

	p->fd = openat(p->dir, p->part, O_RDWR | O_CREAT | O_NOFOLLOW |
		O_NONBLOCK | O_CLOEXEC, 0666);
	if (p->fd < 0 && errno == ELOOP)
		return unlinkat(p->dir, p->part, 0) == 0 || errno == ENOENT ? 1 :
			gpc_fail_sys(err, errno, "%s", p->part);
	if (p->fd < 0) {
		bool nowhere = errno == ENOENT; /* its folder is open */
		int r = gpc_fail_sys(err, errno, "%s", p->shown);

		if (nowhere)
			gpc_hint(err, "no file can be made there: name another folder");
		return r;
	}
	if (flock(p->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return fail_busy(p, err);
	if (fstat(p->fd, &is) < 0)
		return gpc_fail_sys(err, errno, "%s", p->shown);
	if (fstatat(p->dir, p->part, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
		named.st_ino != is.st_ino || named.st_dev != is.st_dev)
		return 1;
	p->used = is.st_size > 0;
	if (is_ours(&is))
		return 0;
	return unlinkat(p->dir, p->part, 0) == 0 ? 1 :
		gpc_fail_sys(err, errno, "%s", p->part);
}

static int open_part(struct gpc_place *p, struct gpc_error *err)
{
	int r = 1;

	snprintf(p->part, sizeof(p->part), GPC_PLACE_PREFIX "%016" PRIx64,
		gpc_hash64(p->name, strlen(p->name)));
	for (int i = 0; r == 1 && i < TRIES; i++) {
		gpc_close(&p->fd);
		r = open_once(p, err);
	}
	return r == 1 ? gpc_fail(err, GPC_ECONFLICT, "%s: its temporary file is "
		"taken away again and again", p->shown) : r;
}

static int open_all(struct gpc_place *p, struct gpc_error *err)
{
	int r = open_dir(p, err);

	if (r == 0)
		r = check_target(p, err);
	return r < 0 ? r : open_part(p, err);
}

int gpc_place_open(struct gpc_place *p, struct gpc_place_top *top, const char *path,
	const char *below, struct gpc_error *err)
{
	int r;

	p->dir = p->fd = -1;
	p->is_open = true;
	p->top = top;
	p->shown = gpc_place_shown(path, below);
	r = find_names(p, path, below, err);
	if (r == 0)
		r = open_all(p, err);
	/* Another process may have taken away a folder that it had made. */
	if (r == -GPC_ENOTFOUND && p->root) {
		close_top(top);
		gpc_close(&p->dir);
		r = open_all(p, err);
	}
	if (r < 0) {
		remove_folders(p);
		gpc_place_close(p);
	}
	return explain(r, err);
}

static int fail_full(const struct gpc_place *p, uint64_t need, uint64_t room,
	struct gpc_error *err)
{
	char a[32], b[32];
	int r = gpc_fail(err, GPC_EIO, "%s: the disk has room for %s, and %s are to "
		"be written", p->shown, gpc_format_size(room, a, sizeof(a)),
		gpc_format_size(need, b, sizeof(b)));

	if (err)
		err->sys = ENOSPC;
	gpc_hint(err, "make room on that disk (see df -h), or name another folder");
	return r;
}

int gpc_place_size(struct gpc_place *p, uint64_t size, struct gpc_error *err)
{
	uint64_t room, have = 0;
	struct statvfs v;
	struct stat st;

	if (size > INT64_MAX)
		return gpc_fail(err, GPC_EPROTO, "%s: no file can be that large",
			p->shown);
	if (fstat(p->fd, &st) == 0)
		have = (uint64_t)st.st_blocks * 512;
	if (size > have && fstatvfs(p->fd, &v) == 0 && v.f_blocks > 0) {
		room = (uint64_t)v.f_bavail * (v.f_frsize ? v.f_frsize : v.f_bsize);
		if (room < size - have)
			return fail_full(p, size - have, room, err);
	}
	if (ftruncate(p->fd, (off_t)size) < 0)
		return gpc_fail_sys(err, errno, "%s", p->shown);
	return 0;
}

uint64_t gpc_place_number(const struct gpc_place *p)
{
	struct stat st;

	return fstat(p->fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

int gpc_place_empty(struct gpc_place *p, struct gpc_error *err)
{
	return ftruncate(p->fd, 0) == 0 ? 0 :
		gpc_fail_sys(err, errno, "%s", p->shown);
}

int gpc_place_write(struct gpc_place *p, const void *data, size_t n, uint64_t at,
	struct gpc_error *err)
{
	int r = gpc_pwrite_all(p->fd, data, n, (int64_t)at, p->shown, err);

	if (r < 0 && err && (err->sys == ENOSPC || err->sys == EDQUOT))
		gpc_hint(err, "make room on that disk (see df -h, quota), then run "
			"the same again");
	return r;
}

static int set_times(const struct gpc_place *p, int64_t ms)
{
	const struct timespec t[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) *
			1000000 } };

	return ms > 0 ? futimens(p->fd, t) : 0;
}

int gpc_place_commit(struct gpc_place *p, int64_t modified_ms, unsigned mode,
	struct gpc_error *err)
{
	int sys = gpc_flush_written(p->fd);

	if (sys)
		return gpc_fail_sys(err, sys, "%s", p->shown);
	if ((mode && fchmod(p->fd, mode & 07777) < 0) ||
		set_times(p, modified_ms) < 0 ||
		renameat(p->dir, p->part, p->dir, p->name) < 0)
		return gpc_fail_sys(err, errno, "%s", p->shown);
	p->part[0] = '\0';
	keep_folders(p->top, p->root, p->inside);
	gpc_place_close(p);
	return 0;
}

void gpc_place_drop(struct gpc_place *p)
{
	if (!p->is_open)
		return;
	if (p->fd >= 0 && p->part[0])
		(void)unlinkat(p->dir, p->part, 0);
	remove_folders(p);
	gpc_place_close(p);
}

void gpc_place_close(struct gpc_place *p)
{
	if (!p->is_open)
		return;
	gpc_close(&p->fd);
	gpc_close(&p->dir);
	gpc_set_str(&p->name, NULL);
	gpc_set_str(&p->shown, NULL);
	gpc_set_str(&p->root, NULL);
	gpc_set_str(&p->inside, NULL);
	p->is_open = false;
}

int gpc_place_folder(struct gpc_place_top *top, const char *path, const char *below,
	struct gpc_error *err)
{
	size_t n = below ? strlen(below) : 0;
	gpc_autostr *inside = NULL;
	int fd, r;

	if (!below)
		return gpc_mkdirs(path, 0777, err);
	while (n > 0 && below[n - 1] == '/')
		n--;
	inside = gpc_strndup(below, n);
	r = n > 0 ? check_below(inside, err) : 0;
	if (r == 0)
		r = open_top(top, path, err);
	if (r == 0)
		r = gpc_beneath_dir(&top->beneath, inside, n, GPC_BENEATH_CREATE, &fd,
			err);
	if (r == 0)
		keep_folders(top, path, inside);
	return r;
}
