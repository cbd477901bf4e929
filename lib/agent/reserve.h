/* Room kept back so that full disks still take the facts of the end. */
#pragma once
#include "agent/context.h"

/* On the node's disk, without which no job begins; and where the store is a folder, in
 * the store as well, which may lie on another disk. */
int gpc_reserve_make(struct gpc_agent *a, struct gpc_error *err) gpc_must_check;
/* Gives it back; again does nothing. */
void gpc_reserve_free(struct gpc_agent *a);
