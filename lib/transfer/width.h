/* How many requests run at a time: more while that moves more bytes a second, half as
 * many when the service wants peace. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define GPC_WIDTH_MOST 64

struct gpc_width {
	int now, most;
	int64_t look_ms;                /* of the newest look, by the boot clock */
	int64_t hold_ms;                /* nothing grows before */
	uint64_t moved, throttled;      /* as of then */
	double best;                    /* bytes a millisecond */
	int best_at;                    /* and the width that had it */
	bool full;                      /* all were in use since then */
};

/* most: 0 = chosen. */
void gpc_width_init(struct gpc_width *w, int most, int64_t now_ms);
/* Says how far things are; few of the calls look, by the time that has passed.
 * running: requests; moved, throttled: counted since the start. */
void gpc_width_look(struct gpc_width *w, int64_t now_ms, int running, uint64_t moved,
	uint64_t throttled);
