/* Waiting for changes below a folder. Only a hint: callers poll beside it. */
#pragma once

struct gpc_file_watch;
struct gpc_file_watch *gpc_file_watch_new(void);
void gpc_file_watch_free(struct gpc_file_watch *w);
/* Returns when something below folder may have changed since the last wait for
 * it (at once the first time), at the latest after timeout_ms. Safe from
 * several threads. */
void gpc_file_watch_wait(struct gpc_file_watch *w, const char *folder,
	int timeout_ms);
