/* From bucket to bucket: a piece is read into memory and sent from there, and no disk
 * has a part in it. How many are in memory at once is what the limit on it allows. */
#include <string.h>

#include "base/parse.h"
#include "transfer/move.h"

#define USUAL ((uint64_t)8 << 20)

static uint64_t across_memory(const struct gpc_move *m, int piece)
{
	return gpc_move_piece_size(m, piece);
}

static int check_memory(const struct gpc_move *m, struct gpc_error *err)
{
	uint64_t most = m->t->set.memory;
	char need[32], have[32];
	int r;

	if (m->part_size <= most)
		return 0;
	r = gpc_fail(err, GPC_ECONFIG, "its parts take %s of memory, and the limit is "
		"%s", gpc_format_size(m->part_size, need, sizeof(need)),
		gpc_format_size(most, have, sizeof(have)));
	gpc_hint(err, "allow at least as much memory as one part takes");
	return r;
}

static int plan(struct gpc_move *m, struct gpc_error *err)
{
	uint64_t size = (uint64_t)m->item.size;
	uint64_t part = gpc_move_part_size(m, size, USUAL);
	int r = gpc_move_plan(m, size, size > part ? part : 0, err);

	return r < 0 ? r : check_memory(m, err);
}

static int resume(struct gpc_move *m, struct gpc_error *err)
{
	int r = 0;

	if (m->notes.fd < 0)
		gpc_move_open_notes(m);
	if (m->again_n > 0 || gpc_notes_size(&m->notes) == 0)
		return 0;
	if (!m->source.seen) {
		r = gpc_move_look(m, err);
		if (r == 0)
			r = plan(m, err);
	}
	return r < 0 ? r : gpc_move_resume(m, err);
}

static int across_open(struct gpc_move *m, struct gpc_error *err)
{
	int r = m->item.size < 0 ? gpc_move_look(m, err) : 0;

	if (r == 0)
		r = plan(m, err);
	if (r == 0 && m->n > 1)
		r = resume(m, err);
	return r < 0 ? r : 0;
}

static int across_start(struct gpc_move *m, int piece, struct gpc_error *err)
{
	struct gpc_ask *a;
	int r;

	if (m->n > 1 && !m->source.seen)
		return gpc_move_look_first(m, err);
	if (m->n > 1 && !m->upload)
		return gpc_move_begin(m, err);
	a = gpc_ask_new(m, piece);
	r = gpc_ask_hold(a, gpc_move_piece_size(m, piece), err);
	if (r == 0)
		return gpc_move_get_into(a, err);
	gpc_ask_free(a);
	return r;
}

static int across_take(struct gpc_ask *a, const void *data, size_t n,
	struct gpc_error *err)
{
	(void)err;
	memcpy(a->memory + a->got, data, n);
	return 0;
}

/* The same piece goes on as a request of the other bucket. */
static int across_got(struct gpc_ask *a, struct gpc_error *err)
{
	struct gpc_ask *put = gpc_ask_new(a->m, a->piece);

	a->piece = -1;
	put->memory = a->memory;
	put->held = a->held;
	a->memory = NULL;
	a->held = 0;
	put->body = (struct gpc_body){ .data = put->memory, .size = put->held };
	return gpc_move_put(put, err);
}

static int across_end(struct gpc_move *m, struct gpc_error *err)
{
	int r = gpc_move_verify(m, err);

	return r < 0 ? r : m->n == 1 ? 0 : gpc_move_end_parts(m, err);
}

const struct gpc_move_way gpc_move_across = {
	.open = across_open,
	.start = across_start,
	.take = across_take,
	.got = across_got,
	.end = across_end,
	.memory = across_memory,
};
