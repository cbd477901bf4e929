/* snapshot/scan: what is found, what is left out and why, in trees that are
 * random (against git ls-files), hostile, or large. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/path.h"
#include "snapshot/snapshot.h"

static char dir[64];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/gpc-scan-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return gpc_rmtree(dir, NULL);
}

static void put(const char *path, const char *text)
{
	gpc_autostr *full = gpc_format("%s/%s", dir, path);
	gpc_autostr *parent = gpc_path_dir(full);

	gpc_autofd fd = -1;

	assert_int_equal(gpc_mkdirs(parent, 0755, NULL), 0);
	assert_int_equal(gpc_open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd,
		NULL), 0);
	assert_int_equal(gpc_write_all(fd, text, strlen(text), full, NULL), 0);
}

static void scan_tree(struct gpc_tree *t, const struct gpc_scan_options *o)
{
	struct gpc_error err = {0};

	if (gpc_scan(dir, o, t, &err) < 0)
		fail_msg("%s", err.msg);
}

static char *joined(const struct gpc_tree *t)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char *s = NULL;

	for (size_t i = 0; i < t->entries.n; i++)
		gpc_buf_addf(&b, "%s%s ", t->entries.v[i].path,
			t->entries.v[i].kind == GPC_ENTRY_DIR ? "/"
			: t->entries.v[i].kind == GPC_ENTRY_LINK ? "@" : "");
	assert_int_equal(gpc_buf_finish(&b, &s, NULL), 0);
	return s;
}

static const char *rule_of(const struct gpc_tree *t, const char *path)
{
	for (size_t i = 0; i < t->excluded.n; i++)
		if (gpc_eq(t->excluded.v[i].path, path))
			return t->excluded.v[i].rule;
	return NULL;
}

static void test_order_links_and_kinds(void **state)
{
	const struct gpc_scan_options o = {.ignore_files = true};
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	gpc_autostr *names = NULL, *loop = gpc_format("%s/a/loop", dir);
	gpc_autostr *fifo = gpc_format("%s/pipe", dir);
	gpc_autostr *dangling = gpc_format("%s/dangling", dir);

	(void)state;
	put("a/x", "1");
	put("a-b", "22");
	put("a.c/y", "");
	put(".git/config", "");
	put("sub/.git", "gitdir: elsewhere");
	assert_int_equal(symlink("..", loop), 0);
	assert_int_equal(symlink("/nonexistent", dangling), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	scan_tree(&t, &o);
	names = joined(&t);
	assert_string_equal(names,
		"a/ a-b a.c/ a.c/y a/loop@ a/x dangling@ sub/ ");
	assert_int_equal(t.n_files, 3);
	assert_int_equal(t.n_bytes, 3);
	assert_int_equal(t.excluded.n, 3);
	assert_string_equal(rule_of(&t, ".git"), "built in: .git");
	assert_string_equal(rule_of(&t, "pipe"), "built in: a pipe");
	assert_string_equal(rule_of(&t, "sub/.git"), "built in: .git");
}

static void test_which_ignore_file(void **state)
{
	const struct gpc_scan_options o = {.ignore_files = true};
	static const char *const want[] = {
		".gitignore .gpucloudignore .skyignore d/ d/.gitignore "
			"d/.gpucloudignore d/.skyignore d/git d/sky git sky ",
		".gitignore .skyignore d/ d/.gitignore d/.skyignore d/git "
			"d/own d/own2 git own ",
		".gitignore d/ d/.gitignore d/.skyignore d/own d/own2 d/sky "
			"own sky ",
	};
	static const char *const names[] = {".gpucloudignore", ".skyignore"};

	(void)state;
	put(".gpucloudignore", "own\n");
	put(".skyignore", "sky\n");
	put(".gitignore", "git\n");
	put("d/.gpucloudignore", "own2\n");
	put("d/.skyignore", "git\n");
	put("d/.gitignore", "*2\n!own2\n");
	for (size_t i = 0; i < 2; i++) {
		static const char *const files[] = {"own", "sky", "git"};

		for (size_t k = 0; k < 3; k++) {
			gpc_autostr *path = gpc_format("%s%s", i ? "d/" : "",
				files[k]);

			put(path, "");
		}
	}
	put("d/own2", "");
	for (size_t i = 0; i < 3; i++) {
		gpc_auto(gpc_tree) struct gpc_tree t = {0};
		gpc_autostr *got = NULL;
		gpc_autostr *file = NULL, *below = NULL;

		scan_tree(&t, &o);
		got = joined(&t);
		assert_string_equal(got, want[i]);
		if (i == 2)
			break;
		file = gpc_format("%s/%s", dir, names[i]);
		below = gpc_format("%s/d/%s", dir, names[i]);
		assert_int_equal(unlink(file), 0);
		if (i == 0)
			assert_int_equal(unlink(below), 0);
	}
}

static void test_options(void **state)
{
	gpc_auto(gpc_strv) struct gpc_strv reserved = {0};
	gpc_auto(gpc_tree) struct gpc_tree t = {0}, all = {0};
	const struct gpc_scan_options o = {.ignore_files = true,
		.exclude = &reserved};
	const struct gpc_scan_options raw = {.with_git = true};

	(void)state;
	put("ckpt/model", "x");
	put("code.py", "x");
	put("junk.o", "x");
	put(".git/HEAD", "x");
	put(".gitignore", "*.o");
	gpc_strv_addf(&reserved, "%s/ckpt", dir);
	scan_tree(&t, &o);
	assert_int_equal(t.n_files, 2);
	assert_string_equal(rule_of(&t, "ckpt"), "built in: a reserved path");
	assert_string_equal(rule_of(&t, "junk.o"), ".gitignore:1: *.o");
	scan_tree(&all, &raw);
	assert_int_equal(all.n_files, 5);
	assert_int_equal(all.excluded.n, 0);
}

static void test_errors(void **state)
{
	const struct gpc_scan_options o = {.ignore_files = true};
	gpc_autostr *missing = gpc_format("%s/missing", dir);
	gpc_autostr *file = gpc_format("%s/file", dir);
	gpc_autostr *rules = gpc_format("%s/.gpucloudignore", dir);
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	struct gpc_error err = {0};
	struct gpc_cancel stop = {.signal = 2};
	const struct gpc_scan_options stopped = {.cancel = &stop};

	(void)state;
	put("file", "");
	assert_int_equal(gpc_scan(missing, &o, &t, &err), -GPC_ENOTFOUND);
	assert_non_null(strstr(err.msg, missing));
	assert_int_equal(gpc_scan(file, &o, &t, &err), -GPC_ECONFIG);
	assert_non_null(strstr(err.msg, "not a folder"));
	assert_int_equal(gpc_scan(dir, &stopped, &t, &err), -GPC_ECANCELED);
	assert_int_equal(symlink("file", rules), 0);
	assert_true(gpc_scan(dir, &o, &t, &err) < 0);
	assert_non_null(strstr(err.msg, ".gpucloudignore"));
	assert_int_equal(t.entries.n, 0);
}

static void test_unreadable(void **state)
{
	struct gpc_scan_options o = {.ignore_files = true};
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	gpc_autostr *secret = gpc_format("%s/d/secret", dir);
	gpc_autostr *closed = gpc_format("%s/closed", dir);
	struct gpc_error err = {0};
	bool root = geteuid() == 0;

	(void)state;
	put("d/secret", "x");
	put("d/open", "x");
	put("closed/below", "x");
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(secret, 0), 0);
	assert_int_equal(chmod(closed, 0), 0);
	if (root && seteuid(65534) < 0)
		skip();
	assert_true(gpc_scan(dir, &o, &t, &err) < 0);
	assert_int_equal(err.sys, EACCES);
	assert_true(strstr(err.msg, "d/secret") || strstr(err.msg, "closed"));
	o.unreadable = GPC_UNREADABLE_SKIP;
	assert_int_equal(gpc_scan(dir, &o, &t, &err), 0);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(closed, 0755), 0);
	assert_int_equal(t.unreadable.n, 2);
	assert_string_equal(t.unreadable.v[0], "closed");
	assert_string_equal(t.unreadable.v[1], "d/secret");
	assert_int_equal(t.n_files, 1);
}

/* 1,500 levels: more than there are descriptors, and near the longest path. */
static void test_deep(void **state)
{
	const struct gpc_scan_options o = {.ignore_files = true};
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	gpc_autofd at = open(dir, O_RDONLY | O_DIRECTORY);
	struct gpc_error err = {0};

	(void)state;
	for (int i = 0; i < 1500; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0755), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
	}
	scan_tree(&t, &o);
	assert_int_equal(t.entries.n, 1500);
	for (int i = 0; i < 5; i++) {
		char name[251];
		int next;

		memset(name, 'n', sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		assert_int_equal(mkdirat(at, name, 0755), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
	}
	assert_int_equal(gpc_scan(dir, &o, &t, &err), -GPC_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "longer than"));
}

/* --- against git ------------------------------------------------------- */
static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x >> 11;
}

static void random_tree(uint64_t *x, const char *base, int depth)
{
	static const char *const names[] = {"a", "b", "ab", "a.o", "b.o", "x-y"};
	static const char *const rules[] = {
		"*.o", "!a.o", "a/", "/b", "a*", "!ab", "**/b", "a/**", "x-y/",
		"*", "!*/", "!b.o", "/*/a", "!a/", "a/b", "?",
	};

	for (size_t i = 0; i < 6; i++) {
		gpc_autostr *path = gpc_format("%s%s", base, names[i]);

		if (next_random(x) % 3 == 0)
			continue;
		if (depth > 0 && next_random(x) % 2) {
			gpc_autostr *below = gpc_format("%s/", path);
			gpc_autostr *full = gpc_format("%s/%s", dir, path);

			assert_int_equal(gpc_mkdirs(full, 0755, NULL), 0);
			random_tree(x, below, depth - 1);
		} else {
			put(path, "");
		}
	}
	if (base[0] == '\0' || next_random(x) % 4 == 0) {
		gpc_auto(gpc_buf) struct gpc_buf text = {0};
		gpc_autostr *path = gpc_format("%s.gitignore", base);

		for (uint64_t n = next_random(x) % 4; n-- > 0;)
			gpc_buf_addf(&text, "%s\n", rules[next_random(x)
				% (sizeof(rules) / sizeof(rules[0]))]);
		put(path, gpc_buf_str(&text));
	}
}

static void test_against_git(void **state)
{
	const struct gpc_scan_options o = {.ignore_files = true};
	const char *rounds = getenv("GPC_TEST_ROUNDS");
	int n = rounds ? atoi(rounds) : 30;
	uint64_t x = 88172645463325252;

	(void)state;
	if (system("git --version >/dev/null 2>&1") != 0)
		skip();
	setenv("HOME", dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	for (int i = 0; i < n; i++) {
		gpc_auto(gpc_tree) struct gpc_tree t = {0};
		gpc_auto(gpc_buf) struct gpc_buf want = {0}, got = {0};
		gpc_autostr *command = gpc_format("cd %s && git init -q . "
			"2>/dev/null && git ls-files -o --exclude-standard -z "
			">/tmp/gpc-scan-out.%d", dir, (int)getpid());
		gpc_autostr *out = gpc_format("/tmp/gpc-scan-out.%d",
			(int)getpid());

		random_tree(&x, "", 3);
		assert_int_equal(system(command), 0);
		assert_int_equal(gpc_read_file(out, 1 << 20, &want, NULL), 0);
		unlink(out);
		scan_tree(&t, &o);
		for (size_t k = 0; k < t.entries.n; k++)
			if (t.entries.v[k].kind != GPC_ENTRY_DIR)
				gpc_buf_add(&got, t.entries.v[k].path,
					strlen(t.entries.v[k].path) + 1);
		assert_int_equal(got.len, want.len);
		if (got.len)
			assert_memory_equal(got.data, want.data, got.len);
		assert_int_equal(gpc_rmtree(dir, NULL), 0);
		assert_int_equal(mkdir(dir, 0755), 0);
	}
}

#define FRESH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(test_order_links_and_kinds),
		FRESH(test_which_ignore_file),
		FRESH(test_options),
		FRESH(test_errors),
		FRESH(test_unreadable),
		FRESH(test_deep),
		FRESH(test_against_git),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
