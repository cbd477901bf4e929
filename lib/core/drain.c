/* Giving nodes back. A node that ended its work releases itself; this waits for
 * it as long as it shows that it still saves, ends it otherwise, and writes
 * `released` only when the provider confirms that it is gone. */
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "record/facts.h"
#include "record/roll.h"

#define MARGIN_MS 60000
#define DONE_MS 10000
#define NOW_MS 5000
#define DRAIN_MS 3600000
#define STILL_MS 180000
#define AGAIN_MS 5000
#define LIST_MS 200
#define LIST_GANG_MS 5000

static struct gpc_leaving *leaving(struct gpc_supervision *sv, const char *id)
{
	struct gpc_leaving *l;

	gpc_vec_each(x, &sv->leaving) {
		if (gpc_eq(x->id, id))
			return x;
	}
	l = gpc_vec_push(&sv->leaving);
	l->id = gpc_strdup(id);
	l->since_ms = gpc_boot_ms();
	return l;
}

/* The same of one of many, by the lists that tell of all. */
static int64_t gang_patience_ms(struct gpc_supervision *sv,
	const struct gpc_node *n)
{
	const struct gpc_pulse *p = gpc_supervision_drained(sv, n);

	if (p->phase == GPC_PHASE_DONE)
		return DONE_MS;
	return p->phase >= GPC_PHASE_SAVE &&
		gpc_boot_ms() - p->changed_ms < STILL_MS ? DRAIN_MS :
		sv->spec.checkpoint.grace_ms + MARGIN_MS;
}

/* How long a node that has to go may still take. */
static int64_t patience_ms(struct gpc_supervision *sv, const struct gpc_node *n)
{
	int64_t grace = sv->spec.checkpoint.grace_ms + MARGIN_MS;
	gpc_auto(gpc_beat) struct gpc_beat beat = {0};
	struct gpc_pulse *p;
	bool found = false;

	if (sv->journal.state.cancel_now)
		return NOW_MS;
	if (gpc_roll_is_kept(sv->journal.state.num_nodes))
		return gang_patience_ms(sv, n);
	if (gpc_facts_beat(sv->session->store, sv->job.id, n->attempt, n->rank,
		&beat, &found, NULL) < 0 || !found)
		return grace;
	p = gpc_supervision_pulse(sv, n->attempt, n->rank);
	if (p->beat_n != beat.n) {
		p->beat_n = beat.n;
		p->changed_ms = gpc_boot_ms();
	}
	if (beat.phase == GPC_PHASE_DONE)
		return DONE_MS;
	if (beat.phase >= GPC_PHASE_SAVE &&
		gpc_boot_ms() - p->changed_ms < STILL_MS)
		return DRAIN_MS + (sv->journal.state.cancel ? 0 :
			sv->spec.limits.keep_on_failure_ms);
	return grace;
}

static struct gpc_json *gone_json(const struct gpc_node *n,
	const struct gpc_paid *paid)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "attempt", n->attempt);
	gpc_json_set_int(data, "rank", n->rank);
	gpc_json_set_str(data, "id", n->id);
	gpc_json_set_int(data, "at_ms", paid->at_ms);
	gpc_json_set_int(data, "paid_ms", paid->ms);
	if (paid->machine_free)
		gpc_json_set_bool(data, "machine_free", true);
	if (paid->unpaid)
		gpc_json_set_bool(data, "unpaid", true);
	return data;
}

/* Where a list shows all there is, a node that it does not show is no proof of
 * an orderly end: its processes may still run without the node's file. */
static bool may_leave_remains(struct gpc_supervision *sv,
	const struct gpc_node *n, const struct gpc_sight *sight)
{
	struct gpc_source *s = NULL;

	if (sight->instance)
		return true;
	return gpc_supervision_source(sv, n->provider, &s, NULL) == 0 &&
		(s->provider->ops->caps & GPC_PROVIDER_LISTS_AT_ONCE);
}

/* What one look at all nodes that have to go is about. */
struct leave {
	struct gpc_supervision *sv;
	GPC_VEC(const struct gpc_node *) gone, rest; /* rest: to be destroyed */
	size_t n;                        /* all that have to go */
};

/* One of a group goes with the group, or it would be replaced; between two attempts
 * that is just what is wanted. */
static int end_group_of(struct gpc_supervision *sv, const struct gpc_node *n,
	bool *ret_gone, struct gpc_error *err)
{
	const struct gpc_intent *group = gpc_supervision_group_of(sv, n);

	*ret_gone = true;
	return group && gpc_state_ends_groups(&sv->journal.state) ?
		gpc_supervision_end_group(sv, group, ret_gone, err) : 0;
}

static int sort_node(struct leave *x, const struct gpc_node *n,
	struct gpc_error *err)
{
	struct gpc_supervision *sv = x->sv;
	struct gpc_leaving *l = leaving(sv, n->id);
	struct gpc_sight sight = {0};
	int64_t now = gpc_boot_ms();
	bool gone = true;
	int r = gpc_supervision_find(sv, n, gpc_roll_is_kept(
		sv->journal.state.num_nodes) ? LIST_GANG_MS : LIST_MS, &sight,
		err);

	if (r < 0)
		return r;
	if (sight.gone) {
		*gpc_vec_push(&x->gone) = n;
		return 0;
	}
	if (now - l->since_ms < patience_ms(sv, n) ||
		(l->destroyed_ms && now - l->destroyed_ms < AGAIN_MS))
		return 0;
	l->destroyed_ms = now;
	r = end_group_of(sv, n, &gone, err);
	if (r == 0 && gone)
		*gpc_vec_push(&x->rest) = n;
	return r;
}

/* Of each provider all in one call. */
static int destroy_all(struct gpc_supervision *sv,
	const struct gpc_node *const *nodes, size_t n, struct gpc_error *err)
{
	bool *done = gpc_array(n + 1, sizeof(*done));
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		gpc_auto(gpc_strv) struct gpc_strv ids = {0};

		for (size_t k = i; !done[i] && k < n; k++) {
			if (!gpc_eq(nodes[k]->provider, nodes[i]->provider))
				continue;
			gpc_strv_add(&ids, nodes[k]->id);
			done[k] = k > i;
		}
		if (ids.n)
			r = gpc_supervision_destroy_all(sv, nodes[i]->provider,
				&ids, err);
	}
	free(done);
	return r;
}

/* What is left of those that are gone (processes, a folder) goes too. */
static int clear_gone(struct leave *x, struct gpc_error *err)
{
	GPC_VEC(const struct gpc_node *) left = {0};
	int r = 0;

	gpc_vec_each(n, &x->gone) {
		struct gpc_sight sight = {0};

		r = r < 0 ? r : gpc_supervision_find(x->sv, *n, INT64_MAX, &sight,
			err);
		if (r == 0 && may_leave_remains(x->sv, *n, &sight))
			*gpc_vec_push(&left) = *n;
	}
	if (r == 0)
		r = destroy_all(x->sv, left.v, left.n, err);
	gpc_vec_free(&left);
	return r;
}

/* One event for all of them: each carries the state of all nodes, so that those of a
 * large gang are gathered for a while. */
static int record_gone(struct leave *x, struct gpc_json *events,
	bool *progressed, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *all = events;
	struct gpc_json *data = NULL, *also = NULL;

	for (const struct gpc_json *j = gpc_json_first(all); j;
		j = gpc_json_next(j)) {
		if (!data) {
			data = gpc_json_copy(j);
			continue;
		}
		if (!also)
			also = gpc_json_array();
		gpc_json_add(also, gpc_json_copy(j));
	}
	if (also)
		gpc_json_set(data, "also", also);
	x->sv->gone_ms = gpc_boot_ms();
	return gpc_supervision_append(x->sv, GPC_EVENT_RELEASED, data,
		progressed, err);
}

static bool may_wait_for_more(const struct leave *x)
{
	return gpc_roll_is_kept(x->sv->journal.state.num_nodes) &&
		x->gone.n < x->n &&
		gpc_boot_ms() - x->sv->gone_ms < GPC_TOGETHER_MS;
}

static int note_gone(struct leave *x, bool *progressed, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *events = NULL;
	int r = 0;

	if (!x->gone.n || may_wait_for_more(x))
		return 0;
	events = gpc_json_array();
	gpc_vec_each(n, &x->gone) {
		struct gpc_sight sight = {0};
		struct gpc_paid paid;

		r = r < 0 ? r : gpc_supervision_find(x->sv, *n, INT64_MAX, &sight,
			err);
		if (r < 0)
			return r;
		gpc_supervision_paid(x->sv, *n, &sight, &paid);
		gpc_json_add(events, gone_json(*n, &paid));
	}
	r = clear_gone(x, err);
	return r < 0 ? r : record_gone(x, gpc_steal(&events), progressed, err);
}

int gpc_supervision_release(struct gpc_supervision *sv,
	const struct gpc_action *actions, size_t n_actions, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	struct leave x = { .sv = sv };
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_actions; i++) {
		if (actions[i].kind != GPC_ACTION_RELEASE)
			continue;
		x.n++;
		r = sort_node(&x, &st->nodes.v[actions[i].index], err);
	}
	if (r == 0)
		r = destroy_all(sv, x.rest.v, x.rest.n, err);
	if (r == 0)
		r = note_gone(&x, progressed, err);
	gpc_vec_free(&x.gone);
	gpc_vec_free(&x.rest);
	return r;
}
