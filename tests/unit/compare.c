/* transfer/compare and transfer/filter: what a sync copies and deletes, by cases and
 * by random lists beside a plain count; which paths patterns take. */
#include "test.h"

#include <stdio.h>

#include "base/rand.h"
#include "base/str.h"
#include "transfer/compare.h"
#include "transfer/filter.h"

/* --- differing ----------------------------------------------------------------- */

static const struct {
	uint64_t a, b;
	int64_t at_a, at_b;
	bool newer, other;
} differs[] = {
	{ 1, 1, 5000, 5000, false, false },
	{ 1, 2, 5000, 5000, true, true },
	{ 1, 1, 5999, 5000, false, false },     /* within the second */
	{ 1, 1, 5000, 5999, false, true },      /* written within it */
	{ 1, 1, 5123, 5123, false, false },
	{ 1, 1, 6000, 5999, true, true },
	{ 1, 1, 5000, 6000, false, true },      /* the target is newer */
	{ 1, 1, 0, 6000, false, false },        /* not known: not other */
	{ 0, 0, 6000, 0, false, false },
	{ 1, 1, -500, -1000, false, false },    /* before 1970 */
	{ 1, 1, -500, 500, false, true },
};

TEST(sizes_and_times)
{
	for (size_t i = 0; i < COUNT(differs); i++) {
		const struct gpc_listed a = { "k", differs[i].a,
			differs[i].at_a, 0 };
		const struct gpc_listed b = { "k", differs[i].b,
			differs[i].at_b, 0 };

		if (gpc_compare_differs(GPC_COMPARE_NEWER, &a, &b) !=
			differs[i].newer || gpc_compare_differs(
			GPC_COMPARE_OTHER, &a, &b) != differs[i].other)
			fail_msg("case %zu", i);
	}
}

/* --- two lists ----------------------------------------------------------------- */

/* "key" of size 1, "key=7" of size 7, "key!" unreadable, "key*" a socket. */
static int say(void *arg, struct gpc_feed *f, struct gpc_error *err)
{
	struct gpc_str rest = gpc_str_of(arg), word;

	while (rest.len && gpc_str_split(&rest, ' ', &word)) {
		gpc_autostr *key = gpc_strndup(word.ptr, word.len);
		char *mark = strpbrk(key, "=!*");
		struct gpc_listed l = { .key = key, .size = 1 };
		int r;

		if (gpc_eq(key, "FAIL"))
			return gpc_fail(err, GPC_ENET, "broken off");
		if (mark && *mark == '=')
			l.size = (uint64_t)(mark[1] - '0');
		else if (mark)
			l.flags = *mark == '!' ? GPC_LISTED_UNREADABLE :
				GPC_LISTED_SPECIAL;
		if (mark)
			*mark = '\0';
		r = gpc_feed_put(f, &l, err);
		if (r)
			return r;
	}
	return 0;
}

/* "+key" copy, "-key" only in the target, "!key" and "*key" notes; owned. */
static char *act_on(const char *from, const char *to, bool surplus, int *ret_r)
{
	gpc_autoptr(gpc_feed) *a = NULL;
	gpc_autoptr(gpc_feed) *b = NULL;
	struct gpc_compare c = { .surplus = surplus };
	gpc_autoptr(gpc_feed) *out = NULL;
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	enum gpc_feed_state st = GPC_FEED_END;
	struct gpc_listed l;
	struct gpc_error err;

	assert_ok(gpc_feed_start(say, (void *)(uintptr_t)from, NULL, &a, &err));
	assert_ok(gpc_feed_start(say, (void *)(uintptr_t)to, NULL, &b, &err));
	c.from = a;
	c.to = b;
	assert_ok(gpc_feed_start(gpc_compare_run, &c, NULL, &out, &err));
	while ((*ret_r = gpc_feed_next(out, -1, &st, &l, &err)) == 0 &&
		st == GPC_FEED_ONE)
		gpc_strv_addf(&words, "%s%s%s", l.flags & GPC_LISTED_SURPLUS ?
			"-" : "", l.flags & GPC_LISTED_UNREADABLE ? "!" :
			l.flags & GPC_LISTED_SPECIAL ? "*" : l.flags &
			GPC_LISTED_SURPLUS ? "" : "+", l.key);
	return gpc_strv_join(&words, " ");
}

static const struct { const char *from, *to; bool surplus; const char *want; }
lists[] = {
	{ "", "", true, "" },
	{ "a b c", "", true, "+a +b +c" },
	{ "", "a b", true, "-a -b" },
	{ "", "a b", false, "" },
	{ "a b c", "a b c", true, "" },
	{ "a b=2 c", "a b c=3", true, "+b +c" },
	{ "a c", "b d", true, "+a -b +c -d" },
	{ "a! b", "b c!", true, "!a -!c" },
	{ "a* b", "b c*", true, "*a" },
	{ "a!", "a", true, "!a -a" },
	{ "a/b a0", "a a/b", true, "-a +a0" },
};

TEST(lists_side_by_side)
{
	for (size_t i = 0; i < COUNT(lists); i++) {
		int r;
		gpc_autostr *got = act_on(lists[i].from, lists[i].to,
			lists[i].surplus, &r);

		assert_int_equal(r, 0);
		assert_string_equal(got, lists[i].want);
	}
}

/* What comes after the break may be in the source: it is no surplus. */
TEST(a_list_that_breaks_off_is_no_end)
{
	int r;
	gpc_autostr *got = act_on("a b FAIL", "a b c d", true, &r);

	assert_int_equal(r, -GPC_ENET);
	assert_string_equal(got, "");
	gpc_autostr *other = act_on("a b c", "a FAIL", true, &r);
	assert_int_equal(r, -GPC_ENET);
	assert_string_equal(other, "");
}

TEST(a_list_out_of_order_is_not_compared)
{
	static const char *const bad[] = { "b a", "a b b", "a c b d" };
	int r;

	for (size_t i = 0; i < COUNT(bad); i++) {
		free(act_on(bad[i], "", true, &r));
		assert_int_equal(r, -GPC_EPROTO);
		free(act_on("", bad[i], true, &r));
		assert_int_equal(r, -GPC_EPROTO);
	}
}

TEST(random_lists)
{
	for (int round = 0; round < 200; round++) {
		gpc_auto(gpc_strv) struct gpc_strv a = {0}, b = {0}, want = {0};
		int r;

		for (char c = 'a'; c <= 'z'; c++) {
			uint8_t dice[2];

			gpc_rand(dice, sizeof(dice));
			bool in_a = dice[0] & 1, in_b = dice[0] & 2;
			int size_a = dice[0] >> 7, size_b = dice[1] >> 7;
			if (in_a)
				gpc_strv_addf(&a, "%c=%d", c, size_a);
			if (in_b)
				gpc_strv_addf(&b, "%c=%d", c, size_b);
			if (in_a && (!in_b || size_a != size_b))
				gpc_strv_addf(&want, "+%c", c);
			if (in_b && !in_a)
				gpc_strv_addf(&want, "-%c", c);
		}
		gpc_autostr *from = gpc_strv_join(&a, " ");
		gpc_autostr *to = gpc_strv_join(&b, " ");
		gpc_autostr *expected = gpc_strv_join(&want, " ");
		gpc_autostr *got = act_on(from, to, true, &r);
		assert_int_equal(r, 0);
		assert_string_equal(got, expected);
	}
}

/* --- patterns ------------------------------------------------------------------- */

static const struct { const char *patterns, *key; bool takes; } patterns[] = {
	{ "", "a", true },
	{ "*.o", "a.o", false },
	{ "*.o", "d/a.o", false },
	{ "*.o", "d/a.c", true },
	{ "/*.o", "d/a.o", true },
	{ "build/", "build/x/y", false },
	{ "build/", "a/build/y", false },
	{ "build/", "build", true },            /* a file of that name */
	{ "*,!*.txt", "a.txt", true },
	{ "*,!*.txt", "d/e/a.txt", true },      /* unlike in a .gitignore */
	{ "*,!*.txt", "a.bin", false },
	{ "*,!*.txt,secret*", "secret.txt", false },
	{ "*,secret*,!*.txt", "secret.txt", true },
	{ "*,!/train/", "train/a/b", true },
	{ "*,!/train/", "x/train/a", false },
	{ "!*.txt", "a.bin", true },            /* including alone leaves nothing out */
	{ "a/**/b", "a/x/y/b", false },
	{ "#x", "#x", false },
	{ "!!x", "!x", true },
	{ "*,!!x", "!x", true },
	{ "*,!!x", "x", false },
	{ "x\xff*", "x\xff\x01", false },
	{ "*", "/a", false },                   /* keys may have empty parts */
	{ "a", "a//b", false },
};

static void filter_of(const char *text, struct gpc_filter **ret_f)
{
	gpc_auto(gpc_strv) struct gpc_strv list = {0};
	struct gpc_str rest = gpc_str_of(text), word;
	struct gpc_error err;

	while (rest.len && gpc_str_split(&rest, ',', &word))
		gpc_strv_take(&list, gpc_strndup(word.ptr, word.len));
	assert_ok(gpc_filter_new(&list, ret_f, &err));
}

TEST(patterns_take)
{
	for (size_t i = 0; i < COUNT(patterns); i++) {
		gpc_autoptr(gpc_filter) *f = NULL;

		filter_of(patterns[i].patterns, &f);
		if (gpc_filter_takes(f, patterns[i].key) != patterns[i].takes)
			fail_msg("%s: %s", patterns[i].patterns,
				patterns[i].key);
	}
	assert_true(gpc_filter_takes(NULL, "a"));
}

TEST(folders_are_entered_where_something_may_be)
{
	gpc_autoptr(gpc_filter) *out = NULL;
	gpc_autoptr(gpc_filter) *back = NULL;

	filter_of("build/", &out);
	assert_false(gpc_filter_enters(out, "build"));
	assert_false(gpc_filter_enters(out, "a/build"));
	assert_true(gpc_filter_enters(out, "src"));
	filter_of("*,!*.txt", &back);
	assert_true(gpc_filter_enters(back, "src"));
	assert_true(gpc_filter_enters(NULL, "src"));
}

TEST(patterns_that_are_none)
{
	static const char *const bad[] = { "", "!", "a\nb" };
	struct gpc_error err;

	for (size_t i = 0; i < COUNT(bad); i++) {
		gpc_auto(gpc_strv) struct gpc_strv list = {0};
		struct gpc_filter *f = NULL;

		gpc_strv_add(&list, bad[i]);
		assert_fails(gpc_filter_new(&list, &f, &err), GPC_EUSAGE);
		assert_null(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_times),
		cmocka_unit_test(lists_side_by_side),
		cmocka_unit_test(a_list_that_breaks_off_is_no_end),
		cmocka_unit_test(a_list_out_of_order_is_not_compared),
		cmocka_unit_test(random_lists),
		cmocka_unit_test(patterns_take),
		cmocka_unit_test(folders_are_entered_where_something_may_be),
		cmocka_unit_test(patterns_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
