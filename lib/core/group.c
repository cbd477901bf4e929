/* recovery.by: cloud. The cloud keeps a node of a group running, and starts another
 * one when that goes, with nobody of ours there; the group's intent stays open for as
 * long as the group may be. Whoever comes first, the node's agent (agent/claim.c) or
 * a supervisor, writes down which node an attempt has.
 *
 * The group is made within ten minutes of its intent, like any purchase; later it is
 * only looked at, and one that is not there any more is given up. */
#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"

#define LIST_MS 1000
#define END_AGAIN_MS 5000
#define PATIENCE_MS 600000      /* with a group that had a node and gets no other */

/* What a list shows of a group. */
struct found { const struct gpc_instance *group, *node; };

static const char *group_id(const struct gpc_intent *x)
{
	const char *id = gpc_json_get_str(x->request, GPC_LAUNCH_GROUP);

	return id ? id : "";
}

static int find(struct gpc_supervision *sv, const struct gpc_intent *x,
	struct found *ret, struct gpc_error *err)
{
	struct gpc_source *s = NULL;
	int r = gpc_supervision_list(sv, gpc_json_get_str(x->request,
		"provider"), LIST_MS, &s, err);

	*ret = (struct found){0};
	if (r < 0)
		return r;
	gpc_vec_each(i, &s->vendor->instances) {
		if (i->group && gpc_eq(i->id, group_id(x)) &&
			i->state != GPC_INSTANCE_GONE)
			ret->group = i;
		if (!i->group && gpc_eq(i->token, x->token) &&
			i->state <= GPC_INSTANCE_RUNNING && !ret->node)
			ret->node = i;
	}
	return 0;
}

const struct gpc_intent *gpc_supervision_group_of(
	const struct gpc_supervision *sv, const struct gpc_node *n)
{
	gpc_vec_each(x, &sv->journal.state.intents)
		if (x->n == n->intent && gpc_intent_is_group(x))
			return x;
	return NULL;
}

int gpc_supervision_end_group(struct gpc_supervision *sv,
	const struct gpc_intent *x, bool *ret_gone, struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();
	const char *id = group_id(x);
	struct gpc_source *s = NULL;
	struct found f;
	int r = find(sv, x, &f, err);

	/* What a list does not show may be half made: it is ended by its name. */
	*ret_gone = r == 0 && !f.group && sv->group_ended_n == x->n;
	if (r < 0 || *ret_gone || (sv->group_ended_ms &&
		now - sv->group_ended_ms < END_AGAIN_MS))
		return r;
	sv->group_ended_ms = now;
	r = gpc_supervision_source(sv, gpc_json_get_str(x->request, "provider"),
		&s, err);
	if (r == 0)
		r = s->provider->ops->destroy(s->provider, &id, 1, err);
	GPC_CRASH("group.destroyed");
	if (r == 0) {
		sv->group_ended_n = x->n;
		gpc_source_spoil(s);
	}
	return gpc_wrap(err, r, "release group %s", id);
}

static bool had_node(const struct gpc_job_state *st, const struct gpc_intent *x)
{
	if (x->attempt != st->attempt)
		return true;
	gpc_vec_each(n, &st->nodes)
		if (n->intent == x->n)
			return true;
	return false;
}

/* It is ended and its intent closed, so that something else is planned. */
static int give_up(struct gpc_supervision *sv, size_t intent, bool *progressed,
	struct gpc_error *err)
{
	sv->group_given_up_n = sv->journal.state.intents.v[intent].n;
	return gpc_supervision_void(sv, intent, progressed, err);
}

/* The same may work a moment later. */
static bool is_passing(enum gpc_code code)
{
	return code == GPC_ERATE || code == GPC_ENET || code == GPC_ETIMEOUT ||
		code == GPC_EIO;
}

/* What the cloud says of its failure to start a node is what a purchase would have
 * been answered; a group that worked once is given more time. */
static int starts_none(struct gpc_supervision *sv, size_t intent,
	const struct gpc_launch *l, const struct gpc_instance *group,
	bool *progressed, struct gpc_error *err)
{
	struct gpc_job_state *st = &sv->journal.state;
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);
	struct gpc_error why = {0};
	int r = gpc_fail(&why, group->why_code, "%s", group->why);

	if (is_passing(why.code) || (r < 0 && t &&
		had_node(st, &st->intents.v[intent]) &&
		gpc_wall_ms() - t->started_ms < PATIENCE_MS)) {
		gpc_supervision_note(sv, "the group starts no machine: %s",
			why.msg);
		sv->note_waits = true;
		return 0;
	}
	sv->group_given_up_n = st->intents.v[intent].n;
	return gpc_supervision_create_failed(sv, intent, l, progressed, &why, err);
}

static int look(struct gpc_supervision *sv, size_t intent,
	const struct gpc_launch *l, bool *progressed, struct gpc_error *err)
{
	const struct gpc_intent *x = &sv->journal.state.intents.v[intent];
	struct gpc_instances made = {0};
	struct found f;
	int r = find(sv, x, &f, err);

	if (r < 0)
		return r;
	if (f.node) {
		made = (struct gpc_instances){
			.v = (struct gpc_instance *)f.node, .n = 1 };
		return gpc_supervision_created(sv, x, l, &made, progressed, err);
	}
	if (!f.group || f.group->state == GPC_INSTANCE_STOPPING)
		return give_up(sv, intent, progressed, err);
	return f.group->why ?
		starts_none(sv, intent, l, f.group, progressed, err) : 0;
}

static int make(struct gpc_supervision *sv, size_t intent,
	const struct gpc_launch *l, bool *progressed, struct gpc_error *err)
{
	const struct gpc_intent *x = &sv->journal.state.intents.v[intent];
	struct gpc_source *s = NULL;
	struct gpc_error why = {0};
	bool current = false;
	int r = gpc_supervision_source(sv, l->provider, &s, err);

	if (r == 0)
		r = gpc_supervision_is_current(sv, &current, progressed, err);
	if (r < 0 || !current)
		return r;
	if (!s->provider->ops->keep)
		return gpc_fail(err, GPC_EUNSUPPORTED, "%s starts no machines "
			"again", l->provider);
	GPC_CRASH("group.asks");
	r = s->provider->ops->keep(s->provider, l, &why);
	GPC_CRASH("group.answered");
	gpc_source_spoil(s);
	if (r == 0) {
		sv->group_made_n = x->n;
		return 0;
	}
	if (!is_passing(why.code))
		sv->group_given_up_n = x->n;
	return gpc_supervision_create_failed(sv, intent, l, progressed, &why, err);
}

int gpc_supervision_keep(struct gpc_supervision *sv, size_t intent,
	const struct gpc_launch *l, bool *progressed, struct gpc_error *err)
{
	const struct gpc_intent *x = &sv->journal.state.intents.v[intent];

	if (sv->group_given_up_n == x->n)
		return gpc_supervision_void(sv, intent, progressed, err);
	if (sv->group_made_n != x->n && !had_node(&sv->journal.state, x) &&
		gpc_wall_ms() - x->at_ms <= GPC_INTENT_MAX_AGE_MS)
		return make(sv, intent, l, progressed, err);
	return look(sv, intent, l, progressed, err);
}
