/* The journal when answers are lost: every put of a flow fails in turn, before
 * it is done or after, and no event is lost or doubled. Then what is broken or
 * newer on disk, and the head hint in every wrong state. */
#include <stdio.h>

#include "test.h"

#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "record/journal.h"
#include "record/keys.h"
#include "store/fault.h"

#define JOB "job-abc234"

static struct gpc_error err;

struct world {
	struct gpc_store *mem, *s;      /* s: mem behind faults */
	struct gpc_journal a, b;        /* two writers: a with faults, b without */
};

static struct gpc_json *json(const char *text)
{
	struct gpc_json *j = NULL;

	assert_ok(gpc_json_parse(text, strlen(text), &j, &err));
	return j;
}

static int append(struct gpc_journal *j, enum gpc_event_type type,
	const char *text)
{
	return gpc_journal_append(j, type, json(text), &err);
}

static int set_up(void **state)
{
	struct world *w = gpc_alloc(sizeof(*w));

	assert_ok(gpc_store_open("mem://", 0, NULL, &w->mem, &err));
	w->s = gpc_store_fault_new(w->mem);
	gpc_journal_init(&w->a, w->s, JOB, "a");
	gpc_journal_init(&w->b, w->mem, JOB, "b");
	w->a.settle_ms = w->b.settle_ms = 2000;
	assert_ok(append(&w->b, GPC_EVENT_SUBMITTED, "{\"num_nodes\":1}"));
	assert_ok(gpc_journal_refresh(&w->a, NULL, &err));
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gpc_journal_clear(&w->a);
	gpc_journal_clear(&w->b);
	gpc_store_free(w->s);
	gpc_store_free(w->mem);
	free(w);
	return 0;
}

static void put_text(struct gpc_store *s, const char *key, const char *text)
{
	assert_ok(gpc_store_put(s, key, text, strlen(text), 0, &err));
}

static int count(void *arg, const struct gpc_event *e)
{
	assert_int_equal(e->n, ++*(int64_t *)arg);
	return 0;
}

static int64_t events(struct world *w)
{
	int64_t n = 0;

	assert_ok(gpc_journal_read(w->mem, JOB, 0, count, &n, &err));
	return n;
}

/* --- plain ------------------------------------------------------------- */

static void two_writers(void **state)
{
	struct world *w = *state;
	bool current = false, changed = true;

	assert_ok(gpc_journal_is_current(&w->a, &current, &err));
	assert_true(current);
	assert_ok(gpc_journal_refresh(&w->a, &changed, &err));
	assert_false(changed);
	assert_ok(append(&w->b, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"));
	assert_ok(gpc_journal_is_current(&w->a, &current, &err));
	assert_false(current);
	/* a still sees PENDING and would begin the same attempt. */
	assert_fails(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"),
		GPC_ECONFLICT);
	assert_int_equal(w->a.state.n, 2);
	assert_int_equal(w->a.state.status, GPC_JOB_PROVISIONING);
	/* Deciding again shows that there is nothing left to do. */
	assert_fails(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"),
		GPC_EPROTO);
	assert_has(err.msg, "PROVISIONING");
	assert_int_equal(events(w), 2);
	assert_ok(gpc_journal_verify(w->mem, JOB, &err));
}

static void no_journal(void **state)
{
	struct world *w = *state;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};

	gpc_journal_init(&j, w->s, "other-abc234", "x");
	assert_fails(gpc_journal_refresh(&j, NULL, &err), GPC_ENOTFOUND);
	assert_fails(gpc_journal_verify(w->s, "other-abc234", &err),
		GPC_ENOTFOUND);
	assert_fails(append(&j, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"),
		GPC_EPROTO);
	assert_int_equal(j.state.n, 0);
}

static void one_get_an_event(void **state)
{
	struct world *w = *state;

	gpc_store_fault_reset(w->s);
	assert_ok(gpc_journal_refresh(&w->a, NULL, &err));
	assert_int_equal(gpc_store_fault_count(w->s, GPC_FAULT_GET), 1);
	assert_ok(append(&w->b, GPC_EVENT_SAVE, "{}"));
	gpc_store_fault_reset(w->s);
	assert_ok(gpc_journal_refresh(&w->a, NULL, &err));
	assert_int_equal(gpc_store_fault_count(w->s, GPC_FAULT_GET), 2);
	/* Far behind: the hint saves most of the way. */
	for (int i = 0; i < 300; i++)
		assert_ok(append(&w->b, GPC_EVENT_SAVE, "{}"));
	gpc_store_fault_reset(w->s);
	assert_ok(gpc_journal_refresh(&w->a, NULL, &err));
	assert_int_equal(w->a.state.n, w->b.state.n);
	assert_true(gpc_store_fault_count(w->s, GPC_FAULT_GET) < 16);
	/* A new reader: hint, event, and the look at the next number. */
	{
		gpc_auto(gpc_journal) struct gpc_journal j = {0};

		gpc_journal_init(&j, w->s, JOB, "new");
		gpc_store_fault_reset(w->s);
		assert_ok(gpc_journal_refresh(&j, NULL, &err));
		assert_int_equal(gpc_store_fault_count(w->s, GPC_FAULT_GET), 3);
		assert_int_equal(gpc_store_fault_count(w->s, GPC_FAULT_LIST),
			0);
	}
}

/* --- hints ------------------------------------------------------------- */

static void wrong_hints(void **state)
{
	static const char *const hints[] = { NULL, "", "{\"v\":1,\"n\":1}",
		"{\"v\":1,\"n\":3}", "{\"v\":1,\"n\":900}", "{\"v\":1,\"n\":-4}",
		"{\"v\":1,\"n\":0}", "{\"v\":1,\"n\":99999999999}", "nonsense",
		"{\"v\":1}", "{\"v\":1,\"n\":\"3\"}", "[]", "\xff\xfe" };
	struct world *w = *state;

	for (int i = 0; i < 5; i++)
		assert_ok(append(&w->b, GPC_EVENT_SAVE, "{}"));
	for (size_t i = 0; i < COUNT(hints); i++) {
		gpc_auto(gpc_journal) struct gpc_journal j = {0};

		assert_ok(gpc_store_del(w->mem, "jobs/" JOB "/head", &err));
		if (hints[i])
			put_text(w->mem, "jobs/" JOB "/head", hints[i]);
		gpc_journal_init(&j, w->mem, JOB, "r");
		assert_ok(gpc_journal_refresh(&j, NULL, &err));
		assert_int_equal(j.state.n, 6);
		assert_ok(append(&w->b, GPC_EVENT_SAVE, "{}"));
		put_text(w->mem, "jobs/" JOB "/head", hints[i] ? hints[i] : "");
		assert_ok(gpc_journal_refresh(&j, NULL, &err));
		assert_int_equal(j.state.n, 7);
		assert_ok(gpc_store_del(w->mem,
			"jobs/" JOB "/events/00000007.json", &err));
		gpc_journal_clear(&w->b);
		gpc_journal_init(&w->b, w->mem, JOB, "b");
		assert_ok(gpc_journal_refresh(&w->b, NULL, &err));
		assert_int_equal(w->b.state.n, 6);
	}
}

/* --- lost answers ------------------------------------------------------ */

static void own_answer_lost(void **state)
{
	struct world *w = *state;
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_AFTER,
		.nth = 1, .prefix = "jobs/" JOB "/events/" };

	gpc_store_fault_add(w->s, &f);
	/* Repeated under the same number, answered "exists", known by its id. */
	assert_ok(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"));
	assert_int_equal(w->a.state.n, 2);
	assert_int_equal(w->a.state.status, GPC_JOB_PROVISIONING);
	assert_false(w->a.unsettled);
	assert_int_equal(events(w), 2);
}

static void never_sent(void **state)
{
	struct world *w = *state;
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_BEFORE,
		.nth = 1, .prefix = "jobs/" JOB "/events/",
		.code = GPC_ETIMEOUT };

	gpc_store_fault_add(w->s, &f);
	assert_ok(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"));
	assert_int_equal(events(w), 2);
}

static void b_attempts(void *arg)
{
	struct world *w = arg;

	assert_ok(append(&w->b, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"));
}

static void others_id_lost(void **state)
{
	struct world *w = *state;
	/* The first try never arrives; b is quicker than the second. */
	struct gpc_fault lost = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_BEFORE,
		.nth = 1, .prefix = "jobs/" JOB "/events/" };
	struct gpc_fault other = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
		.nth = 2, .prefix = "jobs/" JOB "/events/",
		.call = b_attempts, .arg = w };

	gpc_store_fault_add(w->s, &lost);
	gpc_store_fault_add(w->s, &other);
	assert_fails(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"),
		GPC_ECONFLICT);
	assert_int_equal(w->a.state.n, 2);
	assert_false(w->a.unsettled);
	assert_int_equal(events(w), 2);
	assert_ok(gpc_journal_verify(w->mem, JOB, &err));
}

static void put_lands_late(void **state)
{
	struct world *w = *state;
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_LATE,
		.late_ms = 150, .prefix = "jobs/" JOB "/events/" };
	bool changed = false;

	/* Every answer is lost until the time to settle is over. */
	w->a.settle_ms = 100;
	gpc_store_fault_add(w->s, &f);
	assert_fails(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"),
		GPC_ENET);
	assert_true(w->a.unsettled);
	assert_int_equal(w->a.state.n, 1);
	gpc_store_fault_reset(w->s);
	gpc_sleep_ms(400);
	/* It landed after all: the next refresh tells. */
	assert_ok(gpc_journal_refresh(&w->a, &changed, &err));
	assert_true(changed);
	assert_false(w->a.unsettled);
	assert_int_equal(w->a.state.n, 2);
	assert_int_equal(events(w), 2);
}

static void late_put_loses(void **state)
{
	struct world *w = *state;
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_LATE,
		.nth = 1, .late_ms = 200, .prefix = "jobs/" JOB "/events/" };

	/* The repeat arrives first; the first one then finds it there. */
	gpc_store_fault_add(w->s, &f);
	assert_ok(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"));
	gpc_sleep_ms(300);
	assert_int_equal(events(w), 2);
	assert_ok(gpc_journal_verify(w->mem, JOB, &err));
}

static void late_put_against_another(void **state)
{
	struct world *w = *state;
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_LATE,
		.late_ms = 300, .prefix = "jobs/" JOB "/events/" };

	w->a.settle_ms = 50;
	gpc_store_fault_add(w->s, &f);
	assert_fails(append(&w->a, GPC_EVENT_CANCEL, "{\"now\":true}"),
		GPC_ENET);
	gpc_store_fault_reset(w->s);
	assert_ok(append(&w->b, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"));
	gpc_sleep_ms(500);
	/* The next append first finds out what became of the last one. */
	assert_true(w->a.unsettled);
	assert_fails(append(&w->a, GPC_EVENT_CANCEL, "{\"now\":true}"),
		GPC_ECONFLICT);
	assert_int_equal(w->a.state.n, 2);
	assert_false(w->a.state.cancel);
	assert_ok(append(&w->a, GPC_EVENT_CANCEL, "{\"now\":true}"));
	assert_int_equal(events(w), 3);
	assert_ok(gpc_journal_verify(w->mem, JOB, &err));
}

static void refusals_are_clear(void **state)
{
	struct world *w = *state;
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_BEFORE,
		.code = GPC_EAUTH, .prefix = "jobs/" JOB "/events/" };
	int64_t start = gpc_boot_ms();

	gpc_store_fault_add(w->s, &f);
	assert_fails(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"),
		GPC_EAUTH);
	assert_false(w->a.unsettled);
	assert_true(gpc_boot_ms() - start < 1000);
	assert_int_equal(w->a.state.n, 1);
}

static void hint_is_best_effort(void **state)
{
	struct world *w = *state;
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_BEFORE,
		.prefix = "jobs/" JOB "/head" };

	gpc_store_fault_add(w->s, &f);
	assert_ok(append(&w->a, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"));
	assert_ok(gpc_journal_refresh(&w->b, NULL, &err));
	assert_int_equal(w->b.state.n, 2);
}

/* A whole flow in which the Nth operation on events fails, for every N, both
 * ways: always the same journal comes out. */
static void run_flow(struct gpc_journal *j)
{
	static const struct { enum gpc_event_type type; const char *data; }
	flow[] = {
		{GPC_EVENT_SUBMITTED, "{\"num_nodes\":1}"},
		{GPC_EVENT_ATTEMPT, "{\"attempt\":1}"},
		{GPC_EVENT_INTENT,
			"{\"attempt\":1,\"token\":\"t\",\"request\":{}}"},
		{GPC_EVENT_CREATED, "{\"intent\":3,\"nodes\":[{\"rank\":0,"
			"\"id\":\"a\",\"provider\":\"x\"}]}"},
		{GPC_EVENT_PHASE, "{\"attempt\":1,\"phase\":\"running\"}"},
		{GPC_EVENT_ENDED, "{\"reason\":\"completed\"}"},
		{GPC_EVENT_RELEASED, "{\"attempt\":1,\"rank\":0,\"id\":\"a\"}"},
	};

	for (size_t i = 0; i < COUNT(flow); i++)
		assert_ok(append(j, flow[i].type, flow[i].data));
}

static void every_step_fails(void **state)
{
	static const enum gpc_fault_op ops[] = { GPC_FAULT_PUT, GPC_FAULT_GET };
	struct world *w = *state;

	for (unsigned k = 0; k < 4; k++) {
		for (unsigned nth = 1; nth <= 9; nth++) {
			gpc_autostr *job = gpc_format("flow-%u-%u", k, nth);
			struct gpc_fault f = { .op = ops[k / 2], .nth = nth,
				.how = k % 2 ? GPC_FAULT_AFTER :
				GPC_FAULT_BEFORE };
			struct gpc_fault puts = { .op = GPC_FAULT_PUT,
				.how = GPC_FAULT_AFTER };
			gpc_auto(gpc_journal) struct gpc_journal j = {0};
			int64_t n = 0;

			gpc_store_fault_reset(w->s);
			gpc_store_fault_add(w->s, &f);
			/* Gets happen only after a put's answer is lost. */
			if (f.op == GPC_FAULT_GET)
				for (puts.nth = 1; puts.nth < 30; puts.nth += 3)
					gpc_store_fault_add(w->s, &puts);
			gpc_journal_init(&j, w->s, job, "x");
			run_flow(&j);
			assert_ok(gpc_journal_read(w->mem, job, 0, count, &n,
				&err));
			assert_int_equal(n, 7);
			assert_ok(gpc_journal_verify(w->mem, job, &err));
		}
	}
}

static void get_fails(void **state)
{
	struct world *w = *state;
	struct gpc_fault f = { .op = GPC_FAULT_GET, .how = GPC_FAULT_BEFORE,
		.nth = 1, .prefix = "jobs/" JOB "/events/" };

	gpc_store_fault_add(w->s, &f);
	assert_fails(gpc_journal_refresh(&w->a, NULL, &err), GPC_ENET);
	assert_int_equal(w->a.state.n, 1);
	assert_ok(gpc_journal_refresh(&w->a, NULL, &err));
}

/* --- what is broken or newer ------------------------------------------- */

static void broken_events(void **state)
{
	static const char *const bad[] = { "", "{", "[]", "null", "{}",
		"{\"v\":1}", "\x00", "{\"v\":1,\"n\":2,\"id\":\"x\",\"type\":"
		"\"save\",\"at_ms\":1}", "{\"v\":1,\"n\":2,\"id\":\"x\",\"type\""
		":\"save\",\"at_ms\":1,\"state\":{\"v\":1,\"n\":3,\"status\":"
		"\"PENDING\"}}", "{\"v\":1,\"n\":2,\"id\":\"x\",\"type\":\"save"
		"\",\"at_ms\":1,\"state\":{\"v\":1,\"n\":2,\"status\":\"BORED\"}"
		"}", "{\"v\":1,\"n\":9,\"id\":\"x\",\"type\":\"save\",\"at_ms\""
		":1,\"state\":{\"v\":1,\"n\":9,\"status\":\"PENDING\"}}" };
	struct world *w = *state;
	gpc_key key;

	gpc_key_event(key, JOB, 2);
	for (size_t i = 0; i < COUNT(bad); i++) {
		put_text(w->mem, key, bad[i]);
		assert_fails(gpc_journal_refresh(&w->a, NULL, &err),
			GPC_EPROTO);
		assert_has(err.msg, "jobs/" JOB "/events/00000002.json");
		assert_int_equal(w->a.state.n, 1);
		/* Nobody writes over it, and nobody goes past it. */
		assert_fails(append(&w->a, GPC_EVENT_SAVE, "{}"), GPC_EPROTO);
		assert_fails(gpc_journal_verify(w->mem, JOB, &err), GPC_EPROTO);
	}
}

static void newer_events(void **state)
{
	static const char *const newer[] = {
		"{\"v\":2,\"n\":2,\"id\":\"x\",\"type\":\"save\"}",
		"{\"v\":1,\"n\":2,\"id\":\"x\",\"type\":\"teleport\","
		"\"at_ms\":1,\"state\":{\"v\":1,\"n\":2,\"status\":\"PENDING\"}"
		"}" };
	struct world *w = *state;
	gpc_key key;

	gpc_key_event(key, JOB, 2);
	for (size_t i = 0; i < COUNT(newer); i++) {
		gpc_auto(gpc_journal) struct gpc_journal j = {0};

		put_text(w->mem, key, newer[i]);
		put_text(w->mem, "jobs/" JOB "/head", "{\"v\":1,\"n\":2}");
		gpc_journal_init(&j, w->mem, JOB, "x");
		/* A reader shows what it understands, and writes nothing. */
		assert_ok(gpc_journal_refresh(&j, NULL, &err));
		assert_true(j.read_only);
		assert_int_equal(j.state.n, 1);
		assert_fails(append(&j, GPC_EVENT_SAVE, "{}"),
			GPC_EUNSUPPORTED);
		assert_ok(gpc_journal_refresh(&j, NULL, &err));
		assert_int_equal(events(w), 1);
	}
}

static int stop_at_once(void *arg, const struct gpc_event *e)
{
	(void)e;
	++*(int *)arg;
	return 1;
}

static void reading(void **state)
{
	struct world *w = *state;
	int calls = 0;
	int64_t from = 3;

	for (int i = 0; i < 4; i++)
		assert_ok(append(&w->b, GPC_EVENT_SAVE, "{\"label\":\"x\"}"));
	assert_ok(gpc_journal_read(w->mem, JOB, 0, stop_at_once, &calls, &err));
	assert_int_equal(calls, 1);
	assert_ok(gpc_journal_read(w->mem, JOB, 3, count, &from, &err));
	assert_int_equal(from, 5);
	assert_ok(gpc_journal_read(w->mem, JOB, 77, stop_at_once, &calls,
		&err));
	assert_int_equal(calls, 1);
}

static void verify_finds_changes(void **state)
{
	struct world *w = *state;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *forged = NULL;
	char *at;
	gpc_key key;

	assert_ok(append(&w->b, GPC_EVENT_ATTEMPT, "{\"attempt\":1}"));
	gpc_key_event(key, JOB, 2);
	assert_ok(gpc_store_get(w->mem, key, 65536, &b, &err));
	forged = gpc_strdup(gpc_buf_str(&b));
	at = strstr(forged, "\"PROVISIONING\"");
	assert_non_null(at);
	memcpy(at, "\"RECOVERING\"  ", 14);
	put_text(w->mem, key, forged);
	assert_fails(gpc_journal_verify(w->mem, JOB, &err), GPC_EPROTO);
	assert_has(err.msg, "00000002.json");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(two_writers), T(no_journal), T(one_get_an_event),
		T(wrong_hints), T(own_answer_lost), T(never_sent),
		T(others_id_lost), T(put_lands_late), T(late_put_loses),
		T(late_put_against_another), T(refusals_are_clear),
		T(hint_is_best_effort), T(every_step_fails), T(get_fails),
		T(broken_events), T(newer_events), T(reading),
		T(verify_finds_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
