/* The index: live and done, resumed jobs, what a crash leaves, and finding a job
 * by whatever a person types. */
#include <stdio.h>

#include "store_keys.h"

#include "base/str.h"
#include "record/index.h"
#include "record/keys.h"

static struct gpc_error err;
#define ME "0123456789abcdef"
#define YOU "fedcba9876543210"
#define DAY INT64_C(86400000)

static int set_up(void **state)
{
	struct gpc_store *s = NULL;

	assert_ok(gpc_store_open("mem://", 0, NULL, &s, &err));
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	gpc_store_free(*state);
	return 0;
}

static struct gpc_job job(const char *id, const char *name, int64_t ms,
	const char *owner)
{
	return (struct gpc_job){ .id = (char *)(uintptr_t)id,
		.name = (char *)(uintptr_t)name, .created_ms = ms,
		.owner = { .hash = (char *)(uintptr_t)owner } };
}

static struct gpc_job_state ended(int attempt, int64_t end_ms,
	enum gpc_reason reason)
{
	return (struct gpc_job_state){ .attempt = attempt,
		.status = gpc_reason_status(reason), .reason = reason,
		.submitted_ms = end_ms - 2000, .started_ms = end_ms - 1000,
		.ended_ms = end_ms, .spent = { 1234567, "USD" } };
}

/* "id[*] id ..." ; * = live. */
static void lists(struct gpc_store *s, int64_t since, const char *want)
{
	gpc_auto(gpc_index) struct gpc_index x = {0};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	assert_ok(gpc_index_list(s, since, &x, &err));
	gpc_vec_each(e, &x)
		gpc_buf_addf(&b, "%s%s%s", b.len ? " " : "", e->job,
			e->live ? "*" : "");
	assert_string_equal(gpc_buf_str(&b), want);
}

static void life(void **state)
{
	struct gpc_store *s = *state;
	struct gpc_job a = job("train-abc234", "train", 1700000000500, ME);
	struct gpc_job_state st = ended(1, 1700000009000, GPC_REASON_EXIT_CODE);
	gpc_auto(gpc_index) struct gpc_index x = {0};

	lists(s, 0, "");
	assert_ok(gpc_index_put_live(s, &a, &err));
	keys_are(s, "index/live/1700000000-train-abc234.json");
	assert_ok(gpc_index_list(s, 0, &x, &err));
	assert_true(x.v[0].live);
	assert_int_equal(x.v[0].start_ms, 1700000000500);
	assert_string_equal(x.v[0].owner_hash, ME);
	assert_string_equal(x.v[0].name, "train");
	gpc_index_clear(&x);

	assert_ok(gpc_index_put_done(s, &a, &st, &err));
	keys_are(s, "index/done/2023-11/train-abc234.1~FAILED~exit_code~"
		"1234567USD~1700000008000~1700000009000~" ME);
	assert_ok(gpc_index_list(s, 0, &x, &err));
	assert_int_equal(x.n, 1);
	assert_false(x.v[0].live);
	assert_string_equal(x.v[0].job, "train-abc234");
	assert_string_equal(x.v[0].name, "train");
	assert_int_equal(x.v[0].attempt, 1);
	assert_int_equal(x.v[0].status, GPC_JOB_FAILED);
	assert_int_equal(x.v[0].reason, GPC_REASON_EXIT_CODE);
	assert_int_equal(x.v[0].spent.micros, 1234567);
	assert_string_equal(x.v[0].spent.currency, "USD");
	assert_int_equal(x.v[0].start_ms, 1700000008000);
	assert_int_equal(x.v[0].end_ms, 1700000009000);
	assert_string_equal(x.v[0].owner_hash, ME);
}

static void resumed(void **state)
{
	struct gpc_store *s = *state;
	struct gpc_job a = job("train-abc234", "train", 1700000000000, ME);
	struct gpc_job_state one = ended(1, 1700000009000, GPC_REASON_CANCELLED);
	struct gpc_job_state two = ended(2, 1700000009000 + 70 * DAY,
		GPC_REASON_COMPLETED);

	assert_ok(gpc_index_put_done(s, &a, &one, &err));
	/* Live wins over what it was. */
	assert_ok(gpc_index_put_live(s, &a, &err));
	lists(s, 0, "train-abc234*");
	/* What it ended as before goes, months later and twice. */
	assert_ok(gpc_index_put_done(s, &a, &two, &err));
	assert_ok(gpc_index_put_done(s, &a, &two, &err));
	keys_are(s, "index/done/2024-01/train-abc234.2~SUCCEEDED~completed~"
		"1234567USD~1706048008000~1706048009000~" ME);
	/* Costs that are known later replace the key. */
	two.spent.micros++;
	assert_ok(gpc_index_put_done(s, &a, &two, &err));
	keys_are(s, "index/done/2024-01/train-abc234.2~SUCCEEDED~completed~"
		"1234568USD~1706048008000~1706048009000~" ME);
}

/* Past the last month that a key can name: what a clock without a battery may
 * say. */
static void ended_by_a_wrong_clock(void **state)
{
	struct gpc_store *s = *state;
	struct gpc_job a = job("train-abc234", "train", 253390000000000, ME);
	struct gpc_job_state st = ended(1, 301796057000000,
		GPC_REASON_COMPLETED);

	assert_ok(gpc_index_put_live(s, &a, &err));
	assert_ok(gpc_index_put_done(s, &a, &st, &err));
	keys_are(s, "index/done/9999-12/train-abc234.1~SUCCEEDED~completed~"
		"1234567USD~301796056999000~301796057000000~" ME);
}

/* What costs nothing costs it in a currency; older keys have none. */
static void free_of_charge(void **state)
{
	struct gpc_store *s = *state;
	struct gpc_job a = job("train-abc234", "train", 1700000000000, ME);
	struct gpc_job_state st = ended(1, 1700000009000, GPC_REASON_COMPLETED);
	gpc_auto(gpc_index) struct gpc_index x = {0};

	st.spent = (struct gpc_money) {0};
	assert_ok(gpc_store_put(s, "index/done/2023-11/train-abc234.1~SUCCEEDED"
		"~completed~0~1700000008000~1700000009000~" ME, "", 0, 0, &err));
	assert_ok(gpc_index_list(s, 0, &x, &err));
	assert_int_equal(x.n, 1);
	assert_string_equal(x.v[0].spent.currency, "");
	assert_ok(gpc_index_put_done(s, &a, &st, &err));
	keys_are(s, "index/done/2023-11/train-abc234.1~SUCCEEDED~completed~"
		"0USD~1700000008000~1700000009000~" ME);
}

static void crashes(void **state)
{
	struct gpc_store *s = *state;
	static const char *const junk[] = { "index/live/x", "index/live/7-.json",
		"index/live/-a.json", "index/done/x", "index/done/2024-01/x",
		"index/done/2024-01/x.1~BORED~completed~0~1~2~" ME,
		"index/done/2024-01/x.1~FAILED~bored~0~1~2~" ME,
		"index/done/2024-01/x.y~FAILED~idle~0~1~2~" ME,
		"index/done/2024-01/x.1~FAILED~idle~USD~1~2~" ME,
		"index/done/2024-01/x.1~FAILED~idle~0USDX~1~2~" ME,
		"index/done/2024-01/x.1~FAILED~idle~0~1~2",
		"index/done/2024-01/x.1~FAILED~idle~0~1~2~" ME "~",
		"index/done/2024-01/x.1~FAILED~idle~0~1~2~" ME "f" };
	static const char *const two[] = {
		"index/done/2024-01/j-abc234.1~FAILED~idle~0~5~6~" ME,
		"index/done/2024-02/j-abc234.2~SUCCEEDED~completed~0~7~8~" ME,
		"index/done/2024-01/j-abc234.2~SUCCEEDED~completed~9USD~7~8~"
		ME };
	gpc_auto(gpc_index) struct gpc_index x = {0};

	for (size_t i = 0; i < COUNT(junk); i++)
		assert_ok(gpc_store_put(s, junk[i], "", 0, 0, &err));
	lists(s, 0, "");
	for (size_t i = 0; i < COUNT(two); i++)
		assert_ok(gpc_store_put(s, two[i], "", 0, 0, &err));
	assert_ok(gpc_index_list(s, 0, &x, &err));
	assert_int_equal(x.n, 1);
	assert_int_equal(x.v[0].attempt, 2);
	assert_int_equal(x.v[0].spent.micros, 9);
	/* A live entry that cannot be read still names its job. */
	assert_ok(gpc_store_put(s, "index/live/12-j-abc234.json", "{", 1, 0,
		&err));
	lists(s, 0, "j-abc234*");
}

static void groups(void **state)
{
	struct gpc_store *s = *state;
	struct gpc_job g = job("sweep-abc234", "sweep", 1700000000000, ME);
	struct gpc_job m = job("sweep-abc234.1", "sweep", 1700000000000, ME);
	struct gpc_job_state a = ended(1, 1700000009000, GPC_REASON_COMPLETED);
	struct gpc_job_state b = ended(3, 1700000010000, GPC_REASON_COMPLETED);

	/* A group's keys begin like its members' and leave them alone. */
	assert_ok(gpc_index_put_done(s, &m, &b, &err));
	assert_ok(gpc_index_put_done(s, &g, &a, &err));
	lists(s, 0, "sweep-abc234.1 sweep-abc234");
}

static void since(void **state)
{
	struct gpc_store *s = *state;
	struct gpc_job a = job("a-abc234", "a", 1700000000000, ME);
	struct gpc_job b = job("b-abc234", "b", 1700000000000, YOU);
	struct gpc_job c = job("c-abc234", "c", 1700000000000, ME);
	struct gpc_job_state x = ended(1, 1700000000000, GPC_REASON_COMPLETED);
	struct gpc_job_state y = ended(1, 1700000000000 + 40 * DAY,
		GPC_REASON_COMPLETED);

	assert_ok(gpc_index_put_done(s, &a, &x, &err));
	assert_ok(gpc_index_put_done(s, &b, &y, &err));
	assert_ok(gpc_index_put_live(s, &c, &err));
	lists(s, 0, "b-abc234 c-abc234* a-abc234");
	lists(s, 1700000000000, "b-abc234 c-abc234* a-abc234");
	lists(s, 1700000000001, "b-abc234 c-abc234*");
	lists(s, y.ended_ms, "b-abc234 c-abc234*");
	lists(s, y.ended_ms + 1, "c-abc234*");
	lists(s, INT64_C(4000000000000), "c-abc234*");
	lists(s, -5, "b-abc234 c-abc234* a-abc234");
}

static void find(void **state)
{
	static const struct {
		const char *word, *want;
		bool ambiguous;
	} t[] = {
		{"train-aaaaaa", "train-aaaaaa", false},
		{"train-a", "train-aaaaaa", false},
		/* A name: all, newest first; two of them unfinished. */
		{"train", "train-cccccc train-bbbbbb train-aaaaaa", true},
		{"eval", "eval-dddddd", false},
		{"train-", "train-cccccc train-bbbbbb train-aaaaaa", true},
		{"e", "eval-dddddd", false},
		{"@", "train-cccccc", false},
		{"evil", NULL, false}, {"", NULL, false},
		{"train-aaaaaa.1", NULL, false}, {"\x1b[31m", NULL, false},
	};
	struct gpc_store *s = *state;
	struct gpc_job a = job("train-aaaaaa", "train", 1700000000000, ME);
	struct gpc_job b = job("train-bbbbbb", "train", 1700000100000, ME);
	struct gpc_job c = job("train-cccccc", "train", 1700000200000, ME);
	struct gpc_job d = job("eval-dddddd", "eval", 1700000300000, YOU);
	struct gpc_job_state st = ended(1, 1700000050000, GPC_REASON_CANCELLED);

	assert_ok(gpc_index_put_done(s, &a, &st, &err));
	assert_ok(gpc_index_put_live(s, &b, &err));
	assert_ok(gpc_index_put_live(s, &c, &err));
	assert_ok(gpc_index_put_live(s, &d, &err));
	for (size_t i = 0; i < COUNT(t); i++) {
		gpc_auto(gpc_index) struct gpc_index m = {0};
		gpc_auto(gpc_buf) struct gpc_buf have = {0};
		bool ambiguous = true;

		if (!t[i].want) {
			assert_fails(gpc_index_find(s, t[i].word, ME, &m,
				&ambiguous, &err), GPC_ENOTFOUND);
			assert_true(err.hint[0] != '\0');
			assert_null(strchr(err.msg, '\x1b'));
			continue;
		}
		assert_ok(gpc_index_find(s, t[i].word, ME, &m, &ambiguous,
			&err));
		gpc_vec_each(e, &m)
			gpc_buf_addf(&have, "%s%s", have.len ? " " : "",
				e->job);
		assert_string_equal(gpc_buf_str(&have), t[i].want);
		assert_int_equal(ambiguous, t[i].ambiguous);
	}
	assert_fails(gpc_index_find(s, "evil", ME, NULL, NULL, &err),
		GPC_ENOTFOUND);
	assert_has(err.hint, "eval");
	assert_fails(gpc_index_find(s, "@", "nobody", NULL, NULL, &err),
		GPC_ENOTFOUND);
}

static void keys(void **state)
{
	gpc_key k;

	(void)state;
	assert_string_equal(gpc_key_job(k, "j"), "jobs/j/job.json");
	assert_string_equal(gpc_key_event(k, "j", 12),
		"jobs/j/events/00000012.json");
	assert_string_equal(gpc_key_job_file(k, "j", "head"), "jobs/j/head");
	assert_string_equal(gpc_key_rank(k, "j", 2, 3, "log/"),
		"jobs/j/2/3/log/");
	assert_string_equal(gpc_key_attempt(k, "j", 2, "peers.json"),
		"jobs/j/2/peers.json");
	assert_string_equal(gpc_key_checkpoint(k, "j", "1-2-x"),
		"jobs/j/checkpoints/1-2-x.json");
	assert_string_equal(gpc_key_secrets(k, "j", NULL), "secrets/j");
	assert_string_equal(gpc_key_secrets(k, "j", "00000007-abcdefgh"),
		"secrets/j.resume-00000007-abcdefgh");
	/* sha256("ab") */
	assert_string_equal(gpc_key_once(k, "a", "b"), "once/fb8e20fc2e4c3f248c"
		"60c39bd652f3c1347298bb977b8b4d5903b85055620603");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(life), T(resumed), T(ended_by_a_wrong_clock),
		T(free_of_charge), T(crashes), T(groups), T(since), T(find),
		T(keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
