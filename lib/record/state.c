/* What an event makes of a job's state.
 *
 * One table says, for every event in every status, whether it may happen and
 * which status follows; a second names the function that records it, and
 * record/payload.c the members that it must have. Checks come first in each of them, so that a
 * refused event leaves the state untouched. Facts (created, rate, released,
 * supervisor, checkpoint) are taken in every status: they happened, whatever
 * anybody has decided since. */
#include "record/state.h"

#include <string.h>

#include "base/str.h"
#include "record/checkpoint.h"
#include "record/payload.h"

#define STATE_VERSION 1
#define MAX_NODES GPC_JOB_MAX_NODES
#define SUM_MAX ((int64_t)1 << 53)

/* --- the table --------------------------------------------------------- */

/* Besides a status: no entry, the same status, or one that depends. */
enum { NO = -3, SAME = -2, VARY = -1,
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
	[GPC_EVENT_CANCEL] =       {SAME, STOP, STOP, STOP, STOP, SAME, SAME, NO,   NO,   NO},
	[GPC_EVENT_SAVE] =         {LIVE},
	[GPC_EVENT_SIGNAL] =       {LIVE},
	[GPC_EVENT_UPDATE] =       {LIVE},
	[GPC_EVENT_RESUME] =       {NO,   NO,   NO,   NO,   NO,   NO,   NO,   PEND, PEND, PEND},
	[GPC_EVENT_PRUNE] =        {LIVE},
	[GPC_EVENT_PRUNING] =      {NO,   NO,   NO,   NO,   NO,   NO,   NO,   SAME, SAME, SAME},
	[GPC_EVENT_PRUNED] =       {NO,   NO,   NO,   NO,   NO,   NO,   NO,   SAME, SAME, SAME},
	[GPC_EVENT_ENDED] =        {VARY, VARY, VARY, VARY, VARY, VARY, VARY, NO,   NO,   NO},
};

/* What a phase makes of the statuses from STARTING to STOPPING. A job that stops
 * stays so; when it began to run is still noted. */
static const signed char phase_status[GPC_PHASE_EVENT__COUNT][4] = {
	/*                             STRT  SETU  RUNN  STOP */
	[GPC_PHASE_EVENT_SETUP] =    {SETU, NO,   NO,   SAME},
	[GPC_PHASE_EVENT_RUNNING] =  {RUNN, RUNN, NO,   SAME},
	[GPC_PHASE_EVENT_STOPPING] = {STOP, STOP, STOP, NO},
};

/* --- helpers ----------------------------------------------------------- */

struct step {
	struct gpc_job_state *st;
	const struct gpc_event *e;
	struct gpc_payload *p;
	int64_t at_ms;          /* when it happened */
	int to;                 /* status after it; may be set by the function */
};

static int64_t since(int64_t from, int64_t to)
{
	return to > from ? to - from : 0;
}

/* A sum never passes what a record can hold. */
static void add_ms(int64_t *sum, int64_t ms)
{
	*sum = ms < SUM_MAX - *sum ? *sum + ms : SUM_MAX;
}

static int check_attempt(const struct step *s, struct gpc_error *err)
{
	if (s->p->attempt == s->st->attempt)
		return 0;
	return gpc_fail(err, GPC_EPROTO, "attempt %d is not the current one, "
		"%d", s->p->attempt, s->st->attempt);
}

static bool is_live(const struct gpc_node *n)
{
	return n->status == GPC_NODE_CREATED || n->status == GPC_NODE_READY;
}

static void drain_nodes(struct gpc_job_state *st)
{
	gpc_vec_each(n, &st->nodes)
		if (is_live(n))
			n->status = GPC_NODE_DRAINING;
}

static struct gpc_intent *find_intent(struct gpc_job_state *st, int64_t n)
{
	gpc_vec_each(x, &st->intents)
		if (x->n == n)
			return x;
	return NULL;
}

static void drop_intent(struct gpc_job_state *st, struct gpc_intent *x)
{
	size_t i = (size_t)(x - st->intents.v);

	free(x->token);
	gpc_json_free(x->request);
	gpc_json_free(x->rest);
	gpc_vec_remove(&st->intents, i);
}

static void node_clear(struct gpc_node *n)
{
	free(n->provider);
	free(n->id);
	free(n->address);
	free(n->offer);
	gpc_json_free(n->rest);
}

/* RELEASED nodes of earlier attempts are nobody's business any more. */
static void drop_old_nodes(struct gpc_job_state *st)
{
	size_t i = 0;

	while (i < st->nodes.n) {
		struct gpc_node *n = &st->nodes.v[i];

		if (n->status != GPC_NODE_RELEASED ||
			n->attempt == st->attempt) {
			i++;
			continue;
		}
		node_clear(n);
		gpc_vec_remove(&st->nodes, i);
	}
}

/* Ends the current attempt, once. */
static void close_try(const struct step *s)
{
	struct gpc_job_state *st = s->st;
	struct gpc_try *t = gpc_job_state_try(st, st->attempt);

	if (!t || t->ended_ms)
		return;
	t->ended_ms = s->at_ms;
	t->reason = s->p->reason;
	t->code = s->p->code;
	t->signal = s->p->signal;
	t->rank = s->p->rank;
	if (t->running_ms_at) /* the node's own measure, if it lived to tell */
		add_ms(&st->ran_ms, s->p->ran_ms > 0 ? s->p->ran_ms :
			since(t->running_ms_at, s->at_ms));
}

static void set_reason(const struct step *s)
{
	s->st->reason = s->p->reason;
	s->st->code = s->p->code;
	s->st->signal = s->p->signal;
	s->st->rank = s->p->rank;
	gpc_set_str(&s->st->detail, s->p->detail);
}

/* --- events ------------------------------------------------------------ */

static int on_submitted(struct step *s, struct gpc_error *err)
{
	if (s->p->num_nodes < 1 || s->p->num_nodes > MAX_NODES)
		return gpc_fail(err, GPC_EPROTO, "$.num_nodes: out of range");
	s->st->v = STATE_VERSION;
	s->st->num_nodes = s->p->num_nodes;
	s->st->submitted_ms = s->at_ms;
	return 0;
}

static int on_attempt(struct step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	const struct gpc_try *last = gpc_job_state_try(st, st->attempt);
	struct gpc_try *t;

	if (s->p->attempt != st->attempt + 1)
		return gpc_fail(err, GPC_EPROTO, "the next attempt is %d, not "
			"%d", st->attempt + 1, s->p->attempt);
	if (st->cancel)
		return gpc_fail(err, GPC_EPROTO, "it was cancelled");
	if (st->attempt == GPC_JOB_MAX_ATTEMPTS)
		return gpc_fail(err, GPC_EPROTO, "too many attempts");
	if (s->p->damaged.n > 0 && !s->p->resume_from)
		return gpc_fail(err, GPC_EPROTO, "$.damaged: there is nothing "
			"to go on from instead");
	if (last && st->status == GPC_JOB_RECOVERING && !s->p->uncounted &&
		gpc_reason_retry(last->reason) == GPC_RETRY_IF_ASKED)
		st->restarts++;
	st->attempt = s->p->attempt;
	if (!st->started_ms)
		st->started_ms = s->at_ms;
	t = gpc_vec_push(&st->tries);
	t->n = st->attempt;
	t->started_ms = s->at_ms;
	/* What was passed over once is not tried again. */
	if (s->p->damaged.n > 0)
		gpc_set_str(&st->checkpoint, s->p->resume_from);
	t->resume_from = gpc_steal(&s->p->resume_from);
	t->damage = gpc_steal(&s->p->damage);
	gpc_strv_copy(&t->damaged, &s->p->damaged);
	drop_old_nodes(st);
	return 0;
}

static int on_intent(struct step *s, struct gpc_error *err)
{
	struct gpc_intent *x;
	int r = check_attempt(s, err);

	if (r < 0)
		return r;
	x = gpc_vec_push(&s->st->intents);
	x->n = s->e->n;
	x->attempt = s->p->attempt;
	x->at_ms = s->at_ms;
	x->token = gpc_steal(&s->p->token);
	x->request = gpc_steal(&s->p->request);
	return 0;
}

static int on_void(struct step *s, struct gpc_error *err)
{
	struct gpc_intent *x = find_intent(s->st, s->p->intent);

	if (!x)
		return gpc_fail(err, GPC_EPROTO, "intent %lld is not open",
			(long long)s->p->intent);
	drop_intent(s->st, x);
	return 0;
}

static bool has_node(const struct gpc_job_state *st, const struct gpc_node *n)
{
	for (size_t i = 0; i < st->nodes.n; i++)
		if (gpc_eq(st->nodes.v[i].id, n->id) &&
			gpc_eq(st->nodes.v[i].provider, n->provider))
			return true;
	return false;
}

/* Whether each rank of the current attempt has a node that can be used. */
static bool is_complete(const struct gpc_job_state *st)
{
	bool *seen = gpc_array((size_t)st->num_nodes, sizeof(*seen));
	int left = st->num_nodes;

	gpc_vec_each(n, &st->nodes) {
		if (n->attempt != st->attempt || !is_live(n) ||
			n->rank >= st->num_nodes || seen[n->rank])
			continue;
		seen[n->rank] = true;
		left--;
	}
	free(seen);
	return left == 0;
}

/* A node is of use if its intent is open and its attempt still gathers nodes;
 * one that came too late is only there to be released. */
static int on_created(struct step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	struct gpc_intent *x = find_intent(st, s->p->intent);
	int attempt = x ? x->attempt : st->attempt;
	bool useful = x && attempt == st->attempt &&
		st->status == GPC_JOB_PROVISIONING;

	gpc_vec_each(n, &s->p->nodes)
		if (n->rank < 0 || n->rank >= st->num_nodes || !*n->id)
			return gpc_fail(err, GPC_EPROTO,
				"$.nodes: a rank or an id is out of range");
	gpc_vec_each(n, &s->p->nodes) {
		struct gpc_node *to;

		if (has_node(st, n))
			continue;
		to = gpc_vec_push(&st->nodes);
		*to = *n;
		memset(n, 0, sizeof(*n));
		to->attempt = attempt;
		to->intent = s->p->intent;
		to->status = useful ? GPC_NODE_CREATED : GPC_NODE_DRAINING;
		if (!to->created_ms)
			to->created_ms = s->at_ms;
	}
	if (x)
		drop_intent(st, x);
	if (s->to == VARY)
		s->to = is_complete(st) ? STRT : SAME;
	return 0;
}

/* The node that rank and, if it is given, id name: a live one rather than a
 * late twin that is only there to be released. */
static struct gpc_node *find_node(struct gpc_job_state *st,
	const struct gpc_payload *p)
{
	struct gpc_node *found = NULL;

	gpc_vec_each(n, &st->nodes) {
		if (n->attempt != p->attempt || n->rank != p->rank ||
			(p->id && !gpc_eq(n->id, p->id)))
			continue;
		if (!found || is_live(n))
			found = n;
	}
	return found;
}

static int on_rate(struct step *s, struct gpc_error *err)
{
	struct gpc_node *n = find_node(s->st, s->p);

	(void)err;
	/* Of a node that is gone already there is nothing left to count. */
	if (n)
		n->rate = s->p->rate;
	return 0;
}

static int on_ready(struct step *s, struct gpc_error *err)
{
	struct gpc_node *n = find_node(s->st, s->p);
	int r = check_attempt(s, err);

	if (r < 0)
		return r;
	if (!n)
		return gpc_fail(err, GPC_EPROTO, "rank %d has no node",
			s->p->rank);
	if (n->status == GPC_NODE_CREATED)
		n->status = GPC_NODE_READY;
	if (s->p->address)
		gpc_set_str(&n->address, s->p->address);
	return 0;
}

static int on_phase(struct step *s, struct gpc_error *err)
{
	struct gpc_try *t = gpc_job_state_try(s->st, s->st->attempt);
	enum gpc_phase_event phase = s->p->phase;
	int to = phase_status[phase][s->st->status - GPC_JOB_STARTING];
	int r = check_attempt(s, err);

	if (r < 0)
		return r;
	if (to == NO)
		return gpc_fail(err, GPC_EPROTO, "phase %s does not follow %s",
			gpc_phase_event_names[phase],
			gpc_job_status_to_str(s->st->status));
	if (phase == GPC_PHASE_EVENT_RUNNING && t && !t->running_ms_at)
		t->running_ms_at = s->at_ms;
	if (phase == GPC_PHASE_EVENT_STOPPING)
		s->st->reason = s->p->reason;
	s->to = to;
	return 0;
}

static int on_lost(struct step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	const struct gpc_json *progress =
		gpc_json_get(s->e->data, "progress");
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);
	int r = check_attempt(s, err);

	if (r < 0)
		return r;
	if (s->p->reason == GPC_REASON_NONE)
		return gpc_fail(err, GPC_EPROTO, "$.reason: is empty");
	if (gpc_json_bool_or(progress, false) || (t && t->checkpoint))
		st->no_progress = 0;
	else if (progress)
		st->no_progress++;
	close_try(s);
	drain_nodes(st);
	if (!st->cancel)
		st->reason = GPC_REASON_NONE;
	return 0;
}

static int on_released(struct step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	struct gpc_node *n = find_node(st, s->p);
	struct gpc_money cost;
	int r;

	/* Of a node that nobody knows, or again: nothing changes. */
	if (!n || n->status == GPC_NODE_RELEASED)
		return 0;
	if (n->rate.currency[0]) {
		cost = gpc_money_for(n->rate, since(n->created_ms, s->at_ms));
		r = gpc_money_add(&st->spent, cost, err);
		if (r < 0)
			return r;
	}
	add_ms(&st->node_ms, since(n->created_ms, s->at_ms));
	n->status = GPC_NODE_RELEASED;
	n->released_ms = s->at_ms;
	drop_old_nodes(st);
	return 0;
}

static int on_supervisor(struct step *s, struct gpc_error *err)
{
	(void)err;
	gpc_set_str(&s->st->supervisor, s->p->supervisor);
	return 0;
}

/* What an attempt commits after a later one began is stray. */
static int on_checkpoint(struct step *s, struct gpc_error *err)
{
	struct gpc_try *t = gpc_job_state_try(s->st, s->st->attempt);
	char label[25];
	int attempt, n;
	int r = check_attempt(s, err);

	if (r < 0)
		return r;
	if (!gpc_checkpoint_id_parse(s->p->checkpoint, &attempt, &n, label) ||
		attempt != s->st->attempt || !t)
		return gpc_fail(err, GPC_EPROTO,
			"$.checkpoint: not a checkpoint of attempt %d",
			s->st->attempt);
	gpc_set_str(&t->checkpoint, s->p->checkpoint);
	gpc_set_str(&s->st->checkpoint, s->p->checkpoint);
	s->st->no_progress = 0;
	return 0;
}

static int on_cancel(struct step *s, struct gpc_error *err)
{
	(void)err;
	s->st->cancel = true;
	s->st->cancel_now = s->st->cancel_now || s->p->now;
	s->st->asked_n = s->e->n;
	if (s->to == STOP || s->st->status == GPC_JOB_STOPPING)
		s->st->reason = GPC_REASON_CANCELLED;
	return 0;
}

static int on_request(struct step *s, struct gpc_error *err)
{
	(void)err;
	s->st->asked_n = s->e->n;
	return 0;
}

static int on_resume(struct step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	char label[25];
	int attempt, n;

	if (st->pruning)
		return gpc_fail(err, GPC_EPROTO, st->removing ? "it is being "
			"removed" : "its checkpoints are being pruned");
	if (s->p->checkpoint &&
		!gpc_checkpoint_id_parse(s->p->checkpoint, &attempt, &n, label))
		return gpc_fail(err, GPC_EPROTO, "$.checkpoint: not an id");
	if (s->p->checkpoint)
		gpc_set_str(&st->checkpoint, s->p->checkpoint);
	set_reason(s);          /* an empty payload: clears them */
	st->cancel = st->cancel_now = false;
	st->restarts = st->no_progress = 0;
	st->ended_ms = 0;
	st->prune_n = st->prune_keep = 0; /* asked of those that have left */
	return 0;
}

/* A limit is more than 0; what is not there leaves the other as it is. */
static int check_update(const struct step *s, bool priority,
	struct gpc_error *err)
{
	const struct gpc_payload *p = s->p;
	bool cost = p->cost.currency[0] != '\0';

	if ((cost && p->cost.micros <= 0) || p->time_ms < 0 ||
		(!cost && !p->time_ms && !priority && !p->notify))
		return gpc_fail(err, GPC_EPROTO, "no limit, or none above 0");
	if (p->notify && !gpc_json_is_array(p->notify))
		return gpc_fail(err, GPC_EPROTO, "$.notify: not a list");
	return 0;
}

static int on_update(struct step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	bool priority = gpc_json_get(s->e->data, "priority") != NULL;
	int r = check_update(s, priority, err);

	if (r < 0)
		return r;
	if (s->p->cost.currency[0]) {
		st->cost_limit = s->p->cost;
		st->cost_limit_n = s->e->n;
	}
	if (s->p->time_ms > 0) {
		st->time_limit_ms = s->p->time_ms;
		st->time_limit_n = s->e->n;
	}
	if (priority) {
		st->priority = s->p->priority;
		st->priority_n = s->e->n;
	}
	if (s->p->notify) {
		gpc_json_free(st->notify);
		st->notify = gpc_json_first(s->p->notify) ?
			gpc_steal(&s->p->notify) : NULL;
		st->notify_n = s->e->n;
	}
	return on_request(s, err);
}

static int on_prune(struct step *s, struct gpc_error *err)
{
	s->st->prune_n = s->e->n;
	s->st->prune_keep = s->p->keep;
	return on_request(s, err);
}

/* Who deletes must know that nobody writes there any more. A job may be removed
 * while its checkpoints are being pruned. */
static int on_pruning(struct step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;

	if (st->removing || (st->pruning && !s->p->remove))
		return gpc_fail(err, GPC_EPROTO, "it is being %s already",
			st->removing ? "removed" : "pruned");
	gpc_vec_each(n, &st->nodes)
		if (n->status != GPC_NODE_RELEASED)
			return gpc_fail(err, GPC_EPROTO,
				"not all of its nodes are released");
	if (st->intents.n > 0)
		return gpc_fail(err, GPC_EPROTO, "an intent is still open");
	st->pruning = true;
	st->pruning_n = s->e->n;
	st->removing = s->p->remove;
	return 0;
}

static int on_pruned(struct step *s, struct gpc_error *err)
{
	if (!s->st->pruning || s->st->removing)
		return gpc_fail(err, GPC_EPROTO, "its checkpoints are not "
			"being pruned");
	s->st->pruning = false;
	s->st->pruning_n = 0;
	return 0;
}

static int on_ended(struct step *s, struct gpc_error *err)
{
	if (s->p->reason == GPC_REASON_NONE)
		return gpc_fail(err, GPC_EPROTO, "$.reason: is empty");
	close_try(s);
	drain_nodes(s->st);
	set_reason(s);
	s->st->ended_ms = s->at_ms;
	s->to = (int)gpc_reason_status(s->p->reason);
	return 0;
}

static int (*const handlers[GPC_EVENT__COUNT])(struct step *s,
	struct gpc_error *err) = {
	[GPC_EVENT_SUBMITTED] = on_submitted,
	[GPC_EVENT_ATTEMPT] = on_attempt,
	[GPC_EVENT_INTENT] = on_intent,
	[GPC_EVENT_VOID] = on_void,
	[GPC_EVENT_CREATED] = on_created,
	[GPC_EVENT_RATE] = on_rate,
	[GPC_EVENT_READY] = on_ready,
	[GPC_EVENT_PHASE] = on_phase,
	[GPC_EVENT_LOST] = on_lost,
	[GPC_EVENT_RELEASED] = on_released,
	[GPC_EVENT_SUPERVISOR] = on_supervisor,
	[GPC_EVENT_CHECKPOINT] = on_checkpoint,
	[GPC_EVENT_CANCEL] = on_cancel,
	[GPC_EVENT_SAVE] = on_request,
	[GPC_EVENT_SIGNAL] = on_request,
	[GPC_EVENT_UPDATE] = on_update,
	[GPC_EVENT_RESUME] = on_resume,
	[GPC_EVENT_PRUNE] = on_prune,
	[GPC_EVENT_PRUNING] = on_pruning,
	[GPC_EVENT_PRUNED] = on_pruned,
	[GPC_EVENT_ENDED] = on_ended,
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
	struct step s = { .st = st, .e = e, .p = &p };
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
