/* transfer/shard: what --shard takes, and that the parts are disjoint, complete and
 * balanced, for lists that are kind and lists that are not. */
#include "test.h"

#include <stdio.h>

#include "base/rand.h"
#include "base/str.h"
#include "transfer/shard.h"

/* --- words ---------------------------------------------------------------------- */

static char *nothing(const char *name)
{
	(void)name;
	return NULL;
}

static char *node_1_of_4(const char *name)
{
	static char one[] = "1", four[] = "4";

	return gpc_eq(name, "GPUCLOUD_NODE_RANK") ? one :
		gpc_eq(name, "GPUCLOUD_NUM_NODES") ? four : NULL;
}

static char *sky(const char *name)
{
	static char none[] = "", two[] = "2", three[] = "3";

	return gpc_eq(name, "SKYPILOT_NODE_RANK") ? two :
		gpc_eq(name, "SKYPILOT_NUM_NODES") ? three : none;
}

static char *nonsense(const char *name)
{
	static char four[] = "4";

	(void)name;
	return four;
}

TEST(words)
{
	static const char *const bad[] = { "", "/", "1", "4/4", "-1/4", "0/0",
		"a/b", "0/65537", "0/4/2", " 0/4", "Rank", "99999999999999999999/4" };
	struct gpc_shard s = { 7, 7 };
	struct gpc_error err;

	assert_ok(gpc_shard_parse("0/1", nothing, &s, &err));
	assert_true(s.i == 0 && s.n == 1);
	assert_ok(gpc_shard_parse("65535/65536", nothing, &s, &err));
	assert_true(s.i == 65535 && s.n == 65536);
	assert_ok(gpc_shard_parse("rank", node_1_of_4, &s, &err));
	assert_true(s.i == 1 && s.n == 4);
	assert_ok(gpc_shard_parse("rank", sky, &s, &err));
	assert_true(s.i == 2 && s.n == 3);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(gpc_shard_parse(bad[i], node_1_of_4, &s, &err),
			GPC_EUSAGE);
	assert_fails(gpc_shard_parse("rank", nothing, &s, &err), GPC_EUSAGE);
	assert_has(err.msg, "not both set");
	assert_fails(gpc_shard_parse("rank", nonsense, &s, &err), GPC_EUSAGE);
	assert_true(s.i == 2 && s.n == 3);
}

/* --- parts ---------------------------------------------------------------------- */

#define PARTS_MAX 100
/* Largest and smallest part; every owner is one of n. */
static void weigh(const uint64_t *sizes, size_t n_sizes, int n,
	uint64_t *ret_most, uint64_t *ret_least)
{
	uint16_t *owners = gpc_array(n_sizes + 1, sizeof(*owners));
	uint64_t parts[PARTS_MAX] = {0};
	struct gpc_error err;

	owners[n_sizes] = 4711;
	assert_ok(gpc_shard_assign(sizes, n_sizes, n, owners, &err));
	assert_int_equal(owners[n_sizes], 4711);
	for (size_t i = 0; i < n_sizes; i++) {
		assert_true(owners[i] < n);
		parts[owners[i]] += sizes[i];
	}
	*ret_most = *ret_least = parts[0];
	for (int i = 1; i < n; i++) {
		if (parts[i] > *ret_most)
			*ret_most = parts[i];
		if (parts[i] < *ret_least)
			*ret_least = parts[i];
	}
	free(owners);
}

TEST(balances)
{
	for (int round = 0; round < 100; round++) {
		uint64_t sizes[1000], largest = 0, most, least;
		size_t n_sizes = (size_t)round * 10;
		int n = 1 + round % 16;

		for (size_t i = 0; i < n_sizes; i++) {
			uint32_t dice;

			gpc_rand(&dice, sizeof(dice));
			/* a few large ones among many small ones */
			sizes[i] = dice % 20 ? dice % 100000 : dice;
			if (sizes[i] > largest)
				largest = sizes[i];
		}
		weigh(sizes, n_sizes, n, &most, &least);
		assert_true(most - least <= largest);
	}
}

TEST(balances_equal_files_exactly)
{
	uint64_t sizes[1000], most, least;

	for (size_t i = 0; i < COUNT(sizes); i++)
		sizes[i] = 64 << 20;
	weigh(sizes, COUNT(sizes), 8, &most, &least);
	assert_true(most == (uint64_t)125 * (64 << 20) && least == most);
	/* fewer files than nodes */
	weigh(sizes, 3, 8, &most, &least);
	assert_true(most == 64 << 20 && least == 0);
}

TEST(spreads_empty_files)
{
	uint64_t sizes[100] = {0};
	uint16_t owners[100];
	int count[4] = {0};
	struct gpc_error err;

	assert_ok(gpc_shard_assign(sizes, 100, 4, owners, &err));
	for (size_t i = 0; i < 100; i++)
		count[owners[i]]++;
	for (int i = 0; i < 4; i++)
		assert_int_equal(count[i], 25);
}

/* Fixed for ever: nodes of one job may have different versions. */
TEST(whose_it_is_does_not_change)
{
	static const uint64_t sizes[] = { 5, 9, 5, 1, 7, 0, 3, 9 };
	static const uint16_t want[] = { 2, 0, 0, 1, 2, 2, 1, 1 };
	uint16_t owners[COUNT(sizes)];
	struct gpc_error err;

	assert_ok(gpc_shard_assign(sizes, COUNT(sizes), 3, owners, &err));
	for (size_t i = 0; i < COUNT(sizes); i++)
		assert_int_equal(owners[i], want[i]);
}

/* --- feeds ---------------------------------------------------------------------- */

static int say(void *arg, struct gpc_feed *f, struct gpc_error *err)
{
	int fail_at = *(int *)arg;

	for (int i = 0; i < 300; i++) {
		char key[16];
		struct gpc_listed l = { key, (uint64_t)(i * 37 % 101), i, 0 };
		int r;

		if (i == fail_at)
			return gpc_fail(err, GPC_ENET, "broken off");
		snprintf(key, sizeof(key), "%03d", i);
		if (i == 5)
			l.flags = GPC_LISTED_UNREADABLE;
		r = gpc_feed_put(f, &l, err);
		if (r)
			return r;
	}
	return 0;
}

TEST(feeds_of_all_ranks_are_the_list)
{
	int seen[300] = {0}, fail_at = -1;
	struct gpc_error err;

	for (int rank = 0; rank < 3; rank++) {
		gpc_autoptr(gpc_feed) *from = NULL;
		struct gpc_shard_feed x = { .shard = { rank, 3 } };
		gpc_autoptr(gpc_feed) *f = NULL;
		struct gpc_listed l;
		enum gpc_feed_state st;
		int last = -1;

		assert_ok(gpc_feed_start(say, &fail_at, NULL, &from, &err));
		x.from = from;
		assert_ok(gpc_feed_start(gpc_shard_run, &x, NULL, &f, &err));
		for (;;) {
			assert_ok(gpc_feed_next(f, -1, &st, &l, &err));
			if (st == GPC_FEED_END)
				break;
			int i = (l.key[0] - '0') * 100 + (l.key[1] - '0') * 10 +
				l.key[2] - '0';
			seen[i]++;
			if (l.flags & GPC_LISTED_NOTE)
				continue;
			assert_true(i > last);
			assert_int_equal(l.modified_ms, i);
			last = i;
		}
	}
	for (int i = 0; i < 300; i++)
		assert_int_equal(seen[i], i == 5 ? 3 : 1);
}

/* Part of a list would be divided in another way than all of it. */
TEST(a_list_that_breaks_off_is_not_divided)
{
	gpc_autoptr(gpc_feed) *from = NULL;
	struct gpc_shard_feed x = { .shard = { 0, 2 } };
	gpc_autoptr(gpc_feed) *f = NULL;
	struct gpc_listed l;
	enum gpc_feed_state st;
	struct gpc_error err = {0};
	int fail_at = 200;

	assert_ok(gpc_feed_start(say, &fail_at, NULL, &from, &err));
	x.from = from;
	assert_ok(gpc_feed_start(gpc_shard_run, &x, NULL, &f, &err));
	assert_ok(gpc_feed_next(f, -1, &st, &l, &err));
	assert_true(l.flags & GPC_LISTED_NOTE);
	assert_fails(gpc_feed_next(f, -1, &st, &l, &err), GPC_ENET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(balances),
		cmocka_unit_test(balances_equal_files_exactly),
		cmocka_unit_test(spreads_empty_files),
		cmocka_unit_test(whose_it_is_does_not_change),
		cmocka_unit_test(feeds_of_all_ranks_are_the_list),
		cmocka_unit_test(a_list_that_breaks_off_is_not_divided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
