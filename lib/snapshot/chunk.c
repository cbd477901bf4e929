/* Large files in pieces of 16 MiB, each a blob of its own: zstd when that is
 * smaller, else as it is, nothing at all for zeros. A piece is read through a
 * small window into the spool; what is sent is what was hashed, even when the
 * file changes at that moment.
 */
#define _GNU_SOURCE     /* SEEK_DATA; systems without it read the zeros */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "dep/archive.h"
#include "snapshot/save.h"

enum { SAMPLES = 4, SAMPLE = 128 << 10 };

struct piece { const char *path; int fd; uint64_t at; uint64_t n; };

/* Whether the file system says that nothing is stored there. */
static bool is_hole(const struct piece *p)
{
#ifdef SEEK_DATA
	off_t data = lseek(p->fd, (off_t)p->at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO;
	return (uint64_t)data >= p->at + p->n;
#else
	(void)p;
	return false;
#endif
}

static bool is_zero(const char *data, size_t n)
{
	return n == 0 || (data[0] == 0 && memcmp(data, data + 1, n - 1) == 0);
}

/* Reads the piece and hands it to the compressor, or without one to the spool.
 * What the file no longer has is filled with zeros. */
static int copy(struct gpc_save *s, struct gpc_save_worker *w,
	const struct piece *p, struct gpc_archive_writer *zstd, bool *ret_zero,
	struct gpc_error *err)
{
	*ret_zero = true;
	for (uint64_t done = 0; done < p->n;) {
		size_t n = p->n - done < GPC_PIECE_BYTES
			? (size_t)(p->n - done) : GPC_PIECE_BYTES;
		size_t got = 0;
		int r = gpc_save_read(s, w, p->fd, p->path, p->at + done, n,
			&got, err);

		if (r < 0)
			return r;
		memset(w->piece + got, 0, n - got);
		*ret_zero = *ret_zero && is_zero(w->piece, n);
		r = zstd ? gpc_archive_write(zstd, w->piece, n, err)
			: gpc_spool_add(&w->spool, w->piece, n, err);
		if (r < 0)
			return r;
		done += n;
	}
	return 0;
}

static int count_bytes(void *arg, const void *data, size_t n,
	struct gpc_error *err)
{
	(void)data;
	(void)err;
	*(uint64_t *)arg += n;
	return 0;
}

/* Compressing what does not compress (weights, images, archives) would be most
 * of the work, so samples are tried first. The answer depends on the content
 * alone, as all that decides about a blob's bytes must. */
static int is_random(struct gpc_save *s, struct gpc_save_worker *w,
	const struct piece *p, bool *ret_random, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_writer) *zstd = NULL;
	uint64_t tried = 0, left = 0;
	int r = 0;

	*ret_random = false;
	if (p->n < SAMPLES * SAMPLE * 2)
		return 0;
	r = gpc_zstd_writer_new(count_bytes, &left, &zstd, err);
	for (uint64_t i = 0; r == 0 && i < SAMPLES; i++) {
		size_t got = 0;

		r = gpc_save_read(s, w, p->fd, p->path,
			p->at + i * (p->n / SAMPLES), SAMPLE, &got, err);
		if (r == 0)
			r = gpc_archive_write(zstd, w->piece, got, err);
		tried += got;
	}
	if (r == 0)
		r = gpc_archive_finish(zstd, err);
	*ret_random = r == 0 && left > tried / 100 * 99;
	return r;
}

static int compress(struct gpc_save *s, struct gpc_save_worker *w,
	const struct piece *p, bool *ret_zero, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_writer) *zstd = NULL;
	int r = gpc_zstd_writer_new(gpc_spool_add, &w->spool, &zstd, err);

	if (r == 0)
		r = copy(s, w, p, zstd, ret_zero, err);
	return r < 0 ? r : gpc_archive_finish(zstd, err);
}

static int fill_spool(struct gpc_save *s, struct gpc_save_worker *w,
	const struct piece *p, struct gpc_chunk *c, struct gpc_error *err)
{
	bool zero = false, raw;
	int r;

	c->kind = GPC_CHUNK_HOLE;
	c->size = 0;
	if (is_hole(p))
		return 0;
	r = is_random(s, w, p, &raw, err);
	gpc_spool_reset(&w->spool, 0);
	if (r == 0 && !raw)
		r = compress(s, w, p, &zero, err);
	if (r < 0 || zero)
		return r;
	c->kind = GPC_CHUNK_ZSTD;
	if (raw || w->spool.size >= p->n) {
		gpc_spool_reset(&w->spool, 0);
		c->kind = GPC_CHUNK_RAW;
		r = copy(s, w, p, NULL, &zero, err);
	}
	gpc_spool_end(&w->spool, c->sum);
	c->size = (uint32_t)w->spool.size;
	return r;
}

static void spoil(struct gpc_save *s, struct gpc_big *b)
{
	atomic_store(&b->changed, true);
	atomic_store(&s->unquiet, true);
}

static bool is_same(const struct gpc_big *b, const struct stat *st)
{
	struct gpc_file_id id = gpc_file_id_of_stat(st);

	return gpc_file_id_eq(&id, &b->id);
}

static int make(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_big *b, struct gpc_chunk *c, struct piece *p,
	struct gpc_error *err)
{
	gpc_autofd fd = -1;
	struct stat st;
	int r = gpc_save_open(s, w, p->path, &fd, &st, err);

	if (r < 0)
		return r;
	if (fd < 0) {
		atomic_store(&b->gone, true);
		atomic_store(&s->unquiet, true);
		return 0;
	}
	if (!is_same(b, &st))
		spoil(s, b);
	p->fd = fd;
	r = fill_spool(s, w, p, c, err);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || !is_same(b, &st))
		spoil(s, b);
	if (c->kind != GPC_CHUNK_HOLE && (s->round == GPC_SAVE_ROUNDS
		|| !atomic_load(&b->changed))) {
		struct gpc_body body = gpc_spool_body(&w->spool);

		r = gpc_sender_put(&s->sender, c->sum, &body, err);
	}
	return r;
}

int gpc_save_chunk(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_big *b, uint32_t number, struct gpc_error *err)
{
	struct gpc_chunk *c = &b->chunks[number];
	struct piece p = {
		.path = s->tree->entries.v[b->entry].path,
		.fd = -1,
		.at = number * GPC_CHUNK_BYTES,
	};
	bool has = c->kind == GPC_CHUNK_HOLE;
	int r = 0;

	p.n = b->id.size - p.at < GPC_CHUNK_BYTES ? b->id.size - p.at
		: GPC_CHUNK_BYTES;
	if (c->kind != GPC_CHUNK_UNKNOWN && !has)
		r = gpc_sender_has(&s->sender, c->sum, c->size, &has, err);
	if (r == 0 && !has)
		r = make(s, w, b, c, &p, err);
	if (r == 0)
		atomic_fetch_add(&s->done_bytes, p.n);
	return r;
}
