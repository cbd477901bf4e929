/* Files out of blobs. Every blob's hash is checked before anything looks into
 * it, every file's size and hash before it gets its name. Runs of zeros are not
 * written, so sparse files stay sparse.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/str.h"
#include "dep/archive.h"
#include "snapshot/restore.h"

enum { PIECE = 256 << 10, ZERO_RUN = 64 << 10 };

int gpc_restore_fail(const char *path, int sys, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(path, strlen(path));
	int r = gpc_fail_sys(err, sys, "restore %s", shown);

	if (sys == ENOTDIR || sys == ELOOP)
		gpc_hint(err, "a link or file stands where a folder belongs; "
			"restore into an empty folder");
	else if (sys == ENOSPC)
		gpc_hint(err, "free space on the disk of the target folder");
	return r;
}

int gpc_restore_parent(struct gpc_restore *x, struct gpc_restore_worker *w,
	const char *path, int *ret_fd, const char **ret_name,
	struct gpc_error *err)
{
	unsigned flags = GPC_BENEATH_CREATE
		| (x->o->overwrite ? GPC_BENEATH_REPLACE : 0);
	struct gpc_error why = {0};

	if (gpc_beneath_parent(&w->top, path, flags, ret_fd, ret_name, &why) < 0)
		return gpc_restore_fail(path, why.sys, err);
	return 0;
}

int gpc_restore_keeps(const struct gpc_restore *x, int dir, const char *name,
	const char *path, bool *ret_keeps, struct gpc_error *err)
{
	struct stat st;

	*ret_keeps = false;
	if (x->o->overwrite)
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*ret_keeps = true;
	else if (errno != ENOENT)
		return gpc_restore_fail(path, errno, err);
	return 0;
}

/* The same for a file of the snapshot, which is counted. */
static int keeps_file(struct gpc_restore *x, int dir, const char *name,
	const struct gpc_line *line, bool *ret_keeps, struct gpc_error *err)
{
	int r = gpc_restore_keeps(x, dir, name, line->path, ret_keeps, err);

	if (r < 0 || !*ret_keeps)
		return r;
	atomic_fetch_add(&x->kept_files, 1);
	atomic_fetch_add(&x->kept_bytes, line->size);
	return 0;
}

static bool is_zero(const char *data, size_t n)
{
	return data[0] == 0 && memcmp(data, data + 1, n - 1) == 0;
}

/* Writes what is not zero; the file already has its size. */
static int write_sparse(int fd, const char *data, size_t n, uint64_t at,
	const char *path, struct gpc_error *err)
{
	while (n > 0) {
		size_t part = n < ZERO_RUN ? n : ZERO_RUN;

		if (part < ZERO_RUN || !is_zero(data, part)) {
			ssize_t done = pwrite(fd, data, part, (off_t)at);

			if (done < 0 && errno == EINTR)
				continue;
			if (done <= 0)
				return gpc_restore_fail(path,
					done < 0 ? errno : EIO, err);
			part = (size_t)done;
		}
		data += part;
		at += part;
		n -= part;
	}
	return 0;
}

/* Gives a complete file its mode, time and name. */
static int name_file(struct gpc_draft *d, const char *name,
	const struct gpc_line *line, struct gpc_error *err)
{
	int sys;
	long ns = (long)(line->mtime_ns % 1000000000);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {
		.tv_sec = (time_t)(line->mtime_ns / 1000000000 - (ns < 0)),
		.tv_nsec = ns < 0 ? ns + 1000000000 : ns}};

	GPC_CRASH("restore.written");
	if (fchmod(d->fd, line->mode & 0777) < 0 || futimens(d->fd, times) < 0)
		return gpc_restore_fail(line->path, errno, err);
	sys = gpc_draft_commit(d, name);
	return sys ? gpc_restore_fail(line->path, sys, err) : 0;
}

/* Of the size that it will have. */
static int open_draft(struct gpc_draft *d, int dir, const struct gpc_line *line,
	struct gpc_error *err)
{
	int sys = gpc_draft_open(d, dir, 0600);

	if (!sys && ftruncate(d->fd, (off_t)line->size) < 0) {
		sys = errno;
		gpc_draft_drop(d);
	}
	return sys ? gpc_restore_fail(line->path, sys, err) : 0;
}

/* --- packs ------------------------------------------------------------- */
static int fail_content(const char *path, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(path, strlen(path));

	return gpc_fail(err, GPC_EPROTO,
		"file \"%.200s\" does not match the snapshot's list", shown);
}

/* Copies the entry's content to fd (-1: only reads it) and checks it. */
static int copy_member(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_archive_reader *tar, const struct gpc_line *line, int fd,
	struct gpc_error *err)
{
	uint8_t sum[GPC_SHA256_SIZE];
	uint64_t at = 0;
	size_t n = 1;
	int r = 0;

	while (r == 0 && n > 0) {
		r = gpc_archive_read(tar, w->piece, PIECE, &n, err);
		if (r < 0)
			break;
		if (n > line->size - at)
			return fail_content(line->path, err);
		gpc_sha256_add(w->hash, w->piece, n);
		if (fd >= 0)
			r = write_sparse(fd, w->piece, n, at, line->path, err);
		at += n;
		if (gpc_canceled(x->o->cancel))
			r = gpc_fail(err, GPC_ECANCELED, "interrupted");
	}
	gpc_sha256_end(w->hash, sum);
	if (r == 0 && (at != line->size
		|| memcmp(sum, line->hash, sizeof(sum)) != 0))
		r = fail_content(line->path, err);
	return r;
}

static int restore_member(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_archive_reader *tar, const struct gpc_line *line,
	struct gpc_error *err)
{
	struct gpc_draft draft;
	const char *name;
	bool keeps = false;
	int dir, r = gpc_restore_parent(x, w, line->path, &dir, &name, err);

	if (r == 0)
		r = keeps_file(x, dir, name, line, &keeps, err);
	if (r == 0 && !keeps)
		r = open_draft(&draft, dir, line, err);
	if (r < 0 || keeps)
		return r;
	r = copy_member(x, w, tar, line, draft.fd, err);
	if (r == 0)
		r = name_file(&draft, name, line, err);
	gpc_draft_drop(&draft);
	return r;
}

int gpc_restore_pack(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_restore_task *t, struct gpc_error *err)
{
	const struct gpc_line *first = &t->members.v[0];
	gpc_autoptr(gpc_archive_reader) *tar = NULL;
	int r = gpc_blob_get(x->store, x->prefix, first->pack, first->pack_size,
		&w->spool, err);

	if (r == 0)
		r = gpc_tar_reader_new(gpc_spool_read, &w->spool, &tar, err);
	for (size_t i = 0; r == 0 && i < t->members.n; i++) {
		const struct gpc_line *line = &t->members.v[i];
		const char *path;
		uint64_t size;

		if (gpc_canceled(x->o->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		r = gpc_archive_next(tar, &path, &size, err);
		if (r == 0 && (!gpc_eq(path, line->path) || size != line->size))
			r = fail_content(line->path, err);
		if (r == 0)
			r = restore_member(x, w, tar, line, err);
		atomic_fetch_add(&x->done_bytes, line->size);
	}
	return r;
}

/* --- large files ------------------------------------------------------- */
int gpc_assembly_open(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_line *line, struct gpc_assembly **ret_a,
	struct gpc_error *err)
{
	struct gpc_assembly *a;
	const char *name;
	bool keeps = false;
	int dir, r = gpc_restore_parent(x, w, line->path, &dir, &name, err);

	*ret_a = NULL;
	if (r == 0)
		r = keeps_file(x, dir, name, line, &keeps, err);
	if (r < 0 || keeps)
		return r;
	a = gpc_alloc(sizeof(*a));
	a->left = 1;
	a->draft.fd = -1;
	a->line = *line;
	memset(line, 0, sizeof(*line));
	a->name = a->line.path + (name - a->line.path);
	a->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (a->dir < 0)
		r = gpc_restore_fail(a->line.path, errno, err);
	if (r == 0)
		r = open_draft(&a->draft, a->dir, &a->line, err);
	if (r < 0)
		gpc_assembly_give_up(a);
	else
		*ret_a = a;
	return r;
}

int gpc_assembly_release(struct gpc_assembly *a, struct gpc_error *err)
{
	int r = 0;

	if (atomic_fetch_sub(&a->left, 1) != 1)
		return 0;
	if (!a->failed)
		r = name_file(&a->draft, a->name, &a->line, err);
	gpc_draft_drop(&a->draft);
	gpc_close(&a->dir);
	gpc_line_clear(&a->line);
	free(a);
	return r;
}

void gpc_assembly_give_up(struct gpc_assembly *a)
{
	struct gpc_error ignored;

	/* The first error has been reported; the file is only removed. */
	atomic_store(&a->failed, true);
	if (gpc_assembly_release(a, &ignored) < 0)
		return;
}

/* Writes the n bytes of the piece that starts at `at` from the spool. */
static int copy_piece(struct gpc_restore *x, struct gpc_restore_worker *w,
	const struct gpc_restore_task *t, uint64_t at, uint64_t n,
	struct gpc_error *err)
{
	const struct gpc_assembly *a = t->assembly;
	gpc_autoptr(gpc_archive_reader) *zstd = NULL;
	uint64_t done = 0;
	int r = 0;

	if (t->chunk.kind == GPC_CHUNK_ZSTD)
		r = gpc_zstd_reader_new(gpc_spool_read, &w->spool, &zstd, err);
	while (r == 0) {
		const void *data = w->piece;
		size_t got = 0;

		if (gpc_canceled(x->o->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		r = zstd ? gpc_archive_read(zstd, w->piece, PIECE, &got, err)
			: gpc_spool_read(&w->spool, &data, &got, err);
		if (r < 0 || got == 0)
			break;
		if (got > n - done)
			return fail_content(a->line.path, err);
		r = write_sparse(a->draft.fd, data, got, at + done, a->line.path, err);
		done += got;
	}
	return r < 0 ? r : done == n ? 0 : fail_content(a->line.path, err);
}

int gpc_restore_chunk(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_restore_task *t, struct gpc_error *err)
{
	struct gpc_assembly *a = t->assembly;
	uint64_t at = t->number * GPC_CHUNK_BYTES;
	uint64_t n = a->line.size - at < GPC_CHUNK_BYTES ? a->line.size - at
		: GPC_CHUNK_BYTES;
	int r = gpc_blob_get(x->store, x->prefix, t->chunk.sum, t->chunk.size,
		&w->spool, err);

	if (r == 0)
		r = copy_piece(x, w, t, at, n, err);
	atomic_fetch_add(&x->done_bytes, n);
	t->assembly = NULL;
	if (r == 0)
		return gpc_assembly_release(a, err);
	gpc_assembly_give_up(a);
	return r;
}

void gpc_restore_task_free(struct gpc_restore_task *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->members.n; i++)
		gpc_line_clear(&t->members.v[i]);
	gpc_vec_free(&t->members);
	free(t);
}

void gpc_restore_task_drop(void *task)
{
	struct gpc_restore_task *t = task;

	if (t->assembly)
		gpc_assembly_give_up(t->assembly);
	gpc_restore_task_free(t);
}
