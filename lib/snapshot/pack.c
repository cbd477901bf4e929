/* Packs: small files as a tar, compressed and hashed while they are read, so
 * that memory holds one piece of one file. What differs from the scan is noted;
 * a file that changes under the reader spoils the pack, which is then made again
 * in the next round.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "dep/archive.h"
#include "snapshot/save.h"

int gpc_save_fail(const struct gpc_save *s, const char *path, int sys,
	struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(path, strlen(path));

	return gpc_fail_sys(err, sys, "cannot read %s/%s", s->tree->root, shown);
}

bool gpc_save_is_gone(int sys)
{
	return sys == ENOENT || sys == ENOTDIR || sys == ELOOP;
}

int gpc_save_open(struct gpc_save *s, struct gpc_save_worker *w,
	const char *path, int *ret_fd, struct stat *ret_st,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	const char *name;
	int at, fd;

	*ret_fd = -1;
	if (gpc_beneath_parent(&w->top, path, 0, &at, &name, &why) < 0)
		return gpc_save_is_gone(why.sys) ? 0 : gpc_save_fail(s, path, why.sys, err);
	/* A pipe put in its place must not make us wait. */
	fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return gpc_save_is_gone(errno) ? 0 : gpc_save_fail(s, path, errno, err);
	if (fstat(fd, ret_st) < 0) {
		int sys = errno;

		close(fd);
		return gpc_save_fail(s, path, sys, err);
	}
	if (!S_ISREG(ret_st->st_mode)) {
		close(fd);
		return 0;
	}
	*ret_fd = fd;
	return 0;
}

int gpc_save_read(struct gpc_save *s, struct gpc_save_worker *w, int fd,
	const char *path, uint64_t offset, size_t n, size_t *ret_n,
	struct gpc_error *err)
{
	size_t got = 0;

	if (gpc_canceled(s->o->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	while (got < n) {
		ssize_t done = pread(fd, w->piece + got, n - got,
			(off_t)(offset + got));

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return gpc_save_fail(s, path, errno, err);
		if (done == 0)
			break;
		got += (size_t)done;
	}
	atomic_fetch_add(&s->read_bytes, got);
	*ret_n = got;
	return 0;
}

/* Names that a tar holds as they are, whatever the reader's character set. */
static bool is_plain(const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c < 0x20 || c > 0x7d || c == '\\')
			return false;
	}
	return true;
}

static bool needs_binary(const struct gpc_save *s, const struct gpc_pack *p)
{
	for (uint32_t i = p->first; i < p->first + p->n; i++)
		if (!is_plain(s->tree->entries.v[s->members.v[i]].path))
			return true;
	return false;
}

/* Copies size bytes into the tar. A file that ends early is filled up: it has
 * changed, and the next round sees what it became. */
static int copy_content(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_archive_writer *tar, int fd, const char *path, uint64_t size,
	struct gpc_error *err)
{
	for (uint64_t at = 0; at < size;) {
		size_t n = size - at < GPC_PIECE_BYTES ? (size_t)(size - at)
			: GPC_PIECE_BYTES;
		size_t got = 0;
		int r = gpc_save_read(s, w, fd, path, at, n, &got, err);

		if (r < 0)
			return r;
		memset(w->piece + got, 0, n - got);
		gpc_sha256_add(w->hash, w->piece, n);
		r = gpc_archive_write(tar, w->piece, n, err);
		if (r < 0)
			return r;
		at += n;
	}
	return 0;
}

static int note(struct gpc_save *s, struct gpc_pack *p, uint32_t member,
	const struct stat *st, uint64_t size, struct gpc_error *err)
{
	struct gpc_seen *seen = gpc_vec_try_push(&p->seen);

	if (!seen)
		return gpc_fail_memory(err, "files that change");
	seen->member = member;
	seen->gone = st == NULL;
	if (st) {
		seen->mode = st->st_mode & 0777;
		seen->size = size;
		seen->mtime_ns = gpc_file_id_of_stat(st).mtime_ns;
	}
	atomic_store(&s->unquiet, true);
	return 0;
}

static int add_member(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_archive_writer *tar, struct gpc_pack *p, uint32_t member,
	struct gpc_error *err)
{
	const struct gpc_entry *e = &s->tree->entries.v[s->members.v[member]];
	struct gpc_file_id scanned = gpc_file_id_of_entry(e), before, after;
	struct stat st, end;
	gpc_autofd fd = -1;
	uint64_t size;
	int r = gpc_save_open(s, w, e->path, &fd, &st, err);

	if (r < 0)
		return r;
	s->has_hash[member] = fd >= 0;
	if (fd < 0)
		return note(s, p, member, NULL, 0, err);
	/* What has grown large meanwhile (a log) is taken as far as it was. */
	size = (uint64_t)st.st_size < GPC_SMALL_BYTES ? (uint64_t)st.st_size
		: e->size;
	before = gpc_file_id_of_stat(&st);
	if (!gpc_file_id_eq(&before, &scanned))
		r = note(s, p, member, &st, size, err);
	if (r == 0)
		r = gpc_archive_begin(tar, e->path, size, err);
	if (r == 0)
		r = copy_content(s, w, tar, fd, e->path, size, err);
	gpc_sha256_end(w->hash, s->hashes[member]);
	if (r < 0)
		return r;
	if (fstat(fd, &end) < 0)
		return gpc_save_fail(s, e->path, errno, err);
	after = gpc_file_id_of_stat(&end);
	if (!gpc_file_id_eq(&before, &after)) {
		if (!p->seen.n || p->seen.v[p->seen.n - 1].member != member)
			r = note(s, p, member, &st, size, err);
		p->changed = true;
	}
	return 0;
}

static int build(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_pack *p, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_writer) *tar = NULL;
	int r;

	p->known = p->changed = false;
	p->seen.n = 0;
	gpc_spool_reset(&w->spool, 0);
	r = gpc_tar_writer_new(needs_binary(s, p), gpc_spool_add, &w->spool,
		&tar, err);
	for (uint32_t i = p->first; r == 0 && i < p->first + p->n; i++)
		r = add_member(s, w, tar, p, i, err);
	if (r == 0)
		r = gpc_archive_finish(tar, err);
	if (r < 0)
		return r;
	gpc_spool_end(&w->spool, p->sum);
	p->size = (uint32_t)w->spool.size;
	return 0;
}

static bool is_empty(const struct gpc_save *s, const struct gpc_pack *p)
{
	for (uint32_t i = p->first; i < p->first + p->n; i++)
		if (s->has_hash[i])
			return false;
	return true;
}

int gpc_save_pack(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_pack *p, struct gpc_error *err)
{
	struct gpc_body body;
	bool has = false;
	int r = 0;

	if (p->known)
		r = gpc_sender_has(&s->sender, p->sum, p->size, &has, err);
	if (r == 0 && !has) {
		r = build(s, w, p, err);
		if (r < 0)
			return r;
		if (is_empty(s, p)) {
			p->size = 0;
		} else if (!p->changed || s->round == GPC_SAVE_ROUNDS) {
			body = gpc_spool_body(&w->spool);
			r = gpc_sender_put(&s->sender, p->sum, &body, err);
		}
	}
	if (r == 0)
		atomic_fetch_add(&s->done_bytes, p->bytes);
	return r;
}
