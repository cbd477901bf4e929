/* What the journal asks of a running node. */
#pragma once
#include "agent/context.h"

/* Looks at the events since the last time and does what they ask. */
void gpc_requests_poll(struct gpc_agent *a);
/* Leaves when the store is lost for ever (store/lost.h). */
void gpc_requests_watch_store(struct gpc_agent *a, int64_t now_ms);
