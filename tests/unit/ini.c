/* The ini dialect of the clouds' tools: what stands where, and what is refused. */
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "creds/ini.h"

static int parse(const char *text, struct gpc_ini *ini, struct gpc_error *err)
{
	return gpc_ini_parse(text, strlen(text), "f.ini", ini, err);
}

static const struct { const char *text, *section, *key, *value; int line; }
good[] = {
	{"[a]\nk = v\n", "a", "k", "v", 2},
	{"[a]\nk=v", "a", "k", "v", 2},
	{"[a]\r\nk = v \r\n", "a", "k", "v", 2},
	{"\xef\xbb\xbf[a]\nk = v\n", "a", "k", "v", 2},
	{"[ a ]\nK = v\n", "a", "k", "v", 2},
	{"[a] # note\nk : v\n", "a", "k", "v", 2},
	{"# one\n; two\n\n[a]\n\n  # three\nk = v\n", "a", "k", "v", 7},
	{"[a]\nk = v # no comment\n", "a", "k", "v # no comment", 2},
	{"[a]\nk = a=b:c\n", "a", "k", "a=b:c", 2},
	{"[a]\nk =\n", "a", "k", "", 2},
	{"[a]\nk = 1\nk = 2\n", "a", "k", "2", 3},
	{"[a]\nk = 1\n[b]\n[a]\nl = 2\n", "a", "k", "1", 2},
	{"[a]\nk = 1\n[b]\n[a]\nl = 2\n", "a", "l", "2", 5},
	{"[a]\n  k = 1\n  l = 2\n", "a", "l", "2", 3},
	{"[a]\nk = 1\n  go on\n\ton\nl = 2\n", "a", "k", "1\ngo on\non", 2},
	{"[a]\nk = 1\n  # a note\n\n  go on\n", "a", "k", "1\ngo on", 2},
	{"[a]\ns3 =\n  x = 1\n  y = 2\n", "a", "s3", "\nx = 1\ny = 2", 2},
	{"[profile \"a b\"]\nk = \xc3\xa9\n", "profile \"a b\"", "k",
		"\xc3\xa9", 2},
	{"[a]\nk = v\n", "A", NULL, NULL, 0},
	{"[a]\nk = v\n", "a", "l", NULL, 0},
	{"", "a", NULL, NULL, 0},
};

TEST(test_good)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		gpc_auto(gpc_ini) struct gpc_ini ini = {0};
		struct gpc_error err = {0};
		const struct gpc_ini_section *s;
		const struct gpc_ini_value *v;

		assert_ok(parse(good[i].text, &ini, &err));
		s = gpc_ini_find(&ini, good[i].section);
		assert_int_equal(s != NULL, good[i].key != NULL);
		v = gpc_ini_get(s, good[i].key ? good[i].key : "k");
		assert_int_equal(v != NULL, good[i].value != NULL);
		if (!v)
			continue;
		assert_string_equal(v->text, good[i].value);
		assert_int_equal(v->line, good[i].line);
	}
}

static const struct { const char *text, *what; } bad[] = {
	{"k = v\n", "f.ini:1: a key before the first [section]"},
	{"[a]\nhunter2\n", "f.ini:2: neither [section], nor key = value"},
	{"[a]\n= hunter2\n", "f.ini:2: neither"},
	{"\n[a\n", "f.ini:2: a [section] without its ]"},
	{"[a] hunter2\n", "f.ini:1: something stands behind [section]"},
	{"[]\n", "f.ini:1: a section without a name"},
	{"[a]\nk = \x01\n", "f.ini:2: a control character"},
};

TEST(test_bad)
{
	gpc_auto(gpc_ini) struct gpc_ini ini = {0};
	struct gpc_error err = {0};

	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_fails(parse(bad[i].text, &ini, &err), GPC_ECONFIG);
		assert_has(err.msg, bad[i].what);
		assert_null(strstr(err.msg, "hunter2"));
		assert_null(ini.path);
	}
	assert_fails(gpc_ini_parse("[a]\nk = a\0b", 11, "f.ini", &ini, &err),
		GPC_ECONFIG);
}

/* Texts of one piece again and again: either read or refused, soon. */
static int repeated(const char *piece, size_t bytes, struct gpc_error *err)
{
	gpc_auto(gpc_ini) struct gpc_ini ini = {0};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	gpc_buf_adds(&b, "[s]\nk = v\n");
	for (int i = 0; b.len + 80 < bytes; i++)
		gpc_buf_addf(&b, strchr(piece, '%') ? "%s%d]\n" : "%s", piece,
			i);
	return gpc_ini_parse(b.data, b.len, "f.ini", &ini, err);
}

TEST(test_limits)
{
	gpc_auto(gpc_ini) struct gpc_ini ini = {0};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};

	assert_fails(repeated("[%", 1 << 20, &err), GPC_ECONFIG);
	assert_has(err.msg, "too many sections");
	assert_fails(repeated(" more\n", 1 << 20, &err), GPC_ECONFIG);
	assert_has(err.msg, "a value of too many lines");
	assert_ok(repeated("k = v\n", 1 << 20, &err));
	assert_fails(repeated("k = v\n", (1 << 20) + 500, &err), GPC_ECONFIG);
	assert_has(err.msg, "larger than 1 MiB");
	gpc_buf_adds(&b, "[s]\n");
	for (int i = 0; i <= GPC_INI_MAX_KEYS; i++)
		gpc_buf_addf(&b, "k%d=v\n", i);
	assert_fails(parse(b.data, &ini, &err), GPC_ECONFIG);
	assert_has(err.msg, "too many keys");
}

TEST(test_sub)
{
	gpc_auto(gpc_ini) struct gpc_ini ini = {0};
	struct gpc_error err = {0};
	const struct gpc_ini_section *s;
	gpc_autostr *style = NULL;

	assert_ok(parse("[a]\ns3 =\n  Addressing_Style = path\n  junk\n"
		"  addressing_style=virtual\nflat = x = 1\n", &ini, &err));
	s = gpc_ini_find(&ini, "a");
	style = gpc_ini_sub(gpc_ini_get(s, "s3"), "addressing_style");
	assert_string_equal(style, "virtual");
	assert_null(gpc_ini_sub(gpc_ini_get(s, "s3"), "junk"));
	assert_null(gpc_ini_sub(gpc_ini_get(s, "flat"), "x"));
	assert_null(gpc_ini_sub(NULL, "x"));
}

TEST(test_files)
{
	gpc_auto(gpc_ini) struct gpc_ini ini = {0};
	char path[] = "/tmp/gpc-ini-XXXXXX";
	struct gpc_error err = {0};

	assert_ok(gpc_ini_load("/nowhere/at/all", &ini, &err));
	assert_null(ini.path);
	assert_null(gpc_ini_find(&ini, "a"));
	assert_fails(gpc_ini_load("/tmp", &ini, &err), GPC_ECONFIG);
	close(mkstemp(path));
	assert_ok(gpc_write_file(path, "[a]\nk=v\n", 8, 0600, &err));
	assert_ok(gpc_ini_load(path, &ini, &err));
	assert_string_equal(gpc_ini_get(gpc_ini_find(&ini, "a"), "k")->text,
		"v");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_sub),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
