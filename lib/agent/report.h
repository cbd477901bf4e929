/* The end of a rank's log and its exit, and what a store without room does to them. */
#pragma once
#include "agent/context.h"

/* At the end: tries to store the log's tail, then exit.json. True once both are
 * there, or are not worth more tries. now_ms: boot clock. */
bool gpc_report_made(struct gpc_agent *a, int64_t now_ms);
/* While the job runs: ends it with disk_full when its log has found no room for
 * 10 s. */
void gpc_report_watch_room(struct gpc_agent *a, int64_t now_ms);
