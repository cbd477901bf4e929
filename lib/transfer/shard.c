/* See shard.h. Longest processing time first: a heap of the parts by their load. */
#include "transfer/shard.h"

#include <stdlib.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/vec.h"
#include "transfer/packed.h"

/* --- who --------------------------------------------------------------------- */

static int fail_text(const char *text, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(text, strlen(text));
	int r = gpc_fail(err, GPC_EUSAGE, "--shard \"%.60s\": expected I/N, such as "
		"0/4 to 3/4, or rank", shown);

	gpc_hint(err, "rank takes both from $GPUCLOUD_NODE_RANK and "
		"$GPUCLOUD_NUM_NODES, as a job's nodes have them");
	return r;
}

static bool parse(const char *i, const char *n, struct gpc_shard *ret_s)
{
	int64_t a, b;

	if (gpc_parse_i64(n, 1, GPC_SHARDS_MAX, "n", &b, NULL) < 0 ||
		gpc_parse_i64(i, 0, b - 1, "i", &a, NULL) < 0)
		return false;
	*ret_s = (struct gpc_shard){ (int)a, (int)b };
	return true;
}

static const char *either(char *(*env)(const char *), const char *a,
	const char *b)
{
	const char *value = env(a);

	return value && *value ? value : env(b);
}

static int parse_rank(char *(*env)(const char *), struct gpc_shard *ret_s,
	struct gpc_error *err)
{
	const char *i = either(env, "GPUCLOUD_NODE_RANK", "SKYPILOT_NODE_RANK");
	const char *n = either(env, "GPUCLOUD_NUM_NODES", "SKYPILOT_NUM_NODES");
	int r;

	if (i && n && parse(i, n, ret_s))
		return 0;
	r = gpc_fail(err, GPC_EUSAGE, "--shard rank: $GPUCLOUD_NODE_RANK and "
		"$GPUCLOUD_NUM_NODES %s", i && n ? "make no sense together" :
		"are not both set");
	gpc_hint(err, "a job's nodes have them; elsewhere say --shard I/N");
	return r;
}

int gpc_shard_parse(const char *text, char *(*env)(const char *),
	struct gpc_shard *ret_s, struct gpc_error *err)
{
	const char *slash = strchr(text, '/');
	gpc_autostr *i = NULL;

	if (gpc_eq(text, "rank"))
		return parse_rank(env, ret_s, err);
	if (!slash)
		return fail_text(text, err);
	i = gpc_strndup(text, (size_t)(slash - text));
	return parse(i, slash + 1, ret_s) ? 0 : fail_text(text, err);
}

/* --- whose ------------------------------------------------------------------- */

struct entry { uint64_t size; size_t at; };
struct part { uint64_t bytes, entries; uint16_t number; };

static int by_size(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static bool before(const struct part *a, const struct part *b)
{
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes;
	if (a->entries != b->entries)
		return a->entries < b->entries;
	return a->number < b->number;
}

/* The first of the heap has grown: it goes down to its place. */
static void sink(struct part *heap, size_t n)
{
	size_t i = 0;

	for (;;) {
		size_t least = i, child = 2 * i + 1;
		struct part moved = heap[i];

		for (size_t k = child; k < n && k <= child + 1; k++)
			if (before(&heap[k], &heap[least]))
				least = k;
		if (least == i)
			return;
		heap[i] = heap[least];
		heap[least] = moved;
		i = least;
	}
}

int gpc_shard_assign(const uint64_t *sizes, size_t n_sizes, int n,
	uint16_t *owners, struct gpc_error *err)
{
	struct entry *order = gpc_try_array(n_sizes ? n_sizes : 1,
		sizeof(*order));
	struct part *heap = gpc_array((size_t)n, sizeof(*heap));

	if (!order) {
		free(heap);
		return gpc_fail_memory(err, "the sizes of a list of files");
	}
	for (size_t i = 0; i < n_sizes; i++)
		order[i] = (struct entry){ sizes[i], i };
	qsort(order, n_sizes, sizeof(*order), by_size);
	/* all equal: by number, which is a heap */
	for (int i = 0; i < n; i++)
		heap[i].number = (uint16_t)i;
	for (size_t i = 0; i < n_sizes; i++) {
		owners[order[i].at] = heap[0].number;
		heap[0].bytes += order[i].size;
		heap[0].entries++;
		sink(heap, (size_t)n);
	}
	free(order);
	free(heap);
	return 0;
}

/* --- a feed of one's own part ------------------------------------------------ */

struct all {
	struct gpc_packed list;
	GPC_VEC(uint64_t) sizes;
	uint16_t *owners;
};

static void all_clear(struct all *a)
{
	gpc_packed_clear(&a->list);
	gpc_vec_free(&a->sizes);
	free(a->owners);
}
GPC_CLEANUP_VALUE(all);

static int keep(struct all *a, const struct gpc_listed *l,
	struct gpc_error *err)
{
	uint64_t *size = gpc_vec_try_push(&a->sizes);

	if (!size)
		return gpc_fail_memory(err, "a list of files");
	*size = l->size;
	return gpc_packed_add(&a->list, l, err);
}

static int read_all(struct gpc_feed *from, struct gpc_feed *out, struct all *a,
	struct gpc_error *err)
{
	for (;;) {
		enum gpc_feed_state state;
		struct gpc_listed l;
		int r = gpc_feed_next(from, -1, &state, &l, err);

		if (r || state == GPC_FEED_END)
			return r;
		r = l.flags & GPC_LISTED_NOTE ? gpc_feed_put(out, &l, err) :
			keep(a, &l, err);
		if (r)
			return r;
	}
}

int gpc_shard_run(void *arg, struct gpc_feed *out, struct gpc_error *err)
{
	const struct gpc_shard_feed *x = arg;
	gpc_auto(all) struct all a = {0};
	gpc_auto(gpc_packed_reader) struct gpc_packed_reader reader = {
		.p = &a.list };
	struct gpc_listed l;
	int r = read_all(x->from, out, &a, err);

	if (r)
		return r;
	a.owners = gpc_try_array(a.sizes.n ? a.sizes.n : 1, sizeof(*a.owners));
	if (!a.owners)
		return gpc_fail_memory(err, "a list of files");
	r = gpc_shard_assign(a.sizes.v, a.sizes.n, x->shard.n, a.owners, err);
	for (size_t i = 0; r == 0 && gpc_packed_next(&reader, &l); i++)
		if (a.owners[i] == x->shard.i)
			r = gpc_feed_put(out, &l, err);
	return r;
}
