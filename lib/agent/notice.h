/* Whether this machine is about to be taken back, asked of its cloud. */
#pragma once
#include "agent/context.h"

/* Begins to ask where the node's provider can tell; nothing anywhere else. */
int gpc_notice_open(struct gpc_agent *a, struct gpc_error *err) gpc_must_check;
/* Every few seconds; a notice stops the program, so that what it has is saved in the
 * time that is left. Never waits. */
void gpc_notice_tick(struct gpc_agent *a, int64_t now_ms);
void gpc_notice_close(struct gpc_agent *a);
/* Stops for a notice that leaves `left_ms`. */
void gpc_notice_came(struct gpc_agent *a, int64_t left_ms);
