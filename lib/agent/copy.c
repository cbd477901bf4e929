/* Copying for artifacts that go to a folder. A file is written beside its place
 * and renamed, so that nobody meets half of one. */
#include "agent/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

enum { CHUNK = 256 * 1024, MAX_DEPTH = 256 };

static int copy_bytes(int in, int out, const char *from, const char *to,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_autostr *chunk = gpc_alloc(CHUNK);
	size_t n;
	int r;

	do {
		if (gpc_canceled(cancel))
			return gpc_fail(err, GPC_ECANCELED, "stopped");
		r = gpc_read_full(in, chunk, CHUNK, from, &n, err);
		if (r == 0)
			r = gpc_write_all(out, chunk, n, to, err);
	} while (r == 0 && n == CHUNK);
	return r;
}

static int copy_file(const char *from, const char *to, const struct stat *st,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_autostr *part = gpc_format("%s.gpc-part", to);
	struct timespec times[2] = { st->st_atim, st->st_mtim };
	gpc_autofd in = -1, out = -1;
	bool made;
	int r = gpc_open(from, O_RDONLY, 0, &in, err);

	if (r == 0)
		r = gpc_open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600, &out, err);
	if (r == 0)
		r = copy_bytes(in, out, from, to, cancel, err);
	GPC_CRASH("copy.written");
	made = out >= 0;
	if (r == 0 && (fchmod(out, st->st_mode & 07777) < 0
		|| futimens(out, times) < 0))
		r = gpc_fail_sys(err, errno, "cannot write %s", to);
	if (r == 0) {
		int sys = gpc_close_written(&out);

		if (!sys && rename(part, to) < 0)
			sys = errno;
		if (sys)
			r = gpc_fail_sys(err, sys, "cannot write %s", to);
	}
	if (r < 0 && made)
		unlink(part);
	return r;
}

static int copy_link(const char *from, const char *to, struct gpc_error *err)
{
	char target[4096];
	ssize_t n = readlink(from, target, sizeof(target) - 1);

	if (n < 0)
		return gpc_fail_sys(err, errno, "cannot read link %s", from);
	target[n] = '\0';
	unlink(to);
	if (symlink(target, to) < 0)
		return gpc_fail_sys(err, errno, "cannot make link %s", to);
	return 0;
}

static int copy_entry(const char *from, const char *to, int depth,
	const struct gpc_cancel *cancel, struct gpc_error *err);

static int copy_dir(const char *from, const char *to, mode_t mode, int depth,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct dirent *e;
	DIR *d;
	int r = depth > MAX_DEPTH ? gpc_fail(err, GPC_EPROTO,
		"%s: folders too deep", from) : gpc_mkdirs(to, 0755, err);

	if (r < 0)
		return r;
	d = opendir(from);
	if (!d)
		return gpc_fail_sys(err, errno, "cannot list %s", from);
	while (r == 0 && (errno = 0, e = readdir(d))) {
		gpc_autostr *a = NULL, *b = NULL;

		if (gpc_eq(e->d_name, ".") || gpc_eq(e->d_name, ".."))
			continue;
		a = gpc_path_join(from, e->d_name);
		b = gpc_path_join(to, e->d_name);
		r = copy_entry(a, b, depth + 1, cancel, err);
	}
	if (r == 0 && errno != 0)
		r = gpc_fail_sys(err, errno, "cannot list %s", from);
	closedir(d);
	/* Last: a folder that may not be written must still be filled. */
	if (r == 0 && depth > 0)
		chmod(to, mode & 07777);
	return r;
}

static int copy_entry(const char *from, const char *to, int depth,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct stat st;

	if ((depth ? lstat(from, &st) : stat(from, &st)) < 0)
		return gpc_fail_sys(err, errno, "cannot read %s", from);
	if (S_ISDIR(st.st_mode))
		return copy_dir(from, to, st.st_mode, depth, cancel, err);
	if (S_ISLNK(st.st_mode))
		return copy_link(from, to, err);
	if (S_ISREG(st.st_mode))
		return copy_file(from, to, &st, cancel, err);
	return 0;
}

int gpc_copy_tree(const char *from, const char *to,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_autostr *target = gpc_strdup(to);
	gpc_autostr *dir = NULL;
	struct stat st;
	int r;

	if (stat(from, &st) == 0 && !S_ISDIR(st.st_mode) && gpc_ends_with(to, "/")) {
		free(target);
		target = gpc_path_join(to, gpc_path_base(from));
	}
	dir = gpc_path_dir(target);
	r = gpc_mkdirs(dir, 0755, err);
	return r < 0 ? r : copy_entry(from, target, 0, cancel, err);
}
