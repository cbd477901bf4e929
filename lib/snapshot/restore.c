/* Restoring a tree. The calling thread reads the lists line by line, makes
 * folders, and hands packs and pieces to worker threads through a short queue:
 * memory depends on neither the size of the tree nor that of its files, only
 * folders and links are kept until the end.
 */
#include "snapshot/restore.h"

#include <string.h>

#include "base/crash.h"
#include "base/map.h"
#include "base/path.h"
#include "base/str.h"
#include "snapshot/heap.h"
#include "snapshot/list.h"
#include "snapshot/pool.h"

enum { PIECE = 256 << 10, MAX_MEMBERS = 1 << 18 };
#define SPOOLS_MEMORY ((int64_t)24 << 20)

static void gpc_restore_clear(struct gpc_restore *x)
{
	for (unsigned i = 0; x->workers && i <= x->threads; i++) {
		struct gpc_restore_worker *w = &x->workers[i];

		gpc_beneath_clear(&w->top);
		gpc_spool_clear(&w->spool);
		gpc_sha256_free(w->hash);
		free(w->piece);
	}
	free(x->workers);
	gpc_vec_free(&x->dirs);
	gpc_vec_free(&x->links);
	gpc_arena_free(x->arena);
}
GPC_CLEANUP_VALUE(gpc_restore);

static int open_workers(struct gpc_restore *x, struct gpc_error *err)
{
	int r = 0;

	atomic_init(&x->memory.left, SPOOLS_MEMORY);
	x->threads = gpc_pool_threads(x->o->threads);
	x->workers = gpc_array(x->threads + 1, sizeof(*x->workers));
	for (unsigned i = 0; r == 0 && i <= x->threads; i++) {
		struct gpc_restore_worker *w = &x->workers[i];

		gpc_spool_init(&w->spool, &x->memory);
		w->hash = gpc_sha256_new();
		w->piece = gpc_grow(NULL, PIECE, 1);
		r = gpc_beneath_open(&w->top, x->target, err);
	}
	return r;
}

static int run_task(void *arg, unsigned worker, void *task,
	struct gpc_error *err)
{
	struct gpc_restore *x = arg;
	struct gpc_restore_worker *w = &x->workers[worker];
	struct gpc_restore_task *t = task;
	int r = t->assembly ? gpc_restore_chunk(x, w, t, err)
		: gpc_restore_pack(x, w, t, err);

	gpc_restore_task_free(t);
	return r;
}

static void tick(void *arg)
{
	struct gpc_restore *x = arg;
	uint64_t done = atomic_load(&x->done_bytes);

	if (x->o->progress)
		x->o->progress(x->o->progress_arg,
			done < x->total_bytes ? done : x->total_bytes,
			x->total_bytes);
}

/* --- reading the lists --------------------------------------------------- */
struct reader {
	struct gpc_restore *x;
	struct gpc_pool *pool;
	struct gpc_restore_task *pack;  /* being filled */
	struct gpc_map packs;           /* seen: each comes once */
	uint64_t bytes;
};

static void reader_clear(struct reader *in)
{
	gpc_restore_task_free(in->pack);
	gpc_map_clear(&in->packs);
	gpc_pool_free(in->pool);
}
GPC_CLEANUP_VALUE(reader);

#define LISTS "a snapshot's lists"

static int end_pack(struct reader *in, struct gpc_error *err)
{
	return in->pack ? gpc_pool_add(in->pool, gpc_steal(&in->pack), err) : 0;
}

static int add_small(struct reader *in, struct gpc_line *line,
	struct gpc_error *err)
{
	char hex[GPC_SHA256_HEX];
	struct gpc_line *slot;
	int r;

	if (in->pack && memcmp(in->pack->members.v[0].pack, line->pack,
		sizeof(line->pack)) != 0) {
		r = end_pack(in, err);
		if (r < 0)
			return r;
	}
	if (!in->pack) {
		gpc_hex(line->pack, sizeof(line->pack), hex);
		if (gpc_map_has(&in->packs, hex))
			return gpc_fail(err, GPC_EPROTO,
				"pack %s is named out of order", hex);
		if (!gpc_map_try_set(&in->packs, hex, in))
			return gpc_fail_memory(err, LISTS);
		in->pack = gpc_alloc(sizeof(*in->pack));
	}
	if (in->pack->members.n == MAX_MEMBERS)
		return gpc_fail(err, GPC_EPROTO, "a pack of too many files");
	slot = gpc_vec_try_push(&in->pack->members);
	if (!slot)
		return gpc_fail_memory(err, LISTS);
	*slot = *line;
	memset(line, 0, sizeof(*line));
	return 0;
}

static int add_pieces(struct reader *in, struct gpc_assembly *a,
	struct gpc_error *err)
{
	uint64_t number = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->line.chunks.n; i++) {
		const struct gpc_chunk *c = &a->line.chunks.v[i];
		struct gpc_restore_task *t;

		if (c->kind == GPC_CHUNK_HOLE) {
			number += c->size;
			continue;
		}
		t = gpc_alloc(sizeof(*t));
		t->assembly = a;
		t->chunk = *c;
		t->number = number++;
		atomic_fetch_add(&a->left, 1);
		r = gpc_pool_add(in->pool, t, err);
	}
	return r;
}

static int add_big(struct reader *in, struct gpc_line *line,
	struct gpc_error *err)
{
	struct gpc_restore *x = in->x;
	struct gpc_assembly *a;
	int r = gpc_assembly_open(x, &x->workers[x->threads], line, &a, err);

	if (r < 0 || !a)
		return r;
	r = add_pieces(in, a, err);
	if (r == 0)
		return gpc_assembly_release(a, err);
	gpc_assembly_give_up(a);
	return r;
}

static int on_line(void *arg, struct gpc_line *line, struct gpc_error *err)
{
	struct reader *in = arg;
	struct gpc_restore *x = in->x;

	if (gpc_canceled(x->o->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	in->bytes += line->size;
	if (in->bytes > x->total_bytes)
		return gpc_fail(err, GPC_EPROTO,
			"the files are larger than the snapshot's head says");
	if (line->kind != GPC_ENTRY_FILE)
		return gpc_restore_dir(x, &x->workers[x->threads], line, err);
	return line->chunked ? add_big(in, line, err) : add_small(in, line, err);
}

static int restore(struct gpc_restore *x, const struct gpc_json *head,
	struct gpc_error *err)
{
	const struct gpc_pool_options o = {.threads = x->threads,
		.run = run_task, .drop = gpc_restore_task_drop, .tick = tick,
		.arg = x};
	gpc_auto(reader) struct reader in = {.x = x};
	int r = gpc_pool_open(&o, &in.pool, err);

	if (r == 0)
		r = gpc_lists_read(x->store, head, x->prefix, NULL, on_line,
			&in, err);
	if (r == 0)
		r = end_pack(&in, err);
	if (r == 0)
		r = gpc_pool_finish(in.pool, err);
	return r;
}

int gpc_snapshot_restore(struct gpc_store *s, const struct gpc_json *head,
	const char *prefix, const char *target,
	const struct gpc_restore_options *options, struct gpc_error *err)
{
	static const struct gpc_restore_options defaults = {0};
	gpc_auto(gpc_restore) struct gpc_restore x = {.store = s,
		.prefix = prefix, .target = target,
		.o = options ? options : &defaults};
	int64_t bytes = gpc_json_get_int(head, "bytes", -1);
	int r = gpc_mkdirs(target, 0755, err);

	if (r < 0)
		return r;
	x.total_bytes = bytes < 0 ? UINT64_MAX : (uint64_t)bytes;
	gpc_heap_keep_small();
	x.arena = gpc_arena_new();
	r = open_workers(&x, err);
	if (r == 0)
		r = restore(&x, head, err);
	GPC_CRASH("restore.unpacked");
	if (r == 0)
		r = gpc_restore_finish(&x, &x.workers[x.threads], err);
	if (r == 0)
		tick(&x);
	if (r == 0 && x.o->ret_kept)
		*x.o->ret_kept = (struct gpc_restore_kept){
			atomic_load(&x.kept_files), atomic_load(&x.kept_bytes)};
	return r;
}

/* --- heads ------------------------------------------------------------- */
int gpc_snapshot_get_head(struct gpc_store *s, const char *prefix,
	const char *sha256, struct gpc_json **ret_head, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char key[520], hex[GPC_SHA256_HEX];
	int r;

	if (!gpc_is_hex(sha256, 2 * GPC_SHA256_SIZE))
		return gpc_fail(err, GPC_EPROTO,
			"\"%.80s\" is no sha256 of a snapshot", sha256);
	gpc_blob_key(prefix, sha256, key);
	b.max = GPC_HEAD_MAX_BYTES;
	r = gpc_store_get(s, key, GPC_HEAD_MAX_BYTES, &b, err);
	if (r < 0)
		return gpc_wrap(err, r, "snapshot %s", sha256);
	gpc_sha256_hex(gpc_buf_str(&b), b.len, hex);
	if (!gpc_eq(hex, sha256))
		return gpc_fail(err, GPC_EPROTO,
			"snapshot %s is damaged: its bytes do not match its name",
			sha256);
	r = gpc_json_parse(b.data, b.len, ret_head, err);
	return r < 0 ? gpc_wrap(err, r, "snapshot %s", sha256) : 0;
}

struct blobs {
	gpc_blob_fn *fn;
	void *arg;
	struct gpc_map seen;
};

static int on_blob(void *arg, const char *hex, uint64_t size,
	struct gpc_error *err)
{
	struct blobs *b = arg;

	if (gpc_map_has(&b->seen, hex))
		return 0;
	if (!gpc_map_try_set(&b->seen, hex, b))
		return gpc_fail_memory(err, LISTS);
	return b->fn(b->arg, hex, size, err);
}

static int blobs_of_line(void *arg, struct gpc_line *line,
	struct gpc_error *err)
{
	char hex[GPC_SHA256_HEX];
	int r = 0;

	if (line->kind != GPC_ENTRY_FILE)
		return 0;
	if (!line->chunked) {
		gpc_hex(line->pack, sizeof(line->pack), hex);
		return on_blob(arg, hex, line->pack_size, err);
	}
	for (size_t i = 0; r == 0 && i < line->chunks.n; i++) {
		const struct gpc_chunk *c = &line->chunks.v[i];

		if (c->kind == GPC_CHUNK_HOLE)
			continue;
		gpc_hex(c->sum, sizeof(c->sum), hex);
		r = on_blob(arg, hex, c->size, err);
	}
	return r;
}

int gpc_snapshot_blobs(struct gpc_store *s, const struct gpc_json *head,
	const char *prefix, gpc_blob_fn *fn, void *arg, struct gpc_error *err)
{
	struct blobs b = {.fn = fn, .arg = arg};
	int r = gpc_lists_read(s, head, prefix, on_blob, blobs_of_line, &b, err);

	gpc_map_clear(&b.seen);
	return r;
}
