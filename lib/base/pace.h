/* How long to pause between looks at what somebody else may change: the least
 * after news, then half as long again each time, up to the most. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct gpc_pace { int64_t least_ms, most_ms, pause_ms; };

/* New bounds; a pause that was reached is kept within them. */
void gpc_pace_set(struct gpc_pace *p, int64_t least_ms, int64_t most_ms);
/* The pause after a look. news: it found something. */
int64_t gpc_pace_next(struct gpc_pace *p, bool news);
