/* A tree of one file: what a single file is in the store, where only trees are.
 * Links on the way to it are followed, for the file is what was named; it is
 * opened once, so that one that may not be read is known before it is packed.
 */
#define _XOPEN_SOURCE 700      /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "snapshot/arena.h"
#include "snapshot/snapshot.h"

static int64_t to_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fill(struct gpc_tree *t, const char *path, const struct stat *st)
{
	const char *name = gpc_path_base(path);
	struct gpc_entry *e = gpc_vec_push(&t->entries);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	t->started_ns = to_ns(now);
	t->root = gpc_path_dir(path);
	t->arena = gpc_arena_new();
	t->n_files = 1;
	t->n_bytes = (uint64_t)st->st_size;
	*e = (struct gpc_entry){
		.path = gpc_arena_copy(t->arena, name, strlen(name)),
		.kind = GPC_ENTRY_FILE,
		.mode = st->st_mode & 0777,
		.size = (uint64_t)st->st_size,
		.mtime_ns = to_ns(st->st_mtim),
		.dev = (uint64_t)st->st_dev,
		.ino = (uint64_t)st->st_ino,
		.ctime_ns = to_ns(st->st_ctim),
	};
}

int gpc_scan_file(const char *path, struct gpc_tree *ret_tree,
	struct gpc_error *err)
{
	gpc_autostr *real = realpath(path, NULL);
	gpc_autofd fd = -1;
	struct gpc_tree tree = {0};
	struct stat st = {0};

	if (!real)
		return gpc_fail_sys(err, errno, "cannot read %s", path);
	/* Asked by name first: a socket cannot even be opened. */
	if (stat(real, &st) == 0 && S_ISREG(st.st_mode)) {
		fd = open(real, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0)
			return gpc_fail_sys(err, errno, "cannot read %s", path);
	}
	if (!S_ISREG(st.st_mode))
		return gpc_fail(err, GPC_ECONFIG, "%s is neither a file nor a "
			"folder", path);
	fill(&tree, real, &st);
	*ret_tree = tree;
	return 0;
}
