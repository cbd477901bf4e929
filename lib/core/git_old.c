/* See git_old.h. Who uses a repository holds its lock file, and taking that sets
 * its time: so the lock's age is how long the repository lay unused. It is moved
 * to the name of one that is being made before it goes, so that a half of it is
 * never taken for a repository. */
#include "core/git_old.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"

#define NAME_DIGITS 32
#define DEEPEST 16

void gpc_git_olds_clear(struct gpc_git_olds *x)
{
	gpc_vec_each(o, x)
		free(o->repo);
	gpc_vec_free(x);
}

static uint64_t size_of(const char *dir, int depth)
{
	DIR *d = depth < DEEPEST ? opendir(dir) : NULL;
	const struct dirent *e;
	uint64_t n = 0;

	while (d && (e = readdir(d))) {
		gpc_autostr *path = gpc_path_join(dir, e->d_name);
		struct stat st;

		if (gpc_eq(e->d_name, ".") || gpc_eq(e->d_name, "..") ||
			lstat(path, &st) < 0)
			continue;
		n += S_ISDIR(st.st_mode) ? size_of(path, depth + 1) :
			(uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	return n;
}

/* <hash>, or <hash>.new of one that was not finished. */
static bool is_repo(const char *name)
{
	size_t n = strlen(name);
	gpc_autostr *hash = gpc_strndup(name, n < NAME_DIGITS ? n : NAME_DIGITS);

	return gpc_is_hex(hash, NAME_DIGITS) &&
		(n == NAME_DIGITS || gpc_eq(name + NAME_DIGITS, ".new"));
}

static char *lock_of(const char *repo)
{
	size_t n = strlen(repo) - (gpc_ends_with(repo, ".new") ? 4 : 0);

	return gpc_format("%.*s.lock", (int)n, repo);
}

void gpc_git_old_find(const struct gpc_session *s, struct gpc_git_olds *ret_x)
{
	gpc_autostr *dir = gpc_path_join(s->place.cache_dir, "git");
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		gpc_autostr *repo = gpc_path_join(dir, e->d_name);
		gpc_autostr *lock = lock_of(repo);
		int64_t age = gpc_lock_age_ms(lock);
		struct gpc_git_old *x;

		/* without a lock: of one that was removed by hand */
		if (!is_repo(e->d_name) || (age >= 0 && age < GPC_GIT_OLD_MS))
			continue;
		x = gpc_vec_push(ret_x);
		x->bytes = size_of(repo, 0);
		x->repo = gpc_steal(&repo);
	}
	if (d)
		closedir(d);
}

int gpc_git_old_remove(const char *repo, struct gpc_error *err)
{
	gpc_autostr *lock = lock_of(repo);
	bool is_half = gpc_ends_with(repo, ".new");
	gpc_autostr *made = gpc_format("%s%s", repo, is_half ? "" : ".new");
	int r = is_half ? 0 : gpc_rmtree(made, err);

	if (r == 0 && !is_half && rename(repo, made) < 0 && errno != ENOENT)
		r = gpc_fail_sys(err, errno, "cannot remove %s", repo);
	if (r == 0)
		r = gpc_rmtree(made, err);
	if (r == 0)
		unlink(lock);
	return r;
}

int gpc_git_old_drop(const struct gpc_git_old *x, struct gpc_error *err)
{
	gpc_autostr *lock = lock_of(x->repo);
	gpc_autofd held = -1;
	int r = gpc_lock_file(lock, false, &held, err);

	return r < 0 ? r : gpc_git_old_remove(x->repo, err);
}
