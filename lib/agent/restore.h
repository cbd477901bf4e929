/* Before the job: everything that it expects to find on the node. */
#pragma once
#include "agent/context.h"

/* A task for the worker; arg is the agent, of which it changes only what it
 * sets up (places, `restored`). Unclear answers of the store are tried again for
 * ten minutes. */
int gpc_restore_task(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err);
/* Chooses the places below the node's folder; before the task. */
int gpc_restore_places(struct gpc_agent *a, struct gpc_error *err)
	gpc_must_check;
