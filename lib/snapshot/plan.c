/* Which small files make one pack. Packs end where a hash of a path says so, so
 * that an edit, a new or a removed file changes the pack it is in and no other.
 * Sizes enter only as powers of two: a file that grows a little moves no cut.
 */
#include <string.h>

#include "base/str.h"
#include "snapshot/save.h"

/* In weights, which are on average a third above the bytes. */
#define MIN_WEIGHT ((uint64_t)8 << 20)
#define MEAN_REST ((uint64_t)8 << 20)
#define MAX_WEIGHT ((uint64_t)32 << 20)

static uint64_t weight_of(uint64_t size)
{
	uint64_t weight = 1024;

	while (weight < size + 512)
		weight *= 2;
	return weight;
}

struct gpc_file_id gpc_file_id_of_entry(const struct gpc_entry *e)
{
	return (struct gpc_file_id){e->dev, e->ino, e->size, e->mtime_ns,
		e->ctime_ns};
}

static int64_t to_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct gpc_file_id gpc_file_id_of_stat(const struct stat *st)
{
	return (struct gpc_file_id){(uint64_t)st->st_dev, (uint64_t)st->st_ino,
		(uint64_t)st->st_size, to_ns(st->st_mtim), to_ns(st->st_ctim)};
}

bool gpc_file_id_eq(const struct gpc_file_id *a, const struct gpc_file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size
		&& a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

#define PLAN "the plan of a snapshot"

static int add_big(struct gpc_save *s, uint32_t entry, struct gpc_error *err)
{
	const struct gpc_entry *e = &s->tree->entries.v[entry];
	struct gpc_big *b;

	if (e->size > GPC_FILE_MAX_BYTES) {
		gpc_fail(err, GPC_EUNSUPPORTED, "%s/%s is larger than 16 TiB",
			s->tree->root, e->path);
		gpc_hint(err, "exclude it in .gpucloudignore");
		return -GPC_EUNSUPPORTED;
	}
	b = gpc_vec_try_push(&s->bigs);
	if (!b)
		return gpc_fail_memory(err, PLAN);
	b->entry = entry;
	b->id = gpc_file_id_of_entry(e);
	b->mode = e->mode;
	b->first = s->n_chunks;
	b->n_chunks = (uint32_t)((e->size + GPC_CHUNK_BYTES - 1)
		/ GPC_CHUNK_BYTES);
	b->chunks = gpc_try_array(b->n_chunks, sizeof(*b->chunks));
	if (!b->chunks)
		return gpc_fail_memory(err, PLAN);
	s->n_chunks += b->n_chunks;
	return 0;
}

/* Adds to the pack at hand: 1 = it ends here, 0 = it does not. */
static int add_small(struct gpc_save *s, uint32_t entry, uint64_t *weight,
	struct gpc_error *err)
{
	const struct gpc_entry *e = &s->tree->entries.v[entry];
	struct gpc_pack *p = &s->packs.v[s->packs.n - 1];
	uint64_t own = weight_of(e->size);

	uint32_t *slot = gpc_vec_try_push(&s->members);

	if (!slot)
		return gpc_fail_memory(err, PLAN);
	*slot = entry;
	p->n++;
	p->bytes += e->size;
	*weight += own;
	return *weight >= MAX_WEIGHT || (*weight >= MIN_WEIGHT
		&& gpc_hash64(e->path, strlen(e->path)) % MEAN_REST < own);
}

int gpc_save_plan(struct gpc_save *s, struct gpc_error *err)
{
	uint64_t weight = 0;
	bool begin = true;

	for (size_t i = 0; i < s->tree->entries.n; i++) {
		const struct gpc_entry *e = &s->tree->entries.v[i];
		int r;

		if (e->kind != GPC_ENTRY_FILE)
			continue;
		if (e->size >= GPC_SMALL_BYTES) {
			r = add_big(s, (uint32_t)i, err);
			if (r < 0)
				return r;
			continue;
		}
		if (begin) {
			struct gpc_pack *p = gpc_vec_try_push(&s->packs);

			if (!p)
				return gpc_fail_memory(err, PLAN);
			p->first = (uint32_t)s->members.n;
			weight = 0;
		}
		r = add_small(s, (uint32_t)i, &weight, err);
		if (r < 0)
			return r;
		begin = r > 0;
	}
	s->hashes = gpc_try_array(s->members.n, sizeof(*s->hashes));
	s->has_hash = gpc_try_array(s->members.n, sizeof(*s->has_hash));
	return s->hashes && s->has_hash ? 0 : gpc_fail_memory(err, PLAN);
}
