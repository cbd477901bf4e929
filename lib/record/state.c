/* What an event makes of a job's state.
 *
 * One table says, for every event in every status, whether it may happen and
 * which status follows; a second names the function that records it, and
 * record/payload.c the members that it must have. Facts (created, rate, opened, released,
 * supervisor, checkpoint) are taken in every status: they happened, whatever
 * anybody has decided since. */
#include "record/state_parts.h"

#include "base/str.h"

/* --- the table --------------------------------------------------------- */

/* Besides a status: no entry, the same status, or one that depends. */
enum { NO = GPC_TO_NONE, SAME = GPC_TO_SAME, VARY = GPC_TO_VARIES,
	PEND = GPC_JOB_PENDING, PROV = GPC_JOB_PROVISIONING,
	STRT = GPC_JOB_STARTING, SETU = GPC_JOB_SETUP, RUNN = GPC_JOB_RUNNING,
	STOP = GPC_JOB_STOPPING, RECO = GPC_JOB_RECOVERING };
#define ALL SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME
#define LIVE SAME, SAME, SAME, SAME, SAME, SAME, SAME, NO, NO, NO

static const signed char next_status[GPC_EVENT__COUNT][GPC_JOB__COUNT] = {
	/*                         PEND  PROV  STRT  SETU  RUNN  STOP  RECO  SUCC  FAIL  CANC */
	[GPC_EVENT_SUBMITTED] =    {NO,   NO,   NO,   NO,   NO,   NO,   NO,   NO,   NO,   NO},
	[GPC_EVENT_ATTEMPT] =      {PROV, NO,   NO,   NO,   NO,   NO,   PROV, NO,   NO,   NO},
	[GPC_EVENT_INTENT] =       {NO,   SAME, NO,   NO,   NO,   NO,   NO,   NO,   NO,   NO},
	[GPC_EVENT_VOID] =         {ALL},
	[GPC_EVENT_CREATED] =      {SAME, VARY, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME},
	[GPC_EVENT_RATE] =         {ALL},
	[GPC_EVENT_READY] =        {NO,   SAME, SAME, SAME, SAME, SAME, NO,   NO,   NO,   NO},
	[GPC_EVENT_PHASE] =        {NO,   NO,   VARY, VARY, VARY, VARY, NO,   NO,   NO,   NO},
	[GPC_EVENT_LOST] =         {NO,   RECO, RECO, RECO, RECO, RECO, NO,   NO,   NO,   NO},
	[GPC_EVENT_RELEASED] =     {ALL},
	[GPC_EVENT_SUPERVISOR] =   {ALL},
	[GPC_EVENT_CHECKPOINT] =   {ALL},
	[GPC_EVENT_CANCEL] =       {SAME, STOP, STOP, STOP, STOP, SAME, SAME, SAME, SAME, SAME},
	[GPC_EVENT_SAVE] =         {LIVE},
	[GPC_EVENT_SIGNAL] =       {LIVE},
	[GPC_EVENT_UPDATE] =       {LIVE},
	[GPC_EVENT_RESUME] =       {NO,   NO,   NO,   NO,   NO,   NO,   NO,   PEND, PEND, PEND},
	[GPC_EVENT_PRUNE] =        {LIVE},
	[GPC_EVENT_PRUNING] =      {NO,   NO,   NO,   NO,   NO,   NO,   NO,   SAME, SAME, SAME},
	[GPC_EVENT_PRUNED] =       {NO,   NO,   NO,   NO,   NO,   NO,   NO,   SAME, SAME, SAME},
	[GPC_EVENT_ENDED] =        {VARY, VARY, VARY, VARY, VARY, VARY, VARY, NO,   NO,   NO},
	[GPC_EVENT_SSH] =          {ALL},
	[GPC_EVENT_OPENED] =       {ALL},
};

/* --- for all of them --------------------------------------------------- */

int gpc_step_check_attempt(const struct gpc_step *s, struct gpc_error *err)
{
	if (s->p->attempt == s->st->attempt)
		return 0;
	return gpc_fail(err, GPC_EPROTO, "attempt %d is not the current one, "
		"%d", s->p->attempt, s->st->attempt);
}

void gpc_step_set_reason(const struct gpc_step *s)
{
	s->st->reason = s->p->reason;
	s->st->code = s->p->code;
	s->st->signal = s->p->signal;
	s->st->rank = s->p->rank;
	gpc_set_str(&s->st->detail, s->p->detail);
}

static int (*const handlers[GPC_EVENT__COUNT])(struct gpc_step *s,
	struct gpc_error *err) = {
	[GPC_EVENT_SUBMITTED] = gpc_on_submitted,
	[GPC_EVENT_ATTEMPT] = gpc_on_attempt,
	[GPC_EVENT_INTENT] = gpc_on_intent,
	[GPC_EVENT_VOID] = gpc_on_void,
	[GPC_EVENT_CREATED] = gpc_on_created,
	[GPC_EVENT_RATE] = gpc_on_rate,
	[GPC_EVENT_READY] = gpc_on_ready,
	[GPC_EVENT_PHASE] = gpc_on_phase,
	[GPC_EVENT_LOST] = gpc_on_lost,
	[GPC_EVENT_RELEASED] = gpc_on_released,
	[GPC_EVENT_SUPERVISOR] = gpc_on_supervisor,
	[GPC_EVENT_CHECKPOINT] = gpc_on_checkpoint,
	[GPC_EVENT_CANCEL] = gpc_on_cancel,
	[GPC_EVENT_SAVE] = gpc_on_request,
	[GPC_EVENT_SIGNAL] = gpc_on_request,
	[GPC_EVENT_UPDATE] = gpc_on_update,
	[GPC_EVENT_RESUME] = gpc_on_resume,
	[GPC_EVENT_PRUNE] = gpc_on_prune,
	[GPC_EVENT_PRUNING] = gpc_on_pruning,
	[GPC_EVENT_PRUNED] = gpc_on_pruned,
	[GPC_EVENT_ENDED] = gpc_on_ended,
	[GPC_EVENT_SSH] = gpc_on_ssh,
	[GPC_EVENT_OPENED] = gpc_on_opened,
};

/* --- apply ------------------------------------------------------------- */

static int look_up(const struct gpc_job_state *st, const struct gpc_event *e,
	int *ret_to, struct gpc_error *err)
{
	if ((unsigned)e->type >= GPC_EVENT__COUNT ||
		(unsigned)st->status >= GPC_JOB__COUNT)
		return gpc_fail(err, GPC_EPROTO, "unknown event or status");
	if (e->n != st->n + 1)
		return gpc_fail(err, GPC_EPROTO, "event %lld does not follow "
			"event %lld", (long long)e->n, (long long)st->n);
	*ret_to = next_status[e->type][st->status];
	if (st->n == 0)
		*ret_to = e->type == GPC_EVENT_SUBMITTED ? PEND : NO;
	if (*ret_to != NO)
		return 0;
	return gpc_fail(err, GPC_EPROTO, "`%s` cannot happen %s %s",
		gpc_event_type_names[e->type],
		st->n ? "to a job that is" : "to a new job:",
		st->n ? gpc_job_status_to_str(st->status) :
		"the first event is `submitted`");
}

int gpc_state_apply(struct gpc_job_state *st, const struct gpc_event *e,
	struct gpc_error *err)
{
	const struct gpc_bind *fields;
	struct gpc_payload p = {0};
	struct gpc_step s = { .st = st, .e = e, .p = &p };
	gpc_autoptr(gpc_json) *empty = gpc_json_object();
	int r = look_up(st, e, &s.to, err);

	if (r < 0)
		return r;
	fields = gpc_payload_fields(e->type);
	r = gpc_bind_read(e->data ? e->data : empty, fields, &p, err);
	if (r < 0)
		return gpc_wrap(err, r, "`%s`", gpc_event_type_names[e->type]);
	s.at_ms = p.at_ms ? p.at_ms : e->at_ms;
	r = handlers[e->type](&s, err);
	if (r < 0)
		gpc_wrap(err, r, "`%s`", gpc_event_type_names[e->type]);
	gpc_bind_clear(fields, &p);
	if (r < 0)
		return r;
	st->n = e->n;
	if (s.to >= 0)
		st->status = (enum gpc_job_status)s.to;
	return 0;
}
