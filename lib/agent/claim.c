/* The birth rule, for nodes that no intent asked for one by one: the group's intent is
 * open as long as the group may be, and the attempt belongs to the node that is first to
 * say so in the journal. Whatever a supervisor would do until then is done here in the
 * same way (record/next.c decides), each step by an event that can only be written
 * once; so it makes no difference whether there is a supervisor, too.
 *
 * A node of the attempt that still lives is not replaced: then this one is one too many,
 * and leaves. */
#include "agent/claim.h"

#include "agent/group.h"
#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "record/checkpoint.h"
#include "record/created.h"
#include "record/facts.h"
#include "record/job.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/outcome.h"
#include "record/recover.h"

enum { LOOK_MS = 2000, RIVAL_MS = 10000, MAX_ACTIONS = 16,
	SIGN_MS = 60000 /* a beat, and then some */,
	LOOKS_WITHOUT = 2 /* in a row: the job was deleted */ };

enum claimed { CLAIM_WAIT, CLAIM_AGAIN, CLAIM_MINE, CLAIM_OVER, CLAIM_RIVAL,
	CLAIM_LOST };

struct claim {
	struct gpc_agent *a;
	struct gpc_journal j;
	struct gpc_spec spec;
	struct gpc_recovery_policy policy;
	int64_t rival_ms;               /* boot clock: since when another one lives */
};

static void claim_clear(struct claim *c)
{
	gpc_journal_clear(&c->j);
	gpc_spec_clear(&c->spec);
}
GPC_CLEANUP_VALUE(claim);

/* Somebody else was first: all is decided again. */
static int append(struct claim *c, enum gpc_event_type type,
	struct gpc_json *data, enum claimed *ret, struct gpc_error *err)
{
	int r = gpc_journal_append(&c->j, type, data, err);

	GPC_CRASH("claim.appended");
	*ret = CLAIM_AGAIN;
	if (r == 0)
		gpc_agent_say(c->a, GPC_INFO, "writes down: %s",
			gpc_event_type_names[type]);
	return r == -GPC_ECONFLICT ? 0 : r;
}

/* --- how the attempt before ended ---------------------------------------------- */

static int note_checkpoint(struct claim *c, enum claimed *ret,
	struct gpc_error *err)
{
	struct gpc_job_state *st = &c->j.state;
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);
	gpc_autostr *newest = NULL;
	struct gpc_json *data;
	int attempt = 0, n = 0, r;
	char label[25];

	if (!st->attempt || !c->spec.checkpoint.path)
		return 0;
	r = gpc_facts_newest_checkpoint(c->a->store, c->a->node->job, st->attempt,
		&newest, err);
	if (r < 0 || !newest || (t && gpc_eq(newest, t->checkpoint)) ||
		!gpc_checkpoint_id_parse(newest, &attempt, &n, label) ||
		attempt != st->attempt)
		return r;
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", attempt);
	gpc_json_set_str(data, "checkpoint", newest);
	return append(c, GPC_EVENT_CHECKPOINT, data, ret, err);
}

/* What its exit or its last beat tells: that its program ran. */
static int note_run(struct claim *c, const struct gpc_exit *x,
	enum claimed *ret, struct gpc_error *err)
{
	struct gpc_job_state *st = &c->j.state;
	gpc_auto(gpc_beat) struct gpc_beat beat = {0};
	int64_t began = x->run_started_ms;
	bool found = false;
	int r = 0;

	if (!gpc_outcome_unseen(st))
		return 0;
	if (!began)
		r = gpc_facts_beat(c->a->store, c->a->node->job, st->attempt, 0,
			&beat, &found, err);
	if (r == 0 && found)
		began = beat.run_started_ms;
	return r < 0 || began <= 0 ? r : append(c, GPC_EVENT_PHASE,
		gpc_outcome_ran(st, began), ret, err);
}

static int write_end(struct claim *c, const struct gpc_exit *x,
	enum claimed *ret, struct gpc_error *err)
{
	struct gpc_job_state *st = &c->j.state;

	if (gpc_recover_goes_on(&c->policy, st, x))
		return append(c, GPC_EVENT_LOST, gpc_outcome_lost(c->a->store,
			c->a->node->job, st, x), ret, err);
	return append(c, GPC_EVENT_ENDED, gpc_outcome_end(x, st->cancel &&
		x->reason != GPC_REASON_COMPLETED ? GPC_REASON_CANCELLED :
		x->reason), ret, err);
}

/* The node of this attempt is gone: its own words count, if it had any. */
static int settle(struct claim *c, const char *why, enum claimed *ret,
	struct gpc_error *err)
{
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	bool found = false;
	int r = gpc_facts_outcome(c->a->store, c->a->node->job,
		c->j.state.attempt, 1, true, &x, &found, err);

	if (r == 0 && !found) {
		x.reason = GPC_REASON_NODE_LOST;
		gpc_set_str(&x.detail, why ? why : "its machine is gone");
	}
	gpc_recover_name_end(&c->j.state, &x);
	if (r == 0)
		r = note_run(c, &x, ret, err);
	if (r == 0 && *ret == CLAIM_WAIT)
		r = note_checkpoint(c, ret, err);
	if (r == 0 && *ret == CLAIM_WAIT)
		r = write_end(c, &x, ret, err);
	return r;
}

/* --- other nodes ------------------------------------------------------------------ */

/* One that has said how it ended is about to go; one that lives on has the attempt. */
static int meet(struct claim *c, const struct gpc_node *n, bool stops,
	enum claimed *ret, struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();
	bool said = stops;
	int r = said ? 0 : gpc_facts_has_exit(c->a->store, c->a->node->job,
		n->attempt, n->rank, &said, err);

	if (r < 0 || said) {
		c->rival_ms = 0;
		return r;
	}
	if (!c->rival_ms)
		c->rival_ms = now;
	if (now - c->rival_ms >= RIVAL_MS)
		*ret = CLAIM_RIVAL;
	return 0;
}

/* The journal named it, so that it was seen: not shown means gone. */
static int watch(struct claim *c, const struct gpc_node *n, enum claimed *ret,
	struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances list = {0};
	const struct gpc_instance *x = NULL;
	int r = 0;

	if (n->status != GPC_NODE_RELEASED)
		r = gpc_group_look(c->a, n->id, &list, &x, err);
	if (r < 0)
		return r;
	if (!x || x->state == GPC_INSTANCE_GONE)
		return settle(c, x ? x->why : NULL, ret, err);
	return meet(c, n, x->state == GPC_INSTANCE_STOPPING, ret, err);
}

/* As core/paid.c does, of a node that nobody watched: the provider's own times, else
 * its last sign of life, and never beyond its lifetime. */
static void add_paid(struct claim *c, const struct gpc_node *n,
	const struct gpc_instance *x, struct gpc_json *to)
{
	int64_t now = gpc_wall_ms(), at = now, age = 0, ms;

	if (x && x->unpaid) {
		ms = 0;
		gpc_json_set_bool(to, "unpaid", true);
	} else if (x && x->created_ms > 0 && x->ended_ms >= x->created_ms) {
		ms = x->ended_ms - x->created_ms;
	} else {
		if (gpc_facts_beat_age(c->a->store, c->a->node->job, n->attempt,
			n->rank, &age, NULL) == 0 && age - SIGN_MS > 0)
			at = now - age + SIGN_MS;
		if (n->expires_ms > 0 && at > n->expires_ms)
			at = n->expires_ms;
		ms = at > n->created_ms ? at - n->created_ms : 0;
	}
	gpc_json_set_int(to, "at_ms", at);
	gpc_json_set_int(to, "paid_ms", ms);
	if (x && ms < x->machine_free_ms)
		gpc_json_set_bool(to, "machine_free", true);
}

static int release(struct claim *c, const struct gpc_node *n,
	enum claimed *ret, struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances list = {0};
	const struct gpc_instance *x = NULL;
	struct gpc_json *data;
	int r = gpc_group_look(c->a, n->id, &list, &x, err);

	if (r < 0 || (x && x->state != GPC_INSTANCE_GONE))
		return r;
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", n->attempt);
	gpc_json_set_int(data, "rank", n->rank);
	gpc_json_set_str(data, "id", n->id);
	add_paid(c, n, x, data);
	return append(c, GPC_EVENT_RELEASED, data, ret, err);
}

/* --- the claim ---------------------------------------------------------------------- */

static int begin_attempt(struct claim *c, bool uncounted, enum claimed *ret,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &c->j.state;
	struct gpc_json *data;
	int r = note_checkpoint(c, ret, err);

	if (r < 0 || *ret != CLAIM_WAIT)
		return r;
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", st->attempt + 1);
	if (st->checkpoint)
		gpc_json_set_str(data, "resume_from", st->checkpoint);
	if (uncounted)
		gpc_json_set_bool(data, "uncounted", true);
	return append(c, GPC_EVENT_ATTEMPT, data, ret, err);
}

static int claim(struct claim *c, const struct gpc_intent *intent,
	enum claimed *ret, struct gpc_error *err)
{
	gpc_auto(gpc_launch) struct gpc_launch l = {0};
	gpc_auto(gpc_instances) struct gpc_instances list = {0};
	const struct gpc_instance *x = NULL;
	const struct gpc_instance me = { .id = c->a->node->id,
		.created_ms = c->a->node->created_ms };
	struct gpc_json *nodes;
	int r = gpc_launch_read(intent->request, &l, err);

	if (r < 0)
		return r;
	/* Since when it is paid, the cloud knows better. */
	if (gpc_group_look(c->a, me.id, &list, &x, NULL) < 0)
		x = NULL;
	nodes = gpc_json_array();
	gpc_json_add(nodes, gpc_created_node(&l, intent, x ? x : &me, 0));
	return append(c, GPC_EVENT_CREATED, gpc_created(&l, intent, nodes), ret,
		err);
}

static int end_job(struct claim *c, const struct gpc_action *action,
	enum claimed *ret, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_str(data, "reason", gpc_reason_to_str(action->reason));
	if (action->code)
		gpc_json_set_int(data, "code", action->code);
	if (action->signal)
		gpc_json_set_int(data, "signal", action->signal);
	gpc_json_set_int(data, "rank", action->rank);
	return append(c, GPC_EVENT_ENDED, data, ret, err);
}

static int act(struct claim *c, const struct gpc_action *action,
	const struct gpc_intent *intent, enum claimed *ret, struct gpc_error *err)
{
	const struct gpc_job_state *st = &c->j.state;

	switch (action->kind) {
	case GPC_ACTION_ATTEMPT:
		return begin_attempt(c, action->uncounted, ret, err);
	case GPC_ACTION_CREATE:
		return &st->intents.v[action->index] != intent ? 0 :
			claim(c, intent, ret, err);
	case GPC_ACTION_WATCH:
		return watch(c, &st->nodes.v[action->index], ret, err);
	case GPC_ACTION_RELEASE:
		return release(c, &st->nodes.v[action->index], ret, err);
	case GPC_ACTION_END:
		return end_job(c, action, ret, err);
	case GPC_ACTION_INTENT:
	case GPC_ACTION_VOID:
		break;                  /* a supervisor's */
	}
	return 0;
}

/* Whether the journal names this node, and what that means. */
static bool is_named(struct claim *c, enum claimed *ret)
{
	struct gpc_agent *a = c->a;
	const struct gpc_job_state *st = &c->j.state;

	gpc_vec_each(n, &st->nodes) {
		if (!gpc_eq(n->id, a->node->id))
			continue;
		*ret = n->attempt == st->attempt &&
			(n->status == GPC_NODE_CREATED ||
			n->status == GPC_NODE_READY) ? CLAIM_MINE : CLAIM_LOST;
		a->attempt = n->attempt;
		a->rank = n->rank;
		/* What was asked of nodes before it is not asked of it; a cancel
		 * is. */
		a->seen_n = st->cancel ? st->asked_n - 1 : st->n;
		return true;
	}
	return false;
}

static int step(struct claim *c, enum claimed *ret, struct gpc_error *err)
{
	struct gpc_job_state *st = &c->j.state;
	struct gpc_action actions[MAX_ACTIONS];
	const struct gpc_intent *intent = NULL;
	size_t n;
	int r = 0;

	*ret = CLAIM_OVER;
	if (gpc_job_status_is_end(st->status) || is_named(c, ret))
		return 0;
	gpc_vec_each(x, &st->intents)
		if (gpc_eq(x->token, c->a->node->token))
			intent = x;
	if (!intent)
		return 0;
	*ret = CLAIM_WAIT;
	n = gpc_state_next(st, &c->policy, gpc_wall_ms(), actions, MAX_ACTIONS);
	for (size_t i = 0; r == 0 && *ret == CLAIM_WAIT && i < n; i++)
		r = act(c, &actions[i], intent, ret, err);
	return r;
}

static int read_spec(struct claim *c, struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	int r = gpc_job_get_spec(c->a->store, c->a->node->job, &job, &c->spec, err);

	if (r == 0)
		c->policy = gpc_recover_policy(&c->spec);
	return r;
}

/* Waits for the next look as long as there is nothing else to do. */
static void pause_for(struct claim *c, enum claimed what)
{
	gpc_key events;

	if (what != CLAIM_WAIT)
		return;
	gpc_key_job_file(events, c->a->node->job, "events/");
	gpc_store_wait(c->a->store, events, LOOK_MS);
}

static int ended(struct claim *c, enum claimed what, struct gpc_error *err)
{
	struct gpc_agent *a = c->a;

	switch (what) {
	case CLAIM_MINE:
		gpc_job_state_copy(&a->state, &c->j.state);
		return 0;
	case CLAIM_RIVAL:
		a->parting = GPC_PART_LEAVE;
		return gpc_fail(err, GPC_ECONFLICT, "another node has attempt %d "
			"of job %s", c->j.state.attempt, a->node->job);
	case CLAIM_LOST:
		return gpc_fail(err, GPC_ENOTFOUND, "node %s was given up",
			a->node->id);
	default:
		a->parting = GPC_PART_END;
		return gpc_fail(err, GPC_ENOTFOUND, "job %s needs no node any more",
			a->node->job);
	}
}

int gpc_claim_rank(struct gpc_agent *a, int64_t until_ms, struct gpc_error *err)
{
	gpc_auto(claim) struct claim c = { .a = a };
	bool ready = false;
	int without = 0;

	gpc_journal_init(&c.j, a->store, a->node->job, "agent");
	while (gpc_boot_ms() < until_ms) {
		enum claimed what = CLAIM_WAIT;
		int r = ready ? 0 : read_spec(&c, err);

		ready = r == 0;
		if (r == 0)
			r = gpc_journal_refresh(&c.j, NULL, err);
		if (r == 0)
			r = step(&c, &what, err);
		if (r == -GPC_EUNSUPPORTED)
			return r;
		without = r == -GPC_ENOTFOUND ? without + 1 : 0;
		if (without >= LOOKS_WITHOUT)
			what = CLAIM_OVER;
		else if (r < 0)
			gpc_agent_say(a, GPC_WARN, "%s", err->msg);
		if (what > CLAIM_AGAIN)
			return ended(&c, what, err);
		pause_for(&c, what);
	}
	a->parting = GPC_PART_END;
	return gpc_fail(err, GPC_ETIMEOUT, "node %s found no place in job %s",
		a->node->id, a->node->job);
}
