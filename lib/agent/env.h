/* The job's environment: the same in all phases. */
#pragma once
#include "agent/context.h"
#include "base/map.h"

/* Everything from scratch: what the machine needs, gpucloud's names, SkyPilot's
 * as aliases, PET_* for torchrun, then the spec's envs and secrets. */
void gpc_agent_env(const struct gpc_agent *a, struct gpc_pairs *ret_env);
/* Wall time at which the program will be stopped at the latest; 0 = never. */
int64_t gpc_agent_deadline_ms(const struct gpc_agent *a);
