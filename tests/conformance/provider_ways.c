/* Ways from outside to a node's ports. */
#include "provider_promises.h"

#include "base/time.h"

/* A machine has to boot before it can be reached. */
static void open_way(struct gpc_provider *p, const char *id,
	const struct gpc_way *way)
{
	gpc_autostr *address = NULL;
	struct gpc_error err = {0};
	int r = -GPC_ECONFLICT;

	for (int i = 0; r == -GPC_ECONFLICT && i < 600; i++) {
		r = p->ops->open_way(p, id, way, &address, &err);
		if (r == -GPC_ECONFLICT)
			gpc_sleep_ms(100);
	}
	if (r < 0)
		fail_msg("open_way: %s", err.msg);
	assert_non_null(address);
	assert_true(address[0] != '\0');
}

/* *ret_id: of the only one, owned; NULL = there is none. */
static size_t count_ways(struct gpc_provider *p, char **ret_id)
{
	gpc_auto(gpc_instances) struct gpc_instances x = {0};
	struct gpc_error err;

	assert_ok(p->ops->ways(p, &x, &err));
	gpc_vec_each(w, &x) {
		assert_string_equal(gpc_pairs_get(&w->tags, "gpucloud-store"),
			p->ctx->store_id);
		assert_string_equal(gpc_pairs_get(&w->tags, "gpucloud-job"),
			"job-abcdef");
	}
	if (x.n && ret_id)
		*ret_id = gpc_strdup(x.v[0].id);
	return x.n;
}

void ways_are_opened_once_and_end_with_their_nodes(struct lab *lab)
{
	const struct gpc_provider_ops *ops = lab->p->ops;
	struct gpc_port_range list[] = { { 8080, 8080 }, { 9000, 9010 } };
	struct gpc_port_ranges ports = { list, 1, 1 };
	gpc_auto(gpc_strv) struct gpc_strv from = {0};
	const struct gpc_way way = { .from = &from, .ports = &ports };
	gpc_auto(gpc_instances) struct gpc_instances made = {0};
	gpc_autostr *id = NULL, *again = NULL;
	const char *ids[1];
	struct gpc_error err;

	assert_int_equal(!ops->open_way, !ops->ways);
	assert_int_equal(!ops->open_way, !ops->caller);
	if (!ops->open_way)
		return;
	gpc_strv_add(&from, "192.0.2.0/24");
	buy(lab->p, TOKEN_A, 2, &made);
	assert_int_equal(count_ways(lab->p, NULL), 0);
	open_way(lab->p, made.v[0].id, &way);
	open_way(lab->p, made.v[0].id, &way);
	open_way(lab->p, made.v[1].id, &way);
	assert_int_equal(count_ways(lab->p, &id), 1);
	/* More of it is added to what is there. */
	ports.n = 2;
	gpc_strv_add(&from, "2001:db8::/32");
	open_way(lab->p, made.v[0].id, &way);
	assert_int_equal(count_ways(lab->p, &again), 1);
	assert_string_equal(id, again);
	/* Another store neither sees it, nor opens or closes it. */
	assert_int_equal(count_ways(lab->other, NULL), 0);
	assert_true(lab->other->ops->open_way(lab->other, made.v[0].id, &way,
		&again, &err) < 0);
	ids[0] = id;
	assert_ok(lab->other->ops->destroy(lab->other, ids, 1, &err));
	/* What a node still has stays. */
	assert_ok(ops->destroy(lab->p, ids, 1, &err));
	assert_int_equal(count_ways(lab->p, NULL), 1);
	for (size_t i = 0; i < made.n; i++) {
		ids[0] = made.v[i].id;
		assert_ok(ops->destroy(lab->p, ids, 1, &err));
		assert_true(ends(lab->p, made.v[i].id));
	}
	ids[0] = id;
	for (int i = 0; count_ways(lab->p, NULL) && i < 600; i++) {
		assert_ok(ops->destroy(lab->p, ids, 1, &err));
		gpc_sleep_ms(count_ways(lab->p, NULL) ? 100 : 0);
	}
	assert_int_equal(count_ways(lab->p, NULL), 0);
	assert_ok(ops->destroy(lab->p, ids, 1, &err));
}
