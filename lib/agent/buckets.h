#pragma once
#include "agent/context.h"

/* Copies what the job's file_mounts name in buckets to its places on this node: as
 * they are to be before the program starts. What is there already is not copied
 * again. A source that is not there or may not be read, and a target that cannot be
 * made, is GPC_ECONFIG. Follows gpc_mounts_restore. */
int gpc_buckets_restore(struct gpc_agent *a, const struct gpc_cancel *cancel,
	struct gpc_error *err) gpc_must_check;
