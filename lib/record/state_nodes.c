/* Attempts and their machines: how they begin, get on and end, and with the last
 * of them the job. Called by state.c for events that its table allows.
 */
#include "record/state_parts.h"

#include <string.h>

#include "base/str.h"

#define STATE_VERSION 1
#define MAX_NODES GPC_JOB_MAX_NODES
#define SUM_MAX ((int64_t)1 << 53)

/* What a phase makes of the statuses from STARTING to STOPPING. A job that stops
 * stays so; when it began to run is still noted. */
enum { NO = GPC_TO_NONE, SAME = GPC_TO_SAME, SETU = GPC_JOB_SETUP,
	RUNN = GPC_JOB_RUNNING, STOP = GPC_JOB_STOPPING };

static const signed char phase_status[GPC_PHASE_EVENT__COUNT][4] = {
	/*                             STRT  SETU  RUNN  STOP */
	[GPC_PHASE_EVENT_SETUP] =    {SETU, NO,   NO,   SAME},
	[GPC_PHASE_EVENT_RUNNING] =  {RUNN, RUNN, NO,   SAME},
	[GPC_PHASE_EVENT_STOPPING] = {STOP, STOP, STOP, NO},
};

/* --- helpers ----------------------------------------------------------- */

static int64_t since(int64_t from, int64_t to)
{
	return to > from ? to - from : 0;
}

/* A sum never passes what a record can hold. */
static void add_ms(int64_t *sum, int64_t ms)
{
	*sum = ms < SUM_MAX - *sum ? *sum + ms : SUM_MAX;
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
	free(n->opened);
	free(n->offer);
	gpc_json_free(n->rest);
}

/* Tariffs stay as long as there are nodes that they are of. */
static void drop_old_tariffs(struct gpc_job_state *st)
{
	size_t i = 0;

	while (i < st->tariffs.n) {
		bool used = false;

		gpc_vec_each(n, &st->nodes)
			used |= n->intent == st->tariffs.v[i].intent;
		if (used) {
			i++;
			continue;
		}
		gpc_tariff_clear(&st->tariffs.v[i].tariff);
		gpc_vec_remove(&st->tariffs, i);
	}
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
	drop_old_tariffs(st);
}

static void refusal_clear(struct gpc_refusal *x)
{
	free(x->offer);
	free(x->why);
	gpc_json_free(x->rest);
}

/* What could not be had, and why, for people; the same again counts. */
static void note_refusal(const struct gpc_step *s, const char *offer,
	const char *why)
{
	struct gpc_job_state *st = s->st;
	struct gpc_refusal x = {0};

	if (!offer)
		return;
	for (size_t i = 0; i < st->refused.n; i++) {
		if (!gpc_eq(st->refused.v[i].offer, offer))
			continue;
		x = st->refused.v[i];
		gpc_vec_remove(&st->refused, i);
		break;
	}
	if (!x.offer && st->refused.n >= GPC_JOB_MAX_REFUSALS) {
		refusal_clear(&st->refused.v[0]);
		gpc_vec_remove(&st->refused, 0);
	}
	if (!x.offer)
		x.offer = gpc_strdup(offer);
	free(x.why);
	x.why = why ? gpc_str_printable(why, strnlen(why, GPC_JOB_REFUSAL_MAX)) :
		NULL;
	x.attempt = st->attempt;
	x.at_ms = s->at_ms;
	x.times += x.times < INT32_MAX;
	*gpc_vec_push(&st->refused) = x;
}

/* Ends the current attempt, once. */
static void close_try(const struct gpc_step *s)
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
	gpc_set_str(&t->boot, s->p->boot);
	gpc_set_str(&t->log_cut, s->p->log_cut);
	if (t->running_ms_at) /* the node's own measure, if it lived to tell */
		add_ms(&st->ran_ms, s->p->ran_ms > 0 ? s->p->ran_ms :
			since(t->running_ms_at, s->at_ms));
}

/* --- events ------------------------------------------------------------ */

int gpc_on_submitted(struct gpc_step *s, struct gpc_error *err)
{
	if (s->p->num_nodes < 1 || s->p->num_nodes > MAX_NODES)
		return gpc_fail(err, GPC_EPROTO, "$.num_nodes: out of range");
	s->st->v = STATE_VERSION;
	s->st->num_nodes = s->p->num_nodes;
	s->st->submitted_ms = s->at_ms;
	return 0;
}

int gpc_on_attempt(struct gpc_step *s, struct gpc_error *err)
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

int gpc_on_intent(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_intent *x;
	int r = gpc_step_check_attempt(s, err);

	if (r < 0)
		return r;
	x = gpc_vec_push(&s->st->intents);
	x->n = s->e->n;
	x->attempt = s->p->attempt;
	x->at_ms = s->at_ms;
	x->token = gpc_steal(&s->p->token);
	x->request = gpc_steal(&s->p->request);
	gpc_vec_each(p, &s->p->passed)
		note_refusal(s, p->offer, p->why);
	return 0;
}

int gpc_on_void(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_intent *x = find_intent(s->st, s->p->intent);

	if (!x)
		return gpc_fail(err, GPC_EPROTO, "intent %lld is not open",
			(long long)s->p->intent);
	drop_intent(s->st, x);
	note_refusal(s, s->p->offer, s->p->detail);
	return 0;
}

static bool has_tariff(const struct gpc_job_state *st, int64_t intent)
{
	gpc_vec_each(t, &st->tariffs)
		if (t->intent == intent)
			return true;
	return false;
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
 * one that came too late is only there to be released. A group's next node is of the
 * attempt that waits for it. */
int gpc_on_created(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	struct gpc_intent *x = find_intent(st, s->p->intent);
	bool group = x && gpc_intent_is_group(x);
	int attempt = x && !group ? x->attempt : st->attempt;
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
	if (s->p->tariff.parts.n > 0 && !has_tariff(st, s->p->intent)) {
		struct gpc_node_tariff *t = gpc_vec_push(&st->tariffs);

		t->intent = s->p->intent;
		t->tariff = s->p->tariff;
		s->p->tariff = (struct gpc_tariff){0};
	}
	drop_old_tariffs(st);
	if (x && !group)
		drop_intent(st, x);
	if (s->to == GPC_TO_VARIES)
		s->to = is_complete(st) ? GPC_JOB_STARTING : GPC_TO_SAME;
	return 0;
}

/* The node that rank and, if it is given, id name: a live one rather than a
 * late twin that is only there to be released. */
static struct gpc_node *find_node(struct gpc_job_state *st, int attempt,
	int rank, const char *id)
{
	struct gpc_node *found = NULL;

	gpc_vec_each(n, &st->nodes) {
		if (n->attempt != attempt || n->rank != rank ||
			(id && !gpc_eq(n->id, id)))
			continue;
		if (!found || is_live(n))
			found = n;
	}
	return found;
}

int gpc_on_rate(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_node *n = find_node(s->st, s->p->attempt, s->p->rank,
		s->p->id);

	(void)err;
	/* Of a node that is gone already there is nothing left to count. */
	if (n)
		n->rate = s->p->rate;
	return 0;
}

static void open_one(struct gpc_step *s, int rank, const char *id,
	const char *address)
{
	struct gpc_node *n = find_node(s->st, s->p->attempt, rank, id);

	if (n)
		gpc_set_str(&n->opened, address);
}

/* What was made for it stands whatever becomes of the node, and is closed when the
 * job is over. */
int gpc_on_opened(struct gpc_step *s, struct gpc_error *err)
{
	(void)err;
	open_one(s, s->p->rank, s->p->id, s->p->address);
	gpc_vec_each(x, &s->p->also)
		open_one(s, x->rank, x->id, x->address);
	s->st->opened = true;
	return 0;
}

/* Each of `ranks`, whose first is `rank`; checked before anything changes. */
static int ready_ranks(struct gpc_step *s, bool change, struct gpc_error *err)
{
	const struct gpc_json *j = gpc_json_first(s->p->ranks);

	for (; j; j = gpc_json_next(j)) {
		int64_t rank = gpc_json_int_or(j, -1);
		struct gpc_node *n = rank < 0 || rank >= s->st->num_nodes ? NULL :
			find_node(s->st, s->p->attempt, (int)rank, NULL);

		if (!n)
			return gpc_fail(err, GPC_EPROTO, "$.ranks: rank %lld has "
				"no node", (long long)rank);
		if (change && n->status == GPC_NODE_CREATED)
			n->status = GPC_NODE_READY;
	}
	return 0;
}

int gpc_on_ready(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_node *n = find_node(s->st, s->p->attempt, s->p->rank,
		s->p->id);
	int r = gpc_step_check_attempt(s, err);

	if (r == 0)
		r = ready_ranks(s, false, err);
	if (r < 0)
		return r;
	if (!n)
		return gpc_fail(err, GPC_EPROTO, "rank %d has no node",
			s->p->rank);
	if (n->status == GPC_NODE_CREATED)
		n->status = GPC_NODE_READY;
	if (s->p->address)
		gpc_set_str(&n->address, s->p->address);
	return ready_ranks(s, true, err);
}

int gpc_on_phase(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_try *t = gpc_job_state_try(s->st, s->st->attempt);
	enum gpc_phase_event phase = s->p->phase;
	int to = phase_status[phase][s->st->status - GPC_JOB_STARTING];
	int r = gpc_step_check_attempt(s, err);

	if (r < 0)
		return r;
	if (to == GPC_TO_NONE)
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

int gpc_on_lost(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	const struct gpc_json *progress =
		gpc_json_get(s->e->data, "progress");
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);
	int r = gpc_step_check_attempt(s, err);

	if (r < 0)
		return r;
	if (s->p->reason == GPC_REASON_NONE)
		return gpc_fail(err, GPC_EPROTO, "$.reason: is empty");
	if (gpc_json_bool_or(progress, false) || (t && t->checkpoint))
		st->no_progress = 0;
	else if (progress)
		st->no_progress++;
	close_try(s);
	note_refusal(s, s->p->offer, s->p->detail);
	drain_nodes(st);
	if (!st->cancel)
		st->reason = GPC_REASON_NONE;
	return 0;
}

/* Of a node that nobody knows, or again: nothing changes. NULL = such a one. */
static struct gpc_node *node_that_goes(struct gpc_job_state *st,
	const struct gpc_payload_also *g, int64_t at_ms, int64_t *ret_ms)
{
	struct gpc_node *n = find_node(st, g->attempt, g->rank, g->id);

	if (!n || n->status == GPC_NODE_RELEASED)
		return NULL;
	*ret_ms = g->unpaid ? 0 : g->paid_ms > 0 ? g->paid_ms :
		since(n->created_ms, at_ms);
	return n;
}

static int add_cost(struct gpc_job_state *st, const struct gpc_payload_also *g,
	int64_t at_ms, struct gpc_money *sum, struct gpc_error *err)
{
	int64_t ms = 0;
	const struct gpc_node *n = node_that_goes(st, g, at_ms, &ms);
	struct gpc_money cost = {0};

	if (n && !g->unpaid)
		cost = gpc_job_state_charge(st, n, ms, g->machine_free, NULL);
	return cost.currency[0] ? gpc_money_add(sum, cost, err) : 0;
}

static void release_one(struct gpc_job_state *st,
	const struct gpc_payload_also *g, int64_t at_ms)
{
	int64_t ms = 0;
	struct gpc_node *n = node_that_goes(st, g, at_ms, &ms);

	if (!n)
		return;
	if (!g->unpaid)
		gpc_job_state_charge(st, n, ms, g->machine_free, &st->bill);
	add_ms(&st->node_ms, ms);
	n->status = GPC_NODE_RELEASED;
	n->released_ms = at_ms;
}

int gpc_on_released(struct gpc_step *s, struct gpc_error *err)
{
	const struct gpc_payload *p = s->p;
	const struct gpc_payload_also first = { .attempt = p->attempt,
		.rank = p->rank, .id = p->id, .paid_ms = p->paid_ms,
		.machine_free = p->machine_free, .unpaid = p->unpaid };
	struct gpc_money sum = s->st->spent;
	int r = add_cost(s->st, &first, s->at_ms, &sum, err);

	gpc_vec_each(g, &p->also)
		if (r == 0)
			r = add_cost(s->st, g, g->at_ms ? g->at_ms : s->at_ms,
				&sum, err);
	if (r < 0)
		return r;
	s->st->spent = sum;
	release_one(s->st, &first, s->at_ms);
	gpc_vec_each(g, &p->also)
		release_one(s->st, g, g->at_ms ? g->at_ms : s->at_ms);
	drop_old_nodes(s->st);
	return 0;
}

int gpc_on_ended(struct gpc_step *s, struct gpc_error *err)
{
	if (s->p->reason == GPC_REASON_NONE)
		return gpc_fail(err, GPC_EPROTO, "$.reason: is empty");
	close_try(s);
	drain_nodes(s->st);
	gpc_step_set_reason(s);
	s->st->ended_ms = s->at_ms;
	s->to = (int)gpc_reason_status(s->p->reason);
	return 0;
}
