/* How an attempt ended, into events: `lost` when another one follows, else `ended`. */
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "record/keys.h"
#include "record/recover.h"
#include "record/stream.h"

/* Progress = a checkpoint of this attempt, or a byte of its log. */
static bool made_progress(struct gpc_supervision *sv)
{
	struct gpc_job_state *st = &sv->journal.state;
	struct gpc_try *try = gpc_job_state_try(st, st->attempt);

	if (try && try->checkpoint)
		return true;
	for (int rank = 0; rank < st->num_nodes; rank++) {
		uint64_t size = 0;
		gpc_key folder;

		gpc_key_rank(folder, sv->job.id, st->attempt, rank, "log/");
		if (gpc_stream_size(sv->session->store, folder, &size, NULL) < 0
			|| size > 0)
			return true;    /* in doubt for the job */
	}
	return false;
}

static int lose(struct gpc_supervision *sv, const struct gpc_exit *x,
	bool *progressed, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "attempt", sv->journal.state.attempt);
	gpc_json_set_int(data, "rank", x->rank);
	gpc_json_set_str(data, "reason", gpc_reason_to_str(x->reason));
	if (x->code)
		gpc_json_set_int(data, "code", x->code);
	if (x->signal)
		gpc_json_set_int(data, "signal", x->signal);
	if (x->detail)
		gpc_json_set_str(data, "detail", x->detail);
	if (x->boot)
		gpc_json_set_str(data, "boot", x->boot);
	if (sv->ran_ms)
		gpc_json_set_int(data, "ran_ms", sv->ran_ms);
	gpc_json_set_bool(data, "progress", made_progress(sv));
	/* Until the next one runs, and with the end if there is none. */
	if (x->detail)
		gpc_supervision_note(sv, "attempt %d: %s",
			sv->journal.state.attempt, x->detail);
	return gpc_supervision_append(sv, GPC_EVENT_LOST, data, progressed, err);
}

/* Of a job that ran while nobody was there to write that down. */
static int note_run(struct gpc_supervision *sv, const struct gpc_exit *x,
	bool *progressed, struct gpc_error *err)
{
	struct gpc_job_state *st = &sv->journal.state;
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);
	struct gpc_json *data;

	if (x->run_started_ms <= 0 || !t || t->running_ms_at ||
		(st->status != GPC_JOB_STARTING && st->status != GPC_JOB_SETUP))
		return 0;
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", st->attempt);
	gpc_json_set_str(data, "phase", "running");
	/* A clock that is off is not believed. */
	if (x->run_started_ms >= t->started_ms &&
		x->run_started_ms <= gpc_wall_ms())
		gpc_json_set_int(data, "at_ms", x->run_started_ms);
	return gpc_supervision_append(sv, GPC_EVENT_PHASE, data, progressed,
		err);
}

int gpc_supervision_settle(struct gpc_supervision *sv, const struct gpc_exit *x,
	bool *progressed, struct gpc_error *err)
{
	int64_t before = sv->journal.state.n;
	enum gpc_reason reason = x->reason;
	int r = note_run(sv, x, progressed, err);

	if (r == 0 && sv->journal.state.n == before)
		r = gpc_supervision_note_checkpoint(sv, progressed, err);
	if (r < 0 || sv->journal.state.n != before)
		return r;
	sv->ran_ms = x->ran_ms;
	sv->over_ms = x->at_ms;
	sv->boot = x->boot;
	if (gpc_recover_goes_on(&sv->policy, &sv->journal.state, x)) {
		r = lose(sv, x, progressed, err);
	} else {
		if (sv->journal.state.cancel && reason != GPC_REASON_COMPLETED)
			reason = GPC_REASON_CANCELLED;
		if (x->detail)
			gpc_supervision_note(sv, "%s", x->detail);
		r = gpc_supervision_end(sv, reason, x->code, x->signal, x->rank,
			progressed, err);
	}
	sv->ran_ms = sv->over_ms = 0;
	sv->boot = NULL;
	return r;
}
