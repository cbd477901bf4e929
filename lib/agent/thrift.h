/* How often a node asks and writes where each request is billed. */
#pragma once
#include "agent/context.h"

/* How long log bytes gather before they are put: 10 s, or 1 s while somebody reads
 * along, and up to 120 s so that the requests of a node that costs
 * micros_per_hour stay under 1 % of that (5 % while watched). 0: it costs nothing,
 * and neither rule holds. Of several nodes each has its share of what they ask of each
 * other. */
int64_t gpc_thrift_log_ms(int64_t micros_per_hour, int num_nodes, bool watched);
/* Looks whether somebody reads along and has the log wait accordingly; nothing to
 * do on a store that appends. */
void gpc_thrift_tick(struct gpc_agent *a, int64_t now_ms);
/* When to look at the journal again, and at other ranks. */
int64_t gpc_thrift_poll_ms(struct gpc_agent *a);
int64_t gpc_thrift_peers_ms(const struct gpc_agent *a);
