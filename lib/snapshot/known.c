/* What the cache knows of the tree at hand. A file's key is its identity, so
 * what has not changed need not be read: its hash is known, and with all hashes
 * of a pack the pack's own key, under which its blob is known.
 *
 * Git's racy rule: a file that changed less than two seconds before the scan
 * could change again without any difference in its times. It is neither looked
 * up nor remembered.
 */
#include <string.h>

#include "snapshot/save.h"

#define RACY_NS ((int64_t)2 * 1000000000)

static bool is_trusted(const struct gpc_save *s, const struct gpc_entry *e)
{
	int64_t limit = s->tree->started_ns - RACY_NS;

	return e->mtime_ns < limit && e->ctime_ns < limit;
}

static struct gpc_cache_key end_key(struct gpc_sha256 *h)
{
	uint8_t sum[GPC_SHA256_SIZE];
	struct gpc_cache_key key;

	gpc_sha256_end(h, sum);
	memcpy(key.b, sum, sizeof(key.b));
	return key;
}

static struct gpc_cache_key file_key(struct gpc_sha256 *h,
	const struct gpc_entry *e, uint64_t number)
{
	struct gpc_file_id id = gpc_file_id_of_entry(e);
	uint64_t words[6] = {id.dev, id.ino, id.size, (uint64_t)id.mtime_ns,
		(uint64_t)id.ctime_ns, number};

	gpc_sha256_add(h, "f", 1);
	gpc_sha256_add(h, words, sizeof(words));
	return end_key(h);
}

/* Hash of a small file: number of no piece. */
#define WHOLE UINT64_MAX

static struct gpc_cache_key pack_key(struct gpc_sha256 *h,
	const struct gpc_save *s, const struct gpc_pack *p)
{
	gpc_sha256_add(h, "p", 1);
	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		const struct gpc_entry *e =
			&s->tree->entries.v[s->members.v[i]];

		gpc_sha256_add(h, e->path, strlen(e->path) + 1);
		gpc_sha256_add(h, s->hashes[i], sizeof(s->hashes[i]));
	}
	return end_key(h);
}

/* --- wants: ids are members, then pieces, then packs --------------------- */
struct wants { struct gpc_cache_want *v; size_t n; };

static void want(struct wants *w, struct gpc_cache_key key, size_t id)
{
	w->v[w->n].key = key;
	w->v[w->n++].id = (uint32_t)id;
}

static void want_files(const struct gpc_save *s, struct gpc_sha256 *h,
	struct wants *w)
{
	for (size_t i = 0; i < s->members.n; i++) {
		const struct gpc_entry *e =
			&s->tree->entries.v[s->members.v[i]];

		if (is_trusted(s, e))
			want(w, file_key(h, e, WHOLE), i);
	}
	for (size_t i = 0; i < s->bigs.n; i++) {
		const struct gpc_big *b = &s->bigs.v[i];
		const struct gpc_entry *e = &s->tree->entries.v[b->entry];

		if (b->moved || !is_trusted(s, e))
			continue;
		for (uint32_t c = 0; c < b->n_chunks; c++)
			want(w, file_key(h, e, c),
				s->members.n + b->first + c);
	}
}

static bool has_all(const struct gpc_save *s, const struct gpc_pack *p)
{
	for (uint32_t i = p->first; i < p->first + p->n; i++)
		if (!s->has_hash[i])
			return false;
	return true;
}

static void want_packs(const struct gpc_save *s, struct gpc_sha256 *h,
	struct wants *w)
{
	for (size_t i = 0; i < s->packs.n; i++)
		if (has_all(s, &s->packs.v[i]))
			want(w, pack_key(h, s, &s->packs.v[i]),
				s->members.n + s->n_chunks + i);
}

static struct gpc_chunk *chunk_at(const struct gpc_save *s, uint32_t number)
{
	size_t low = 0, high = s->bigs.n;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (s->bigs.v[middle].first <= number)
			low = middle;
		else
			high = middle;
	}
	return &s->bigs.v[low].chunks[number - s->bigs.v[low].first];
}

/* --- reading ----------------------------------------------------------- */
static void found(void *arg, uint32_t id, const struct gpc_cache_value *value)
{
	struct gpc_save *s = arg;
	size_t packs_at = s->members.n + s->n_chunks;

	if (id < s->members.n) {
		memcpy(s->hashes[id], value->sum, sizeof(value->sum));
		s->has_hash[id] = true;
	} else if (id < packs_at) {
		struct gpc_chunk *c = chunk_at(s,
			(uint32_t)(id - s->members.n));

		memcpy(c->sum, value->sum, sizeof(c->sum));
		c->size = value->size;
		c->kind = value->kind;
	} else {
		struct gpc_pack *p = &s->packs.v[id - packs_at];

		memcpy(p->sum, value->sum, sizeof(p->sum));
		p->size = value->size;
		p->known = p->size > 0;
	}
}

void gpc_save_recall(struct gpc_save *s)
{
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();
	struct wants w = {gpc_try_array(s->members.n + s->n_chunks,
		sizeof(*w.v)), 0};

	/* What is not recalled is read again. */
	if (!w.v)
		return;
	want_files(s, h, &w);
	gpc_cache_sort(w.v, w.n);
	gpc_cache_find(s->cache, w.v, w.n, found, s);
	w.n = 0;
	/* There are no more packs than members. */
	want_packs(s, h, &w);
	gpc_cache_sort(w.v, w.n);
	gpc_cache_find(s->cache, w.v, w.n, found, s);
	free(w.v);
}

/* --- writing ----------------------------------------------------------- */
static bool value_of(void *arg, uint32_t id, struct gpc_cache_value *ret_value)
{
	struct gpc_save *s = arg;
	size_t packs_at = s->members.n + s->n_chunks;

	if (id < s->members.n) {
		memcpy(ret_value->sum, s->hashes[id], sizeof(ret_value->sum));
		return s->has_hash[id];
	}
	if (id < packs_at) {
		const struct gpc_chunk *c = chunk_at(s,
			(uint32_t)(id - s->members.n));

		memcpy(ret_value->sum, c->sum, sizeof(ret_value->sum));
		ret_value->size = c->size;
		ret_value->kind = c->kind;
		return c->kind != GPC_CHUNK_UNKNOWN;
	}
	memcpy(ret_value->sum, s->packs.v[id - packs_at].sum,
		sizeof(ret_value->sum));
	ret_value->size = s->packs.v[id - packs_at].size;
	return ret_value->size > 0;
}

/* What was read of a file that is not the one scanned says nothing about it. */
static void forget_seen(struct gpc_save *s)
{
	for (size_t i = 0; i < s->packs.n; i++) {
		const struct gpc_pack *p = &s->packs.v[i];

		for (size_t k = 0; k < p->seen.n; k++)
			s->has_hash[p->seen.v[k].member] = false;
	}
}

int gpc_save_remember(struct gpc_save *s, struct gpc_error *err)
{
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();
	struct wants w = {gpc_try_array(s->members.n + s->n_chunks +
		s->packs.n, sizeof(*w.v)), 0};
	int r;

	if (!w.v)
		return gpc_fail_memory(err, "what is known of the files");
	/* A pack's key holds its content, so it is right in any case. */
	want_packs(s, h, &w);
	forget_seen(s);
	want_files(s, h, &w);
	gpc_cache_sort(w.v, w.n);
	r = gpc_cache_write(s->cache, w.v, w.n, value_of, s, err);
	free(w.v);
	return r;
}
