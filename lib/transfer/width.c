/* See width.h. A width is tried for a while and kept if it moved clearly more than the
 * best one before; else the best one stays, and after a longer while the next is tried:
 * links and servers change. */
#include "transfer/width.h"

enum {
	FIRST = 8,
	LOOK_MS = 400,
	REST_MS = 5000,                 /* after a try that did not help */
	PEACE_MS = 3000,                /* after being throttled */
};
/* Of what twice the width could give at best, this much makes it worth it. */
#define WORTH 0.25

void gpc_width_init(struct gpc_width *w, int most, int64_t now_ms)
{
	*w = (struct gpc_width){ .most = most > 0 ? most : GPC_WIDTH_MOST,
		.look_ms = now_ms, .full = true };
	w->now = w->most < FIRST ? w->most : FIRST;
}

static void set(struct gpc_width *w, int width)
{
	w->now = width < 1 ? 1 : width > w->most ? w->most : width;
}

static void shrink(struct gpc_width *w, int64_t now_ms)
{
	set(w, w->now / 2);
	w->best = 0;
	w->hold_ms = now_ms + PEACE_MS;
}

static bool has_helped(const struct gpc_width *w, double rate)
{
	return rate > w->best * (1 + WORTH * ((double)w->now / w->best_at - 1));
}

static void grow_or_rest(struct gpc_width *w, int64_t now_ms, double rate)
{
	if (w->best > 0 && w->now != w->best_at && !has_helped(w, rate)) {
		set(w, w->best_at);
		w->best = 0;
		w->hold_ms = now_ms + REST_MS;
		return;
	}
	w->best = rate;
	w->best_at = w->now;
	set(w, w->now + (w->now > 4 ? w->now / 2 : 2));
}

void gpc_width_look(struct gpc_width *w, int64_t now_ms, int running, uint64_t moved,
	uint64_t throttled)
{
	int64_t passed = now_ms - w->look_ms;
	double rate;

	w->full = w->full && running >= w->now;
	if (passed < LOOK_MS)
		return;
	rate = moved > w->moved ? (double)(moved - w->moved) / (double)passed : 0;
	if (throttled > w->throttled) {
		/* One look shrinks once: what was sent before is refused later. */
		if (now_ms >= w->hold_ms || w->best > 0)
			shrink(w, now_ms);
	} else if (w->full && now_ms >= w->hold_ms) {
		grow_or_rest(w, now_ms, rate);
	}
	w->look_ms = now_ms;
	w->moved = moved;
	w->throttled = throttled;
	w->full = true;
}
