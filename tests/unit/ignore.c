/* snapshot/ignore and wild: the documented cases, then random rules and paths
 * against git itself, then rules made to take for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "snapshot/ignore.h"
#include "snapshot/wild.h"

/* As the walker does: a path is out when it or any folder above it is. The
 * deciding rule is returned in *ret_rule. */
static bool excluded(const struct gpc_ignore *x, const char *path, bool is_dir,
	const struct gpc_ignore_rule **ret_rule)
{
	gpc_autostr *part = gpc_strdup(path);

	for (size_t i = 1; part[i]; i++) {
		if (part[i] != '/')
			continue;
		part[i] = '\0';
		*ret_rule = gpc_ignore_find(x, part, true);
		if (gpc_ignore_excludes(*ret_rule))
			return true;
		part[i] = '/';
	}
	*ret_rule = gpc_ignore_find(x, path, is_dir);
	return gpc_ignore_excludes(*ret_rule);
}

static const struct { const char *rules, *path; bool dir, out; } cases[] = {
	{"*.o", "a.o", false, true},
	{"*.o", "d/a.o", false, true},
	{"/*.o", "d/a.o", false, false},
	{"*.o\n!keep.o", "keep.o", false, false},
	{"!keep.o\n*.o", "keep.o", false, true},
	{"build/", "build", false, false},
	{"build/", "build", true, true},
	{"build/", "x/build/a", false, true},
	{"build/\n!build/keep", "build/keep", false, true},
	{"build/*\n!build/keep", "build/keep", false, false},
	{"a/b", "x/a/b", false, false},
	{"**/a/b", "x/a/b", false, true},
	{"**/a/b", "a/b", false, true},
	{"a/**", "a", true, false},
	{"a/**", "a/x/y", false, true},
	{"a/**/b", "a/b", false, true},
	{"a/**/b", "a/x/y/b", false, true},
	{"a/*/b", "a/x/y/b", false, false},
	{"foo**bar", "foo_x_bar", false, true},
	{"# no", "# no", false, false},
	{"\\# yes", "# yes", false, true},
	{"\\!yes", "!yes", false, true},
	{"space ", "space", false, true},
	{"space\\ ", "space ", false, true},
	{"space\\ ", "space", false, false},
	{"tab\t", "tab", false, false},
	{"crlf\r\n", "crlf", false, true},
	{"\xef\xbb\xbf" "bom", "bom", false, true},
	{"[a-c]x", "bx", false, true},
	{"[!a-c]x", "bx", false, false},
	{"[^a-c]x", "dx", false, true},
	{"[]x]y", "]y", false, true},
	{"[[:digit:]]z", "7z", false, true},
	{"[[:nope:]]z", "7z", false, false},
	{"[open", "[open", false, false},
	{"end\\", "end\\", false, false},
	{"a?c", "abc", false, true},
	{"d/a?c", "d/a/c", false, false},
	{"", "x", false, false},
	{"/", "x", true, false},
	{"!", "!", false, false},
	{"*", "anything", false, true},
	{"*\n!*/\n!*.py", "a/b.py", false, false},
	{"*\n!*/\n!*.py", "a/b.txt", false, true},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gpc_autoptr(gpc_ignore) *x = NULL;
		const struct gpc_ignore_rule *rule;

		assert_int_equal(gpc_ignore_new(cases[i].rules,
			strlen(cases[i].rules), "", "F", NULL, &x, NULL), 0);
		if (excluded(x, cases[i].path, cases[i].dir, &rule)
			!= cases[i].out)
			fail_msg("rules %s path %s", cases[i].rules,
				cases[i].path);
	}
}

static void test_nested_and_names(void **state)
{
	static const char top[] = "*.log\n", sub[] = "\n\n!keep.log\n/here\n";
	gpc_autoptr(gpc_ignore) *a = NULL, *b = NULL;
	const struct gpc_ignore_rule *rule;

	(void)state;
	assert_int_equal(gpc_ignore_new(top, strlen(top), "", ".gitignore",
		NULL, &a, NULL), 0);
	assert_int_equal(gpc_ignore_new(sub, strlen(sub), "s/",
		"s/.gitignore", a, &b, NULL), 0);
	rule = gpc_ignore_find(b, "s/x.log", false);
	assert_true(gpc_ignore_excludes(rule));
	assert_string_equal(gpc_ignore_rule_str(rule), ".gitignore:1: *.log");
	rule = gpc_ignore_find(b, "s/keep.log", false);
	assert_non_null(rule);
	assert_false(gpc_ignore_excludes(rule));
	rule = gpc_ignore_find(b, "s/here", false);
	assert_string_equal(gpc_ignore_rule_str(rule), "s/.gitignore:4: /here");
	assert_null(gpc_ignore_find(b, "s/t/here", false));
	assert_null(gpc_ignore_find(NULL, "s", false));
}

static void test_hostile(void **state)
{
	gpc_auto(gpc_buf) struct gpc_buf line = {0}, path = {0};
	gpc_autoptr(gpc_ignore) *x = NULL, *y = NULL;
	struct gpc_error err = {0};
	int64_t began = gpc_boot_ms();

	(void)state;
	for (int i = 0; i < 600; i++)
		gpc_buf_adds(&line, "**/a*a*");
	line.len = 4000;
	gpc_buf_adds(&line, "b");
	for (int i = 0; i < 2000; i++)
		gpc_buf_adds(&path, "a/");
	gpc_buf_adds(&path, "c");
	assert_int_equal(gpc_ignore_new(line.data, line.len, "", "F", NULL, &x,
		&err), 0);
	for (int i = 0; i < 10; i++)
		assert_null(gpc_ignore_find(x, path.data, false));
	assert_true(gpc_boot_ms() - began < 20000);
	for (int i = 0; i < 100; i++)
		gpc_buf_addc(&line, 'x');
	assert_int_equal(gpc_ignore_new(line.data, line.len, "", "F", NULL, &y,
		&err), -GPC_ECONFIG);
	assert_non_null(strstr(err.msg, "F:1"));
}

/* --- against git ------------------------------------------------------- */
static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x >> 11;
}

static void add_random(struct gpc_buf *b, uint64_t *x,
	const char *const *pieces, size_t n_pieces, size_t most)
{
	size_t n = 1 + next_random(x) % most;

	while (n-- > 0)
		gpc_buf_adds(b, pieces[next_random(x) % n_pieces]);
}

static const char *const rule_pieces[] = {
	"a", "b", "c", "a", "b", "/", "/", "*", "*", "**", "**/", "/**", "/**/",
	"?", "\\", "\\*", "\\a", " ", "!", "#", "[ab]", "[!a]", "[^b-c]",
	"[a-", "[]", "]", "[[:alpha:]]", "[[:foo:]]", "[[:", "[\\]a]", "-",
	"[a-c/]", "\\ ", "\t", "[*]", "[b-a]", "\\/", "***",
};
static const char *const path_pieces[] = {
	"a", "b", "c", "a", "b", "/", "/", "a/", "/b", "*", " ", "!", "#", "]",
	"[", "-", "\\",
};
#define COUNT(x) (sizeof(x) / sizeof((x)[0]))

static void make_rules(struct gpc_buf *rules, uint64_t *x)
{
	size_t n = 1 + next_random(x) % 6;

	while (n-- > 0) {
		if (next_random(x) % 4 == 0)
			gpc_buf_addc(rules, '!');
		add_random(rules, x, rule_pieces, COUNT(rule_pieces), 6);
		if (next_random(x) % 5 == 0)
			gpc_buf_addc(rules, '/');
		if (next_random(x) % 9 == 0)
			gpc_buf_addc(rules, ' ');
		gpc_buf_adds(rules, next_random(x) % 7 == 0 ? "\r\n" : "\n");
	}
}

static void make_paths(struct gpc_strv *paths, uint64_t *x, size_t n)
{
	while (paths->n < n) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};

		add_random(&b, x, path_pieces, COUNT(path_pieces), 7);
		if (gpc_path_is_inside(b.data))
			gpc_strv_add(paths, b.data);
	}
}

/* Runs git check-ignore over all paths; its answer is four fields a path. */
static void ask_git(const char *dir, const struct gpc_strv *paths,
	struct gpc_buf *answer)
{
	gpc_autostr *in = gpc_format("%s/in", dir);
	gpc_autostr *out = gpc_format("%s/out", dir);
	gpc_autostr *command = gpc_format("cd %s/r && git check-ignore "
		"--no-index -v -n -z --stdin <../in >../out 2>/dev/null", dir);
	gpc_auto(gpc_buf) struct gpc_buf text = {0};

	for (size_t i = 0; i < paths->n; i++)
		gpc_buf_add(&text, paths->v[i], strlen(paths->v[i]) + 1);
	assert_int_equal(gpc_write_file(in, text.data, text.len, 0600, NULL), 0);
	assert_true(WEXITSTATUS(system(command)) <= 1);
	assert_int_equal(gpc_read_file(out, 1 << 20, answer, NULL), 0);
}

static void compare(const struct gpc_buf *rules, const struct gpc_strv *paths,
	const struct gpc_buf *answer)
{
	gpc_autoptr(gpc_ignore) *x = NULL;
	const char *p = answer->data;

	assert_int_equal(gpc_ignore_new(rules->data, rules->len, "",
		".gitignore", NULL, &x, NULL), 0);
	for (size_t i = 0; i < paths->n; i++) {
		const char *line = p + strlen(p) + 1;
		const char *pattern = line + strlen(line) + 1;
		const char *path = pattern + strlen(pattern) + 1;
		const struct gpc_ignore_rule *rule;
		gpc_autostr *want = gpc_format("%s:%s:", p, line);

		assert_true(path < answer->data + answer->len);
		assert_string_equal(path, paths->v[i]);
		(void)excluded(x, path, false, &rule);
		if (rule ? !gpc_starts_with(gpc_ignore_rule_str(rule), want)
			: line[0] != '\0')
			fail_msg("path '%s': git says '%s' line %s, we %s; "
				"rules:\n%s", path, pattern, line, rule
				? gpc_ignore_rule_str(rule) : "nothing",
				rules->data);
		p = path + strlen(path) + 1;
	}
}

static void test_against_git(void **state)
{
	char dir[] = "/tmp/gpc-ignore-XXXXXX";
	gpc_autostr *init = NULL, *file = NULL;
	const char *rounds = getenv("GPC_TEST_ROUNDS");
	int n = rounds ? atoi(rounds) : 200;
	uint64_t x = 88172645463325252;

	(void)state;
	if (system("git --version >/dev/null 2>&1") != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	setenv("HOME", dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	init = gpc_format("git init -q %s/r 2>/dev/null", dir);
	file = gpc_format("%s/r/.gitignore", dir);
	assert_int_equal(system(init), 0);
	for (int i = 0; i < n; i++) {
		gpc_auto(gpc_buf) struct gpc_buf rules = {0}, answer = {0};
		gpc_auto(gpc_strv) struct gpc_strv paths = {0};

		make_rules(&rules, &x);
		make_paths(&paths, &x, 100);
		assert_int_equal(gpc_write_file(file, rules.data, rules.len,
			0600, NULL), 0);
		ask_git(dir, &paths, &answer);
		compare(&rules, &paths, &answer);
	}
	assert_int_equal(gpc_rmtree(dir, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_nested_and_names),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_against_git),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
