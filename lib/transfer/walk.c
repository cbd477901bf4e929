/* See walk.h. */
#include "transfer/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

/* A folder that is being read, and those that it lies in. */
struct level {
	const struct level *above;
	dev_t device;
	ino_t inode;
	bool linked;                    /* by a link, here or further up */
};

struct walk {
	const struct gpc_walk *how;
	int root;
	gpc_walk_fn *fn;
	void *arg;
	struct gpc_error *err;
};

const char *gpc_walk_note(const struct gpc_listed *l)
{
	if (l->flags & GPC_LISTED_SPECIAL)
		return "a socket, pipe or device";
	if (l->flags & GPC_LISTED_LOOP)
		return "a link to a folder that it lies in";
	if (l->size == ENOENT)
		return "a link that leads nowhere";
	return "it cannot be read";
}

static int tell(const struct walk *w, const char *key, unsigned flags,
	uint64_t size, int64_t modified_ms)
{
	const struct gpc_listed l = { key, size, modified_ms, flags };

	return w->fn(w->arg, &l, w->err);
}

static int unreadable(const struct walk *w, const char *key, int sys)
{
	return tell(w, key, GPC_LISTED_UNREADABLE, (uint64_t)sys, 0);
}

/* --- names ------------------------------------------------------------------- */

/* A link to a folder is sorted as the folder. What cannot be looked at is told
 * when its turn comes. */
static bool is_folder(int fd, const struct dirent *e)
{
	struct stat st;

#ifdef DT_DIR
	if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
		return e->d_type == DT_DIR;
#endif
	return fstatat(fd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* As many as the outside world has put there: memory may end. */
static bool add_name(struct gpc_strv *names, const char *name, bool folder)
{
	char text[sizeof(((struct dirent *)0)->d_name) + 1];
	size_t n = strlen(name);

	memcpy(text, name, n);
	memcpy(text + n, folder ? "/" : "", folder ? 2 : 1);
	return gpc_strv_try_add(names, text);
}

static int add_names(DIR *d, struct gpc_strv *names)
{
	const struct dirent *e;

	while ((errno = 0, e = readdir(d)) != NULL) {
		if (gpc_eq(e->d_name, ".") || gpc_eq(e->d_name, ".."))
			continue;
		if (!add_name(names, e->d_name, is_folder(dirfd(d), e)))
			return ENOMEM;
	}
	return errno;
}

/* Of the folder dir ("" or ending in "/"), and what it is; 0 or an errno. */
static int read_names(const struct walk *w, const char *dir,
	struct level *level, struct gpc_strv *names)
{
	int fd = openat(w->root, *dir ? dir : ".",
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	DIR *d;
	int sys;

	if (fd < 0)
		return errno;
	d = fstat(fd, &st) == 0 ? fdopendir(fd) : NULL;
	if (!d) {
		sys = errno;
		close(fd);
		return sys;
	}
	level->device = st.st_dev;
	level->inode = st.st_ino;
	sys = add_names(d, names);
	closedir(d);
	gpc_strv_sort(names);
	return sys;
}

/* --- walking ----------------------------------------------------------------- */

static int walk_folder(const struct walk *w, const char *dir,
	const struct level *above, bool linked);

static bool is_loop(const struct level *level)
{
	for (const struct level *l = level->above; l; l = l->above)
		if (l->device == level->device && l->inode == level->inode)
			return true;
	return false;
}

static bool is_link(const struct walk *w, const char *path)
{
	struct stat st;

	return fstatat(w->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISLNK(st.st_mode);
}

/* key ends in "/". */
static int visit_folder(const struct walk *w, char *key,
	const struct level *here)
{
	size_t n = strlen(key);
	bool enters, linked;

	key[n - 1] = '\0';
	enters = gpc_filter_enters(w->how->filter, key);
	linked = here->linked || is_link(w, key);
	key[n - 1] = '/';
	if (!enters)
		return 0;
	if (w->how->flat)
		return tell(w, key, linked ? GPC_LISTED_LINKED : 0, 0, 0);
	return walk_folder(w, key, here, linked);
}

static int visit_file(const struct walk *w, const char *key,
	const struct level *here)
{
	struct stat st;

	if (!gpc_filter_takes(w->how->filter, key))
		return 0;
	if (fstatat(w->root, key, &st, 0) < 0) {
		/* gone meanwhile, or a link to nothing */
		if (errno == ENOENT && !is_link(w, key))
			return 0;
		return unreadable(w, key, errno);
	}
	if (!S_ISREG(st.st_mode))
		return tell(w, key, GPC_LISTED_SPECIAL, 0, 0);
	return tell(w, key, here->linked ? GPC_LISTED_LINKED : 0,
		(uint64_t)st.st_size, (int64_t)st.st_mtim.tv_sec * 1000 +
		st.st_mtim.tv_nsec / 1000000);
}

static int visit_names(const struct walk *w, const char *dir,
	const struct level *here, const struct gpc_strv *names)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->n; i++) {
		gpc_autostr *key = gpc_format("%s%s", dir, names->v[i]);

		r = gpc_ends_with(key, "/") ? visit_folder(w, key, here) :
			visit_file(w, key, here);
	}
	return r;
}

/* What of a folder could be read is given, even if not all could. */
static int walk_folder(const struct walk *w, const char *dir,
	const struct level *above, bool linked)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	struct level here = { .above = above, .linked = linked };
	int sys = read_names(w, dir, &here, &names);
	int r = 0;

	if (sys == ENOENT && above)
		return 0;               /* gone meanwhile */
	if (is_loop(&here))
		return tell(w, dir, GPC_LISTED_LOOP, 0, 0);
	if (sys)
		r = unreadable(w, dir, sys);
	return r ? r : visit_names(w, dir, &here, &names);
}

int gpc_walk_run(const struct gpc_walk *how, gpc_walk_fn *fn, void *arg,
	struct gpc_error *err)
{
	gpc_autofd root = -1;
	int r = gpc_open(how->root, O_RDONLY | O_DIRECTORY, 0, &root, err);
	const struct walk w = { how, root, fn, arg, err };

	return r ? r : walk_folder(&w, "", NULL, false);
}
