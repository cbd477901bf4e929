/* What a folder has that its bucket does not, and the other way round. All names that
 * were ever seen are in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/mirroring.h"
#include "base/path.h"
#include "provider/procs.h"
#include "snapshot/snapshot.h"
#include "transfer/place.h"

enum { TRIES = 3 };

struct gpc_mirror *gpc_mirror_new(const char *target, const char *url,
	const char *root, const struct gpc_log *log)
{
	struct gpc_mirror *m = gpc_alloc(sizeof(*m));

	m->target = gpc_strdup(target);
	m->url = gpc_strdup(url);
	m->root = gpc_strdup(root);
	m->log = log;
	m->transfers = 1;
	return m;
}

void gpc_mirror_free(struct gpc_mirror *m)
{
	if (!m)
		return;
	gpc_worker_free(m->worker);
	for (size_t i = 0; i < m->files.n; i++) {
		struct gpc_mirror_file *f = m->files.entries[i].value;

		free(f->path);
		free(f);
	}
	gpc_map_clear(&m->files);
	gpc_strv_clear(&m->except);
	gpc_strv_clear(&m->torn);
	gpc_strv_clear(&m->torn_next);
	gpc_strv_clear(&m->stuck);
	free(m->target);
	free(m->url);
	free(m->root);
	free(m->notes_dir);
	free(m);
}

void gpc_mirror_changes_clear(struct gpc_mirror_changes *c)
{
	gpc_vec_free(&c->due);
	gpc_vec_free(&c->gone);
}

char *gpc_mirror_path(const struct gpc_mirror *m, const struct gpc_mirror_file *f)
{
	return gpc_path_join(m->root, f->path);
}

bool gpc_mirror_stat(const struct gpc_mirror *m, const struct gpc_mirror_file *f,
	struct gpc_mirror_stat *ret_s)
{
	gpc_autostr *path = gpc_mirror_path(m, f);
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret_s = (struct gpc_mirror_stat){ (uint64_t)st.st_size,
		(uint64_t)st.st_ino, (int64_t)st.st_mtim.tv_sec * 1000000000 +
		st.st_mtim.tv_nsec };
	return true;
}

static bool is_same(const struct gpc_mirror_stat *a, const struct gpc_mirror_stat *b)
{
	return a->size == b->size && a->ino == b->ino && a->mtime_ns == b->mtime_ns;
}

void gpc_mirror_add_stuck(struct gpc_mirror *m, const char *path)
{
	if (m->n_stuck++ < GPC_MIRROR_NAMES)
		gpc_strv_take(&m->stuck, gpc_str_printable(path, strlen(path)));
}

/* --- one look ------------------------------------------------------------------ */

static int scan(const struct gpc_mirror *m, struct gpc_tree *ret_t,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	const struct gpc_scan_options o = { .with_git = true,
		.exclude = &m->except, .unreadable = GPC_UNREADABLE_SKIP,
		.cancel = cancel };

	int r;

	/* What vanishes meanwhile may make it fail. */
	for (int i = 0; i < TRIES; i++) {
		r = gpc_scan(m->root, &o, ret_t, err);
		if (r != -GPC_ENOTFOUND || access(m->root, F_OK) < 0)
			break;
	}
	return r;
}

static struct gpc_mirror_file *find(struct gpc_mirror *m, const char *path,
	struct gpc_error *err)
{
	struct gpc_mirror_file *f = gpc_map_get(&m->files, path);

	if (f)
		return f;
	f = gpc_alloc(sizeof(*f));
	f->path = gpc_strdup(path);
	if (gpc_map_try_set(&m->files, path, f))
		return f;
	free(f->path);
	free(f);
	gpc_fail_memory(err, "the names of its files");
	return NULL;
}

/* A download that is not finished is no file of the job's. */
static bool is_ours(const char *path)
{
	return gpc_starts_with(gpc_path_base(path), GPC_PLACE_PREFIX);
}

/* Notes how a file is now. *ret_still: the look before saw the same. */
static int note(struct gpc_mirror *m, const struct gpc_entry *e,
	struct gpc_mirror_file **ret_f, bool *ret_still, struct gpc_error *err)
{
	const struct gpc_mirror_stat now = { e->size, e->ino, e->mtime_ns };
	struct gpc_mirror_file *f = find(m, e->path, err);

	if (!f)
		return -GPC_EIO;
	*ret_still = f->look && f->look + 1 == m->looks && is_same(&f->now, &now);
	f->look = m->looks;
	f->now = now;
	*ret_f = f;
	return 0;
}

int gpc_mirror_take(struct gpc_mirror *m, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	int r = scan(m, &t, cancel, err);

	m->looks++;
	for (size_t i = 0; r == 0 && i < t.entries.n; i++) {
		const struct gpc_entry *e = &t.entries.v[i];
		struct gpc_mirror_file *f;
		bool still;

		if (e->kind != GPC_ENTRY_FILE || is_ours(e->path))
			continue;
		r = note(m, e, &f, &still, err);
		if (r < 0)
			break;
		f->up = f->fetched = true;
		f->sent = f->now;
	}
	return r;
}

/* --- what has changed ------------------------------------------------------------ */

static void wait_for(struct gpc_mirror *m, const struct gpc_mirror_file *f)
{
	m->waiting++;
	m->waiting_bytes += f->now.size;
}

static bool is_torn(const struct gpc_mirror *m, const struct gpc_mirror_file *f)
{
	gpc_autostr *path = gpc_mirror_path(m, f);

	return gpc_strv_has(&m->torn, path);
}

static int add(struct gpc_mirror *m, const struct gpc_entry *e,
	struct gpc_mirror_changes *c, struct gpc_error *err)
{
	struct gpc_mirror_file *f, **to;
	bool still;
	int r = note(m, e, &f, &still, err);

	if (r < 0 || (f->up && is_same(&f->sent, &f->now)))
		return r;
	if (m->last && m->leave_torn && is_torn(m, f)) {
		if (!m->torn_told)
			gpc_log(m->log, GPC_WARN, "file_mounts.%s: %s was being "
				"written when the program was killed: it is not "
				"uploaded", m->target, f->path);
		m->torn_told = true;
		return 0;
	}
	wait_for(m, f);
	if (!still && !m->last)
		return 0;
	to = gpc_vec_try_push(&c->due);
	if (!to)
		return gpc_fail_memory(err, "the names of its files");
	*to = f;
	return 0;
}

/* Whoever has a file open for writing is not done with it. */
static void leave_open(const struct gpc_mirror *m, struct gpc_mirror_changes *c)
{
	gpc_auto(gpc_strv) struct gpc_strv open = {0};
	size_t n = 0;

	if (m->last || !c->due.n)
		return;
	gpc_procs_list_writing(getpid(), m->root, &open);
	for (size_t i = 0; open.n && i < c->due.n; i++) {
		gpc_autostr *path = gpc_mirror_path(m, c->due.v[i]);

		if (!gpc_strv_has(&open, path))
			c->due.v[n++] = c->due.v[i];
	}
	if (open.n)
		c->due.n = n;
}

static int by_time(const void *a, const void *b)
{
	const struct gpc_mirror_file *x = *(struct gpc_mirror_file *const *)a;
	const struct gpc_mirror_file *y = *(struct gpc_mirror_file *const *)b;

	if (x->now.mtime_ns != y->now.mtime_ns)
		return x->now.mtime_ns < y->now.mtime_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int add_gone(struct gpc_mirror *m, struct gpc_mirror_changes *c,
	struct gpc_error *err)
{
	for (size_t i = 0; i < m->files.n; i++) {
		struct gpc_mirror_file *f = m->files.entries[i].value, **to;

		if (!f->up || f->look == m->looks ||
			(!m->last && f->look + 1 == m->looks))
			continue;
		to = gpc_vec_try_push(&c->gone);
		if (!to)
			return gpc_fail_memory(err, "the names of its files");
		*to = f;
	}
	return 0;
}

static void tell_links(struct gpc_mirror *m, const struct gpc_entry *e)
{
	if (!m->links_told)
		gpc_log(m->log, GPC_WARN, "file_mounts.%s: %s is a link, which a "
			"bucket cannot hold: links are not uploaded", m->target,
			e->path);
	m->links_told = true;
}

/* What cannot be read is not gone. */
static void add_unreadable(struct gpc_mirror *m, const struct gpc_tree *t)
{
	for (size_t i = 0; i < t->unreadable.n; i++)
		gpc_mirror_add_stuck(m, t->unreadable.v[i]);
}

static int pass_by(struct gpc_mirror *m, struct gpc_error *err)
{
	if (!m->gone_told)
		gpc_log(m->log, GPC_WARN, "file_mounts.%s: the folder itself is "
			"gone; what the bucket has of it stays", m->target);
	m->gone_told = true;
	if (err)
		*err = (struct gpc_error){0};
	return 0;
}

int gpc_mirror_look(struct gpc_mirror *m, struct gpc_mirror_changes *ret_c,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_auto(gpc_mirror_changes) struct gpc_mirror_changes c = {0};
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	int r = scan(m, &t, cancel, err);

	m->waiting = m->waiting_bytes = 0;
	m->looks++;
	if (r == -GPC_ENOTFOUND && access(m->root, F_OK) < 0)
		return pass_by(m, err);
	for (size_t i = 0; r == 0 && i < t.entries.n; i++) {
		const struct gpc_entry *e = &t.entries.v[i];

		if (e->kind == GPC_ENTRY_LINK)
			tell_links(m, e);
		else if (e->kind == GPC_ENTRY_FILE && !is_ours(e->path))
			r = add(m, e, &c, err);
	}
	add_unreadable(m, &t);
	if (r == 0 && !t.unreadable.n)
		r = add_gone(m, &c, err);
	if (r < 0)
		return r;
	leave_open(m, &c);
	if (c.due.n > 1)
		qsort(c.due.v, c.due.n, sizeof(*c.due.v), by_time);
	*ret_c = c;
	c = (struct gpc_mirror_changes){0};
	return 0;
}
