/* The folders of a store that is a folder: they appear with their first object,
 * durable before what they hold, and any of them may vanish between two calls.
 */
#include "store/file_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
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

bool gpc_file_is_secret(const char *key)
{
	return gpc_starts_with(key, "secrets/");
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

/* Makes the folders of a key and makes their names durable, unless `later`: 0
 * or an errno. */
static int make_folders(int root, const char *key, bool later)
{
	char dir[520], parent[520];
	unsigned mode = gpc_file_is_secret(key) ? 0700 : 0777;
	const char *p = key;

	while ((p = strchr(p, '/')) != NULL) {
		size_t n = (size_t)(p++ - key);

		memcpy(dir, key, n);
		dir[n] = '\0';
		if (mkdirat(root, dir, (mode_t)mode) == 0) {
			int sys;

			GPC_CRASH("store.folder_made");
			gpc_file_folder_of(dir, parent);
			sys = later ? 0 : gpc_file_sync_folder(root, parent);
			if (sys)
				return sys;
		} else if (errno != EEXIST) {
			return errno;
		}
	}
	return 0;
}

int gpc_file_open_beside(int root, const char *key, const char *name,
	int flags, unsigned mode, bool later)
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
