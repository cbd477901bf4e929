/* See pause.h. A signal may come right before a sleep, so that sleeps are short. */
#include "cmd/pause.h"

#include "base/time.h"

enum { SLICE_MS = 50 };

bool gpc_cmd_is_far(const struct gpc_session *s)
{
	return s->store && gpc_store_is_far(s->store);
}

void gpc_cmd_sleep(const struct gpc_cmd *c, int64_t ms)
{
	int64_t until = gpc_boot_ms() + ms, left;

	while ((left = until - gpc_boot_ms()) > 0 && !gpc_canceled(c->cancel))
		gpc_sleep_ms(left < SLICE_MS ? left : SLICE_MS);
}

void gpc_cmd_pause(const struct gpc_cmd *c, struct gpc_session *s,
	const char *folder, int64_t local_ms, struct gpc_pace *p, bool news)
{
	if (gpc_cmd_is_far(s))
		gpc_cmd_sleep(c, gpc_pace_next(p, news));
	else
		gpc_store_wait(s->store, folder, (int)local_ms);
}
