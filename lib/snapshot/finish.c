/* The parts of a restore that must wait for the end: links, because one that
 * exists could be in the way of a file's folder, and the modes and times of
 * folders, because filling a folder needs the one and changes the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "snapshot/restore.h"

static void set_times(struct timespec times[2], int64_t ns)
{
	times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
	times[1].tv_sec = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
	times[1].tv_nsec = (long)(ns - (int64_t)times[1].tv_sec * 1000000000);
}

static int keep_later(struct gpc_restore *x, const struct gpc_line *line,
	struct gpc_error *err)
{
	bool is_link = line->kind == GPC_ENTRY_LINK;
	struct gpc_later *l, kept = { .mtime_ns = line->mtime_ns,
		.mode = line->mode };

	kept.path = gpc_arena_copy(x->arena, line->path, strlen(line->path));
	if (is_link)
		kept.target = gpc_arena_copy(x->arena, line->target,
			strlen(line->target));
	if (!kept.path || (is_link && !kept.target))
		return gpc_fail_memory(err, "folders and links");
	l = is_link ? gpc_vec_try_push(&x->links) : gpc_vec_try_push(&x->dirs);
	if (!l)
		return gpc_fail_memory(err, "folders and links");
	*l = kept;
	return 0;
}

int gpc_restore_dir(struct gpc_restore *x, struct gpc_restore_worker *w,
	const struct gpc_line *line, struct gpc_error *err)
{
	const char *name;
	struct stat st;
	int dir, r;

	if (line->kind == GPC_ENTRY_LINK)
		return keep_later(x, line, err);
	r = gpc_restore_parent(x, w, line->path, &dir, &name, err);
	if (r < 0)
		return r;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!S_ISDIR(st.st_mode) && !x->o->overwrite)
			return gpc_restore_fail(line->path, ENOTDIR, err);
		if (!S_ISDIR(st.st_mode) && unlinkat(dir, name, 0) < 0)
			return gpc_restore_fail(line->path, errno, err);
		if (S_ISDIR(st.st_mode) && !x->o->overwrite)
			return 0;
	} else if (errno != ENOENT) {
		return gpc_restore_fail(line->path, errno, err);
	}
	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return gpc_restore_fail(line->path, errno, err);
	return keep_later(x, line, err);
}

static int make_link(struct gpc_restore *x, struct gpc_restore_worker *w,
	const struct gpc_later *l, struct gpc_error *err)
{
	struct timespec times[2];
	char temp[GPC_DRAFT_NAME_SIZE];
	const char *name;
	bool keeps = false;
	int dir, r = gpc_restore_parent(x, w, l->path, &dir, &name, err);

	if (r == 0)
		r = gpc_restore_keeps(x, dir, name, l->path, &keeps, err);
	if (r < 0 || keeps)
		return r;
	gpc_draft_name(temp);
	if (symlinkat(l->target, dir, temp) < 0)
		return gpc_restore_fail(l->path, errno, err);
	set_times(times, l->mtime_ns);
	if (utimensat(dir, temp, times, AT_SYMLINK_NOFOLLOW) < 0
		|| renameat(dir, temp, dir, name) < 0) {
		r = gpc_restore_fail(l->path, errno, err);
		unlinkat(dir, temp, 0);
	}
	return r;
}

/* Children come first: the mode of a folder may close it to us. */
static int end_dir(struct gpc_restore_worker *w, const struct gpc_later *l,
	struct gpc_error *err)
{
	struct timespec times[2];
	struct gpc_error why = {0};
	int fd;

	set_times(times, l->mtime_ns);
	if (gpc_beneath_dir(&w->top, l->path, strlen(l->path), 0, &fd, &why) < 0)
		return gpc_restore_fail(l->path, why.sys, err);
	if (fchmod(fd, l->mode & 0777) < 0 || futimens(fd, times) < 0)
		return gpc_restore_fail(l->path, errno, err);
	return 0;
}

int gpc_restore_finish(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < x->links.n; i++)
		r = make_link(x, w, &x->links.v[i], err);
	for (size_t i = x->dirs.n; r == 0 && i-- > 0;)
		r = end_dir(w, &x->dirs.v[i], err);
	return r;
}
