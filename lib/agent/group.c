/* A machine of a group that only switches itself off is replaced. That is wanted when
 * the job goes on; when it is over, the node asks the cloud, with its own role, to end
 * the group, and only then is there no harm in switching off. */
#include "agent/group.h"

#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/provider.h"
#include "record/recover.h"

enum { PAUSE_MS = 1000, PAUSE_MOST_MS = 60000 };

struct gpc_agent_group {
	struct gpc_provider_context ctx;
	struct gpc_provider *provider;
};

int gpc_group_open(struct gpc_agent *a, struct gpc_error *err)
{
	struct gpc_agent_group *g;
	const char *store = gpc_pairs_get(&a->node->tags, "gpucloud-store");
	int r;

	if (a->keeper)
		return 0;
	g = gpc_alloc(sizeof(*g));
	g->ctx = (struct gpc_provider_context){ .log = &a->log,
		.store_id = store ? store : "",
		.state_dir = a->options->node_dir };
	r = gpc_provider_open(a->node->provider ? a->node->provider : "",
		&g->ctx, &g->provider, err);
	if (r == 0 && (!g->provider->ops->keep || !g->provider->ops->knows))
		r = gpc_fail(err, GPC_EUNSUPPORTED, "%s has no groups",
			a->node->provider);
	if (r < 0) {
		gpc_provider_free(g->provider);
		free(g);
		return r;
	}
	g->provider->ops->knows(g->provider, a->node->id);
	a->keeper = g;
	return 0;
}

void gpc_group_close(struct gpc_agent *a)
{
	if (!a->keeper)
		return;
	gpc_provider_free(a->keeper->provider);
	free(a->keeper);
	a->keeper = NULL;
}

int gpc_group_look(struct gpc_agent *a, const char *id,
	struct gpc_instances *list, const struct gpc_instance **ret_x,
	struct gpc_error *err)
{
	int r = gpc_group_open(a, err);

	if (r == 0)
		r = a->keeper->provider->ops->list(a->keeper->provider, list, err);
	*ret_x = NULL;
	gpc_vec_each(x, list) {
		if (r == 0 && gpc_eq(x->id, id))
			*ret_x = x;
	}
	return r;
}

/* Whether the job goes on after this end of its attempt, on the group's next node. */
static bool goes_on(struct gpc_agent *a)
{
	struct gpc_recovery_policy policy = gpc_recover_policy(&a->spec);

	if (gpc_job_status_is_end(a->state.status))
		return false;
	if (a->abandoned)               /* a later attempt has the group */
		return true;
	gpc_recover_name_end(&a->state, &a->exit);
	return a->exit.reason != GPC_REASON_LIFETIME &&
		gpc_recover_goes_on(&policy, &a->state, &a->exit);
}

static int part_once(struct gpc_agent *a, struct gpc_error *err)
{
	const char *group = a->node->group;
	const struct gpc_provider_ops *ops;
	int r = gpc_group_open(a, err);

	if (r < 0)
		return r;
	ops = a->keeper->provider->ops;
	if (a->parting == GPC_PART_LEAVE)
		return ops->leave(a->keeper->provider, group, a->node->id, err);
	return ops->destroy(a->keeper->provider, &group, 1, err);
}

void gpc_group_part(struct gpc_agent *a)
{
	struct gpc_error err = {0};
	int64_t pause = PAUSE_MS;

	if (!a->node->group)
		return;
	if (a->exit_set && !goes_on(a))
		a->parting = GPC_PART_END;
	GPC_CRASH("agent.parts");
	while (a->parting != GPC_PART_STAY && part_once(a, &err) < 0) {
		gpc_agent_say(a, GPC_WARN, "the group is not ended yet: %s",
			err.msg);
		gpc_sleep_ms(pause);
		pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS;
	}
	GPC_CRASH("agent.parted");
	gpc_group_close(a);
}
