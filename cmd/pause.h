/* Waiting between looks at a store: short where looking is free, longer and longer
 * where each look is billed. */
#pragma once
#include "base/pace.h"
#include "cmd/command.h"
#include "core/session.h"

enum {
	GPC_PAUSE_BUSY_MS = 300,        /* while a job is on its way to running */
	GPC_PAUSE_BUSY_MOST_MS = 2000,
	GPC_PAUSE_MS = 1000,            /* while it runs */
	GPC_PAUSE_MOST_MS = 5000,
};

/* Whether each look at the session's store is a request that somebody bills. */
bool gpc_cmd_is_far(const struct gpc_session *s);
/* Until a signal comes, ms at the longest. */
void gpc_cmd_sleep(const struct gpc_cmd *c, int64_t ms);
/* On a store of this machine until something below folder may have changed,
 * local_ms at the longest; else as p says, where news sets it to its least. */
void gpc_cmd_pause(const struct gpc_cmd *c, struct gpc_session *s,
	const char *folder, int64_t local_ms, struct gpc_pace *p, bool news);
