/* Saving a tree. Blobs are in the store before the lists that name them, and
 * lists before the head: whoever has a head has everything. Blobs are made by
 * worker threads; the calling thread plans, waits, and writes the lists.
 */
#include "snapshot/save.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/str.h"
#include "snapshot/heap.h"
#include "snapshot/list.h"
#include "snapshot/pool.h"

/* Bytes of blobs that all workers together keep in memory, less what a large
 * tree already takes (about ENTRY_MEMORY each); what exceeds it goes through
 * temporary files. */
#define SPOOLS_MEMORY ((int64_t)24 << 20)
#define SPOOLS_LEAST ((int64_t)4 << 20)
#define ENTRY_MEMORY 130

/* --- open and close ---------------------------------------------------- */
static int open_worker(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_error *err)
{
	gpc_spool_init(&w->spool, &s->memory);
	w->hash = gpc_sha256_new();
	w->piece = gpc_grow(NULL, GPC_PIECE_BYTES, 1);
	return gpc_beneath_open(&w->top, s->tree->root, err);
}

static void close_worker(struct gpc_save_worker *w)
{
	gpc_beneath_clear(&w->top);
	gpc_spool_clear(&w->spool);
	gpc_sha256_free(w->hash);
	free(w->piece);
	memset(w, 0, sizeof(*w));
}

static void close_workers(struct gpc_save *s)
{
	for (unsigned i = 0; s->workers && i <= s->threads; i++)
		close_worker(&s->workers[i]);
	free(s->workers);
	s->workers = NULL;
}

static void gpc_save_clear(struct gpc_save *s)
{
	close_workers(s);
	for (size_t i = 0; i < s->packs.n; i++)
		gpc_vec_free(&s->packs.v[i].seen);
	for (size_t i = 0; i < s->bigs.n; i++)
		free(s->bigs.v[i].chunks);
	gpc_vec_free(&s->packs);
	gpc_vec_free(&s->bigs);
	gpc_vec_free(&s->members);
	free(s->hashes);
	free(s->has_hash);
	gpc_cache_free(s->cache);
}
GPC_CLEANUP_VALUE(gpc_save);

static int open_workers(struct gpc_save *s, struct gpc_error *err)
{
	int64_t memory = SPOOLS_MEMORY
		- (int64_t)s->tree->entries.n * ENTRY_MEMORY;
	int r = 0;

	atomic_init(&s->memory.left,
		memory > SPOOLS_LEAST ? memory : SPOOLS_LEAST);
	s->threads = gpc_pool_threads(s->o->threads);
	s->workers = gpc_array(s->threads + 1, sizeof(*s->workers));
	for (unsigned i = 0; r == 0 && i <= s->threads; i++)
		r = open_worker(s, &s->workers[i], err);
	return r;
}

/* --- blobs ------------------------------------------------------------- */
struct task { struct gpc_pack *pack; struct gpc_big *big; uint32_t number; };

static int run_task(void *arg, unsigned worker, void *task,
	struct gpc_error *err)
{
	struct gpc_save *s = arg;
	struct task *t = task;

	if (gpc_canceled(s->o->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	if (t->pack)
		return gpc_save_pack(s, &s->workers[worker], t->pack, err);
	return gpc_save_chunk(s, &s->workers[worker], t->big, t->number, err);
}

static void tick(void *arg)
{
	struct gpc_save *s = arg;
	uint64_t done = atomic_load(&s->done_bytes);

	if (s->o->progress)
		s->o->progress(s->o->progress_arg,
			done < s->tree->n_bytes ? done : s->tree->n_bytes,
			s->tree->n_bytes);
}

/* The pieces of a file that changed are read anew, as the file is now. */
static int renew_big(struct gpc_save *s, struct gpc_big *b,
	struct gpc_error *err)
{
	struct gpc_save_worker *w = &s->workers[s->threads];
	const char *path = s->tree->entries.v[b->entry].path;
	struct stat st;
	int fd = -1;
	int r = gpc_save_open(s, w, path, &fd, &st, err);

	if (r < 0)
		return r;
	if (fd < 0 || (uint64_t)st.st_size > GPC_FILE_MAX_BYTES) {
		gpc_close(&fd);
		atomic_store(&b->gone, true);
		return 0;
	}
	gpc_close(&fd);
	b->moved = true;
	b->id = gpc_file_id_of_stat(&st);
	b->mode = st.st_mode & 0777;
	b->n_chunks = (uint32_t)((b->id.size + GPC_CHUNK_BYTES - 1)
		/ GPC_CHUNK_BYTES);
	free(b->chunks);
	b->chunks = gpc_try_array(b->n_chunks, sizeof(*b->chunks));
	atomic_store(&b->changed, false);
	return b->chunks ? 0 : gpc_fail_memory(err, "the pieces of a file");
}

struct tasks { struct task *v; size_t n, cap; };

static bool add_task(struct tasks *tasks, struct task t)
{
	struct task *slot = gpc_vec_try_push(tasks);

	if (slot)
		*slot = t;
	return slot != NULL;
}

/* What this round has to do: all in the first, then what changed. */
static int collect(struct gpc_save *s, struct tasks *tasks,
	struct gpc_error *err)
{
	bool first = s->round == 1, room = true;
	int r = 0;

	for (size_t i = 0; i < s->packs.n; i++)
		if (first || s->packs.v[i].changed)
			room = add_task(tasks, (struct task){&s->packs.v[i],
				NULL, 0}) && room;
	for (size_t i = 0; r == 0 && i < s->bigs.n; i++) {
		struct gpc_big *b = &s->bigs.v[i];

		if (!first && (b->gone || !b->changed))
			continue;
		if (!first)
			r = renew_big(s, b, err);
		for (uint32_t c = 0; r == 0 && !b->gone && c < b->n_chunks; c++)
			room = add_task(tasks, (struct task){NULL, b, c}) &&
				room;
	}
	return room || r < 0 ? r : gpc_fail_memory(err, "a snapshot's tasks");
}

static int run_round(struct gpc_save *s, struct tasks *tasks,
	struct gpc_error *err)
{
	const struct gpc_pool_options o = {.threads = s->threads,
		.run = run_task, .tick = tick, .arg = s};
	gpc_autoptr(gpc_pool) *pool = NULL;
	int r = gpc_pool_open(&o, &pool, err);

	for (size_t i = 0; r == 0 && i < tasks->n; i++)
		r = gpc_pool_add(pool, &tasks->v[i], err);
	return r < 0 ? r : gpc_pool_finish(pool, err);
}

static int send_blobs(struct gpc_save *s, struct gpc_error *err)
{
	int r = 0;

	for (s->round = 1; r == 0 && s->round <= GPC_SAVE_ROUNDS; s->round++) {
		struct tasks tasks = {0};

		r = collect(s, &tasks, err);
		if (r == 0 && tasks.n > 0)
			r = run_round(s, &tasks, err);
		gpc_vec_free(&tasks);
	}
	tick(s);
	return r;
}

/* --- lists ------------------------------------------------------------- */
struct totals { uint64_t files, bytes; };
struct cursor { size_t member, pack, seen, big; };

/* Fills the line of the next small file; false when it is gone. */
static bool small_line(const struct gpc_save *s, struct cursor *at,
	struct gpc_line *line)
{
	const struct gpc_pack *p = &s->packs.v[at->pack];
	size_t member = at->member++;

	if (member == p->first + (size_t)p->n) {
		p = &s->packs.v[++at->pack];
		at->seen = 0;
	}
	memcpy(line->hash, s->hashes[member], sizeof(line->hash));
	memcpy(line->pack, p->sum, sizeof(line->pack));
	line->pack_size = p->size;
	if (at->seen < p->seen.n && p->seen.v[at->seen].member == member) {
		const struct gpc_seen *seen = &p->seen.v[at->seen++];

		line->mode = seen->mode;
		line->size = seen->size;
		line->mtime_ns = seen->mtime_ns;
		return !seen->gone;
	}
	return true;
}

static bool big_line(const struct gpc_save *s, struct cursor *at,
	struct gpc_line *line)
{
	const struct gpc_big *b = &s->bigs.v[at->big++];

	line->chunked = true;
	line->mode = b->mode;
	line->size = b->id.size;
	line->mtime_ns = b->id.mtime_ns;
	line->chunks.v = b->chunks;     /* borrowed for the moment */
	line->chunks.n = b->n_chunks;
	return !b->gone;
}

/* Whether a link is still one: EINVAL says that something else is there now. */
static int link_line(struct gpc_save *s, struct gpc_line *line, bool *ret_there,
	struct gpc_error *err)
{
	struct gpc_save_worker *w = &s->workers[s->threads];
	struct gpc_error why = {0};
	const char *name;
	char target[GPC_PATH_MAX_BYTES + 1];
	ssize_t n = -1;
	int at;

	if (gpc_beneath_parent(&w->top, line->path, 0, &at, &name, &why) == 0) {
		n = readlinkat(at, name, target, sizeof(target));
		why.sys = errno;
	}
	if (n < 0 && why.sys != EINVAL && !gpc_save_is_gone(why.sys))
		return gpc_save_fail(s, line->path, why.sys, err);
	*ret_there = n > 0 && (size_t)n < sizeof(target);
	if (*ret_there)
		line->target = gpc_strndup(target, (size_t)n);
	else
		atomic_store(&s->unquiet, true);
	return 0;
}

static int add_entry(struct gpc_save *s, const struct gpc_entry *e,
	struct cursor *at, struct gpc_list_writer *lists,
	struct totals *totals, struct gpc_error *err)
{
	struct gpc_line line = {.path = e->path, .kind = e->kind,
		.mode = e->mode, .size = e->size, .mtime_ns = e->mtime_ns};
	bool there = true;
	int r = 0;

	if (e->kind == GPC_ENTRY_LINK)
		r = link_line(s, &line, &there, err);
	else if (e->kind == GPC_ENTRY_FILE)
		there = e->size < GPC_SMALL_BYTES ? small_line(s, at, &line)
			: big_line(s, at, &line);
	if (r == 0 && there)
		r = gpc_list_add(lists, &line, err);
	if (there && e->kind == GPC_ENTRY_FILE) {
		totals->files++;
		totals->bytes += line.size;
	}
	free(line.target);
	return r;
}

static int send_lists(struct gpc_save *s, struct totals *ret_totals,
	struct gpc_json **ret_lists, struct gpc_error *err)
{
	struct gpc_spool *spool = &s->workers[s->threads].spool;
	gpc_auto(gpc_list_writer) struct gpc_list_writer lists = {0};
	struct cursor at = {0};
	int r = 0;

	gpc_list_writer_init(&lists, &s->sender, spool);
	for (size_t i = 0; r == 0 && i < s->tree->entries.n; i++) {
		if (i % 1024 == 0 && gpc_canceled(s->o->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		r = add_entry(s, &s->tree->entries.v[i], &at, &lists,
			ret_totals, err);
	}
	return r < 0 ? r : gpc_list_finish(&lists, ret_lists, err);
}

/* --- head -------------------------------------------------------------- */
static int send_head(struct gpc_save *s, const struct gpc_json *head,
	char ret_hex[GPC_SHA256_HEX], struct gpc_error *err)
{
	gpc_autostr *text = NULL;
	struct gpc_body body = {0};
	uint8_t sum[GPC_SHA256_SIZE];
	char hex[GPC_SHA256_HEX];
	int r = gpc_json_try_print(head, GPC_HEAD_MAX_BYTES, &text, err);

	if (r < 0)
		return r;
	body = (struct gpc_body){.data = text, .size = strlen(text)};
	gpc_sha256_hex(text, body.size, hex);
	gpc_unhex(hex, sum, sizeof(sum));
	r = gpc_sender_put(&s->sender, sum, &body, err);
	if (r == 0)
		memcpy(ret_hex, hex, sizeof(hex));
	return r;
}

static struct gpc_json *make_head(const struct gpc_save *s,
	const struct totals *totals, struct gpc_json *lists)
{
	struct gpc_json *head = gpc_json_object();

	gpc_json_set_int(head, "v", 1);
	gpc_json_set_int(head, "files", (int64_t)totals->files);
	gpc_json_set_int(head, "bytes", (int64_t)totals->bytes);
	gpc_json_set_bool(head, "quiet", !s->unquiet);
	gpc_json_set_int(head, "chunk", (int64_t)GPC_CHUNK_BYTES);
	gpc_json_set(head, "lists", lists);
	return head;
}

static int save_tree(struct gpc_save *s, bool head_as_blob,
	struct gpc_save_result *result, struct gpc_error *err)
{
	struct totals totals = {0};
	struct gpc_json *lists = NULL;
	struct gpc_error why = {0};
	int r = gpc_save_plan(s, err);

	if (r == 0)
		r = open_workers(s, err);
	if (r < 0)
		return r;
	s->cache = gpc_cache_open(s->o->cache_path);
	gpc_save_recall(s);
	r = send_blobs(s, err);
	GPC_CRASH("snapshot.blobs_put");
	if (r == 0)
		r = send_lists(s, &totals, &lists, err);
	GPC_CRASH("snapshot.lists_put");
	if (r < 0)
		return r;
	result->head = make_head(s, &totals, lists);
	if (head_as_blob)
		r = send_head(s, result->head, result->head_blob, err);
	/* The head's own name is known to nobody before this returns. */
	if (r == 0)
		r = gpc_sender_sync(&s->sender, err);
	GPC_CRASH("snapshot.synced");
	if (r == 0 && gpc_save_remember(s, &why) < 0)
		gpc_log(s->sender.store->log, GPC_VERBOSE,
			"the cache of unchanged files is not written: %s",
			why.msg);
	return r;
}

int gpc_snapshot_save(struct gpc_store *store, const struct gpc_tree *tree,
	const struct gpc_save_options *options, bool head_as_blob,
	struct gpc_save_result *ret_r, struct gpc_error *err)
{
	gpc_auto(gpc_save) struct gpc_save s = {.tree = tree, .o = options};
	gpc_auto(gpc_save_result) struct gpc_save_result result = {
		.n_files = tree->n_files, .n_bytes = tree->n_bytes};
	int r;

	gpc_heap_keep_small();
	r = gpc_sender_open(&s.sender, store, options->prefix, options->base,
		err);
	if (r < 0)
		return r;
	r = save_tree(&s, head_as_blob, &result, err);
	result.sent_blobs = s.sender.sent_blobs;
	result.sent_bytes = s.sender.sent_bytes;
	result.read_bytes = s.read_bytes;
	result.quiet = !s.unquiet;
	gpc_sender_close(&s.sender);
	if (r < 0)
		return r;
	*ret_r = result;
	memset(&result, 0, sizeof(result));
	return 0;
}

void gpc_save_result_clear(struct gpc_save_result *r)
{
	gpc_json_free(r->head);
	memset(r, 0, sizeof(*r));
}
