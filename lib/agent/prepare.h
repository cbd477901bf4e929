/* Between birth and restore: what the spec says and the parts it needs. */
#pragma once
#include "agent/context.h"

/* An error here is the job's: its reason is gpc_agent_reason_of(err). logs and
 * worker are made first, so that it can be told. */
int gpc_prepare(struct gpc_agent *a, struct gpc_error *err) gpc_must_check;
/* Everything that the agent holds. */
void gpc_prepare_undo(struct gpc_agent *a);
