/* What a supervisor has to do next, from the state alone. Every action is
 * idempotent: asked again after a crash, the same state gives the same answer,
 * and each action, once recorded, changes the state so that it is not asked
 * again. */
#include "record/state.h"

#include "base/str.h"
#include "base/vec.h"

#define MAX_NO_PROGRESS 2
#define MAX_YOUNG 5
#define YOUNG_MS 60000
#define YOUNG_GAP_MS 600000

struct plan {
	const struct gpc_job_state *st;
	const struct gpc_recovery_policy *policy;
	int64_t now_ms;
	struct gpc_action *v;
	size_t n, max;
};

static void add(struct plan *p, struct gpc_action a)
{
	if (p->n < p->max)
		p->v[p->n++] = a;
}

static void add_end(struct plan *p, enum gpc_reason reason,
	const struct gpc_try *t)
{
	struct gpc_action a = { .kind = GPC_ACTION_END, .reason = reason };

	if (t) {
		a.code = t->code;
		a.signal = t->signal;
		a.rank = t->rank;
	}
	add(p, a);
}

/* Machines that nobody needs go first; true when there are any. */
static bool release(struct plan *p, bool all)
{
	bool any = false;

	for (size_t i = 0; i < p->st->nodes.n; i++) {
		enum gpc_node_status status = p->st->nodes.v[i].status;

		if (status == GPC_NODE_RELEASED ||
			(!all && status != GPC_NODE_DRAINING))
			continue;
		add(p, (struct gpc_action){ .kind = GPC_ACTION_RELEASE,
			.index = i });
		any = true;
	}
	return any;
}

/* The cloud would start another node in place of the last one of a group that is
 * asked to end before it has gone: whoever ends that one ends the group. */
static bool holds_nodes(const struct gpc_job_state *st,
	const struct gpc_intent *x)
{
	gpc_vec_each(n, &st->nodes)
		if (n->intent == x->n && n->status != GPC_NODE_RELEASED)
			return true;
	return false;
}

/* groups: these as well. True while any of them is open. */
static bool give_up_intents(struct plan *p, bool groups)
{
	bool any = false;

	for (size_t i = 0; i < p->st->intents.n; i++) {
		const struct gpc_intent *x = &p->st->intents.v[i];
		bool group = gpc_intent_is_group(x);

		if (group && !groups)
			continue;
		any = true;
		if (!group || !holds_nodes(p->st, x))
			add(p, (struct gpc_action){ .kind = GPC_ACTION_VOID,
				.index = i });
	}
	return any;
}

static bool is_live(const struct gpc_node *n)
{
	return n->status == GPC_NODE_CREATED || n->status == GPC_NODE_READY;
}

static bool any_live(const struct gpc_job_state *st)
{
	gpc_vec_each(n, &st->nodes)
		if (is_live(n))
			return true;
	return false;
}

static bool rank_is_live(const struct gpc_job_state *st, int rank)
{
	gpc_vec_each(n, &st->nodes)
		if (n->attempt == st->attempt && n->rank == rank && is_live(n))
			return true;
	return false;
}

/* A node of this attempt that went without a word, and left its rank empty. */
static bool is_missed(const struct gpc_job_state *st, const struct gpc_node *n)
{
	return n->status == GPC_NODE_RELEASED && n->attempt == st->attempt &&
		!st->cancel && st->status != GPC_JOB_PROVISIONING &&
		!rank_is_live(st, n->rank);
}

static void watch(struct plan *p)
{
	for (size_t i = 0; i < p->st->nodes.n; i++) {
		const struct gpc_node *n = &p->st->nodes.v[i];

		if (is_live(n) || is_missed(p->st, n))
			add(p, (struct gpc_action){ .kind = GPC_ACTION_WATCH,
				.index = i });
	}
}

/* --- recovering -------------------------------------------------------- */

static bool is_listed(const struct gpc_recovery_policy *policy,
	enum gpc_reason reason, int code, int signal)
{
	if (reason != GPC_REASON_EXIT_CODE || signal)
		return false;
	for (size_t i = 0; i < policy->n_on_exit; i++)
		if (policy->on_exit[i] == code)
			return true;
	return false;
}

bool gpc_state_may_retry(const struct gpc_job_state *st,
	const struct gpc_recovery_policy *policy, enum gpc_reason reason,
	int code, int signal)
{
	/* Its machine died before it ran: nothing of the job's did. */
	if (reason == GPC_REASON_NO_CAPACITY || reason == GPC_REASON_QUOTA)
		return true;
	if (policy->none)
		return false;
	switch (gpc_reason_retry(reason)) {
	case GPC_RETRY_RECOVER:
		if (reason != GPC_REASON_LIFETIME)
			return true;
		return policy->has_checkpoint && st->checkpoint;
	case GPC_RETRY_IF_ASKED:
		return is_listed(policy, reason, code, signal) ||
			st->restarts < policy->restarts;
	case GPC_RETRY_NEVER:
		break;
	}
	return false;
}

/* Whether an attempt lost its machine soon after its program began, with
 * nothing saved. */
static bool died_young(const struct gpc_try *t)
{
	return (t->reason == GPC_REASON_NODE_LOST ||
		t->reason == GPC_REASON_AGENT_FAILED) && !t->checkpoint &&
		(!t->running_ms_at || t->ended_ms - t->running_ms_at < YOUNG_MS);
}

static bool was_resumed_between(const struct gpc_try *a, const struct gpc_try *b)
{
	return b->started_ms - a->ended_ms > YOUNG_GAP_MS;
}

/* Machines that die one after another as soon as the program runs on them die of
 * the program. Its first lines of log are no reason to buy machines for ever. */
static bool all_die_young(const struct gpc_job_state *st)
{
	size_t i = st->tries.n;
	int n = 0;

	while (i-- > 0 && died_young(&st->tries.v[i])) {
		n++;
		if (i > 0 && was_resumed_between(&st->tries.v[i - 1],
			&st->tries.v[i]))
			break;
	}
	return n >= MAX_YOUNG;
}

/* What our half on the node cannot do on two machines in a row, such as to save
 * where the store is damaged, it cannot do on a third, however long the program
 * runs before it. */
static bool agent_fails_again(const struct gpc_job_state *st)
{
	const struct gpc_try *a, *b;

	if (st->tries.n < 2)
		return false;
	a = &st->tries.v[st->tries.n - 2];
	b = &st->tries.v[st->tries.n - 1];
	return a->reason == GPC_REASON_AGENT_FAILED &&
		b->reason == GPC_REASON_AGENT_FAILED && !b->checkpoint &&
		!was_resumed_between(a, b);
}

/* Two machines in a row did not begin, for the same reason: a third would not. */
static bool boot_fails_again(const struct gpc_job_state *st)
{
	const struct gpc_try *a, *b;

	if (st->tries.n < 2)
		return false;
	a = &st->tries.v[st->tries.n - 2];
	b = &st->tries.v[st->tries.n - 1];
	return b->boot && gpc_eq(a->boot, b->boot) && !was_resumed_between(a, b);
}

static void recover(struct plan *p)
{
	const struct gpc_try *t = NULL;

	gpc_vec_each(x, &p->st->tries)
		if (x->n == p->st->attempt)
			t = x;
	if (!t)
		add_end(p, GPC_REASON_AGENT_FAILED, NULL);
	else if (!gpc_state_may_retry(p->st, p->policy, t->reason, t->code,
		t->signal))
		add_end(p, t->reason, t);
	else if (boot_fails_again(p->st))
		add_end(p, t->reason, t);
	else if (p->st->no_progress >= MAX_NO_PROGRESS ||
		all_die_young(p->st) || agent_fails_again(p->st))
		add_end(p, GPC_REASON_NO_PROGRESS, t);
	else
		add(p, (struct gpc_action){ .kind = GPC_ACTION_ATTEMPT,
			.uncounted = is_listed(p->policy, t->reason, t->code,
				t->signal) });
}

/* --- provisioning ------------------------------------------------------ */

/* How many nodes an open intent asks for. */
static int64_t asked_by(const struct gpc_job_state *st,
	const struct gpc_intent *x)
{
	const struct gpc_json *ranks = gpc_json_get(x->request, "ranks");
	const struct gpc_json *m;
	int64_t n = 0;

	for (m = gpc_json_first(ranks); m; m = gpc_json_next(m))
		n++;
	return n ? n : gpc_json_get_int(x->request, "count", st->num_nodes);
}

static int64_t missing(const struct gpc_job_state *st)
{
	int64_t n = st->num_nodes;

	gpc_vec_each(node, &st->nodes)
		if (node->attempt == st->attempt && is_live(node))
			n--;
	gpc_vec_each(x, &st->intents)
		if (x->attempt == st->attempt || gpc_intent_is_group(x))
			n -= asked_by(st, x);
	return n;
}

static void provision(struct plan *p)
{
	for (size_t i = 0; i < p->st->intents.n; i++) {
		const struct gpc_intent *x = &p->st->intents.v[i];
		bool stale = !gpc_intent_is_group(x) &&
			(x->attempt != p->st->attempt ||
			p->now_ms - x->at_ms > GPC_INTENT_MAX_AGE_MS);

		add(p, (struct gpc_action){ .index = i,
			.kind = stale ? GPC_ACTION_VOID : GPC_ACTION_CREATE });
	}
	if (missing(p->st) > 0)
		add(p, (struct gpc_action){ .kind = GPC_ACTION_INTENT });
}

/* --- next -------------------------------------------------------------- */

bool gpc_state_ends_groups(const struct gpc_job_state *st)
{
	if (st->cancel || st->status == GPC_JOB_PENDING ||
		gpc_job_status_is_end(st->status))
		return true;
	if (st->status != GPC_JOB_RECOVERING)
		return false;
	gpc_vec_each(t, &st->tries)
		if (t->n == st->attempt)
			return t->reason == GPC_REASON_LIFETIME;
	return false;
}

static void next_stopped(struct plan *p)
{
	bool open = give_up_intents(p, gpc_state_ends_groups(p->st));

	if (p->st->cancel) {
		if (!open)
			add_end(p, GPC_REASON_CANCELLED, NULL);
		release(p, true);
		return;
	}
	/* The next attempt starts when nothing of the last one is left. */
	if (release(p, true) || open)
		return;
	if (p->st->status == GPC_JOB_PENDING)
		add(p, (struct gpc_action){ .kind = GPC_ACTION_ATTEMPT });
	else
		recover(p);
}

static void next_going(struct plan *p)
{
	if (p->st->status == GPC_JOB_PROVISIONING) {
		provision(p);
	} else if (!give_up_intents(p, false) && p->st->cancel &&
		(p->st->cancel_now || !any_live(p->st))) {
		add_end(p, GPC_REASON_CANCELLED, NULL);
	}
	watch(p);
	release(p, false);
}

size_t gpc_state_next(const struct gpc_job_state *st,
	const struct gpc_recovery_policy *policy, int64_t now_ms,
	struct gpc_action *ret_actions, size_t max)
{
	struct plan p = { .st = st, .policy = policy, .now_ms = now_ms,
		.v = ret_actions, .max = max };

	if (st->n == 0)
		return 0;
	if (gpc_job_status_is_end(st->status)) {
		give_up_intents(&p, true);
		release(&p, true);
	} else if (st->status == GPC_JOB_PENDING ||
		st->status == GPC_JOB_RECOVERING) {
		next_stopped(&p);
	} else {
		next_going(&p);
	}
	return p.n;
}
