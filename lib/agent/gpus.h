/* The GPUs that the job has here. */
#pragma once
#include "agent/context.h"

/* Opens the driver and fills a->gpus: those that the provider chose, or all that a
 * machine has which is the job's alone. Fails, with a->boot set, when they cannot be
 * used: no driver, fewer GPUs than asked for, a driver older than min_driver. */
int gpc_gpus_open(struct gpc_agent *a, struct gpc_error *err) gpc_must_check;
/* Whether a version, numbers with dots between, is at least another one. */
bool gpc_gpus_version_at_least(const char *version, const char *least);
