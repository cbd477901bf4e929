/* See outcome.h. */
#include "record/outcome.h"

#include "base/time.h"
#include "record/keys.h"
#include "record/state.h"
#include "record/stream.h"

/* Progress = a checkpoint of this attempt, or a byte of its log. */
static bool made_progress(struct gpc_store *s, const char *job,
	struct gpc_job_state *st)
{
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);

	if (t && t->checkpoint)
		return true;
	for (int rank = 0; rank < st->num_nodes; rank++) {
		uint64_t size = 0;
		gpc_key folder;

		gpc_key_rank(folder, job, st->attempt, rank, "log/");
		if (gpc_stream_size(s, folder, &size, NULL) < 0 || size > 0)
			return true;    /* in doubt for the job */
	}
	return false;
}

bool gpc_outcome_unseen(struct gpc_job_state *st)
{
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);

	return t && !t->running_ms_at && (st->status == GPC_JOB_STARTING ||
		st->status == GPC_JOB_SETUP);
}

struct gpc_json *gpc_outcome_ran(struct gpc_job_state *st, int64_t began_ms)
{
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "attempt", st->attempt);
	gpc_json_set_str(data, "phase", "running");
	/* A clock that is off is not believed. */
	if (t && began_ms >= t->started_ms && began_ms <= gpc_wall_ms())
		gpc_json_set_int(data, "at_ms", began_ms);
	return data;
}

struct gpc_json *gpc_outcome_end(const struct gpc_exit *x, enum gpc_reason reason)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "rank", x->rank);
	gpc_json_set_str(data, "reason", gpc_reason_to_str(reason));
	if (x->code)
		gpc_json_set_int(data, "code", x->code);
	if (x->signal)
		gpc_json_set_int(data, "signal", x->signal);
	if (x->detail)
		gpc_json_set_str(data, "detail", x->detail);
	if (x->boot)
		gpc_json_set_str(data, "boot", x->boot);
	if (x->log_cut)
		gpc_json_set_str(data, "log_cut", x->log_cut);
	if (x->ran_ms)
		gpc_json_set_int(data, "ran_ms", x->ran_ms);
	return data;
}

struct gpc_json *gpc_outcome_lost(struct gpc_store *s, const char *job,
	struct gpc_job_state *st, const struct gpc_exit *x)
{
	struct gpc_json *data = gpc_outcome_end(x, x->reason);

	gpc_json_set_int(data, "attempt", st->attempt);
	gpc_json_set_bool(data, "progress", made_progress(s, job, st));
	return data;
}
