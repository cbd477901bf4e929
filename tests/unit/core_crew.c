/* Who buys first: priority, then who was submitted first; and what asking costs
 * when many wait. */
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "core/update.h"
#include "core_lab.h"

static struct gpc_error err;

enum { MAX = 64 };
/* Several jobs of one supervisor, stepped by hand. */
struct gang {
	struct lab *lab;
	struct gpc_crew crew;
	char *jobs[MAX];
	struct gpc_supervision *svs[MAX];
	size_t n;
};

#define OFFER(type, cpus) "{\"instance_type\":\"" type "\",\"cpus\":" cpus "," \
	"\"zone\":\"z\",\"region\":\"r\",\"market\":\"on-demand\"," \
	"\"memory_bytes\":17179869184,\"price\":{\"amount\":\"1\"," \
	"\"currency\":\"USD\"}}"
#define PLACES(skip) "{\"offers\":[" OFFER("one", "4") "],\"faults\":[" \
	"{\"op\":\"create\",\"fault\":\"no_capacity\",\"times\":-1," \
	"\"skip\":" #skip "}]}"

static void add(struct gang *g, const char *members)
{
	size_t i = g->n++;

	g->jobs[i] = lab_job(g->lab, members);
	g->svs[i] = lab_supervise(g->lab->s, g->jobs[i]);
	g->svs[i]->crew = &g->crew;
	lab_advance(10);
}

static bool has_node(const struct gang *g, size_t i)
{
	return lab_state(g->svs[i])->nodes.n > 0;
}

/* Nodes that are silent are lost after a while. */
static void keep_alive(struct gang *g)
{
	for (size_t i = 0; i < g->n; i++) {
		if (has_node(g, i) && lab_state(g->svs[i])->status <=
			GPC_JOB_RUNNING)
			lab_beat(g->lab, g->jobs[i], 1, 0, GPC_PHASE_RUN);
	}
}

/* Backwards, as who is stepped first must not matter. */
static void round_of(struct gang *g)
{
	g->crew.round++;
	for (size_t i = g->n; i-- > 0;) {
		bool done = false;
		int64_t wake = 0;

		assert_ok(gpc_supervision_step(g->svs[i], &done, &wake, &err));
	}
}

static void rounds(struct gang *g, int64_t ms)
{
	int64_t step = ms > 30000 ? 10000 : 500;

	for (int64_t t = 0; t < ms; t += step) {
		if (t % 50000 == 0)
			keep_alive(g);
		round_of(g);
		lab_advance(step);
	}
}

static void end_all(struct gang *g)
{
	for (size_t i = 0; i < g->n; i++) {
		gpc_supervision_free(g->svs[i]);
		free(g->jobs[i]);
	}
	assert_int_equal(g->crew.waiting.n, 0);
	gpc_crew_clear(&g->crew);
	lab_free(g->lab);
}

#define PRIORITY(n) "\"resources\":{\"infra\":\"fake\",\"priority\":" #n "}"

TEST(priority_then_age)
{
	static const size_t order[] = { 2, 3, 0, 1, 4 };
	struct gang g = { .lab = lab_new(0) };

	lab_script(g.lab, PLACES(0));
	add(&g, "");
	add(&g, "");
	add(&g, PRIORITY(5));
	add(&g, PRIORITY(5));
	add(&g, PRIORITY(-1));
	rounds(&g, 20000);
	for (size_t i = 0; i < g.n; i++)
		assert_false(has_node(&g, i));
	for (size_t k = 0; k < g.n; k++) {
		/* One place is freed; it is found at the next round of asking. */
		lab_script(g.lab, PLACES(1));
		rounds(&g, 400000);
		for (size_t i = 0; i < g.n; i++) {
			bool served = false;

			for (size_t m = 0; m <= k; m++)
				served |= order[m] == i;
			if (has_node(&g, i) != served)
				fail_msg("place %zu: job %zu %s", k, i,
					served ? "has none" : "came first");
		}
	}
	end_all(&g);
}

/* All of them at once, from nothing: nobody asks before all were heard. */
TEST(the_first_round_is_in_order)
{
	struct gang g = { .lab = lab_new(0) };

	lab_script(g.lab, PLACES(1));
	add(&g, "");
	add(&g, PRIORITY(9));
	add(&g, PRIORITY(1));
	rounds(&g, 3000);
	assert_false(has_node(&g, 0));
	assert_true(has_node(&g, 1));
	assert_false(has_node(&g, 2));
	end_all(&g);
}

TEST(an_update_moves_it)
{
	struct gang g = { .lab = lab_new(0) };
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	int first = 7;
	struct gpc_update u = { .priority = &first };

	lab_script(g.lab, PLACES(0));
	add(&g, PRIORITY(5));
	add(&g, "");
	rounds(&g, 20000);
	assert_ok(gpc_update_job(g.lab->s, g.jobs[1], &u, &x, &err));
	assert_true(x.changed);
	assert_int_equal(x.old_priority, 0);
	lab_script(g.lab, PLACES(1));
	rounds(&g, 400000);
	assert_false(has_node(&g, 0));
	assert_true(has_node(&g, 1));
	end_all(&g);
}

/* The row of the one with the lower priority is due long before: still the
 * other asks first for what both could take. */
TEST(other_wishes_come_after)
{
	struct gang g = { .lab = lab_new(0) };

	lab_script(g.lab, PLACES(0));
	add(&g, PRIORITY(5));
	rounds(&g, 400000);             /* asks every five minutes by now */
	add(&g, "\"resources\":{\"infra\":\"fake\",\"cpus\":\"2+\"}");
	lab_script(g.lab, PLACES(1));
	rounds(&g, 12000);
	assert_true(has_node(&g, 0));
	assert_false(has_node(&g, 1));
	end_all(&g);
}

/* What nobody can sell to the first keeps nobody else from buying. */
TEST(nobody_is_held_up)
{
	struct gang g = { .lab = lab_new(0) };

	lab_script(g.lab, "{\"offers\":[" OFFER("one", "4") "],\"faults\":[]}");
	add(&g, "\"resources\":{\"infra\":\"fake\",\"cpus\":\"64+\","
		"\"priority\":1000}");
	rounds(&g, 60000);
	assert_false(has_node(&g, 0));
	add(&g, "");
	rounds(&g, 6000);
	assert_true(has_node(&g, 1));
	end_all(&g);
}

/* A place that one of ours leaves is asked for at once. */
TEST(a_freed_place_is_noticed)
{
	struct gang g = { .lab = lab_new(0) };

	lab_script(g.lab, PLACES(1));
	add(&g, "");
	rounds(&g, 2000);
	assert_true(has_node(&g, 0));
	add(&g, PRIORITY(-2));
	add(&g, PRIORITY(2));
	rounds(&g, 400000);             /* asks every five minutes by now */
	assert_false(has_node(&g, 2));
	lab_script(g.lab, PLACES(1));
	lab_exit(g.lab, g.jobs[0], 1, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_leave(g.lab, g.jobs[0]);
	rounds(&g, 5000);
	assert_false(has_node(&g, 1));
	assert_true(has_node(&g, 2));
	end_all(&g);
}

/* The patience of one that never gets to ask ends as well. */
TEST(patience_ends_behind_others)
{
	struct gang g = { .lab = lab_new(0) };

	lab_script(g.lab, PLACES(0));
	add(&g, PRIORITY(1));
	add(&g, "\"recovery\":{\"wait_capacity\":\"10m\"}");
	rounds(&g, 5 * MINUTE);
	assert_non_null(g.svs[1]->note);
	assert_has(g.svs[1]->note, "behind jobs");
	assert_status(g.svs[1], "PROVISIONING");
	rounds(&g, 6 * MINUTE);
	assert_reason(g.svs[1], "no_capacity");
	assert_status(g.svs[0], "PROVISIONING");
	end_all(&g);
}

/* However many wait for the same, one of them asks. */
TEST(asking_is_rare)
{
	struct gang g = { .lab = lab_new(0) };
	int before;

	lab_script(g.lab, PLACES(0));
	for (size_t i = 0; i < 30; i++)
		add(&g, "");
	rounds(&g, 11 * MINUTE);
	before = lab_ledger(g.lab).creates;
	rounds(&g, 11 * MINUTE);
	assert_in_range(lab_ledger(g.lab).creates - before, 1, 4);
	/* And when there is room, all get it at once. */
	lab_script(g.lab, "{\"faults\":[]}");
	rounds(&g, 5 * MINUTE);
	rounds(&g, 20000);
	rounds(&g, 20000);
	for (size_t i = 0; i < g.n; i++)
		assert_true(has_node(&g, i));
	assert_int_equal(g.crew.waiting.n, 0);
	end_all(&g);
}

/* They are stepped in their order: whoever has got its node holds up nobody, so that a
 * round serves them all, and one list is enough for what all of them made. */
TEST(a_round_serves_all_and_shares_a_list)
{
	struct gang g = { .lab = lab_new(0) };
	struct gpc_vendor *vendor = NULL;
	int64_t lists;

	lab_script(g.lab, "{\"faults\":[]}");
	for (size_t i = 0; i < 12; i++)
		add(&g, "");
	round_of(&g);           /* they say what they want */
	g.crew.round++;
	for (size_t i = 0; i < g.n; i++) {
		bool done = false;
		int64_t wake = 0;

		assert_false(has_node(&g, i));
		assert_ok(gpc_supervision_step(g.svs[i], &done, &wake, &err));
		assert_true(has_node(&g, i));
	}
	assert_int_equal(g.crew.waiting.n, 0);
	assert_int_equal(lab_ledger(g.lab).creates, (int)g.n);
	assert_ok(gpc_session_vendor(g.lab->s, "fake", &vendor, &err));
	lab_advance(2000);
	lists = vendor->lists;
	round_of(&g);
	assert_int_equal(vendor->lists, lists + 1);
	for (size_t i = 0; i < g.n; i++)
		assert_status(g.svs[i], "STARTING");
	end_all(&g);
}

/* A list that is older than the node of a job says nothing of it, however fresh it is
 * for the others: one that was bought elsewhere meanwhile is looked for anew, once. */
TEST(an_older_list_is_no_evidence)
{
	struct gang g = { .lab = lab_new(0) };
	struct gpc_session *here = lab_session(g.lab);
	struct gpc_supervision *sv;
	struct gpc_vendor *vendor = NULL;
	struct gpc_sight sight = {0};

	lab_script(g.lab, "{\"faults\":[]}");
	assert_ok(gpc_session_vendor(here, "fake", &vendor, &err));
	assert_ok(gpc_vendor_list(vendor, 1000, 0, &err));
	add(&g, "");
	rounds(&g, 2000);
	assert_true(has_node(&g, 0));
	sv = lab_supervise(here, g.jobs[0]);
	assert_ok(gpc_journal_refresh(&sv->journal, NULL, &err));
	for (int i = 0; i < 2; i++) {
		assert_ok(gpc_supervision_find(sv, &sv->journal.state.nodes.v[0],
			60 * MINUTE, &sight, &err));
		assert_non_null(sight.instance);
		assert_int_equal(vendor->lists, 2);
	}
	gpc_supervision_free(sv);
	gpc_session_free(here);
	end_all(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(priority_then_age),
		cmocka_unit_test(the_first_round_is_in_order),
		cmocka_unit_test(an_update_moves_it),
		cmocka_unit_test(other_wishes_come_after),
		cmocka_unit_test(nobody_is_held_up),
		cmocka_unit_test(a_freed_place_is_noticed),
		cmocka_unit_test(patience_ends_behind_others),
		cmocka_unit_test(asking_is_rare),
		cmocka_unit_test(a_round_serves_all_and_shares_a_list),
		cmocka_unit_test(an_older_list_is_no_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
