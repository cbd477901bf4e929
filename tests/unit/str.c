/* Views, UTF-8, quoting, hex, vectors of strings, and "did you mean". */
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

TEST(splits)
{
	static const struct { const char *text, *parts[5]; } cases[] = {
		{"", {""}},
		{"a", {"a"}},
		{"a,b", {"a", "b"}},
		{",", {"", ""}},
		{"a,,b,", {"a", "", "b", ""}},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_str rest = gpc_str_of(cases[i].text), part;
		size_t n = 0;

		while (gpc_str_split(&rest, ',', &part)) {
			assert_non_null(cases[i].parts[n]);
			assert_true(gpc_str_eq(part, cases[i].parts[n]));
			n++;
		}
		assert_null(cases[i].parts[n]);
	}
}

TEST(trims)
{
	assert_true(gpc_str_eq(gpc_str_trim(gpc_str_of(" \t a b\r\n")), "a b"));
	assert_true(gpc_str_eq(gpc_str_trim(gpc_str_of("  ")), ""));
	assert_true(gpc_str_eq(gpc_str_trim(gpc_str_of(NULL)), ""));
}

TEST(compares)
{
	assert_true(gpc_starts_with("abc", "ab"));
	assert_false(gpc_starts_with("a", "ab"));
	assert_true(gpc_ends_with("abc", "bc"));
	assert_false(gpc_ends_with("c", "bc"));
	assert_true(gpc_eq(NULL, NULL));
	assert_false(gpc_eq(NULL, "") || gpc_eq("", NULL));
	assert_true(gpc_eq_nocase("H100", "h100"));
	assert_false(gpc_eq_nocase("H100", "h10"));
	assert_false(gpc_eq_nocase("h10", "H100"));
	assert_false(gpc_eq_nocase("\xc3\xa4", "\xc3\x84"));
	assert_false(gpc_eq_nocase(NULL, ""));
}

TEST(knows_valid_utf8)
{
	static const struct { const char *text; bool ok; } cases[] = {
		{"", true}, {"abc", true}, {"\xc3\xa4", true},
		{"\xe2\x82\xac", true}, {"\xf0\x9f\x98\x80", true},
		{"\xf4\x8f\xbf\xbf", true}, {"\xed\x9f\xbf", true},
		{"\x80", false}, {"\xc3", false}, {"\xe2\x82", false},
		{"\xc0\x80", false}, {"\xc1\xbf", false},       /* overlong */
		{"\xe0\x80\x80", false}, {"\xf0\x80\x80\x80", false},
		{"\xed\xa0\x80", false},                        /* surrogate */
		{"\xf4\x90\x80\x80", false}, {"\xff", false},
		{"\xc3(", false}, {"a\xf0\x9f\x98", false},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(gpc_utf8_valid(cases[i].text,
			strlen(cases[i].text)), cases[i].ok);
	/* wherever it stands in a long one */
	for (size_t i = 0; i < COUNT(cases); i++)
		for (int at = 0; at < 20; at++) {
			gpc_autostr *text = gpc_format("%.*s%s(%.*s", at,
				"0123456789abcdefghij", cases[i].text, 20 - at,
				"0123456789abcdefghij");

			assert_int_equal(gpc_utf8_valid(text, strlen(text)),
				cases[i].ok);
		}
}

TEST(measures_width)
{
	static const struct { const char *text; size_t width; } cases[] = {
		{"", 0}, {"abc", 3}, {"\xc3\xa4", 1}, {"a\xcc\x88", 1},
		{"\xe4\xb8\xad\xe6\x96\x87", 4}, {"\xf0\x9f\x98\x80", 2},
		{"\xe2\x80\x8b", 0}, {"\xff", 1}, {"\xe2\x82\xac", 1},
		{"\xea\xb0\x80", 2},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(gpc_utf8_width(cases[i].text),
			cases[i].width);
}

TEST(makes_bytes_printable)
{
	static const struct { const char *text; size_t n; const char *want; }
	cases[] = {
		{"plain \xc3\xa4", 8, "plain \xc3\xa4"},
		{"\033[31m", 5, "\\x1b[31m"},
		{"a\0b\n", 4, "a\\x00b\\x0a"},
		{"\xff\xfe", 2, "\\xff\\xfe"},
		{"\x7f", 1, "\\x7f"},
		{"\xc2\x9b" "1m", 4, "\\xc2\\x9b1m"},            /* C1 CSI */
		{"\xe2\x80\xae" "abc", 6, "\\xe2\\x80\\xaeabc"}, /* right-to-left */
		{"", 0, ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *s = gpc_str_printable(cases[i].text, cases[i].n);

		assert_string_equal(s, cases[i].want);
	}
}

TEST(long_names_leave_out_their_middle)
{
	static const struct { const char *text; size_t most; const char *want; }
	cases[] = {
		{"", 4, ""}, {"abcdefgh", 8, "abcdefgh"},
		{"abcdefghi", 8, "abcd...fghi"}, {"a\nbcdefgh", 8, "a\\x0...efgh"},
		/* never half a character */
		{"abc\xc3\xa4" "defgh", 8, "abc...efgh"},
		{"abcdef\xc3\xa4gh" "i", 8, "abcd...ghi"},
		{"\xc3\xa4\xc3\xa4", 1, "..."},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *s = gpc_str_brief(cases[i].text, cases[i].most);

		assert_string_equal(s, cases[i].want);
	}
}

/* What a real shell makes of the quoted word. */
static void read_by_shell(const char *quoted, char *out, size_t size)
{
	gpc_autostr *line = gpc_format("printf %%s %s", quoted);
	int fds[2], status;
	size_t n = 0;
	ssize_t k;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	while ((k = read(fds[0], out + n, size - 1 - n)) > 0)
		n += (size_t)k;
	out[n] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST(quotes_for_a_shell)
{
	static const char *const words[] = {
		"plain", "a b", "", "it's", "''", "$HOME `id` \"x\" \\",
		"a\nb", "~", "*", "-n", "#x", "\xc3\xa4;rm", "a=b", "!x",
	};

	for (size_t i = 0; i < COUNT(words); i++) {
		gpc_autostr *q = gpc_shell_quote(words[i]);
		char out[200];

		read_by_shell(q, out, sizeof(out));
		assert_string_equal(out, words[i]);
	}
}

TEST(converts_hex)
{
	unsigned char bytes[4] = {0};
	char text[9];

	gpc_hex("\x00\xff\x1a", 3, text);
	assert_string_equal(text, "00ff1a");
	assert_true(gpc_unhex("00FF1a", bytes, 3));
	assert_memory_equal(bytes, "\x00\xff\x1a", 3);
	assert_false(gpc_unhex("00ff1", bytes, 3));
	assert_false(gpc_unhex("00ff1a0", bytes, 3));
	assert_false(gpc_unhex("00fg1a", bytes, 3));
	assert_true(gpc_unhex("", bytes, 0));
	assert_true(gpc_is_hex("0af", 3));
	assert_false(gpc_is_hex("0aF", 3));
	assert_false(gpc_is_hex("0a", 3));
	assert_false(gpc_is_hex("0aff", 3));
}

TEST(hashes_spread)
{
	size_t counts[16] = {0};

	for (unsigned i = 0; i < 16000; i++)
		counts[gpc_hash64(&i, sizeof(i)) % 16]++;
	for (size_t i = 0; i < 16; i++)
		assert_in_range(counts[i], 800, 1200);
	assert_true(gpc_hash64("a", 1) != gpc_hash64("b", 1));
	/* Pack boundaries depend on it: the value may never change. */
	assert_true(gpc_hash64("gpucloud", 8) == gpc_hash64("gpucloud", 8));
}

TEST(keeps_vectors)
{
	gpc_auto(gpc_strv) struct gpc_strv s = {0}, t = {0};
	gpc_autostr *joined = NULL, *none = NULL;

	none = gpc_strv_join(&s, ", ");
	assert_string_equal(none, "");
	gpc_strv_add(&s, "b");
	gpc_strv_addf(&s, "a%d", 1);
	gpc_strv_take(&s, gpc_strdup("B"));
	gpc_strv_sort(&s);
	joined = gpc_strv_join(&s, ", ");
	assert_string_equal(joined, "B, a1, b");
	assert_true(gpc_strv_has(&s, "a1"));
	assert_false(gpc_strv_has(&s, "a"));
	gpc_strv_add(&t, "old");
	gpc_strv_copy(&t, &s);
	gpc_strv_copy(&t, &t);
	assert_int_equal(t.n, 3);
	assert_string_equal(t.v[2], "b");
	gpc_strv_clear(&t);
	gpc_strv_clear(&t);
	gpc_strv_clear(NULL);
}

TEST(finds_the_nearest_word)
{
	static const char *const words[] = {
		"resources", "workdir", "setup", "run", "num_nodes", "envs",
		"file_mounts", "a",
	};
	static const struct { const char *word, *want; } cases[] = {
		{"resource", "resources"}, {"resuorces", "resources"},
		{"Resources", "resources"}, {"num-nodes", "num_nodes"},
		{"num_node", "num_nodes"}, {"rnu", "run"}, {"stup", "setup"},
		{"env", "envs"}, {"filemounts", "file_mounts"},
		{"run", "run"}, {"zzz", NULL}, {"", NULL}, {"x", NULL},
		{"quite different", NULL}, {"ru", "run"},
	};
	gpc_autostr *huge = gpc_array(100001, 1);

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *got = gpc_nearest(cases[i].word, words,
			COUNT(words));

		if (!gpc_eq(got, cases[i].want))
			fail_msg("%s gives %s", cases[i].word,
				got ? got : "nothing");
	}
	memset(huge, 'r', 100000);
	assert_null(gpc_nearest(huge, words, COUNT(words)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits),
		cmocka_unit_test(trims),
		cmocka_unit_test(compares),
		cmocka_unit_test(knows_valid_utf8),
		cmocka_unit_test(measures_width),
		cmocka_unit_test(makes_bytes_printable),
		cmocka_unit_test(long_names_leave_out_their_middle),
		cmocka_unit_test(quotes_for_a_shell),
		cmocka_unit_test(converts_hex),
		cmocka_unit_test(hashes_spread),
		cmocka_unit_test(keeps_vectors),
		cmocka_unit_test(finds_the_nearest_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
