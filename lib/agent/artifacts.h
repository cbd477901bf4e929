/* Results out of the workdir: into the store, or to a folder. */
#pragma once
#include "agent/context.h"

/* Whether there is anything to do after this end; rank 0 only. */
bool gpc_artifacts_due(const struct gpc_agent *a);
/* A task for the worker; arg is the agent. A pattern that matches nothing is
 * only told. */
int gpc_artifacts_task(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err);
/* One more file, as the artifact of this name (a relative path); any rank. */
int gpc_artifacts_put(struct gpc_agent *a, const char *path, const char *name,
	const struct gpc_cancel *cancel, struct gpc_error *err) gpc_must_check;
