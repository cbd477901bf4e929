/* Which offer is bought, until when, for how much at most; and what jobs cost.
 * Exact in micros. */
#include "base/str.h"
#include "base/time.h"
#include "core/cost.h"
#include "core/plan.h"
#include "core_lab.h"

#define FAKE(more) "\"resources\":{\"infra\":\"fake\"" more "}"
#define HOUR (60 * MINUTE)

static int plan(struct lab *lab, const char *members, struct gpc_plan *ret_p,
	struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};

	lab_spec(members, &spec);
	return gpc_plan_make(lab->s, &spec, (struct gpc_money){0}, 0, ret_p,
		err);
}

/* --- order ---------------------------------------------------------------------- */

TEST(the_first_offer)
{
	static const struct {
		const char *members, *type, *zone, *market;
		int64_t micros;
	} cases[] = {
		{ FAKE(), "cpu-4", "south-a", "on-demand", 180000 },
		{ FAKE(",\"use_spot\":true"), "cpu-4", "south-a", "spot", 54000 },
		{ FAKE(",\"accelerators\":\"A100-80GB\""), "a100-1", "south-a",
			"on-demand", 1800000 },
		{ FAKE(",\"accelerators\":{\"A100-80GB\":4}"), "a100-8",
			"south-a", "on-demand", 14400000 },
		{ FAKE(",\"cpus\":\"8+\""), "a100-1", "south-a", "on-demand",
			1800000 },
		{ FAKE(",\"memory\":\"200+\""), "a100-8", "south-a", "on-demand",
			14400000 },
		{ FAKE(",\"instance_type\":\"a100-1\""), "a100-1", "south-a",
			"on-demand", 1800000 },
		{ "\"resources\":{\"infra\":\"fake/north\"}", "cpu-4", "north-a",
			"on-demand", 200000 },
		{ "\"resources\":{\"infra\":\"fake/north/north-b\"}", "cpu-4",
			"north-b", "on-demand", 220000 },
		/* any_of: the cheapest of all; ordered: in this order, the cheapest of
		 * each. */
		{ "\"resources\":{\"any_of\":[{\"infra\":\"fake/north\"},"
			"{\"infra\":\"fake/south\"}]}", "cpu-4", "south-a",
			"on-demand", 180000 },
		{ "\"resources\":{\"ordered\":[{\"infra\":\"fake/north\"},"
			"{\"infra\":\"fake/south\"}]}", "cpu-4", "north-a",
			"on-demand", 200000 },
		{ "\"resources\":{\"ordered\":[{\"infra\":\"fake\"},"
			"{\"infra\":\"fake/south\",\"use_spot\":true}]}", "cpu-4",
			"south-a", "on-demand", 180000 },
		{ "\"resources\":{\"infra\":\"fake\",\"any_of\":["
			"{\"use_spot\":false},{\"use_spot\":true}]}", "cpu-4",
			"south-a", "spot", 54000 },
		{ FAKE(",\"max_hourly_cost\":0.18"), "cpu-4", "south-a",
			"on-demand", 180000 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_auto(gpc_plan) struct gpc_plan p = {0};
		struct gpc_error err;
		const struct gpc_offer *o;

		assert_ok(plan(lab, cases[i].members, &p, &err));
		o = &p.offers.v[0];
		if (!gpc_eq(o->instance_type, cases[i].type) ||
			!gpc_eq(o->zone, cases[i].zone) ||
			!gpc_eq(o->market, cases[i].market) ||
			o->price.micros != cases[i].micros)
			fail_msg("%s: %s %s %s %lld", cases[i].members,
				o->instance_type, o->zone, o->market,
				(long long)o->price.micros);
		for (size_t k = 0; k < p.offers.n; k++)
			assert_int_equal(k < p.n_fitting,
				p.offers.v[k].why_not == NULL);
		lab_free(lab);
	}
}

/* An offer knows which alternative it is for: its limits are those of it. */
TEST(the_alternative_goes_with_the_offer)
{
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_plan) struct gpc_plan p = {0};
	gpc_autostr *job = lab_job(lab, "\"resources\":{\"infra\":\"fake\","
		"\"any_of\":[{\"accelerators\":\"A100-80GB:8\"},"
		"{\"accelerators\":\"A100-80GB:1\"}]}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;

	assert_ok(plan(lab, "\"resources\":{\"infra\":\"fake\",\"any_of\":["
		"{\"accelerators\":\"A100-80GB:8\"},"
		"{\"accelerators\":\"A100-80GB:1\"}]}", &p, &err));
	assert_string_equal(p.offers.v[0].instance_type, "a100-1");
	assert_int_equal(gpc_plan_candidate(&p.offers.v[0]), 1);
	lab_script(lab, "{\"faults\":[{\"op\":\"create\","
		"\"fault\":\"unreachable\"}]}");
	lab_step(sv);
	assert_int_equal(gpc_json_get_int(lab_state(sv)->intents.v[0].request,
		"gpus", 0), 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* What is shown first is shown in the order of its price. */
TEST(offers_are_sorted)
{
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_plan) struct gpc_plan p = {0};
	struct gpc_error err;

	assert_ok(plan(lab, FAKE(), &p, &err));
	assert_int_equal(p.n_fitting, 9);
	assert_int_equal(p.offers.n, 18);
	for (size_t i = 1; i < p.n_fitting; i++)
		assert_true(p.offers.v[i - 1].price.micros <=
			p.offers.v[i].price.micros);
	lab_free(lab);
}

TEST(nothing_fits)
{
	static const struct { const char *members; int code; const char *part; }
	cases[] = {
		{ FAKE(",\"cpus\":1000"), GPC_ECAPACITY, "asks for 1000 CPUs" },
		{ FAKE(",\"accelerators\":\"H100\""), GPC_ECAPACITY, "GPUs" },
		{ FAKE(",\"max_hourly_cost\":0.1"), GPC_EOVERCAP,
			"max_hourly_cost" },
		{ "\"resources\":{\"infra\":\"fake/west\"}", GPC_ECONFIG,
			"region that is offered is called west" },
		{ FAKE(",\"instance_type\":\"a100-2\""), GPC_ECONFIG,
			"type that is offered is called a100-2" },
		{ "\"resources\":{\"infra\":\"fake\"},\"limits\":"
			"{\"cost\":\"5 CNY\"}", GPC_ECONFIG, "CNY" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_auto(gpc_plan) struct gpc_plan p = {0};
		struct gpc_error err;

		assert_fails(plan(lab, cases[i].members, &p, &err),
			cases[i].code);
		assert_has(err.msg, cases[i].part);
		assert_true(strlen(err.msg) < 250);
		lab_free(lab);
	}
}

TEST(refused_offers_are_passed_by)
{
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs refused = {0};
	struct gpc_error err;

	lab_spec("", &spec);
	for (int i = 0; i < 9; i++) {
		gpc_auto(gpc_plan) struct gpc_plan p = {0};
		gpc_autostr *key = NULL;

		assert_ok(gpc_plan_make_without(lab->s, &spec,
			(struct gpc_money){0}, 0, &refused, &p, &err));
		assert_int_equal(p.n_fitting, 9 - i);
		key = gpc_plan_offer_key(&p.offers.v[0]);
		assert_false(gpc_pairs_has(&refused, key));
		gpc_pairs_set(&refused, key, "sold out here");
	}
	{
		gpc_auto(gpc_plan) struct gpc_plan p = {0};

		assert_fails(gpc_plan_make_without(lab->s, &spec,
			(struct gpc_money){0}, 0, &refused, &p, &err),
			GPC_ECAPACITY);
		assert_has(err.msg, "sold out here");
	}
	lab_free(lab);
}

/* --- lifetime -------------------------------------------------------------------- */

TEST(the_least_bound_wins)
{
	static const struct {
		const char *members;
		enum gpc_end_by by;
		int64_t life_ms, at_most;     /* at_most in micros */
	} cases[] = {
		{ FAKE(), GPC_END_LIFETIME, 24 * HOUR, 24 * 180000 },
		/* + 1 h of setup, the grace of 30 s, and a minute */
		{ FAKE() ",\"limits\":{\"time\":\"2h\"}", GPC_END_TIME,
			3 * HOUR + 90000, 3 * 180000 + 4500 },
		{ FAKE() ",\"limits\":{\"time\":\"2h\",\"setup\":\"10m\"}",
			GPC_END_TIME, 130 * MINUTE + 90000, 390000 + 4500 },
		{ FAKE() ",\"limits\":{\"time\":\"48h\"}", GPC_END_LIFETIME,
			24 * HOUR, 24 * 180000 },
		{ FAKE() ",\"limits\":{\"cost\":0.36}", GPC_END_COST, 2 * HOUR,
			360000 },
		{ FAKE() ",\"num_nodes\":2,\"limits\":{\"cost\":0.36}",
			GPC_END_COST, HOUR, 360000 },
		{ FAKE() ",\"num_nodes\":3", GPC_END_LIFETIME, 24 * HOUR,
			3 * 24 * 180000 },
		{ FAKE() ",\"limits\":{\"cost\":0.36,\"time\":\"30m\","
			"\"setup\":\"1m\"}", GPC_END_TIME, 31 * MINUTE + 90000,
			93000 + 4500 },
		{ "\"resources\":{\"infra\":\"local\"}", GPC_END_NEVER, 0, 0 },
		{ "\"resources\":{\"infra\":\"local\"},\"limits\":"
			"{\"time\":\"10m\"}", GPC_END_NEVER, 0, 0 },
		{ "\"resources\":{\"infra\":\"local\"},\"limits\":"
			"{\"time\":\"1h\",\"setup\":\"1h\"}", GPC_END_TIME,
			2 * HOUR + 90000, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_auto(gpc_plan) struct gpc_plan p = {0};
		struct gpc_error err;

		assert_ok(plan(lab, cases[i].members, &p, &err));
		if (p.end_by != cases[i].by || p.life_ms != cases[i].life_ms ||
			p.at_most.micros != cases[i].at_most)
			fail_msg("%s: by %d after %lld ms for %lld", cases[i].
				members, (int)p.end_by, (long long)p.life_ms,
				(long long)p.at_most.micros);
		lab_free(lab);
	}
}

TEST(what_was_spent_and_ran_counts)
{
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_plan) struct gpc_plan a = {0}, b = {0}, c = {0};
	struct gpc_error err;

	lab_spec("\"limits\":{\"cost\":1,\"time\":\"8h\",\"setup\":\"1m\"}",
		&spec);
	assert_ok(gpc_plan_make(lab->s, &spec, (struct gpc_money){ 640000,
		"USD" }, 0, &a, &err));
	assert_int_equal(a.end_by, GPC_END_COST);
	assert_int_equal(a.life_ms, 2 * HOUR);
	assert_ok(gpc_plan_make(lab->s, &spec, (struct gpc_money){ 640000,
		"USD" }, 7 * HOUR, &b, &err));
	assert_int_equal(b.end_by, GPC_END_TIME);
	assert_int_equal(b.life_ms, HOUR + MINUTE + 90000);
	assert_fails(gpc_plan_make(lab->s, &spec, (struct gpc_money){ 1000000,
		"USD" }, 0, &c, &err), GPC_EOVERCAP);
	lab_free(lab);
}

/* --- cost ------------------------------------------------------------------------- */

static void push_node(struct gpc_job_state *st, enum gpc_node_status status,
	int64_t micros, int64_t created_ms)
{
	struct gpc_node *n = gpc_vec_push(&st->nodes);

	n->status = status;
	n->rate = (struct gpc_money){ micros, "USD" };
	n->created_ms = created_ms;
}

TEST(held_nodes_cost)
{
	gpc_auto(gpc_job_state) struct gpc_job_state st = {
		.spent = { 500000, "USD" } };

	push_node(&st, GPC_NODE_READY, 3600000, 1000000);
	push_node(&st, GPC_NODE_DRAINING, 7200000, 1000000);
	push_node(&st, GPC_NODE_RELEASED, 9000000, 1000000);
	push_node(&st, GPC_NODE_INTENDED, 9000000, 1000000);
	assert_int_equal(gpc_cost_rate(&st).micros, 10800000);
	assert_int_equal(gpc_cost_spent(&st, 1000000 + 1000).micros,
		500000 + 1000 + 2000);
	/* A clock that went back costs nothing, and gives nothing back. */
	assert_int_equal(gpc_cost_spent(&st, 5).micros, 500000);
}

TEST(a_job_costs_what_its_nodes_cost)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":2");
	gpc_autostr *fresh = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_auto(gpc_costs) struct gpc_costs costs = {0};
	struct gpc_error err;
	struct gpc_cost c = {0};
	int64_t since = gpc_wall_ms();

	lab_step(sv);
	lab_advance(HOUR);
	assert_ok(gpc_cost_job(lab->s, job, &c, &err));
	assert_int_equal(c.rate.micros, 360000);
	assert_in_range(c.spent.micros, 360000, 360100);
	assert_in_range(c.node_ms, 2 * HOUR, 2 * HOUR + 4000);
	assert_int_equal(c.end_ms, 0);
	gpc_cost_clear(&c);
	lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
	lab_beat(lab, job, 1, 1, GPC_PHASE_RUN);
	lab_step(sv);
	for (int rank = 0; rank < 2; rank++)
		lab_exit(lab, job, 1, rank, GPC_REASON_COMPLETED, 0, 0);
	lab_script(lab, "{\"faults\":[{\"op\":\"list\",\"fault\":\"die\"}]}");
	lab_finish(sv, MINUTE);
	/* Now from the index alone; the live one that bought nothing too. */
	assert_ok(gpc_cost_since(lab->s, since, false, &costs, &err));
	assert_int_equal(costs.n, 2);
	gpc_vec_each(x, &costs) {
		if (gpc_eq(x->job, fresh)) {
			assert_int_equal(x->spent.micros, 0);
			continue;
		}
		assert_string_equal(x->job, job);
		assert_string_equal(x->name, "lab");
		assert_int_equal(x->status, GPC_JOB_SUCCEEDED);
		assert_in_range(x->spent.micros, 360000, 362000);
		assert_int_equal(x->rate.micros, 0);
		assert_true(x->end_ms > x->start_ms);
	}
	lab_check(lab, job, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_offer),
		cmocka_unit_test(the_alternative_goes_with_the_offer),
		cmocka_unit_test(offers_are_sorted),
		cmocka_unit_test(nothing_fits),
		cmocka_unit_test(refused_offers_are_passed_by),
		cmocka_unit_test(the_least_bound_wins),
		cmocka_unit_test(what_was_spent_and_ran_counts),
		cmocka_unit_test(held_nodes_cost),
		cmocka_unit_test(a_job_costs_what_its_nodes_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
