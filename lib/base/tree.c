/* Making and removing folder trees. Removal works by descriptors, so a link
 * that somebody puts in its way is removed and never followed; it opens what
 * is not accessible to its own owner, and trees deeper than its descriptors
 * reach are first flattened by renaming the deep part to the top.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/str.h"

enum { DEEPEST = 100 };

/* 0 or an errno. */
static int is_folder(const char *path, bool *ret_is)
{
	struct stat st;

	*ret_is = false;
	if (stat(path, &st) < 0)
		return errno;
	*ret_is = S_ISDIR(st.st_mode);
	return 0;
}

int gpc_fail_no_folder(const char *path, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFLICT, "%s exists and is no folder", path);

	gpc_hint(err, "move it away, or name another folder");
	return r;
}

static int make_one(const char *path, unsigned mode, struct gpc_error *err)
{
	bool is;
	int sys, look;

	if (mkdir(path, (mode_t)mode) == 0)
		return 0;
	sys = errno;
	/* Read-only and automounted parents answer other than EEXIST. */
	look = is_folder(path, &is);
	if (is)
		return 0;
	if (sys == EEXIST && look && look != ENOENT)
		return gpc_fail_sys(err, look, "cannot look at %s", path);
	if (sys == EEXIST)
		return gpc_fail_no_folder(path, err);
	gpc_fail_sys(err, sys, "cannot make the folder %s", path);
	/* those above it are there: it is the file system that has no place for it */
	if (sys == ENOENT)
		gpc_hint(err, "no folder can be made there: name another one");
	if (sys == ENOSPC) {
		gpc_autostr *dir = gpc_path_dir(path);

		gpc_hint(err, "free space on the disk that holds %s, then repeat",
			dir);
	}
	return sys == ENOENT ? -GPC_ENOTFOUND : -GPC_EIO;
}

int gpc_mkdirs(const char *path, unsigned mode, struct gpc_error *err)
{
	gpc_autostr *part = gpc_strdup(path);
	bool is;

	if (is_folder(path, &is) == 0 && is)
		return 0;
	for (char *at = part + 1; part[0] && *at; at++) {
		int r;

		if (*at != '/' || at[-1] == '/')
			continue;
		*at = '\0';
		r = make_one(part, mode, err);
		*at = '/';
		if (r < 0)
			return r;
	}
	return make_one(path, mode, err);
}

struct removal {
	int top;            /* where too deep folders are moved */
	bool moved;
	const char *path;
	struct gpc_error *err;
};

static int remove_below(struct removal *rm, int fd, int depth);

static int fail_removal(struct removal *rm, int sys, const char *name)
{
	gpc_autostr *shown = gpc_str_printable(name, strlen(name));

	return gpc_fail_sys(rm->err, sys, "cannot remove %s (at %s)", rm->path,
		shown);
}

static int open_folder(int at, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, flags);
	struct stat st;

	if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
		fd = openat(at, name, flags);
	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		fchmod(fd, 0700);
	return fd;
}

static int remove_folder(struct removal *rm, int at, const char *name,
	int depth)
{
	gpc_autofd fd = -1;

	if (depth >= DEEPEST) {
		char aside[32] = ".rm-";

		gpc_rand_base32(aside + 4, 16);
		rm->moved = true;
		if (renameat(at, name, rm->top, aside) == 0 || errno == ENOENT)
			return 0;
		return fail_removal(rm, errno, name);
	}
	/* A process that still writes there may fill it again: three tries. */
	for (int tries = 0;; tries++) {
		int r, sys;

		fd = open_folder(at, name);
		if (fd < 0)
			return errno == ENOENT ? 0 :
				fail_removal(rm, errno, name);
		if (depth == 0)
			rm->top = fd;
		do {
			rm->moved = depth > 0 && rm->moved;
			r = remove_below(rm, fd, depth + 1);
		} while (r == 0 && depth == 0 && rm->moved);
		gpc_close(&fd);
		if (r < 0)
			return r;
		if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		sys = errno;
		if ((sys != ENOTEMPTY && sys != EEXIST) || tries == 2)
			return fail_removal(rm, sys, name);
	}
}

static int remove_entry(struct removal *rm, int at, const char *name, int depth)
{
	struct stat st;
	int sys;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	sys = errno;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail_removal(rm, sys, name);
	if (!S_ISDIR(st.st_mode))
		return fail_removal(rm, sys, name);
	return remove_folder(rm, at, name, depth);
}

static int remove_below(struct removal *rm, int fd, int depth)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		int sys = errno;

		gpc_close(&own);
		return fail_removal(rm, sys, ".");
	}
	rewinddir(dir);
	while (r == 0 && (errno = 0, entry = readdir(dir))) {
		if (gpc_eq(entry->d_name, ".") || gpc_eq(entry->d_name, ".."))
			continue;
		r = remove_entry(rm, fd, entry->d_name, depth);
	}
	if (r == 0 && errno != 0)
		r = fail_removal(rm, errno, ".");
	closedir(dir);
	return r;
}

int gpc_rmtree(const char *path, struct gpc_error *err)
{
	gpc_autostr *name = gpc_strdup(path);
	struct removal rm = {.top = -1, .path = path, .err = err};
	size_t n = strlen(name);

	/* "link/" would mean the folder behind the link. */
	while (n > 0 && name[n - 1] == '/')
		name[--n] = '\0';
	if (n == 0 || gpc_eq(name, ".") || gpc_eq(name, ".."))
		return gpc_fail(err, GPC_EUSAGE, "refusing to remove \"%s\"",
			path);
	return remove_entry(&rm, AT_FDCWD, name, 0);
}
