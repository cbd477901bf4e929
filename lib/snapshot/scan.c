/* Walking a tree. Folders wait on a stack and are opened one at a time by
 * O_NOFOLLOW steps from the root, so depth costs neither descriptors nor stack,
 * no link is ever entered, and a cycle cannot exist. What is left out is
 * reported together with the rule that says so.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "snapshot/arena.h"
#include "snapshot/beneath.h"
#include "snapshot/ignore.h"
#include "snapshot/snapshot.h"

struct pending { const char *dir; const struct gpc_ignore *ignore; };
struct identity { uint64_t dev, ino; };

struct scan {
	const struct gpc_scan_options *o;
	struct gpc_tree *tree;
	struct gpc_beneath top;
	GPC_VEC(struct pending) pending;
	GPC_VEC(struct gpc_ignore *) ignores;
	GPC_VEC(struct identity) reserved;   /* of o->exclude */
	const char *ignore_name;             /* NULL: none are read */
	struct gpc_map rules;                /* text -> its copy in the arena */
	struct gpc_buf path;                 /* of the entry at hand */
};

static void scan_clear(struct scan *s)
{
	gpc_beneath_clear(&s->top);
	gpc_vec_free(&s->pending);
	for (size_t i = 0; i < s->ignores.n; i++)
		gpc_ignore_free(s->ignores.v[i]);
	gpc_vec_free(&s->ignores);
	gpc_vec_free(&s->reserved);
	gpc_map_clear(&s->rules);
	gpc_buf_clear(&s->path);
}
GPC_CLEANUP_VALUE(scan);

static char *keep(struct scan *s, const char *text)
{
	return gpc_arena_copy(s->tree->arena, text, strlen(text));
}

static int fail_memory(const struct scan *s, struct gpc_error *err)
{
	return gpc_wrap(err, gpc_fail_memory(err, "the names of its files"),
		"%s", s->tree->root);
}

static int exclude(struct scan *s, const char *rule, bool is_dir,
	struct gpc_error *err)
{
	char *path = keep(s, s->path.data);
	char *kept = gpc_map_get(&s->rules, rule);
	struct gpc_excluded *x;

	if (!kept) {
		kept = keep(s, rule);
		if (!kept || !gpc_map_try_set(&s->rules, rule, kept))
			return fail_memory(s, err);
	}
	x = path ? gpc_vec_try_push(&s->tree->excluded) : NULL;
	if (!x)
		return fail_memory(s, err);
	*x = (struct gpc_excluded){ .path = path, .rule = kept, .dir = is_dir };
	return 0;
}

static int unreadable(struct scan *s, const char *path, int sys,
	struct gpc_error *err)
{
	gpc_autostr *shown = NULL;
	int r;

	if (sys == EMFILE || sys == ENFILE || sys == ENOMEM)
		return gpc_fail_sys(err, sys, "cannot read %s", s->tree->root);
	if (s->o->unreadable == GPC_UNREADABLE_SKIP) {
		return gpc_strv_try_add(&s->tree->unreadable, path) ? 0
			: fail_memory(s, err);
	}
	shown = gpc_str_printable(path, strlen(path));
	r = gpc_fail_sys(err, sys, "cannot read %s/%s", s->tree->root, shown);
	gpc_hint(err, "change its permissions, or exclude it in .gpucloudignore");
	return r;
}

/* --- ignore files ------------------------------------------------------ */
static int fail_ignore(const struct scan *s, const char *shown, int sys,
	struct gpc_error *err)
{
	int r = gpc_fail_sys(err, sys, "cannot read %s/%s", s->tree->root, shown);

	if (sys == ELOOP)
		gpc_hint(err, "it is a link, and ignore files are not followed; "
			"put the file itself there");
	return r;
}

/* Reads the ignore file of the folder fd, if it has one, and makes it the
 * innermost of *ignore. As in git, a .gitignore that is a link does not count;
 * the other names exist for us alone, where silence would send too much. */
static int read_ignore(struct scan *s, int fd, const char *dir,
	const char *name, const struct gpc_ignore **ignore,
	struct gpc_error *err)
{
	gpc_autostr *base = gpc_format("%s%s", dir, dir[0] ? "/" : "");
	gpc_autostr *shown = gpc_format("%s%s", base, name);
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	struct gpc_ignore *made;
	struct stat st;
	gpc_autofd file = openat(fd, name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r;

	if (file < 0) {
		bool git = gpc_eq(name, ".gitignore");

		if (errno == ENOENT || (errno == ELOOP && git))
			return 0;
		return fail_ignore(s, shown, errno, err);
	}
	if (fstat(file, &st) < 0)
		return fail_ignore(s, shown, errno, err);
	if (!S_ISREG(st.st_mode))
		return 0;
	r = gpc_read_fd(file, GPC_IGNORE_MAX_BYTES, shown, &text, err);
	if (r < 0)
		return r;
	r = gpc_ignore_new(gpc_buf_str(&text), text.len, base, shown, *ignore,
		&made, err);
	if (r < 0)
		return r;
	*gpc_vec_push(&s->ignores) = made;
	*ignore = made;
	return 0;
}

/* The one name that counts in this tree; see ignore.h. One that cannot be looked
 * at is no reason to send what it excludes. */
static int choose_ignore(struct scan *s, struct gpc_error *err)
{
	static const char *const names[] = {".gpucloudignore", ".skyignore"};
	struct stat st;

	s->ignore_name = ".gitignore";
	for (size_t i = 0; i < 2; i++) {
		if (fstatat(s->top.root, names[i], &st, AT_SYMLINK_NOFOLLOW)
			== 0) {
			s->ignore_name = names[i];
			return 0;
		}
		if (errno != ENOENT)
			return fail_ignore(s, names[i], errno, err);
	}
	return 0;
}

/* --- entries ----------------------------------------------------------- */
static bool is_reserved(const struct scan *s, const struct stat *st)
{
	const struct gpc_strv *paths = s->o->exclude;
	size_t n_root = strlen(s->tree->root);

	for (size_t i = 0; i < s->reserved.n; i++)
		if (s->reserved.v[i].dev == (uint64_t)st->st_dev
			&& s->reserved.v[i].ino == (uint64_t)st->st_ino)
			return true;
	if (n_root == 1)
		n_root = 0;
	for (size_t i = 0; paths && i < paths->n; i++) {
		const char *p = paths->v[i];

		if (strncmp(p, s->tree->root, n_root) == 0 && p[n_root] == '/'
			&& gpc_eq(p + n_root + 1, s->path.data))
			return true;
	}
	return false;
}

static const char *special_name(mode_t mode)
{
	if (S_ISSOCK(mode))
		return "built in: a socket";
	if (S_ISFIFO(mode))
		return "built in: a pipe";
	return "built in: a device";
}

/* Why the entry at hand is left out; NULL = it is not. */
static const char *why_excluded(const struct scan *s, const char *name,
	const struct stat *st, const struct gpc_ignore *ignore)
{
	bool is_dir = S_ISDIR(st->st_mode);
	const struct gpc_ignore_rule *rule;

	if (!s->o->with_git && gpc_eq(name, ".git"))
		return "built in: .git";
	if (is_reserved(s, st))
		return "built in: a reserved path";
	rule = gpc_ignore_find(ignore, s->path.data, is_dir);
	if (gpc_ignore_excludes(rule))
		return gpc_ignore_rule_str(rule);
	if (!is_dir && !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
		return special_name(st->st_mode);
	return NULL;
}

static int64_t to_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int add_entry(struct scan *s, const struct stat *st,
	struct gpc_error *err)
{
	char *path = keep(s, s->path.data);
	struct gpc_entry *e = path ? gpc_vec_try_push(&s->tree->entries) : NULL;

	if (!e)
		return fail_memory(s, err);
	e->path = path;
	e->kind = S_ISDIR(st->st_mode) ? GPC_ENTRY_DIR
		: S_ISLNK(st->st_mode) ? GPC_ENTRY_LINK : GPC_ENTRY_FILE;
	e->mode = st->st_mode & 0777;
	e->mtime_ns = to_ns(st->st_mtim);
	e->ctime_ns = to_ns(st->st_ctim);
	e->dev = (uint64_t)st->st_dev;
	e->ino = (uint64_t)st->st_ino;
	if (e->kind == GPC_ENTRY_FILE) {
		e->size = (uint64_t)st->st_size;
		s->tree->n_files++;
		s->tree->n_bytes += e->size;
	}
	return 0;
}

static int add_name(struct scan *s, int fd, const char *name,
	const struct pending *in, struct gpc_error *err)
{
	struct stat st;
	const char *rule;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		return unreadable(s, s->path.data, errno, err);
	}
	rule = why_excluded(s, name, &st, in->ignore);
	if (rule) {
		return exclude(s, rule, S_ISDIR(st.st_mode), err);
	}
	/* Asking the kernel is left out where the mode bits say it all. */
	if (S_ISREG(st.st_mode) && (st.st_mode & 0444) != 0444
		&& faccessat(fd, name, R_OK, AT_EACCESS) < 0)
		return errno == ENOENT ? 0
			: unreadable(s, s->path.data, errno, err);
	if (add_entry(s, &st, err) < 0)
		return -GPC_EIO;
	if (S_ISDIR(st.st_mode)) {
		struct pending *next = gpc_vec_try_push(&s->pending);

		if (!next)
			return fail_memory(s, err);
		next->dir = s->tree->entries.v[s->tree->entries.n - 1].path;
		next->ignore = in->ignore;
	}
	return 0;
}

static int set_path(struct scan *s, const char *dir, const char *name,
	struct gpc_error *err)
{
	gpc_buf_reset(&s->path);
	gpc_buf_adds(&s->path, dir);
	if (dir[0])
		gpc_buf_addc(&s->path, '/');
	gpc_buf_adds(&s->path, name);
	if (s->path.len > GPC_PATH_MAX_BYTES) {
		gpc_fail(err, GPC_EUNSUPPORTED,
			"a path below %s is longer than %d bytes: %.60s...",
			s->tree->root, GPC_PATH_MAX_BYTES, s->path.data);
		gpc_hint(err, "exclude its folder in .gpucloudignore");
		return -GPC_EUNSUPPORTED;
	}
	return 0;
}

static int read_names(struct scan *s, DIR *d, const struct pending *in,
	struct gpc_error *err)
{
	for (;;) {
		struct dirent *entry;
		int r;

		if (gpc_canceled(s->o->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		errno = 0;
		entry = readdir(d);
		if (!entry)
			return errno ? unreadable(s, in->dir, errno, err) : 0;
		if (gpc_eq(entry->d_name, ".") || gpc_eq(entry->d_name, ".."))
			continue;
		r = set_path(s, in->dir, entry->d_name, err);
		if (r == 0)
			r = add_name(s, dirfd(d), entry->d_name, in, err);
		if (r < 0)
			return r;
	}
}

static int scan_folder(struct scan *s, struct pending in, struct gpc_error *err)
{
	struct gpc_error why = {0};
	int fd, own, r;
	DIR *d;

	r = gpc_beneath_dir(&s->top, in.dir, strlen(in.dir), 0, &fd, &why);
	if (r < 0 && (why.sys == ENOENT || why.sys == ENOTDIR))
		return 0;       /* removed or replaced since it was seen */
	if (r < 0)
		return unreadable(s, in.dir, why.sys, err);
	if (s->ignore_name && (!in.dir[0] || !gpc_eq(s->ignore_name, ".skyignore"))) {
		r = read_ignore(s, fd, in.dir, s->ignore_name, &in.ignore, err);
		if (r < 0)
			return r;
	}
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	d = own < 0 ? NULL : fdopendir(own);
	if (!d) {
		r = gpc_fail_sys(err, errno, "folder %s", in.dir);
		gpc_close(&own);
		return r;
	}
	r = read_names(s, d, &in, err);
	closedir(d);
	return r;
}

/* --- the whole --------------------------------------------------------- */
static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct gpc_entry *)a)->path,
		((const struct gpc_entry *)b)->path);
}

static int excluded_by_path(const void *a, const void *b)
{
	return strcmp(((const struct gpc_excluded *)a)->path,
		((const struct gpc_excluded *)b)->path);
}

static void sort_tree(struct gpc_tree *t)
{
	if (t->entries.n)
		qsort(t->entries.v, t->entries.n, sizeof(*t->entries.v), by_path);
	if (t->excluded.n)
		qsort(t->excluded.v, t->excluded.n, sizeof(*t->excluded.v),
			excluded_by_path);
	gpc_strv_sort(&t->unreadable);
}

static bool is_absent(int sys)
{
	return sys == ENOENT || sys == ENOTDIR || sys == ELOOP ||
		sys == EACCES || sys == ENAMETOOLONG;
}

static int open_root(struct scan *s, const char *root, struct gpc_error *err)
{
	struct timespec now;
	struct stat st;
	int r;

	clock_gettime(CLOCK_REALTIME, &now);
	s->tree->started_ns = to_ns(now);
	s->tree->arena = gpc_arena_new();
	r = gpc_path_absolute(root, &s->tree->root, err);
	if (r == 0 && stat(s->tree->root, &st) == 0 && !S_ISDIR(st.st_mode))
		r = gpc_fail(err, GPC_ECONFIG, "%s is not a folder",
			s->tree->root);
	if (r == 0)
		r = gpc_beneath_open(&s->top, s->tree->root, err);
	if (r < 0)
		return r;
	for (size_t i = 0; s->o->exclude && i < s->o->exclude->n; i++) {
		const char *path = s->o->exclude->v[i];

		if (stat(path, &st) < 0) {
			if (is_absent(errno))
				continue;
			return gpc_fail_sys(err, errno, "cannot look at %s",
				path);
		}
		*gpc_vec_push(&s->reserved) = (struct identity){
			(uint64_t)st.st_dev, (uint64_t)st.st_ino};
	}
	return s->o->ignore_files ? choose_ignore(s, err) : 0;
}

int gpc_scan(const char *root, const struct gpc_scan_options *options,
	struct gpc_tree *ret_tree, struct gpc_error *err)
{
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(scan) struct scan s = {.o = options, .tree = &tree};
	int r = open_root(&s, root, err);

	if (r < 0)
		return r;
	*gpc_vec_push(&s.pending) = (struct pending){"", NULL};
	while (s.pending.n > 0) {
		r = scan_folder(&s, s.pending.v[--s.pending.n], err);
		if (r < 0)
			return r;
	}
	sort_tree(&tree);
	*ret_tree = tree;
	memset(&tree, 0, sizeof(tree));
	return 0;
}

void gpc_tree_clear(struct gpc_tree *t)
{
	free(t->root);
	gpc_vec_free(&t->entries);
	gpc_vec_free(&t->excluded);
	gpc_strv_clear(&t->unreadable);
	gpc_arena_free(t->arena);
	memset(t, 0, sizeof(*t));
}
