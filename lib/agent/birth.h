/* The birth rule: a node whose name no journal bears ends itself. */
#pragma once
#include "agent/context.h"

/* Opens the store and waits for the `created` event that names this node; fills
 * attempt, rank, state and job. Any failure means: end at once. */
int gpc_agent_birth(struct gpc_agent *a, struct gpc_error *err) gpc_must_check;
