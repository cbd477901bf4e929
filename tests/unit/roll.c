/* The roll of a large gang: what ranks put, hostile keys, and what lists make of it. */
#include "test.h"

#include "base/str.h"
#include "record/facts.h"
#include "record/roll.h"
#include "model/node.h"

#define JOB "gang-abc234"
enum { N = 40 };

static struct gpc_error err;

static struct gpc_store *open_store(void)
{
	struct gpc_store *s = NULL;

	assert_ok(gpc_store_open("mem://roll", GPC_STORE_CREATE, NULL, &s, &err));
	return s;
}

static void put(struct gpc_store *s, const char *name, const char *text)
{
	gpc_autostr *key = gpc_format("jobs/" JOB "/1/%s", name);

	assert_ok(gpc_store_put(s, key, text, strlen(text), 0, &err));
}

static void end(struct gpc_store *s, int rank, int64_t at_ms,
	enum gpc_reason reason, bool stopped)
{
	gpc_autostr *value = gpc_roll_end(at_ms, reason, stopped);

	assert_ok(gpc_roll_put(s, JOB, 1, rank, GPC_ROLL_END, value, &err));
}

static void put_exit(struct gpc_store *s, int rank, int64_t at_ms,
	enum gpc_reason reason, int code)
{
	struct gpc_exit x = { .v = 1, .phase = GPC_PHASE_RUN, .code = code,
		.reason = reason, .rank = rank, .at_ms = at_ms };
	struct gpc_json *j = gpc_exit_write(&x);
	gpc_autostr *text = gpc_json_print(j);
	gpc_autostr *name = gpc_format("%d/exit.json", rank);

	gpc_json_free(j);
	put(s, name, text);
	assert_ok(gpc_roll_put(s, JOB, 1, rank, GPC_ROLL_EXIT, NULL, &err));
}

TEST(few_nodes_keep_none)
{
	assert_false(gpc_roll_is_kept(1));
	assert_false(gpc_roll_is_kept(GPC_ROLL_LEAST - 1));
	assert_true(gpc_roll_is_kept(GPC_ROLL_LEAST));
}

TEST(values_come_back)
{
	static const char *const values[] = { NULL, "", "10.0.0.7", "fe80::1%eth0",
		"a b~d" };
	gpc_auto(gpc_roll) struct gpc_roll r = {0};
	struct gpc_store *s = open_store();

	for (int i = 0; i < (int)COUNT(values); i++)
		assert_ok(gpc_roll_put(s, JOB, 1, i, GPC_ROLL_READY,
			values[i], &err));
	assert_ok(gpc_roll_call(s, JOB, 1, N, GPC_ROLL_READY, &r, &err));
	assert_int_equal(r.n, COUNT(values));
	assert_string_equal(gpc_roll_of(&r, 0), "");
	assert_string_equal(gpc_roll_of(&r, 2), "10.0.0.7");
	assert_string_equal(gpc_roll_of(&r, 3), "fe80::1%eth0");
	assert_string_equal(gpc_roll_of(&r, 4), "a b~d");
	assert_null(gpc_roll_of(&r, 5));
	assert_null(gpc_roll_of(&r, -1));
	assert_null(gpc_roll_of(&r, N));
	/* A second call replaces it; the other words are apart. */
	assert_ok(gpc_roll_call(s, JOB, 1, N, GPC_ROLL_RUN, &r, &err));
	assert_int_equal(r.n, 0);
	gpc_store_free(s);
}

TEST(what_is_no_rank_is_passed_over)
{
	static const char *const names[] = { "roll/run/x", "roll/run/00040",
		"roll/run/99999999999", "roll/run/00001x", "roll/run/00002/deep",
		"roll/run/00003~%zz", "roll/run/00004~%00", "roll/run/~",
		"roll/run/00005~ok" };
	gpc_auto(gpc_roll) struct gpc_roll r = {0};
	struct gpc_store *s = open_store();

	for (size_t i = 0; i < COUNT(names); i++)
		put(s, names[i], "");
	assert_ok(gpc_roll_call(s, JOB, 1, N, GPC_ROLL_RUN, &r, &err));
	assert_int_equal(r.n, 1);
	assert_string_equal(gpc_roll_of(&r, 5), "ok");
	gpc_store_free(s);
}

TEST(first_to_fail_by_time_and_of_its_own)
{
	gpc_auto(gpc_roll) struct gpc_roll r = {0};
	struct gpc_store *s = open_store();
	enum gpc_reason reason = GPC_REASON_NONE;
	int64_t at_ms = 0;

	end(s, 0, 90, GPC_REASON_EXIT_CODE, true);      /* stopped for another */
	end(s, 3, 50, GPC_REASON_COMPLETED, false);
	end(s, 7, 200, GPC_REASON_EXIT_CODE, false);
	end(s, 9, 100, GPC_REASON_OUT_OF_MEMORY, false);
	put(s, "roll/end/00011~5~no_such_reason", "");
	put(s, "roll/end/00012~-5~exit_code", "");
	put(s, "roll/end/00013~exit_code", "");
	assert_ok(gpc_roll_call(s, JOB, 1, N, GPC_ROLL_END, &r, &err));
	assert_int_equal(r.n, 7);
	assert_int_equal(gpc_roll_first_failed(&r, &at_ms, &reason), 9);
	assert_int_equal(at_ms, 100);
	assert_int_equal(reason, GPC_REASON_OUT_OF_MEMORY);
	assert_int_equal(gpc_roll_last_ended(&r), 7);
	/* An end that could not be kept became a failure. */
	end(s, 3, 50, GPC_REASON_DISK_FULL, false);
	assert_ok(gpc_roll_call(s, JOB, 1, N, GPC_ROLL_END, &r, &err));
	assert_int_equal(r.n, 7);
	assert_int_equal(gpc_roll_first_failed(&r, &at_ms, &reason), 3);
	gpc_store_free(s);
}

TEST(outcome_of_many_takes_few_words)
{
	gpc_auto(gpc_exit) struct gpc_exit x = {0}, y = {0}, z = {0};
	struct gpc_store *s = open_store();
	bool found = true;

	for (int i = 0; i < N; i++)
		end(s, i, 1000 + i, GPC_REASON_COMPLETED, false);
	assert_ok(gpc_facts_outcome(s, JOB, 1, N, false, &x, &found, &err));
	assert_false(found);            /* their words are still to come */
	for (int i = 0; i < N; i++)
		put_exit(s, i, 1000 + i, GPC_REASON_COMPLETED, 0);
	assert_ok(gpc_facts_outcome(s, JOB, 1, N, false, &x, &found, &err));
	assert_true(found);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	assert_int_equal(x.at_ms, 1000 + N - 1);
	end(s, 5, 1005, GPC_REASON_EXIT_CODE, false);
	put_exit(s, 5, 1005, GPC_REASON_EXIT_CODE, 3);
	assert_ok(gpc_facts_outcome(s, JOB, 1, N, false, &y, &found, &err));
	assert_true(found);
	assert_int_equal(y.rank, 5);
	assert_int_equal(y.code, 3);
	assert_ok(gpc_facts_outcome(s, JOB, 1, N, true, &z, &found, &err));
	assert_true(found);
	assert_int_equal(z.rank, 5);
	assert_null(z.log_cut);
	gpc_store_free(s);
}

/* Of a thousand only the one that says so is asked why its log lacks its end. */
TEST(cut_log_of_one_of_many_is_told)
{
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	struct gpc_store *s = open_store();
	bool found = false;

	for (int i = 0; i < N; i++) {
		end(s, i, 1000 + i, GPC_REASON_COMPLETED, false);
		if (i != 3)
			put_exit(s, i, 1000 + i, GPC_REASON_COMPLETED, 0);
	}
	put(s, "3/exit.json", "{\"v\":1,\"phase\":\"run\",\"code\":0,\"reason\":"
		"\"completed\",\"rank\":3,\"log_cut\":\"the disk is full\"}");
	assert_ok(gpc_roll_put(s, JOB, 1, 3, GPC_ROLL_EXIT, "cut", &err));
	assert_ok(gpc_facts_outcome(s, JOB, 1, N, false, &x, &found, &err));
	assert_true(found);
	assert_string_equal(x.log_cut, "the disk is full");
	assert_int_equal(x.at_ms, 1000 + N - 1);
	gpc_store_free(s);
}

/* One is gone, another failed and said so, most run on. */
TEST(partial_outcome_of_many)
{
	gpc_auto(gpc_exit) struct gpc_exit x = {0}, y = {0};
	struct gpc_store *s = open_store();
	bool found = true;

	end(s, 4, 10, GPC_REASON_COMPLETED, false);
	put_exit(s, 4, 10, GPC_REASON_COMPLETED, 0);
	assert_ok(gpc_facts_outcome(s, JOB, 1, N, true, &x, &found, &err));
	assert_false(found);
	/* It died between its words and the roll that tells of them. */
	end(s, 6, 20, GPC_REASON_COMPLETED, false);
	put(s, "6/exit.json", "{");
	assert_ok(gpc_facts_outcome(s, JOB, 1, N, true, &y, &found, &err));
	assert_true(found);
	assert_int_equal(y.reason, GPC_REASON_AGENT_FAILED);
	assert_int_equal(y.rank, 6);
	gpc_store_free(s);
}

TEST(beats_are_told_apart)
{
	int64_t ms[N];
	struct gpc_store *s = open_store();

	put(s, "beats/00000", "{}");
	put(s, "beats/00039", "{}");
	put(s, "beats/00040", "{}");
	put(s, "beats/1x", "{}");
	assert_ok(gpc_roll_beats(s, JOB, 1, N, ms, &err));
	for (int i = 0; i < N; i++)
		assert_int_equal(ms[i] > 0, i == 0 || i == 39);
	gpc_store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_nodes_keep_none),
		cmocka_unit_test(values_come_back),
		cmocka_unit_test(what_is_no_rank_is_passed_over),
		cmocka_unit_test(first_to_fail_by_time_and_of_its_own),
		cmocka_unit_test(outcome_of_many_takes_few_words),
		cmocka_unit_test(cut_log_of_one_of_many_is_told),
		cmocka_unit_test(partial_outcome_of_many),
		cmocka_unit_test(beats_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
