/* Waiting for changes where the system offers no cheap way to be told: a short
 * sleep, after which the caller looks itself. */
#include "store/file_watch.h"

#include "base/mem.h"
#include "base/time.h"

#define POLL_MS 200

struct gpc_file_watch { char unused; };

struct gpc_file_watch *gpc_file_watch_new(void)
{
	return gpc_alloc(sizeof(struct gpc_file_watch));
}

void gpc_file_watch_free(struct gpc_file_watch *w)
{
	free(w);
}

void gpc_file_watch_wait(struct gpc_file_watch *w, const char *folder,
	int timeout_ms)
{
	(void)w;
	(void)folder;
	gpc_sleep_ms(timeout_ms < POLL_MS ? timeout_ms : POLL_MS);
}
