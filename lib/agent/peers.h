/* Who the other ranks are, and how they fare. */
#pragma once
#include "agent/context.h"

/* Chooses our address and, as rank 0, a free port. */
void gpc_peers_self(struct gpc_agent *a);
/* A TCP port that is free at an address of this machine; 0: there is none, or the
 * address is not this machine's. */
int gpc_peers_free_port(const char *address);
/* True once a->peers is complete. Rank 0 makes it from all first beats. */
bool gpc_peers_ready(struct gpc_agent *a);
/* recovery.barrier: says that this rank is ready; true once all are. */
bool gpc_peers_barrier(struct gpc_agent *a);
/* While the program runs: stops it when another rank has failed or rank 0 is
 * still for too long. Call it each second. */
void gpc_peers_watch(struct gpc_agent *a, int64_t now_ms);
/* After our own end: true when this node may go. Rank 0 writes the verdict. */
bool gpc_peers_settled(struct gpc_agent *a, int64_t now_ms);
