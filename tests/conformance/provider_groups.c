/* Groups that keep one node alive, by the cloud itself. */
#include "provider_promises.h"

#include "base/time.h"

/* As core does; the id of the group, owned. */
static char *keep(struct gpc_provider *p, const char *token,
	int64_t expires_ms)
{
	gpc_auto(gpc_launch) struct gpc_launch l = {0};
	struct gpc_error err;

	launch_fill(&l, p, token, 1);
	l.expires_ms = expires_ms;
	l.rest = gpc_json_object();
	gpc_json_set_str(l.rest, GPC_LAUNCH_GROUP, "");
	complete(&l, p);
	assert_ok(p->ops->keep(p, &l, &err));
	return gpc_strdup(gpc_json_get_str(l.rest, GPC_LAUNCH_GROUP));
}

/* A node of the group that is not this one, in the end; owned. */
static char *node_of(struct gpc_provider *p, const char *token,
	const char *but)
{
	for (int i = 0; i < 600; i++) {
		gpc_auto(gpc_instances) struct gpc_instances x = {0};
		struct gpc_error err;

		assert_ok(p->ops->list(p, &x, &err));
		gpc_vec_each(n, &x) {
			if (!n->group && n->state <= GPC_INSTANCE_RUNNING &&
				gpc_eq(n->token, token) && !gpc_eq(n->id, but))
				return gpc_strdup(n->id);
		}
		gpc_sleep_ms(100);
	}
	fail_msg("the group starts no node");
	return NULL;
}

void a_group_keeps_a_node(struct lab *lab)
{
	const struct gpc_provider_ops *ops = lab->p->ops;
	gpc_autostr *group = NULL, *again = NULL, *first = NULL, *next = NULL;
	gpc_auto(gpc_instances) struct gpc_instances x = {0};
	int64_t expires_ms = gpc_wall_ms() + 3600 * 1000;
	const char *id;
	struct gpc_error err;

	assert_int_equal(!ops->keep, !(ops->caps & GPC_PROVIDER_KEEPS));
	assert_int_equal(!ops->keep, !ops->leave);
	if (!ops->keep)
		return;
	group = keep(lab->p, TOKEN_A, expires_ms);
	again = keep(lab->p, TOKEN_A, expires_ms);
	assert_string_equal(group, again);
	id = first = node_of(lab->p, TOKEN_A, NULL);
	assert_ok(ops->list(lab->p, &x, &err));
	assert_int_equal(x.n, 2);
	assert_true(x.v[0].group);      /* before its nodes */
	assert_string_equal(x.v[0].id, group);
	assert_string_equal(x.v[0].token, TOKEN_A);
	assert_string_equal(gpc_pairs_get(&x.v[0].tags, "gpucloud-job"),
		"job-abcdef");
	assert_ok(ops->destroy(lab->p, &id, 1, &err));
	next = node_of(lab->p, TOKEN_A, first);
	id = group;
	assert_ok(ops->destroy(lab->p, &id, 1, &err));
	assert_true(ends(lab->p, group));
	assert_true(ends(lab->p, next));
	assert_ok(ops->destroy(lab->p, &id, 1, &err));
	assert_int_equal(count_running(lab->p), 0);
}

void anothers_group_is_not_touched(struct lab *lab)
{
	gpc_autostr *group = NULL;
	const char *id;
	struct gpc_error err;

	if (!lab->p->ops->keep)
		return;
	id = group = keep(lab->p, TOKEN_A, gpc_wall_ms() + 3600 * 1000);
	lab->other_ctx.thorough = true;
	lab->other->ops->knows(lab->other, group);
	assert_int_equal(count_running(lab->other), 0);
	assert_fails(lab->other->ops->destroy(lab->other, &id, 1, &err),
		GPC_ECONFLICT);
	assert_true(runs(lab->p, group));
}
