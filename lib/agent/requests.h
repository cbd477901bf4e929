/* What the journal asks of a running node. */
#pragma once
#include "agent/context.h"

/* Looks at the events since the last time and does what they ask. */
void gpc_requests_poll(struct gpc_agent *a);
