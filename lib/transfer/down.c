/* Downloads: ranges of an object into a temporary beside its place, each where it
 * belongs. What it holds is noted, so that the next try fetches the rest. */
#include <errno.h>

#include "base/str.h"
#include "transfer/move.h"

#define USUAL ((uint64_t)16 << 20)
#define ROOM_FROM ((uint64_t)1 << 20)   /* below that nobody looks for room */

/* An object without bytes whose key ends in "/" stands for a folder. */
static int open_folder(struct gpc_move *m, struct gpc_error *err)
{
	const struct gpc_transfer_end *to = &m->item.to;
	int r = m->item.size < 0 ? gpc_move_look(m, err) : 0;

	if (r < 0)
		return r;
	if (m->item.size > 0) {
		r = gpc_fail(err, GPC_EPROTO, "its key ends in \"/\", as no file's "
			"name can, but it has bytes");
		gpc_hint(err, "fetch its bytes by themselves: gpucloud data cp URL - "
			">FILE");
		return r;
	}
	r = gpc_place_folder(&m->t->top, to->path, to->below, err);
	return r < 0 ? r : 1;
}

/* In one, as long as ranges would not save time. */
static int plan(struct gpc_move *m, struct gpc_error *err)
{
	uint64_t size = (uint64_t)m->item.size;
	uint64_t part = gpc_move_part_size(m, size, USUAL);

	return gpc_move_plan(m, size, size > 2 * part ? part : 0, err);
}

static void open_notes(struct gpc_move *m)
{
	gpc_autostr *name = gpc_format("%s.notes", m->place.part);

	if (m->notes.fd < 0)
		gpc_notes_open(&m->notes, m->place.dir, name);
}

/* 1: the notes were of this very object and of this temporary. */
static int resume(struct gpc_move *m, struct gpc_error *err)
{
	int r;

	open_notes(m);
	if (gpc_notes_size(&m->notes) == 0 || !m->place.used)
		return 0;
	r = m->source.seen ? 0 : gpc_move_look(m, err);
	if (r == 0)
		r = plan(m, err);
	return r < 0 ? r : m->n > 1 ? gpc_move_resume(m, err) : 0;
}

static int begin(struct gpc_move *m, struct gpc_error *err)
{
	int r = m->place.used ? gpc_place_empty(&m->place, err) : 0;

	m->place.used = true;
	if (r == 0 && m->n > 1 && m->source.seen)
		gpc_move_begin_notes(m);
	return r;
}

int gpc_move_open_place(struct gpc_move *m, struct gpc_error *err)
{
	const struct gpc_transfer_end *to = &m->item.to;
	bool resumed = false;
	int r = m->place.is_open ? 0 : gpc_place_open(&m->place, &m->t->top, to->path,
		to->below, err);

	if (r == 0)
		r = plan(m, err);
	if (r == 0 && m->n > 1) {
		r = resume(m, err);
		resumed = r > 0;
	}
	if (r == 0 && !resumed)
		r = begin(m, err);
	if (r >= 0 && m->size >= ROOM_FROM)
		r = gpc_place_size(&m->place, m->size, err);
	return r < 0 ? r : 0;
}

static int down_open(struct gpc_move *m, struct gpc_error *err)
{
	int r = 0;

	if (gpc_ends_with(m->item.from.key, "/"))
		return open_folder(m, err);
	if (m->item.size < 0)
		r = gpc_move_look(m, err);
	return r < 0 ? r : gpc_move_open_place(m, err);
}

static int down_start(struct gpc_move *m, int piece, struct gpc_error *err)
{
	return m->n > 1 && !m->source.seen ? gpc_move_look_first(m, err) :
		gpc_move_get(m, piece, err);
}

static int down_take(struct gpc_ask *a, const void *data, size_t n,
	struct gpc_error *err)
{
	struct gpc_move *m = a->m;
	int r = gpc_place_write(&m->place, data, n, gpc_move_piece_at(m, a->piece) +
		m->pieces[a->piece].done, err);

	if (r == 0)
		gpc_move_count(m, n);
	if (r < 0 && (err->sys == ENOSPC || err->sys == EDQUOT))
		gpc_transfer_stop(m->t, r, err);
	return r;
}

static int down_end(struct gpc_move *m, struct gpc_error *err)
{
	int64_t ms = m->item.modified_ms ? m->item.modified_ms :
		m->source.modified_ms;
	int r = gpc_move_verify(m, err);

	return r < 0 ? r : gpc_place_commit(&m->place, ms, m->item.mode, err);
}

/* The bucket may hold both; which of them comes first is chance. */
static int down_failed(const struct gpc_move *m, int r, struct gpc_error *err)
{
	(void)m;
	if (err->sys == ENOTDIR || err->sys == EISDIR || err->sys == ENOTEMPTY)
		gpc_hint(err, "a file and a folder cannot have one name here, as "
			"objects can: copy one of them elsewhere");
	return r;
}

const struct gpc_move_way gpc_move_down = {
	.to_file = true,
	.open = down_open,
	.start = down_start,
	.take = down_take,
	.end = down_end,
	.failed = down_failed,
};
