#pragma once
#include "agent/context.h"

/* Puts the snapshots of the job's file_mounts at their places on this node. A
 * target that cannot be made is GPC_ECONFIG. */
int gpc_mounts_restore(struct gpc_agent *a, const struct gpc_cancel *cancel,
	struct gpc_error *err) gpc_must_check;
