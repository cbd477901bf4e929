/* Reading jobs/J/job.json. */
#pragma once
#include "base/err.h"
#include "model/job.h"
#include "model/spec.h"
#include "store/store.h"

#define GPC_JOB_MAX_BYTES ((size_t)8 << 20)

int gpc_job_get(struct gpc_store *s, const char *job, struct gpc_job *ret_job,
	struct gpc_error *err) gpc_must_check;
/* And the spec in it. */
int gpc_job_get_spec(struct gpc_store *s, const char *job,
	struct gpc_job *ret_job, struct gpc_spec *ret_spec,
	struct gpc_error *err) gpc_must_check;
