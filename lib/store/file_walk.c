/* Walking a folder in the order of keys. A folder's name is sorted as if it
 * ended in "/", which makes the order of names the order of whole keys; so only
 * the names of the folders on the way down are in memory at any time. */
#include "store/file_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "store/store.h"

#define KEY_MAX 512
#define EMPTY_S 60              /* a writer that makes a folder fills it */

struct walk {
	int root;
	const char *prefix, *after;
	gpc_file_walk_fn *fn;
	void *arg;
	int stop;
	bool temps;                     /* what unfinished writes left, instead */
	size_t swept;                   /* folders */
};

/* 0 or an errno. */
static int look(int root, const char *dir, const struct dirent *e,
	bool *ret_folder)
{
	char path[2 * KEY_MAX];
	struct stat st;
	size_t n = strlen(dir), m = strlen(e->d_name);

	*ret_folder = false;
#ifdef DT_DIR
	if (e->d_type != DT_UNKNOWN) {
		*ret_folder = e->d_type == DT_DIR;
		return 0;
	}
#endif
	if (n + m + 1 > sizeof(path))
		return 0;
	memcpy(path, dir, n);
	memcpy(path + n, e->d_name, m + 1);
	if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : errno;
	*ret_folder = S_ISDIR(st.st_mode);
	return 0;
}

/* A temporary file is its writer's, for as long as that may still run: then
 * the writer was killed. One beside secrets may hold secrets. */
static void sweep_temp(int fd, const char *dir, const char *name)
{
	time_t old = gpc_starts_with(dir, "secrets/") ? 10800 : 86400;
	struct stat st;

	if (!gpc_starts_with(name, GPC_STORE_TEMP) ||
		fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (time(NULL) - st.st_mtime <= old)
		return;
	if (S_ISREG(st.st_mode))
		unlinkat(fd, name, 0);
	else if (S_ISDIR(st.st_mode))   /* one that never got its name */
		unlinkat(fd, name, AT_REMOVEDIR);
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

static int add_names(const struct walk *w, const char *dir, DIR *d,
	struct gpc_strv *names)
{
	const struct dirent *e;

	while ((errno = 0, e = readdir(d)) != NULL) {
		bool temp = gpc_starts_with(e->d_name, GPC_STORE_TEMP);
		bool folder;
		int sys;

		if (!w->temps)
			sweep_temp(dirfd(d), dir, e->d_name);
		if (!gpc_store_key_ok(e->d_name) && !(temp && w->temps))
			continue;
		sys = look(w->root, dir, e, &folder);
		if (sys)
			return sys;
		if (w->temps && temp == folder)
			continue;
		if (!add_name(names, e->d_name, folder))
			return ENOMEM;
	}
	return errno;
}

/* Names of one folder (dir is "" or ends in "/"); 0 or an errno. */
static int read_names(const struct walk *w, const char *dir,
	struct gpc_strv *names)
{
	int fd = openat(w->root, *dir ? dir : ".",
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d;
	int sys;

	if (fd < 0)
		return errno;
	d = fdopendir(fd);
	if (!d) {
		sys = errno;
		close(fd);
		return sys;
	}
	sys = add_names(w, dir, d, names);
	closedir(d);
	gpc_strv_sort(names);
	return sys;
}

/* Whether a key, or any key below a folder's, can be wanted. */
static bool wanted(const struct walk *w, const char *key, size_t n, bool folder)
{
	size_t np = strlen(w->prefix);
	size_t common = n < np ? n : np;

	if (memcmp(key, w->prefix, common) != 0 || (!folder && n < np))
		return false;
	if (!w->after)
		return true;
	if (folder && strncmp(w->after, key, n) == 0)
		return true;
	return strcmp(key, w->after) > 0;
}

static int walk_folder(struct walk *w, char *dir);

static int visit(struct walk *w, const char *dir, const char *name)
{
	size_t n = strlen(dir), m = strlen(name);
	bool folder = name[m - 1] == '/';
	char key[KEY_MAX + 1];
	struct stat st;

	if (n + m > KEY_MAX)
		return 0;
	memcpy(key, dir, n);
	memcpy(key + n, name, m + 1);
	if (!wanted(w, key, n + m, folder))
		return 0;
	if (folder)
		return walk_folder(w, key);
	/* Gone meanwhile, or not an object. What cannot be looked at is an error:
	 * a list that lacks it would be believed. */
	if (fstatat(w->root, key, &st, w->temps ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
			0 : errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	w->stop = w->fn(w->arg, key, &st);
	return 0;
}

/* A folder without anything is what a delete that was killed has left: no key
 * needs it, and no list shows it. A writer who has just made it gets the time
 * to fill it, and makes it anew if it goes all the same. */
static void sweep_folder(struct walk *w, char *dir, const struct stat *st)
{
	size_t n = strlen(dir);

	if (n == 0 || time(NULL) - st->st_mtime <= EMPTY_S)
		return;
	dir[n - 1] = '\0';
	w->swept += unlinkat(w->root, dir, AT_REMOVEDIR) == 0;
	dir[n - 1] = '/';
}

static int walk_folder(struct walk *w, char *dir)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	struct stat st;
	bool known = fstatat(w->root, *dir ? dir : ".", &st, 0) == 0;
	size_t before = w->swept;
	int sys = read_names(w, dir, &names);

	if (sys == ENOENT || sys == ENOTDIR)
		return 0;
	for (size_t i = 0; sys == 0 && i < names.n && !w->stop; i++)
		sys = visit(w, dir, names.v[i]);
	if (sys == 0 && known && !w->temps && (names.n == 0 || w->swept > before))
		sweep_folder(w, dir, &st);
	return sys;
}

static int walk(struct walk *w)
{
	const char *slash = strrchr(w->prefix, '/');
	char dir[KEY_MAX + 1] = "";

	/* Only the folder that the prefix names is read at all. */
	if (slash && slash - w->prefix < KEY_MAX)
		memcpy(dir, w->prefix, (size_t)(slash + 1 - w->prefix));
	return walk_folder(w, dir);
}

int gpc_file_walk(int root, const char *prefix, const char *after,
	gpc_file_walk_fn *fn, void *arg)
{
	struct walk w = { .root = root, .prefix = prefix, .after = after,
		.fn = fn, .arg = arg };

	return walk(&w);
}

int gpc_file_walk_temps(int root, const char *prefix, gpc_file_walk_fn *fn,
	void *arg)
{
	struct walk w = { .root = root, .prefix = prefix, .fn = fn, .arg = arg,
		.temps = true };

	return walk(&w);
}
