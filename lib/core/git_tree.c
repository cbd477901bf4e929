/* From a commit to a tree that can be packed: a scratch folder, in which names,
 * bytes, modes and times depend on the commit alone, so that two submits of one
 * commit make the same blobs. The folder is removed by its owner, or, when that
 * was killed, by the next run: an owner that lives holds a lock beside it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/rand.h"
#include "core/git.h"
#include "core/git_cache.h"

#define ATTRIBUTES_MAX ((size_t)1 << 20)

/* --- scratch --------------------------------------------------------------- */
/* Removes one that nobody holds. */
static void sweep_one(const char *folder)
{
	gpc_autostr *path = gpc_format("%s.lock", folder);
	gpc_autofd held = -1;

	if (gpc_lock_file(path, false, &held, NULL) == 0 &&
		gpc_rmtree(folder, NULL) == 0)
		unlink(path);
}

static void sweep(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		gpc_autostr *path = NULL;
		const char *end = strrchr(e->d_name, '.');

		if (e->d_name[0] == '.')
			continue;
		path = gpc_path_join(dir, e->d_name);
		if (gpc_eq(end, ".lock"))
			path[strlen(path) - 5] = '\0';
		sweep_one(path);
	}
	if (d)
		closedir(d);
}

static int make_scratch(const char *dir, struct gpc_git_tree *t,
	struct gpc_error *err)
{
	gpc_autostr *all = gpc_path_join(dir, "scratch");
	gpc_autostr *guard = gpc_path_join(dir, "scratch.lock");
	gpc_autostr *own = NULL;
	gpc_autofd held = -1;
	char id[16];
	int r = gpc_mkdirs(all, 0700, err);

	if (!r)
		r = gpc_lock_file(guard, true, &held, err);
	if (r)
		return r;
	sweep(all);
	gpc_rand_base32(id, 10);
	t->scratch = gpc_path_join(all, id);
	own = gpc_format("%s.lock", t->scratch);
	r = gpc_lock_file(own, true, &t->scratch_lock, err);
	t->root = gpc_path_join(t->scratch, "tree");
	return r ? r : gpc_mkdirs(t->root, 0700, err);
}

void gpc_git_tree_clear(struct gpc_git_tree *t)
{
	if (t->scratch) {
		gpc_autostr *own = gpc_format("%s.lock", t->scratch);

		if (gpc_rmtree(t->scratch, NULL) == 0)
			unlink(own);
		gpc_close(&t->scratch_lock);
	}
	free(t->scratch);
	free(t->root);
	free(t->refname);
	*t = (struct gpc_git_tree){0};
}

/* --- checkout -------------------------------------------------------------- */
static int commit_time(const struct gpc_git_call *call, const char *commit,
	int64_t *ret_s, struct gpc_error *err)
{
	const char *args[] = {"rev-list", "--max-count=1", "--timestamp",
		commit, "--", NULL};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *digits = NULL;
	int r = gpc_git_run(call, args, &b, err);

	if (r)
		return r;
	digits = gpc_strndup(gpc_buf_str(&b), strcspn(gpc_buf_str(&b), " \n"));
	if (gpc_parse_i64(digits, 0, INT64_MAX / 2000000000, "time", ret_s, NULL))
		*ret_s = 0;     /* odd, and of no weight */
	return 0;
}

static int settle_one(int root, const struct gpc_entry *e,
	const struct timespec times[2])
{
	mode_t mode = e->kind == GPC_ENTRY_DIR || e->mode & 0100 ? 0755 : 0644;

	if (e->kind != GPC_ENTRY_LINK && e->mode != mode &&
		fchmodat(root, e->path, mode, 0) < 0)
		return -1;
	return utimensat(root, e->path, times, AT_SYMLINK_NOFOLLOW);
}

/* Modes without umask, times of the commit; folders last, from the inside. */
static int settle(const char *path, int64_t seconds,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	const struct gpc_scan_options how = {.with_git = true, .cancel = cancel};
	const struct timespec times[2] = {{.tv_sec = (time_t)seconds},
		{.tv_sec = (time_t)seconds}};
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_autofd root = -1;
	int r = gpc_scan(path, &how, &tree, err);

	if (!r)
		r = gpc_open(path, O_RDONLY | O_DIRECTORY, 0, &root, err);
	for (size_t i = tree.entries.n; r == 0 && i-- > 0;) {
		const struct gpc_entry *e = &tree.entries.v[i];

		if (settle_one(root, e, times) < 0)
			r = gpc_fail_sys(err, errno, "cannot prepare %s/%s",
				path, e->path);
	}
	return r;
}

static int check_out(struct gpc_git_call call,
	const struct gpc_git_found *found, struct gpc_git_tree *t,
	struct gpc_error *err)
{
	const char *args[] = {"read-tree", "-m", "-u", found->commit, NULL};
	gpc_autostr *index = gpc_path_join(t->scratch, "index");
	int64_t seconds = 0;
	int r;

	call.git_dir = found->repo;
	call.url = NULL;
	r = commit_time(&call, found->commit, &seconds, err);
	call.index = index;
	call.tree = t->root;
	call.dir = t->root;
	if (!r)
		r = gpc_git_run(&call, args, NULL, err);
	return r ? r : settle(t->root, seconds, call.cancel, err);
}

/* What a clone would have and this tree has not. */
static void tell_missing(const struct gpc_session *s, const char *url,
	const char *root)
{
	gpc_autostr *modules = gpc_path_join(root, ".gitmodules");
	gpc_autostr *attributes = gpc_path_join(root, ".gitattributes");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct stat st;

	if (lstat(modules, &st) == 0)
		gpc_log(s->log, GPC_WARN, "%s has submodules, which are not "
			"fetched: their folders are empty", url);
	if (lstat(attributes, &st) == 0 && S_ISREG(st.st_mode) &&
		gpc_read_file(attributes, ATTRIBUTES_MAX, &b, NULL) == 0 &&
		strstr(gpc_buf_str(&b), "filter=lfs"))
		gpc_log(s->log, GPC_WARN, "%s keeps files in git-lfs, which "
			"are not fetched: the job sees their pointers", url);
}

/* --- the whole ------------------------------------------------------------- */
/* One try; *ret_stale: the cache said it had what cannot be checked out. */
static int take(struct gpc_session *s, const struct gpc_git_call *call,
	const char *ref, struct gpc_git_tree *t, bool *ret_stale,
	struct gpc_error *err)
{
	gpc_auto(gpc_git_found) struct gpc_git_found found = {0};
	gpc_autofd lock = -1;
	int r = gpc_git_cache_get(call, call->dir, ref, s->log, &found, &lock,
		err);

	*ret_stale = false;
	if (!r)
		r = make_scratch(call->dir, t, err);
	if (!r)
		r = check_out(*call, &found, t, err);
	if (r == -GPC_EIO && err->sys != ENOSPC && found.repo &&
		!found.fetched) {
		*ret_stale = true;
		if (gpc_rmtree(found.repo, NULL))
			*ret_stale = false;
	}
	if (r)
		return r;
	memcpy(t->commit, found.commit, sizeof(t->commit));
	t->refname = gpc_steal(&found.refname);
	return 0;
}

int gpc_git_take(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_git_options *options, struct gpc_git_tree *ret_t,
	struct gpc_error *err)
{
	gpc_autostr *dir = gpc_path_join(s->place.cache_dir, "git");
	const struct gpc_spec_git *git = &spec->workdir_git;
	struct gpc_git_call call = {.dir = dir, .url = git->url,
		.token = options->token, .ssh_key = options->ssh_key,
		.ask = options->ask, .cancel = s->cancel};
	gpc_auto(gpc_git_tree) struct gpc_git_tree t = {
		.scratch_lock = -1};
	struct gpc_error own = {0};
	bool stale = false;
	int r;

	err = err ? err : &own;
	r = gpc_spec_git_check(git, err);
	if (!r)
		r = gpc_mkdirs(dir, 0700, err);
	if (!r)
		r = take(s, &call, git->ref, &t, &stale, err);
	if (r && stale) {
		gpc_git_tree_clear(&t);
		t.scratch_lock = -1;
		r = take(s, &call, git->ref, &t, &stale, err);
	}
	if (r)
		return gpc_wrap(err, r, "workdir %s", git->url);
	tell_missing(s, git->url, t.root);
	*ret_t = t;
	t = (struct gpc_git_tree){0};
	return 0;
}

int gpc_git_scan(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_git_tree *t, struct gpc_tree *ret_tree,
	struct gpc_error *err)
{
	gpc_autostr *ignore = gpc_path_join(t->root, ".gpucloudignore");
	gpc_autostr *checkpoint = spec->checkpoint.path ?
		gpc_path_join(t->root, spec->checkpoint.path) : NULL;
	gpc_auto(gpc_strv) struct gpc_strv exclude = {0};
	struct stat st;
	const struct gpc_scan_options how = {
		.ignore_files = lstat(ignore, &st) == 0 || errno != ENOENT,
		.exclude = &exclude,
		.cancel = s->cancel,
	};

	if (checkpoint)
		gpc_strv_add(&exclude, checkpoint);
	return gpc_wrap(err, gpc_scan(t->root, &how, ret_tree, err), "workdir");
}

char *gpc_git_describe(const char *url, const char *ref, const char *commit)
{
	return gpc_format("%s%s%s (%.12s)", url, ref ? "@" : "", ref ? ref : "",
		commit);
}
