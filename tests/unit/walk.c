/* transfer/walk: the order of keys, links, what is no file, and patterns. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "transfer/walk.h"

#define SIZE 3
static void make(const char *root, const char *path)
{
	gpc_autostr *whole = gpc_format("%s/%s", root, path);
	gpc_autostr *dir = gpc_path_dir(whole);
	struct gpc_error err;

	assert_ok(gpc_mkdirs(dir, 0777, &err));
	if (!gpc_ends_with(path, "/"))
		assert_ok(gpc_write_file(whole, "abc", SIZE, 0644, &err));
	else
		assert_ok(gpc_mkdirs(whole, 0777, &err));
}

static void make_link(const char *root, const char *path, const char *to)
{
	gpc_autostr *whole = gpc_format("%s/%s", root, path);

	assert_int_equal(symlink(to, whole), 0);
}

static int keep(void *arg, const struct gpc_listed *l, struct gpc_error *err)
{
	struct gpc_strv *keys = arg;

	(void)err;
	if (!(l->flags & GPC_LISTED_NOTE) && !gpc_ends_with(l->key, "/")) {
		assert_true(l->modified_ms > 0);
		assert_int_equal(l->size, SIZE);
	}
	gpc_strv_addf(keys, "%s%s%s%s%s", l->key,
		l->flags & GPC_LISTED_LINKED ? "@" : "",
		l->flags & GPC_LISTED_UNREADABLE ? "!" : "",
		l->flags & GPC_LISTED_SPECIAL ? "*" : "",
		l->flags & GPC_LISTED_LOOP ? "~" : "");
	return 0;
}

/* Keys, joined by spaces; owned. */
static char *walk(const char *root, const struct gpc_filter *filter, bool flat)
{
	const struct gpc_walk how = { root, filter, flat };
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	struct gpc_error err;

	assert_ok(gpc_walk_run(&how, keep, &keys, &err));
	return gpc_strv_join(&keys, " ");
}

TEST(keys_are_in_byte_order)
{
	/* a bucket's order: "-" and "." come before "/", "0" after it */
	static const char *const names[] = { "a/b", "a-b", "a.b", "a0", "a/c/d",
		"\xc3\xa4", "Z", "z\x01", "a/-", "a\xff/x" };
	gpc_autostr *root = scratch();
	gpc_auto(gpc_strv) struct gpc_strv want = {0};
	struct gpc_error err;

	for (size_t i = 0; i < COUNT(names); i++) {
		make(root, names[i]);
		gpc_strv_add(&want, names[i]);
	}
	make(root, "empty/");
	gpc_strv_sort(&want);
	gpc_autostr *sorted = gpc_strv_join(&want, " ");
	gpc_autostr *got = walk(root, NULL, false);
	assert_string_equal(got, sorted);
	gpc_autostr *flat = walk(root, NULL, true);
	assert_string_equal(flat, "Z a-b a.b a/ a0 a\xff/ empty/ z\x01 \xc3\xa4");
	assert_ok(gpc_rmtree(root, &err));
}

TEST(links_are_followed_once)
{
	gpc_autostr *root = scratch();
	gpc_autostr *inside = gpc_format("%s/t", root);
	struct gpc_error err;

	make(root, "elsewhere/x");
	make(root, "t/a/b");
	make_link(root, "t/dir", "../elsewhere");
	make_link(root, "t/file", "../elsewhere/x");
	make_link(root, "t/a/loop", "..");
	make_link(root, "t/self", "self");
	make_link(root, "t/nowhere", "gone");
	gpc_autostr *got = walk(inside, NULL, false);
	assert_string_equal(got, "a/b a/loop/~ dir/x@ file nowhere! self!");
	assert_ok(gpc_rmtree(root, &err));
}

TEST(what_is_no_file_is_told)
{
	gpc_autostr *root = scratch();
	gpc_autostr *fifo = gpc_format("%s/pipe", root);
	gpc_autostr *closed = gpc_format("%s/closed", root);
	struct gpc_error err;

	make(root, "closed/in");
	make(root, "file");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(chmod(closed, 0), 0);
	gpc_autostr *got = walk(root, NULL, false);
	/* root may read everything */
	assert_string_equal(got, geteuid() ? "closed/! file pipe*" :
		"closed/in file pipe*");
	assert_int_equal(chmod(closed, 0700), 0);
	assert_ok(gpc_rmtree(root, &err));
}

TEST(patterns_keep_out_of_folders)
{
	gpc_auto(gpc_strv) struct gpc_strv list = {0};
	gpc_autoptr(gpc_filter) *f = NULL;
	gpc_autostr *root = scratch();
	gpc_autostr *sealed = gpc_format("%s/cache", root);
	struct gpc_error err;

	make(root, "cache/a");
	make(root, "b.tmp");
	make(root, "c/d.tmp");
	make(root, "c/e");
	assert_int_equal(chmod(sealed, 0), 0);
	gpc_strv_add(&list, "cache/");
	gpc_strv_add(&list, "*.tmp");
	gpc_strv_add(&list, "!/c/d.tmp");
	assert_ok(gpc_filter_new(&list, &f, &err));
	gpc_autostr *got = walk(root, f, false);
	/* a pattern may bring something back, so it is looked into */
	assert_string_equal(got, geteuid() ? "c/d.tmp c/e cache/!" :
		"c/d.tmp c/e");
	gpc_filter_free(f);
	f = NULL;
	gpc_set_str(&list.v[2], "never");
	assert_ok(gpc_filter_new(&list, &f, &err));
	gpc_autostr *less = walk(root, f, false);
	assert_string_equal(less, "c/e");
	assert_int_equal(chmod(sealed, 0700), 0);
	assert_ok(gpc_rmtree(root, &err));
}

static int stop(void *arg, const struct gpc_listed *l, struct gpc_error *err)
{
	++*(int *)arg;
	return gpc_fail(err, GPC_ECANCELED, "at %s", l->key);
}

TEST(ends_when_told)
{
	gpc_autostr *root = scratch();
	struct gpc_walk how = { .root = root };
	struct gpc_error err = {0};
	int calls = 0;

	make(root, "a/b");
	make(root, "c");
	assert_fails(gpc_walk_run(&how, stop, &calls, &err), GPC_ECANCELED);
	assert_int_equal(calls, 1);
	assert_has(err.msg, "at a/b");
	assert_ok(gpc_rmtree(root, &err));
	assert_fails(gpc_walk_run(&how, stop, &calls, &err), GPC_ENOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_in_byte_order),
		cmocka_unit_test(links_are_followed_once),
		cmocka_unit_test(what_is_no_file_is_told),
		cmocka_unit_test(patterns_keep_out_of_folders),
		cmocka_unit_test(ends_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
