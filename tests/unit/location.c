/* transfer/location: which words are paths and which URLs, what their parts are, and
 * which places lie in each other. */
#include "test.h"

#include "base/str.h"
#include "transfer/location.h"

static struct gpc_net *net;

static int set_up(void **state)
{
	const struct gpc_net_settings how = { .max_tries = 1 };

	(void)state;
	net = gpc_net_new(&how);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	gpc_net_free(net);
	return 0;
}

static void open_it(const char *word, struct gpc_location *ret_l)
{
	struct gpc_error err;

	*ret_l = (struct gpc_location){0};
	assert_ok(gpc_location_open(word, net, NULL, NULL, ret_l, &err));
}

static const struct {
	const char *word, *path, *key;
	bool folder;
	const char *base, *below, *name;        /* of "x/y" below it, as a folder */
} words[] = {
	{ "a", "a", NULL, false, "a", "a/x/y", "a/x/y" },
	{ "a/", "a/", NULL, true, "a", "a/x/y", "a/x/y" },
	{ "/", "/", NULL, true, "", "/x/y", "/x/y" },
	{ ".", ".", NULL, false, ".", "./x/y", "./x/y" },
	{ "a:b", "a:b", NULL, false, "a:b", "a:b/x/y", "a:b/x/y" },
	{ "./s3://b", "./s3://b", NULL, false, "b", "./s3://b/x/y",
		"./s3://b/x/y" },
	{ "file:///a%20b/c", "/a b/c", NULL, false, "c", "/a b/c/x/y",
		"/a b/c/x/y" },
	{ "file://localhost/a", "/a", NULL, false, "a", "/a/x/y", "/a/x/y" },
	{ "s3://bucket", NULL, "", true, "", "x/y", "s3://bucket/x/y" },
	{ "s3://bucket/", NULL, "", true, "", "x/y", "s3://bucket/x/y" },
	{ "s3://bucket/a/b", NULL, "a/b", false, "b", "a/b/x/y",
		"s3://bucket/a/b/x/y" },
	{ "oss://bucket/a/b/", NULL, "a/b/", true, "b", "a/b/x/y",
		"oss://bucket/a/b/x/y" },
	{ "gs://bucket/a?endpoint=http://localhost:1", NULL, "a", false, "a",
		"a/x/y", "gs://bucket/a/x/y" },
};

TEST(words_and_their_parts)
{
	for (size_t i = 0; i < COUNT(words); i++) {
		gpc_auto(gpc_location) struct gpc_location l = {0};

		open_it(words[i].word, &l);
		gpc_autostr *base = gpc_location_base(&l);
		assert_true(gpc_eq(l.path, words[i].path));
		assert_true(gpc_eq(l.key, words[i].key));
		assert_string_equal(l.word, words[i].word);
		assert_string_equal(base, words[i].base);
		assert_int_equal(gpc_location_says_folder(&l), words[i].folder);
		gpc_location_make_folder(&l);
		gpc_autostr *at = gpc_location_at(&l, "x/y");
		gpc_autostr *name = gpc_location_name(&l, "x/y");
		assert_string_equal(at, words[i].below);
		assert_string_equal(name, words[i].name);
	}
}

TEST(words_that_are_no_places)
{
	static const char *const bad[] = { "", "ftp://host/x", "https://host/x",
		"mem://x", "file://x", "file://host/x", "file:///a%2", "file:///%00",
		"s3://", "s3:bucket", "gs:/bucket", "s3://B/",
		"s3://bucket/x?endpoint=", "S3://bucket/x" };
	struct gpc_error err;

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct gpc_location l = {0};
		int r = gpc_location_open(bad[i], net, NULL, NULL, &l, &err);

		if (r != -GPC_EUSAGE && r != -GPC_ECONFIG)
			fail_msg("\"%s\" gives %d", bad[i], r);
		assert_null(l.word);
		assert_true(err.msg[0] != '\0');
	}
}

static const struct { const char *a, *b; bool overlap; } pairs[] = {
	{ "s3://bucket/a/", "s3://bucket/a/", true },
	{ "s3://bucket/a/", "s3://bucket/a/b/", true },
	{ "s3://bucket/a/", "s3://bucket/ab/", false },
	{ "s3://bucket/", "s3://bucket/a/", true },
	{ "s3://bucket/a/", "s3://other/a/", false },
	{ "s3://bucket/a/", "oss://bucket/a/", false },
	{ "s3://bucket/a", "s3://bucket/ab", false },
	{ "s3://bucket/a/", "a/", false },
	{ "/usr", "/usr/lib/no-such/folder", true },
	{ "/usr/", "/", true },
	{ "/usr/lib", "/usr/lib/", true },
	{ "/usr/lib", "/usr/libx", false },
	{ "/usr/./lib/../lib", "file:///usr/lib/x", true },
	{ "/no-such/a", "/no-such/a/b", true },
	{ "/no-such/a", "/no-such/ab", false },
	{ "/proc/self/cwd", ".", true },
	{ ".", "no-such/../here", true },
	/* one name, two services */
	{ "s3://bucket/a/?endpoint=http://h:1", "s3://bucket/a/?endpoint=http://h:2",
		false },
	{ "s3://bucket/a/?endpoint=http://h:1", "s3://bucket/?endpoint=http://h:1",
		true },
};

TEST(a_name_below_counts)
{
	gpc_auto(gpc_location) struct gpc_location a = {0}, b = {0}, c = {0};

	open_it("s3://bucket/a/b", &a);
	open_it("s3://bucket/a/", &b);
	open_it("s3://bucket/a", &c);
	assert_true(gpc_location_overlap(&a, &b, "b"));
	assert_true(gpc_location_overlap(&a, &c, NULL));
	assert_false(gpc_location_overlap(&a, &b, "c"));
	assert_false(gpc_location_overlap(&a, &b, "bc"));
}

TEST(places_in_each_other)
{
	for (size_t i = 0; i < COUNT(pairs); i++) {
		gpc_auto(gpc_location) struct gpc_location a = {0}, b = {0};

		open_it(pairs[i].a, &a);
		open_it(pairs[i].b, &b);
		if (gpc_location_overlap(&a, &b, NULL) != pairs[i].overlap ||
			gpc_location_overlap(&b, &a, NULL) != pairs[i].overlap)
			fail_msg("%s %s", pairs[i].a, pairs[i].b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_their_parts),
		cmocka_unit_test(words_that_are_no_places),
		cmocka_unit_test(places_in_each_other),
		cmocka_unit_test(a_name_below_counts),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
