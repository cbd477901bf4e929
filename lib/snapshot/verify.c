/* Verifying a snapshot without restoring it: the calling thread reads the lists,
 * worker threads read packs and pieces and compare. What is damaged is told and
 * the rest is looked at all the same; only what prevents looking ends it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/archive.h"
#include "snapshot/blob.h"
#include "snapshot/list.h"
#include "snapshot/pool.h"
#include "snapshot/snapshot.h"

enum { PIECE = 256 << 10, MAX_MEMBERS = 1 << 18 };
#define SPOOLS_MEMORY ((int64_t)24 << 20)

struct gpc_verified {
	struct gpc_map map;
	pthread_mutex_t lock;
};

struct gpc_verified *gpc_verified_new(void)
{
	struct gpc_verified *v = gpc_alloc(sizeof(*v));

	pthread_mutex_init(&v->lock, NULL);
	return v;
}

void gpc_verified_free(struct gpc_verified *v)
{
	if (!v)
		return;
	gpc_map_clear(&v->map);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

/* --- what is shared ------------------------------------------------------- */

struct worker {
	struct gpc_spool spool;
	struct gpc_sha256 *hash;
	char *piece;
};
struct verify {
	struct gpc_store *store;
	const char *prefix;
	const struct gpc_verify_options *o;
	gpc_damage_fn *fn;
	void *arg;
	pthread_mutex_t lock;           /* of fn */
	struct gpc_verified *known;
	unsigned threads;
	struct gpc_spool_budget memory;
	struct worker *workers;
	_Atomic uint64_t done_bytes;
	uint64_t total_bytes;
	/* the reader's */
	struct gpc_pool *pool;
	struct task *pack;              /* being filled */
	char *last;                     /* path before, over all lists */
	uint64_t files, bytes;
	bool lists_ok;
};
/* The members of one pack, or one piece of a large file. */
struct task {
	GPC_VEC(struct gpc_line) members;
	char *path;
	struct gpc_chunk chunk;
	uint64_t n;                     /* bytes of the file in this piece */
};

static void task_free(void *arg)
{
	struct task *t = arg;

	if (!t)
		return;
	for (size_t i = 0; i < t->members.n; i++)
		gpc_line_clear(&t->members.v[i]);
	gpc_vec_free(&t->members);
	free(t->path);
	free(t);
}

static void verify_clear(struct verify *x)
{
	gpc_pool_free(x->pool);
	task_free(x->pack);
	for (unsigned i = 0; x->workers && i < x->threads; i++) {
		gpc_spool_clear(&x->workers[i].spool);
		gpc_sha256_free(x->workers[i].hash);
		free(x->workers[i].piece);
	}
	free(x->workers);
	free(x->last);
	pthread_mutex_destroy(&x->lock);
}
GPC_CLEANUP_VALUE(verify);

/* What names the blob already need not do so twice. */
static void tell(struct verify *x, const char *path, const char *blob,
	const char *what)
{
	if (blob && strstr(what, blob))
		blob = NULL;
	pthread_mutex_lock(&x->lock);
	x->fn(x->arg, path, blob, what);
	pthread_mutex_unlock(&x->lock);
}

/* Damage, as opposed to a store that cannot be reached. */
static bool is_damage(int r)
{
	return r == -GPC_ENOTFOUND || r == -GPC_EPROTO;
}

static bool is_known(struct verify *x, const char *key)
{
	bool known;

	if (!x->known)
		return false;
	pthread_mutex_lock(&x->known->lock);
	known = gpc_map_has(&x->known->map, key);
	pthread_mutex_unlock(&x->known->lock);
	return known;
}

static void note_known(struct verify *x, const char *key)
{
	if (!x->known)
		return;
	pthread_mutex_lock(&x->known->lock);
	/* What is not noted is looked at once more. */
	(void)gpc_map_try_set(&x->known->map, key, x);
	pthread_mutex_unlock(&x->known->lock);
}

/* --- packs ---------------------------------------------------------------- */

/* The pack, and what it is supposed to hold. */
static char *pack_key(const struct verify *x, const struct task *t,
	const char *hex)
{
	uint64_t h = gpc_hash64(x->prefix, strlen(x->prefix));

	for (size_t i = 0; i < t->members.n; i++) {
		const struct gpc_line *l = &t->members.v[i];
		uint64_t part[3] = { h, l->size,
			gpc_hash64(l->path, strlen(l->path)) };

		h = gpc_hash64(part, sizeof(part)) ^
			gpc_hash64(l->hash, sizeof(l->hash));
	}
	return gpc_format("%s:%016llx", hex, (unsigned long long)h);
}

static int check_member(struct verify *x, struct worker *w,
	struct gpc_archive_reader *tar, const struct gpc_line *line,
	bool *ret_same, struct gpc_error *err)
{
	uint8_t sum[GPC_SHA256_SIZE];
	size_t n = 1;
	int r = 0;

	while (r == 0 && n > 0) {
		r = gpc_archive_read(tar, w->piece, PIECE, &n, err);
		if (r == 0)
			gpc_sha256_add(w->hash, w->piece, n);
		if (r == 0 && gpc_canceled(x->o->cancel))
			r = gpc_fail(err, GPC_ECANCELED, "interrupted");
	}
	gpc_sha256_end(w->hash, sum);
	*ret_same = memcmp(sum, line->hash, sizeof(sum)) == 0;
	return r;
}

/* *ret_at: the member that is at fault when it fails. */
static int check_members(struct verify *x, struct worker *w, struct task *t,
	const char *hex, size_t *ret_at, bool *ret_sound, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_reader) *tar = NULL;
	const char *path = NULL;
	uint64_t size = 0;
	int r = gpc_tar_reader_new(gpc_spool_read, &w->spool, &tar, err);

	for (*ret_at = 0; r == 0 && *ret_at < t->members.n; ++*ret_at) {
		const struct gpc_line *line = &t->members.v[*ret_at];
		bool same = false;

		r = gpc_archive_next(tar, &path, &size, err);
		if (r == 0 && (!gpc_eq(path, line->path) || size != line->size))
			r = gpc_fail(err, GPC_EPROTO, "it is not where the list "
				"says, in the pack");
		if (r == 0)
			r = check_member(x, w, tar, line, &same, err);
		if (r < 0)
			break;
		if (same)
			continue;
		*ret_sound = false;
		tell(x, line->path, hex, "its bytes in the pack are not those "
			"that the list names");
	}
	if (r == 0)
		r = gpc_archive_next(tar, &path, &size, err);
	if (r == 0 && path)
		r = gpc_fail(err, GPC_EPROTO, "the pack holds more than the "
			"list says");
	return r;
}

/* A blob that is not there or not itself takes all of its files with it. */
static void tell_all(struct verify *x, const struct task *t, const char *hex,
	const struct gpc_error *why)
{
	const char *what = why->code == GPC_ENOTFOUND ? "its pack is missing" :
		"its pack is damaged: the bytes do not match the name";

	for (size_t i = 0; i < t->members.n; i++)
		tell(x, t->members.v[i].path, hex, what);
}

static int check_pack(struct verify *x, struct worker *w, struct task *t,
	struct gpc_error *err)
{
	const struct gpc_line *first = &t->members.v[0];
	struct gpc_error why = {0};
	gpc_autostr *key = NULL;
	char hex[GPC_SHA256_HEX];
	bool sound = true;
	size_t at = 0;
	int r;

	gpc_hex(first->pack, sizeof(first->pack), hex);
	key = pack_key(x, t, hex);
	if (is_known(x, key))
		return 0;
	r = gpc_blob_get(x->store, x->prefix, first->pack, first->pack_size,
		&w->spool, &why);
	if (is_damage(r)) {
		tell_all(x, t, hex, &why);
		return 0;
	}
	if (r == 0)
		r = check_members(x, w, t, hex, &at, &sound, &why);
	if (is_damage(r)) {
		tell(x, at < t->members.n ? t->members.v[at].path : NULL, hex,
			why.msg);
		return 0;
	}
	if (r < 0)
		*err = why;
	else if (sound)
		note_known(x, key);
	return r;
}

/* --- pieces --------------------------------------------------------------- */

static int piece_size(struct verify *x, struct worker *w, const struct task *t,
	uint64_t *ret_n, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_reader) *zstd = NULL;
	int r;

	*ret_n = w->spool.size;
	if (t->chunk.kind != GPC_CHUNK_ZSTD)
		return 0;
	*ret_n = 0;
	r = gpc_zstd_reader_new(gpc_spool_read, &w->spool, &zstd, err);
	for (size_t n = 1; r == 0 && n > 0; *ret_n += n) {
		r = gpc_archive_read(zstd, w->piece, PIECE, &n, err);
		/* A bomb is damage as well. */
		if (r == 0 && *ret_n + n > t->n)
			r = gpc_fail(err, GPC_EPROTO, "a piece of it is longer "
				"than the list says");
		if (r == 0 && gpc_canceled(x->o->cancel))
			r = gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (r < 0)
			break;
	}
	return r;
}

static int check_piece(struct verify *x, struct worker *w, struct task *t,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	gpc_autostr *key = NULL;
	char hex[GPC_SHA256_HEX];
	uint64_t n = 0;
	int r;

	gpc_hex(t->chunk.sum, sizeof(t->chunk.sum), hex);
	key = gpc_format("%s%s:%llu:%d", x->prefix, hex,
		(unsigned long long)t->n, t->chunk.kind);
	if (is_known(x, key))
		return 0;
	r = gpc_blob_get(x->store, x->prefix, t->chunk.sum, t->chunk.size,
		&w->spool, &why);
	if (is_damage(r)) {
		tell(x, t->path, hex, r == -GPC_ENOTFOUND ?
			"a piece of it is missing" : "a piece of it is damaged: "
			"the bytes do not match the name");
		return 0;
	}
	if (r == 0)
		r = piece_size(x, w, t, &n, &why);
	if (r == 0 && n != t->n)
		r = gpc_fail(&why, GPC_EPROTO, "a piece of it is shorter than "
			"the list says");
	if (is_damage(r)) {
		tell(x, t->path, hex, why.msg);
		return 0;
	}
	if (r < 0)
		*err = why;
	else
		note_known(x, key);
	return r;
}

static int run_task(void *arg, unsigned worker, void *task,
	struct gpc_error *err)
{
	struct verify *x = arg;
	struct task *t = task;
	struct gpc_error why = {0};
	uint64_t n = t->n;
	int r = gpc_canceled(x->o->cancel) ?
		gpc_fail(&why, GPC_ECANCELED, "interrupted") :
		t->path ? check_piece(x, &x->workers[worker], t, &why) :
		check_pack(x, &x->workers[worker], t, &why);

	for (size_t i = 0; i < t->members.n; i++)
		n += t->members.v[i].size;
	atomic_fetch_add(&x->done_bytes, n);
	task_free(t);
	if (r < 0 && err)
		*err = why;
	return r;
}

/* --- lists ---------------------------------------------------------------- */

static int end_pack(struct verify *x, struct gpc_error *err)
{
	return x->pack ? gpc_pool_add(x->pool, gpc_steal(&x->pack), err) : 0;
}

static int add_small(struct verify *x, struct gpc_line *line,
	struct gpc_error *err)
{
	struct gpc_line *slot;
	int r = 0;

	if (x->pack && (x->pack->members.n == MAX_MEMBERS ||
		memcmp(x->pack->members.v[0].pack, line->pack,
		sizeof(line->pack)) != 0))
		r = end_pack(x, err);
	if (r < 0)
		return r;
	if (!x->pack)
		x->pack = gpc_alloc(sizeof(*x->pack));
	slot = gpc_vec_try_push(&x->pack->members);
	if (!slot)
		return gpc_fail_memory(err, "a snapshot's lists");
	*slot = *line;
	memset(line, 0, sizeof(*line));
	return 0;
}

static int add_big(struct verify *x, const struct gpc_line *line,
	struct gpc_error *err)
{
	uint64_t at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < line->chunks.n; i++) {
		const struct gpc_chunk *c = &line->chunks.v[i];
		struct task *t;

		if (c->kind == GPC_CHUNK_HOLE) {
			at += (uint64_t)c->size * GPC_CHUNK_BYTES;
			continue;
		}
		t = gpc_alloc(sizeof(*t));
		t->path = gpc_strdup(line->path);
		t->chunk = *c;
		t->n = line->size - at < GPC_CHUNK_BYTES ? line->size - at :
			GPC_CHUNK_BYTES;
		at += GPC_CHUNK_BYTES;
		r = gpc_pool_add(x->pool, t, err);
	}
	return r;
}

static int on_line(void *arg, struct gpc_line *line, struct gpc_error *err)
{
	struct verify *x = arg;

	if (gpc_canceled(x->o->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	if (x->last && strcmp(x->last, line->path) >= 0)
		return gpc_fail(err, GPC_EPROTO, "paths are not in order");
	gpc_set_str(&x->last, line->path);
	x->bytes += line->size;
	if (line->kind != GPC_ENTRY_FILE)
		return 0;
	x->files++;
	return line->chunked ? add_big(x, line, err) : add_small(x, line, err);
}

/* One list at a time, so that a damaged one hides nothing of the others. */
static int check_list(struct verify *x, const struct gpc_json *about,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *one = gpc_json_object();
	struct gpc_json *lists = gpc_json_array();
	struct gpc_error why = {0};
	int r;

	gpc_json_add(lists, gpc_json_copy(about));
	gpc_json_set_int(one, "v", 1);
	gpc_json_set(one, "lists", lists);
	r = gpc_lists_read(x->store, one, x->prefix, NULL, on_line, x, &why);
	if (is_damage(r)) {
		x->lists_ok = false;
		tell(x, NULL, gpc_json_get_str(about, "sha256"), why.msg);
		return 0;
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

static int check_lists(struct verify *x, const struct gpc_json *head,
	struct gpc_error *err)
{
	const struct gpc_json *lists = gpc_json_get(head, "lists");
	int64_t v = gpc_json_get_int(head, "v", 0);
	int r = 0;

	if (v > 1)
		return gpc_fail(err, GPC_EUNSUPPORTED, "the snapshot has format "
			"%lld, this program knows 1", (long long)v);
	if (v != 1 || !gpc_json_is_array(lists)) {
		tell(x, NULL, NULL, "this is no snapshot's head");
		return 0;
	}
	x->lists_ok = true;
	for (const struct gpc_json *m = gpc_json_first(lists); m && r == 0;
		m = gpc_json_next(m))
		r = check_list(x, m, err);
	if (r == 0)
		r = end_pack(x, err);
	if (r == 0)
		r = gpc_pool_finish(x->pool, err);
	if (r == 0 && x->lists_ok && ((uint64_t)gpc_json_get_int(head, "files",
		(int64_t)x->files) != x->files || (uint64_t)gpc_json_get_int(
		head, "bytes", (int64_t)x->bytes) != x->bytes))
		tell(x, NULL, NULL, "its head does not agree with its lists "
			"about files and bytes");
	return r;
}

static void tick(void *arg)
{
	struct verify *x = arg;

	if (x->o->progress)
		x->o->progress(x->o->progress_arg, atomic_load(&x->done_bytes),
			x->total_bytes);
}

int gpc_snapshot_verify(struct gpc_store *s, const struct gpc_json *head,
	const char *prefix, const struct gpc_verify_options *options,
	gpc_damage_fn *fn, void *arg, struct gpc_error *err)
{
	static const struct gpc_verify_options defaults = {0};
	gpc_auto(verify) struct verify x = { .store = s, .prefix = prefix,
		.o = options ? options : &defaults, .fn = fn, .arg = arg };
	struct gpc_pool_options pool = { .run = run_task, .drop = task_free,
		.tick = tick, .arg = &x };
	int64_t bytes = gpc_json_get_int(head, "bytes", 0);
	int r;

	pthread_mutex_init(&x.lock, NULL);
	x.known = x.o->known;
	x.total_bytes = bytes > 0 ? (uint64_t)bytes : 0;
	x.threads = pool.threads = gpc_pool_threads(x.o->threads);
	atomic_init(&x.memory.left, SPOOLS_MEMORY);
	x.workers = gpc_array(x.threads, sizeof(*x.workers));
	for (unsigned i = 0; i < x.threads; i++) {
		gpc_spool_init(&x.workers[i].spool, &x.memory);
		x.workers[i].hash = gpc_sha256_new();
		x.workers[i].piece = gpc_grow(NULL, PIECE, 1);
	}
	r = gpc_pool_open(&pool, &x.pool, err);
	if (r == 0)
		r = check_lists(&x, head, err);
	if (r == 0)
		tick(&x);
	return r;
}
