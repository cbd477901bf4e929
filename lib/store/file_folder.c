/* The folders of a store that is a folder: they appear with their first object,
 * durable before what they hold, and any of them may vanish between two calls.
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

#define TRIES 100                   /* a folder may vanish between two calls */

void gpc_file_folder_of(const char *key, char ret_dir[520])
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

int gpc_file_sync_folder(int root, const char *dir)
{
	gpc_autofd fd = openat(root, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	/* Some network file systems cannot sync a folder and need not. */
	if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return errno;
	return 0;
}

/* In a group's store a folder has all of its rights before it has its name, so that
 * no other user meets one without them. 0 or an errno. */
static int make_shared(int root, const char *dir, unsigned mode)
{
	const char *slash = strrchr(dir, '/');
	size_t n = slash ? (size_t)(slash + 1 - dir) : 0;
	char temp[560];
	struct stat st;
	int sys;

	if (fstatat(root, dir, &st, 0) == 0)
		return EEXIST;
	memcpy(temp, dir, n);
	memcpy(temp + n, GPC_STORE_TEMP, sizeof(GPC_STORE_TEMP));
	gpc_rand_base32(temp + n + sizeof(GPC_STORE_TEMP) - 1, 16);
	if (mkdirat(root, temp, 0700) < 0)
		return errno;
	if (fchmodat(root, temp, (mode_t)mode, 0) == 0 &&
		renameat(root, temp, root, dir) == 0)
		return 0;
	sys = errno;
	unlinkat(root, temp, AT_REMOVEDIR);
	return sys == ENOTEMPTY || sys == ENOTDIR ? EEXIST : sys;
}

static int make_folder(const struct gpc_file_state *f, const char *dir,
	unsigned mode)
{
	if (f->share)
		return make_shared(f->root, dir, mode);
	return mkdirat(f->root, dir, (mode_t)mode) < 0 ? errno : 0;
}

/* Makes the folders of a key and makes their names durable, unless `later`: 0
 * or an errno. */
static int make_folders(const struct gpc_file_state *f, const char *key,
	bool later)
{
	unsigned mode = gpc_file_folder_mode(f, key);
	char dir[520], parent[520];
	const char *p = key;

	while ((p = strchr(p, '/')) != NULL) {
		size_t n = (size_t)(p++ - key);
		int sys;

		memcpy(dir, key, n);
		dir[n] = '\0';
		sys = make_folder(f, dir, mode);
		if (sys == EEXIST)
			continue;
		if (sys)
			return sys;
		GPC_CRASH("store.folder_made");
		gpc_file_folder_of(dir, parent);
		sys = later ? 0 : gpc_file_sync_folder(f->root, parent);
		if (sys)
			return sys;
	}
	return 0;
}

int gpc_file_open_beside(const struct gpc_file_state *f, const char *key,
	const char *name, int flags, bool later)
{
	unsigned mode = gpc_file_mode(f, key);
	int i, fd, sys;

	for (i = 0; i < TRIES; i++) {
		fd = openat(f->root, name, flags | O_CLOEXEC, (mode_t)mode);
		/* Where that is not possible the file system has its own ways. */
		if (fd >= 0 && f->share)
			(void)!fchmod(fd, (mode_t)mode);
		if (fd >= 0)
			return fd;
		if (errno == EINTR)
			continue;
		if (errno != ENOENT)
			return -errno;
		sys = make_folders(f, key, later);
		/* ENOENT: a delete took an upper folder away meanwhile. */
		if (sys && sys != ENOENT)
			return -sys;
	}
	return -ENOENT;
}
