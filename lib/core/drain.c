/* Giving nodes back. A node that ended its work releases itself; this waits for
 * it as long as it shows that it still saves, ends it otherwise, and writes
 * `released` only when the provider confirms that it is gone. */
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "record/facts.h"

#define MARGIN_MS 60000
#define DONE_MS 10000
#define NOW_MS 5000
#define DRAIN_MS 3600000
#define STILL_MS 180000
#define AGAIN_MS 5000

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

/* How long a node that has to go may still take. */
static int64_t patience_ms(struct gpc_supervision *sv, const struct gpc_node *n)
{
	int64_t grace = sv->spec.checkpoint.grace_ms + MARGIN_MS;
	gpc_auto(gpc_beat) struct gpc_beat beat = {0};
	struct gpc_pulse *p;
	bool found = false;

	if (sv->journal.state.cancel_now)
		return NOW_MS;
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

static int record_released(struct gpc_supervision *sv, const struct gpc_node *n,
	const struct gpc_paid *paid, bool *progressed, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "attempt", n->attempt);
	gpc_json_set_int(data, "rank", n->rank);
	gpc_json_set_str(data, "id", n->id);
	gpc_json_set_int(data, "at_ms", paid->at_ms);
	gpc_json_set_int(data, "paid_ms", paid->ms);
	if (paid->machine_free)
		gpc_json_set_bool(data, "machine_free", true);
	return gpc_supervision_append(sv, GPC_EVENT_RELEASED, data, progressed,
		err);
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

/* One of a group goes with the group, or it would be replaced; between two attempts
 * that is just what is wanted. */
static int end_node(struct gpc_supervision *sv, const struct gpc_node *n,
	struct gpc_error *err)
{
	const struct gpc_intent *group = gpc_supervision_group_of(sv, n);
	bool gone = true;
	int r = 0;

	if (group && gpc_state_ends_groups(&sv->journal.state))
		r = gpc_supervision_end_group(sv, group, &gone, err);
	return r < 0 || !gone ? r : gpc_supervision_destroy(sv, n, err);
}

int gpc_supervision_release(struct gpc_supervision *sv, size_t node,
	bool *progressed, struct gpc_error *err)
{
	const struct gpc_node *n = &sv->journal.state.nodes.v[node];
	struct gpc_leaving *l = leaving(sv, n->id);
	struct gpc_sight sight = {0};
	int64_t now = gpc_boot_ms();
	int r = gpc_supervision_find(sv, n, 200, &sight, err);

	if (r < 0)
		return r;
	if (sight.gone) {
		struct gpc_paid paid;

		gpc_supervision_paid(sv, n, &sight, &paid);
		/* What is left of it (processes, its folder) goes too. */
		if (may_leave_remains(sv, n, &sight))
			r = gpc_supervision_destroy(sv, n, err);
		return r < 0 ? r : record_released(sv, n, &paid, progressed,
			err);
	}
	if (now - l->since_ms < patience_ms(sv, n) ||
		(l->destroyed_ms && now - l->destroyed_ms < AGAIN_MS))
		return 0;
	l->destroyed_ms = now;
	return end_node(sv, n, err);
}
