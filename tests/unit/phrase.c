/* Phrases that commands share, and what followers say of events and ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"
#include "cmd/follow_say.h"
#include "cmd/phrase.h"

static void check(char *owned, const char *want)
{
	if (want)
		assert_string_equal(owned, want);
	else
		assert_null(owned);
	free(owned);
}

static void durations(void **state)
{
	(void)state;
	check(gpc_phrase_duration(-5), "0s");
	check(gpc_phrase_duration(449), "0.4s");
	check(gpc_phrase_duration(9999), "9.9s");
	check(gpc_phrase_duration(12345), "12s");
	check(gpc_phrase_duration(5400000), "1h30m");
	check(gpc_phrase_duration(5425000), "1h30m");
	check(gpc_phrase_age(gpc_wall_ms()), "just now");
	check(gpc_phrase_age(gpc_wall_ms() - 61500), "1m1s ago");
	check(gpc_phrase_age(gpc_wall_ms() + 60000), "just now");
}

static void money(void **state)
{
	(void)state;
	check(gpc_phrase_money((struct gpc_money){0}), "$0.00");
	check(gpc_phrase_money((struct gpc_money){1250000, "CNY"}), "1.25 CNY");
	check(gpc_phrase_rate((struct gpc_money){0, "USD"}), "free");
	check(gpc_phrase_rate((struct gpc_money){1250000, "USD"}),
		"$1.25 per hour");
	check(gpc_phrase_cost((struct gpc_money){500000, "USD"},
		(struct gpc_money){2000000, "USD"}, true),
		"$0.50 so far, $2.00 per hour now");
	check(gpc_phrase_cost((struct gpc_money){0}, (struct gpc_money){0},
		false), "$0.00 so far, $0.00 per hour now");
	check(gpc_phrase_cost((struct gpc_money){0}, (struct gpc_money){0},
		true), "$0.00");
	check(gpc_phrase_count(1, "node"), "1 node");
	check(gpc_phrase_count(0, "node"), "0 nodes");
}

static void machines(void **state)
{
	char local[] = "local", gpu[] = "H200", aws[] = "aws", type[] = "p5";
	char spot[] = "spot", region[] = "us-east-1";
	struct gpc_offer o = {.provider = local, .cpus = 2,
		.memory_bytes = (uint64_t)4 << 30};

	(void)state;
	check(gpc_phrase_machine(&o), "2 CPUs, 4 GiB, no GPU");
	check(gpc_phrase_place(&o), "local");
	o = (struct gpc_offer){.provider = aws, .region = region,
		.instance_type = type, .market = spot, .cpus = 1, .gpus = 8,
		.gpu = gpu, .gpu_memory_gb = 141};
	check(gpc_phrase_machine(&o), "1 CPU, 8 x H200 (141 GB)");
	check(gpc_phrase_place(&o), "aws/us-east-1 p5 (spot)");
}

static void ends(void **state)
{
	struct gpc_job_state st = {.status = GPC_JOB_FAILED, .num_nodes = 1,
		.reason = GPC_REASON_EXIT_CODE, .code = 7};

	(void)state;
	check(gpc_phrase_state(&st), "FAILED: exit_code (7)");
	st.num_nodes = 2;
	st.rank = 1;
	check(gpc_phrase_state(&st), "FAILED: exit_code (7, rank 1)");
	st.code = 137;
	st.signal = 9;
	check(gpc_phrase_state(&st), "FAILED: exit_code (signal 9, rank 1)");
	st = (struct gpc_job_state){.status = GPC_JOB_CANCELLED, .signal = 15,
		.reason = GPC_REASON_CANCELLED, .num_nodes = 1};
	check(gpc_phrase_state(&st), "CANCELLED: cancelled");
	st = (struct gpc_job_state){.status = GPC_JOB_SUCCEEDED,
		.reason = GPC_REASON_COMPLETED, .num_nodes = 2};
	check(gpc_phrase_state(&st), "SUCCEEDED: completed");
	st = (struct gpc_job_state){.status = GPC_JOB_RUNNING};
	check(gpc_phrase_state(&st), "RUNNING");
}

static void end_lines(void **state)
{
	char id[] = "a-abc234";
	struct gpc_view v = {.ran_ms = 12345};

	(void)state;
	v.job.id = id;
	v.state.status = GPC_JOB_SUCCEEDED;
	v.state.reason = GPC_REASON_COMPLETED;
	v.state.attempt = 1;
	check(gpc_follow_end_text(&v),
		"SUCCEEDED: completed (ran 12s, cost $0.00)");
	v.state.attempt = 3;
	check(gpc_follow_end_text(&v),
		"SUCCEEDED: completed (ran 12s in 3 attempts, cost $0.00)");
	gpc_autoptr(gpc_json) *j = gpc_follow_end_json(&v);
	assert_string_equal(gpc_json_get_str(j, "reason"), "completed");
	assert_int_equal(gpc_json_get_int(j, "exit_status", -1), 0);
}

static void events(void **state)
{
	struct gpc_event e = {.type = GPC_EVENT_PHASE};

	(void)state;
	e.data = gpc_json_object();
	e.state.status = GPC_JOB_RUNNING;
	e.state.num_nodes = 1;
	e.state.attempt = 1;
	check(gpc_follow_event_text(&e, GPC_JOB_SETUP, false), "RUNNING");
	check(gpc_follow_event_text(&e, GPC_JOB_RUNNING, false), NULL);
	e.type = GPC_EVENT_LOST;
	e.state.status = GPC_JOB_RECOVERING;
	gpc_json_set_str(e.data, "reason", "node_lost");
	gpc_json_set_int(e.data, "attempt", 1);
	check(gpc_follow_event_text(&e, GPC_JOB_RUNNING, false),
		"RECOVERING: attempt 1 is over: node_lost");
	e.type = GPC_EVENT_CHECKPOINT;
	e.state.status = GPC_JOB_RUNNING;
	gpc_json_set_str(e.data, "checkpoint", "1-2-auto");
	check(gpc_follow_event_text(&e, GPC_JOB_RUNNING, false), NULL);
	check(gpc_follow_event_text(&e, GPC_JOB_RUNNING, true),
		"checkpoint 1-2-auto is saved");
	/* the end has a line of its own */
	e.type = GPC_EVENT_ENDED;
	e.state.status = GPC_JOB_SUCCEEDED;
	check(gpc_follow_event_text(&e, GPC_JOB_RUNNING, false), NULL);
	gpc_json_free(e.data);
}

static void log_pieces(void **state)
{
	static const struct { const char *data; size_t n; const char *key, *want; }
	table[] = {
		{"hi\n", 3, "data", "hi\n"},
		{"\xc3\xa9", 2, "data", "\xc3\xa9"},
		{"\xff\xfe", 2, "data_base64", "//4="},
		{"a\0b", 3, "data_base64", "YQBi"},
		{"\xff", 1, "data_base64", "/w=="},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		gpc_autoptr(gpc_json) *j = gpc_follow_log_json("j", 1, 2,
			table[i].data, table[i].n);

		assert_string_equal(gpc_json_get_str(j, table[i].key),
			table[i].want);
		assert_string_equal(gpc_json_get_str(j, "stream"), "stderr");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations), cmocka_unit_test(money),
		cmocka_unit_test(machines), cmocka_unit_test(ends),
		cmocka_unit_test(end_lines), cmocka_unit_test(events),
		cmocka_unit_test(log_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
