/* A tether is judged by the watcher's own clock, and only while it looks. */
#include "test.h"

#include "base/str.h"
#include "record/tether.h"
#include "store/fault.h"
#include "store/store.h"

#define MINUTE ((int64_t)60000)

static struct gpc_store *open_mem(void)
{
	struct gpc_store *s = NULL;
	struct gpc_error err;

	assert_ok(gpc_store_open("mem://", 0, NULL, &s, &err));
	return s;
}

/* Looks each second until `to`; when it was found silent, else 0. */
static int64_t silent_at(struct gpc_tether_watch *w, struct gpc_store *s,
	int64_t from, int64_t to)
{
	for (int64_t t = from; t <= to; t += 1000)
		if (gpc_tether_silent(w, s, "job-aaaaaa", t))
			return t;
	return 0;
}

TEST(a_silent_client_is_missed)
{
	struct gpc_store *s = open_mem();
	struct gpc_tether t = { .within_ms = 10 * MINUTE };
	struct gpc_tether_watch w = {0};
	struct gpc_error err;
	int64_t at;

	assert_ok(gpc_tether_put(&t, s, "job-aaaaaa", &err));
	for (int64_t m = 1; m < 30; m++) {
		assert_int_equal(silent_at(&w, s, m * MINUTE,
			(m + 1) * MINUTE - 1000), 0);
		assert_ok(gpc_tether_put(&t, s, "job-aaaaaa", &err));
	}
	at = silent_at(&w, s, 30 * MINUTE, 60 * MINUTE);
	assert_in_range(at, 39 * MINUTE, 41 * MINUTE);
	/* one that comes back is heard again */
	assert_ok(gpc_tether_put(&t, s, "job-aaaaaa", &err));
	assert_int_equal(silent_at(&w, s, at + 15000, at + 9 * MINUTE), 0);
	gpc_store_free(s);
}

TEST(another_client_counts_as_well)
{
	struct gpc_store *s = open_mem();
	struct gpc_tether a = { .within_ms = MINUTE };
	struct gpc_tether b = { .within_ms = MINUTE };
	struct gpc_tether_watch w = {0};
	struct gpc_error err;

	assert_ok(gpc_tether_put(&a, s, "job-aaaaaa", &err));
	assert_int_equal(silent_at(&w, s, 1000, MINUTE / 2), 0);
	assert_ok(gpc_tether_put(&b, s, "job-aaaaaa", &err));
	assert_int_equal(silent_at(&w, s, MINUTE / 2 + 1000, MINUTE + 20000), 0);
	assert_true(silent_at(&w, s, MINUTE + 21000, 3 * MINUTE) > 0);
	gpc_store_free(s);
}

TEST(no_tether_is_never_missed)
{
	struct gpc_store *s = open_mem();
	struct gpc_tether t = { .within_ms = MINUTE };
	struct gpc_tether_watch w = {0};
	struct gpc_error err;

	assert_int_equal(silent_at(&w, s, 1000, 60 * MINUTE), 0);
	assert_ok(gpc_tether_put(&t, s, "job-aaaaaa", &err));
	assert_int_equal(silent_at(&w, s, 60 * MINUTE, 60 * MINUTE + 30000), 0);
	assert_ok(gpc_tether_cut(s, "job-aaaaaa", &err));
	assert_int_equal(silent_at(&w, s, 61 * MINUTE, 90 * MINUTE), 0);
	assert_ok(gpc_tether_cut(s, "job-aaaaaa", &err));
	gpc_store_free(s);
}

/* While we slept the client may have slept as well. */
TEST(a_watcher_that_slept_counts_anew)
{
	struct gpc_store *s = open_mem();
	struct gpc_tether t = { .within_ms = MINUTE };
	struct gpc_tether_watch w = {0};
	struct gpc_error err;

	assert_ok(gpc_tether_put(&t, s, "job-aaaaaa", &err));
	assert_int_equal(silent_at(&w, s, 1000, 30000), 0);
	assert_int_equal(silent_at(&w, s, 600 * MINUTE, 600 * MINUTE + 50000),
		0);
	assert_true(silent_at(&w, s, 601 * MINUTE - 9000, 602 * MINUTE) > 0);
	gpc_store_free(s);
}

/* Nobody can tell of itself by a store that does not answer. */
TEST(a_store_that_does_not_answer_is_no_silence)
{
	struct gpc_store *inner = open_mem(), *s = gpc_store_fault_new(inner);
	const struct gpc_fault f = { .op = GPC_FAULT_GET };
	struct gpc_tether t = { .within_ms = MINUTE };
	struct gpc_tether_watch w = {0};
	struct gpc_error err;

	assert_ok(gpc_tether_put(&t, s, "job-aaaaaa", &err));
	assert_int_equal(silent_at(&w, s, 1000, MINUTE / 2), 0);
	gpc_store_fault_add(s, &f);
	assert_int_equal(silent_at(&w, s, MINUTE / 2 + 1000, 10 * MINUTE), 0);
	gpc_store_fault_reset(s);
	assert_int_equal(silent_at(&w, s, 10 * MINUTE + 1000,
		10 * MINUTE + 20000), 0);
	assert_true(silent_at(&w, s, 10 * MINUTE + 21000, 12 * MINUTE) > 0);
	gpc_store_free(s);
	gpc_store_free(inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_client_is_missed),
		cmocka_unit_test(another_client_counts_as_well),
		cmocka_unit_test(no_tether_is_never_missed),
		cmocka_unit_test(a_watcher_that_slept_counts_anew),
		cmocka_unit_test(a_store_that_does_not_answer_is_no_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
