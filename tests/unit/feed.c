/* transfer/packed and transfer/feed: what is put comes out, in order, whatever its
 * bytes; a reader that stops ends the producer; an error comes after all before it. */
#include "test.h"

#include <stdio.h>
#include <time.h>

#include "base/cancel.h"
#include "base/str.h"
#include "base/time.h"
#include "transfer/feed.h"
#include "transfer/packed.h"

static const struct gpc_listed odd[] = {
	{ "", 0, 0, 0 },
	{ "a", UINT64_MAX, INT64_MAX, GPC_LISTED_LINKED },
	{ "a\x01\xff/b c?%\n", 1, INT64_MIN, GPC_LISTED_SURPLUS },
	{ "a\x01\xff/b", 127, -1, 0 },
	{ "b", 128, 1796000000123, GPC_LISTED_UNREADABLE },
	{ "b/\xc3\xa4", 5 << 20, 1796000000124, 0 },
};

static void same(const struct gpc_listed *a, const struct gpc_listed *b)
{
	assert_string_equal(a->key, b->key);
	assert_true(a->size == b->size);
	assert_true(a->modified_ms == b->modified_ms);
	assert_int_equal(a->flags, b->flags);
}

TEST(packs_and_unpacks)
{
	gpc_auto(gpc_packed) struct gpc_packed p = {0};
	gpc_auto(gpc_packed_reader) struct gpc_packed_reader r = { .p = &p };
	struct gpc_listed l;
	struct gpc_error err;

	assert_false(gpc_packed_next(&r, &l));
	for (size_t i = 0; i < COUNT(odd); i++)
		assert_ok(gpc_packed_add(&p, &odd[i], &err));
	for (size_t i = 0; i < COUNT(odd); i++) {
		assert_true(gpc_packed_next(&r, &l));
		same(&l, &odd[i]);
	}
	assert_false(gpc_packed_next(&r, &l));
}

TEST(refuses_a_key_without_end)
{
	gpc_auto(gpc_packed) struct gpc_packed p = {0};
	gpc_autostr *key = gpc_alloc(((size_t)1 << 20) + 2);
	struct gpc_listed l = { .key = key };
	struct gpc_error err;

	memset(key, 'k', ((size_t)1 << 20) + 1);
	assert_fails(gpc_packed_add(&p, &l, &err), GPC_EPROTO);
}

TEST(packs_a_list_in_order_tightly)
{
	gpc_auto(gpc_packed) struct gpc_packed p = {0};
	struct gpc_error err;

	for (int i = 0; i < 10000; i++) {
		char key[64];
		struct gpc_listed l = { key, 64 << 20, 1796000000000, 0 };

		snprintf(key, sizeof(key), "imagenet/train/shard-%06d.tar", i);
		assert_ok(gpc_packed_add(&p, &l, &err));
	}
	assert_true(p.bytes.len < 10000 * 20);
}

/* --- feeds --------------------------------------------------------------------- */

struct script {
	int n;                          /* entries; < 0: without end */
	int fail;                       /* code at the end; 0: none */
	int put;                        /* how many could be */
};

static int play(void *arg, struct gpc_feed *f, struct gpc_error *err)
{
	struct script *s = arg;

	for (int i = 0; i != s->n; i++) {
		char key[32];
		struct gpc_listed l = { key, (uint64_t)i, 0, 0 };
		int r;

		snprintf(key, sizeof(key), "key-%09d", i);
		r = gpc_feed_put(f, &l, err);
		if (r)
			return r;
		s->put++;
	}
	return s->fail ? gpc_fail(err, (enum gpc_code)s->fail, "as planned") : 0;
}

/* Reads n entries, all that are there for n < 0. */
static int read_some(struct gpc_feed *f, int n, enum gpc_feed_state *ret_state,
	int *ret_n, struct gpc_error *err)
{
	int r = 0;

	*ret_state = GPC_FEED_ONE;
	for (*ret_n = 0; *ret_n != n; ++*ret_n) {
		char key[32];
		struct gpc_listed l;

		r = gpc_feed_next(f, -1, ret_state, &l, err);
		if (r || *ret_state == GPC_FEED_END)
			break;
		snprintf(key, sizeof(key), "key-%09d", *ret_n);
		assert_string_equal(l.key, key);
		assert_int_equal(l.size, *ret_n);
	}
	return r;
}

TEST(gives_all_in_order)
{
	struct script s = { .n = 100000 };
	gpc_autoptr(gpc_feed) *f = NULL;
	struct gpc_feed_counts c;
	enum gpc_feed_state st;
	struct gpc_error err;
	int n;

	assert_ok(gpc_feed_start(play, &s, NULL, &f, &err));
	assert_ok(read_some(f, -1, &st, &n, &err));
	assert_int_equal(st, GPC_FEED_END);
	assert_int_equal(n, 100000);
	gpc_feed_counts(f, &c);
	assert_true(c.complete && c.files == 100000);
	assert_true(c.bytes == (uint64_t)99999 * 100000 / 2);
	/* the end stays the end */
	assert_ok(read_some(f, -1, &st, &n, &err));
	assert_int_equal(n, 0);
}

TEST(tells_a_failure_after_what_came_before)
{
	struct script s = { .n = 7, .fail = GPC_EAUTH };
	gpc_autoptr(gpc_feed) *f = NULL;
	struct gpc_feed_counts c;
	enum gpc_feed_state st;
	struct gpc_error err = {0};
	int n;

	assert_ok(gpc_feed_start(play, &s, NULL, &f, &err));
	assert_fails(read_some(f, -1, &st, &n, &err), GPC_EAUTH);
	assert_int_equal(n, 7);
	assert_has(err.msg, "as planned");
	gpc_feed_counts(f, &c);
	assert_false(c.complete);
}

TEST(ends_a_producer_that_has_no_end)
{
	struct script s = { .n = -1 };
	struct gpc_feed *f = NULL;
	enum gpc_feed_state st;
	struct gpc_error err;
	int n;

	assert_ok(gpc_feed_start(play, &s, NULL, &f, &err));
	assert_ok(read_some(f, 1000, &st, &n, &err));
	gpc_feed_free(f);
	/* what waits is bounded */
	assert_true(s.put >= 1000 && s.put < 4000000);
}

static int stall(void *arg, struct gpc_feed *f, struct gpc_error *err)
{
	const struct gpc_cancel *wait = arg;

	(void)f;
	while (!gpc_canceled(wait))
		gpc_sleep_ms(5);
	return gpc_fail(err, GPC_ECANCELED, "interrupted");
}

TEST(says_that_nothing_came_yet)
{
	struct gpc_cancel cancel = {0};
	gpc_autoptr(gpc_feed) *f = NULL;
	enum gpc_feed_state st;
	struct gpc_listed l;
	struct gpc_error err = {0};

	assert_ok(gpc_feed_start(stall, &cancel, &cancel, &f, &err));
	assert_ok(gpc_feed_next(f, 0, &st, &l, &err));
	assert_int_equal(st, GPC_FEED_LATER);
	cancel.signal = 2;
	assert_fails(gpc_feed_next(f, -1, &st, &l, &err), GPC_ECANCELED);
}

/* A feed that reads another one. */
static int evens(void *arg, struct gpc_feed *f, struct gpc_error *err)
{
	for (;;) {
		enum gpc_feed_state st;
		struct gpc_listed l;
		int r = gpc_feed_next(arg, -1, &st, &l, err);

		if (r || st == GPC_FEED_END)
			return r;
		r = l.size % 2 ? 0 : gpc_feed_put(f, &l, err);
		if (r)
			return r;
	}
}

TEST(feeds_are_made_of_feeds)
{
	struct script s = { .n = 5000 };
	gpc_autoptr(gpc_feed) *from = NULL;
	gpc_autoptr(gpc_feed) *f = NULL;
	enum gpc_feed_state st = GPC_FEED_ONE;
	struct gpc_listed l;
	struct gpc_error err;
	int n = 0;

	assert_ok(gpc_feed_start(play, &s, NULL, &from, &err));
	assert_ok(gpc_feed_start(evens, from, NULL, &f, &err));
	for (;;) {
		assert_ok(gpc_feed_next(f, -1, &st, &l, &err));
		if (st == GPC_FEED_END)
			break;
		assert_int_equal(l.size, 2 * n++);
	}
	assert_int_equal(n, 2500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_and_unpacks),
		cmocka_unit_test(refuses_a_key_without_end),
		cmocka_unit_test(packs_a_list_in_order_tightly),
		cmocka_unit_test(gives_all_in_order),
		cmocka_unit_test(tells_a_failure_after_what_came_before),
		cmocka_unit_test(ends_a_producer_that_has_no_end),
		cmocka_unit_test(says_that_nothing_came_yet),
		cmocka_unit_test(feeds_are_made_of_feeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
