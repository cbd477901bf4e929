/* See compare.h. */
#include "transfer/compare.h"

#include <string.h>

#include "base/buf.h"

static int64_t seconds(int64_t ms)
{
	return ms / 1000 - (ms % 1000 < 0);
}

/* What was downloaded has the time of its object, or the second of it; a file with
 * another part of a second was written since. */
static bool is_other(int64_t object_ms, int64_t file_ms)
{
	return seconds(object_ms) != seconds(file_ms) ||
		(file_ms != object_ms && file_ms % 1000 != 0);
}

bool gpc_compare_differs(enum gpc_compare_times times,
	const struct gpc_listed *from, const struct gpc_listed *to)
{
	if (from->size != to->size)
		return true;
	if (!from->modified_ms || !to->modified_ms)
		return false;
	return times == GPC_COMPARE_OTHER ?
		is_other(from->modified_ms, to->modified_ms) :
		seconds(from->modified_ms) > seconds(to->modified_ms);
}

/* One list, and what stands first in it. */
struct side {
	struct gpc_feed *feed;
	unsigned note;                  /* what its notes are given on with */
	unsigned notes;                 /* which of them are */
	bool ended;
	struct gpc_listed l;
	struct gpc_buf last;            /* key */
};

static void side_clear(struct side *s)
{
	gpc_buf_clear(&s->last);
}
GPC_CLEANUP_VALUE(side);

/* A list that is out of order would make much that is there look missing. */
static int check_order(struct side *s, struct gpc_error *err)
{
	int r;

	if (s->last.data && strcmp(s->l.key, s->last.data) <= 0) {
		r = gpc_fail(err, GPC_EPROTO, "the list that came is not in the "
			"order of keys, so nothing can be compared with it");
		gpc_hint(err, "`gpucloud data cp -r` needs no order");
		return r;
	}
	gpc_buf_reset(&s->last);
	gpc_buf_adds(&s->last, s->l.key);
	return 0;
}

/* Notes have no partner: they are passed on at once. */
static int advance(struct side *s, struct gpc_feed *out, struct gpc_error *err)
{
	for (;;) {
		enum gpc_feed_state state = GPC_FEED_END;
		int r = gpc_feed_next(s->feed, -1, &state, &s->l, err);

		s->ended = state == GPC_FEED_END;
		if (r || s->ended)
			return r;
		if (!(s->l.flags & GPC_LISTED_NOTE))
			return check_order(s, err);
		s->l.flags |= s->note;
		if (s->l.flags & s->notes)
			r = gpc_feed_put(out, &s->l, err);
		if (r)
			return r;
	}
}

static int order(const struct side *from, const struct side *to)
{
	if (from->ended || to->ended)
		return from->ended ? 1 : -1;
	return strcmp(from->l.key, to->l.key);
}

static int put_surplus(const struct gpc_compare *c, struct side *to,
	struct gpc_feed *out, struct gpc_error *err)
{
	if (!c->surplus)
		return 0;
	to->l.flags |= GPC_LISTED_SURPLUS;
	return gpc_feed_put(out, &to->l, err);
}

int gpc_compare_run(void *arg, struct gpc_feed *out, struct gpc_error *err)
{
	const struct gpc_compare *c = arg;
	gpc_auto(side) struct side from = { .feed = c->from, .notes = GPC_LISTED_NOTE };
	gpc_auto(side) struct side to = { .feed = c->to, .note = GPC_LISTED_SURPLUS,
		.notes = GPC_LISTED_UNREADABLE };
	int r = advance(&from, out, err);

	if (!r)
		r = advance(&to, out, err);
	while (!r && !(from.ended && to.ended)) {
		int where = order(&from, &to);

		if (where > 0)
			r = put_surplus(c, &to, out, err);
		else if (where < 0 || gpc_compare_differs(c->times, &from.l,
			&to.l))
			r = gpc_feed_put(out, &from.l, err);
		if (!r && where >= 0)
			r = advance(&to, out, err);
		if (!r && where <= 0)
			r = advance(&from, out, err);
	}
	return r;
}
