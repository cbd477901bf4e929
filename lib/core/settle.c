/* How an attempt ended, into events: `lost` when another one follows, else `ended`. */
#include "core/supervision.h"
#include "record/outcome.h"
#include "record/recover.h"

static int lose(struct gpc_supervision *sv, const struct gpc_exit *x,
	bool *progressed, struct gpc_error *err)
{
	struct gpc_json *data = gpc_outcome_lost(sv->session->store, sv->job.id,
		&sv->journal.state, x);

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

	return x->run_started_ms > 0 && gpc_outcome_unseen(st) ?
		gpc_supervision_append(sv, GPC_EVENT_PHASE, gpc_outcome_ran(st,
		x->run_started_ms), progressed, err) : 0;
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
	sv->log_cut = x->log_cut;
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
	sv->boot = sv->log_cut = NULL;
	return r;
}
