/* Paths as text, folder trees, and the XDG places without a HOME. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

TEST(joins)
{
	static const struct { const char *a, *b, *want; } cases[] = {
		{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"},
		{"", "b", "b"}, {"a", "", "a"}, {"/", "b", "/b"}, {"", "", ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *s = gpc_path_join(cases[i].a, cases[i].b);

		assert_string_equal(s, cases[i].want);
	}
}

TEST(takes_apart)
{
	static const struct { const char *path, *dir, *base; } cases[] = {
		{"a", ".", "a"}, {"a/b", "a", "b"}, {"/a", "/", "a"},
		{"/a/b", "/a", "b"}, {"a//b", "a", "b"}, {"/", "/", ""},
		{"a/b/", "a", ""}, {"", ".", ""}, {"//a", "/", "a"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *dir = gpc_path_dir(cases[i].path);

		assert_string_equal(dir, cases[i].dir);
		assert_string_equal(gpc_path_base(cases[i].path),
			cases[i].base);
	}
}

TEST(makes_absolute)
{
	static const struct { const char *path, *want; } cases[] = {
		{"/a/b", "/a/b"}, {"/a/./b//c/", "/a/b/c"}, {"/a/../b", "/b"},
		{"/..", "/"}, {"/../../x", "/x"}, {"/", "/"}, {"//", "/"},
		{"/a/b/../../..", "/"}, {"/.../a", "/.../a"}, {"~", "/h/me"},
		{"~/x/..", "/h/me"}, {"/a/..b", "/a/..b"},
	};
	struct gpc_error err = {0};
	char cwd[4096];

	setenv("HOME", "/h/me", 1);
	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *s = NULL;

		assert_ok(gpc_path_absolute(cases[i].path, &s, &err));
		assert_string_equal(s, cases[i].want);
	}
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	for (int i = 0; i < 2; i++) {
		gpc_autostr *s = NULL, *want = gpc_path_join(cwd,
			i ? "~x/y" : "x");

		assert_ok(gpc_path_absolute(i ? "~x/./y" : "q/../x", &s, &err));
		assert_string_equal(s, want);
	}
	assert_fails(gpc_path_absolute("", &(char *){NULL}, &err), GPC_EUSAGE);
}

TEST(says_that_the_current_folder_is_gone)
{
	gpc_autostr *dir = scratch(), *s = NULL, *t = NULL;
	struct gpc_error err = {0};
	gpc_autofd back = -1;

	assert_ok(gpc_open(".", O_RDONLY, 0, &back, &err));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_fails(gpc_path_absolute("x", &s, &err), GPC_ENOTFOUND);
	assert_has(err.msg, "current folder has been deleted");
	assert_true(err.hint[0] != '\0');
	assert_null(s);
	assert_ok(gpc_path_absolute("/x", &t, &err));
	assert_int_equal(fchdir(back), 0);
}

TEST(handles_a_deep_current_folder)
{
	gpc_autostr *dir = scratch(), *s = NULL;
	struct gpc_error err = {0};
	gpc_autofd back = -1;
	char name[101];

	memset(name, 'd', 100);
	name[100] = '\0';
	assert_ok(gpc_open(".", O_RDONLY, 0, &back, &err));
	assert_int_equal(chdir(dir), 0);
	for (int i = 0; i < 80; i++) {
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
	assert_ok(gpc_path_absolute("x", &s, &err));
	assert_true(strlen(s) > 8000);
	assert_int_equal(fchdir(back), 0);
	assert_ok(gpc_rmtree(dir, &err));
	assert_int_equal(access(dir, F_OK), -1);
}

TEST(knows_safe_relative_paths)
{
	static const char *const good[] = {"a", "a/b", "...", ".a", "a..", "a b"};
	static const char *const bad[] = {
		"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b",
		"./a",
	};

	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(gpc_path_is_inside(good[i]));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(gpc_path_is_inside(bad[i]));
}

TEST(knows_what_contains_what)
{
	assert_true(gpc_path_contains("/a", "/a"));
	assert_true(gpc_path_contains("/a", "/a/b"));
	assert_false(gpc_path_contains("/a", "/ab"));
	assert_false(gpc_path_contains("/a/b", "/a"));
	assert_true(gpc_path_contains("/", "/a"));
}

TEST(makes_folders)
{
	gpc_autostr *dir = scratch(), *deep = gpc_path_join(dir, "a//b/c/");
	gpc_autostr *file = gpc_path_join(dir, "f");
	gpc_autostr *below = gpc_path_join(file, "x");
	struct gpc_error err = {0};
	struct stat st;

	assert_ok(gpc_mkdirs(deep, 0700, &err));
	assert_ok(gpc_mkdirs(deep, 0700, &err));
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_ok(gpc_write_file(file, "", 0, 0600, &err));
	assert_fails(gpc_mkdirs(file, 0700, &err), GPC_ECONFLICT);
	assert_has(err.msg, file);
	assert_fails(gpc_mkdirs(below, 0700, &err), GPC_ECONFLICT);
	assert_true(gpc_mkdirs("", 0700, &err) < 0);
	assert_true(gpc_mkdirs("/proc/none/x", 0700, &err) < 0);
	assert_ok(gpc_mkdirs("/", 0700, &err));
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(removes_trees_without_following_links)
{
	gpc_autostr *dir = scratch(), *keep = scratch();
	gpc_autostr *kept = gpc_path_join(keep, "kept");
	gpc_autostr *link = gpc_path_join(dir, "link");
	gpc_autostr *slash = gpc_path_join(dir, "link/");
	gpc_autostr *dangling = gpc_path_join(dir, "dangling");
	gpc_autostr *fifo = gpc_path_join(dir, "fifo");
	struct gpc_error err = {0};

	assert_ok(gpc_write_file(kept, "x", 1, 0600, &err));
	assert_int_equal(symlink(keep, link), 0);
	assert_int_equal(symlink("/no/where", dangling), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_ok(gpc_rmtree(slash, &err));
	assert_int_equal(access(link, F_OK), -1);
	assert_int_equal(symlink(keep, link), 0);
	assert_ok(gpc_rmtree(dir, &err));
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(access(kept, F_OK), 0);
	assert_ok(gpc_rmtree(kept, &err));
	assert_ok(gpc_rmtree(kept, &err));
	assert_ok(gpc_rmtree(keep, &err));
}

TEST(refuses_to_remove_the_world)
{
	static const char *const bad[] = {"", "/", "//", ".", "..", "./"};
	struct gpc_error err = {0};

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(gpc_rmtree(bad[i], &err), GPC_EUSAGE);
}

TEST(removes_very_deep_trees)
{
	gpc_autostr *dir = scratch();
	struct gpc_error err = {0};
	gpc_autofd back = -1;

	assert_ok(gpc_open(".", O_RDONLY, 0, &back, &err));
	assert_int_equal(chdir(dir), 0);
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(mkdir("d", 0700), 0);
		if (i % 100 == 0)
			assert_ok(gpc_write_file("f", "x", 1, 0600, &err));
		assert_int_equal(chdir("d"), 0);
	}
	assert_int_equal(fchdir(back), 0);
	assert_ok(gpc_rmtree(dir, &err));
	assert_int_equal(access(dir, F_OK), -1);
}

/* As a user for whom modes count. */
static int remove_closed_folders(const char *dir)
{
	gpc_autostr *tree = gpc_path_join(dir, "t");
	gpc_autostr *deep = gpc_path_join(dir, "t/closed/none/x");
	gpc_autostr *none = gpc_path_join(dir, "t/closed/none");
	gpc_autostr *closed = gpc_path_join(dir, "t/closed");
	struct gpc_error err = {0};

	if (getuid() == 0 && (setgid(54321) < 0 || setuid(54321) < 0))
		return 1;
	if (gpc_mkdirs(deep, 0700, &err) < 0 || chmod(none, 0) < 0 ||
		chmod(closed, 0500) < 0)
		return 2;
	if (gpc_rmtree(tree, &err) < 0)
		return 3;
	return access(tree, F_OK) < 0 ? 0 : 4;
}

TEST(opens_closed_folders_to_remove_them)
{
	gpc_autostr *dir = scratch();
	struct gpc_error err = {0};
	int status = 0;
	pid_t pid;

	assert_int_equal(chmod(dir, 0777), 0);
	pid = fork();
	if (pid == 0)
		_exit(remove_closed_folders(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(names_what_cannot_be_removed)
{
	struct gpc_error err = {0};

	assert_true(gpc_rmtree("/proc/self/status", &err) < 0);
	assert_has(err.msg, "/proc/self/status");
}

TEST(finds_xdg_places)
{
	struct gpc_error err = {0};
	gpc_autostr *a = NULL, *b = NULL, *c = NULL, *d = NULL;

	setenv("HOME", "/h", 1);
	unsetenv("XDG_DATA_HOME");
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("XDG_STATE_HOME", "/s/", 1);
	setenv("XDG_CONFIG_HOME", "", 1);
	assert_ok(gpc_xdg(GPC_XDG_DATA, "store", &a, &err));
	assert_string_equal(a, "/h/.local/share/gpucloud/store");
	assert_ok(gpc_xdg(GPC_XDG_CACHE, NULL, &b, &err));
	assert_string_equal(b, "/h/.cache/gpucloud");
	assert_ok(gpc_xdg(GPC_XDG_STATE, "nodes", &c, &err));
	assert_string_equal(c, "/s/gpucloud/nodes");
	assert_ok(gpc_xdg(GPC_XDG_CONFIG, "config.yaml", &d, &err));
	assert_string_equal(d, "/h/.config/gpucloud/config.yaml");
}

static int look_without_home(void)
{
	gpc_autostr *home = NULL, *place = NULL;
	struct gpc_error err = {0};

	unsetenv("HOME");
	unsetenv("XDG_CACHE_HOME");
	if (gpc_home(&home, &err) < 0 || home[0] != '/')
		return 1;
	if (getuid() != 0)
		return 0;
	if (setuid(54321) < 0)
		return 2;
	/* Nobody of that number has an entry. */
	if (gpc_xdg(GPC_XDG_CACHE, NULL, &place, &err) != -GPC_ECONFIG)
		return 3;
	if (!strstr(err.msg, "54321") || !strstr(err.hint, "HOME") || place)
		return 4;
	setenv("XDG_CACHE_HOME", "/c", 1);
	if (gpc_xdg(GPC_XDG_CACHE, NULL, &place, &err) < 0)
		return 5;
	return gpc_eq(place, "/c/gpucloud") ? 0 : 6;
}

TEST(does_without_home)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(look_without_home());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins),
		cmocka_unit_test(takes_apart),
		cmocka_unit_test(makes_absolute),
		cmocka_unit_test(says_that_the_current_folder_is_gone),
		cmocka_unit_test(handles_a_deep_current_folder),
		cmocka_unit_test(knows_safe_relative_paths),
		cmocka_unit_test(knows_what_contains_what),
		cmocka_unit_test(makes_folders),
		cmocka_unit_test(removes_trees_without_following_links),
		cmocka_unit_test(refuses_to_remove_the_world),
		cmocka_unit_test(removes_very_deep_trees),
		cmocka_unit_test(opens_closed_folders_to_remove_them),
		cmocka_unit_test(names_what_cannot_be_removed),
		cmocka_unit_test(finds_xdg_places),
		cmocka_unit_test(does_without_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
