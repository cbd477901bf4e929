/* What ends a job by the spec: time, setup, deadline, cost, lifetime, memory,
 * idle GPUs; and a tether that is not renewed. */
#pragma once
#include "agent/context.h"

/* Looks at all limits; call it each second. */
void gpc_limits_tick(struct gpc_agent *a, int64_t now_ms);
/* How long before the node's end the agent begins to leave. */
int64_t gpc_limits_drain_ms(const struct gpc_agent *a);
