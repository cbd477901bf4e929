/* JSON in and out: grammar to the letter, limits, exact numbers. */
#include "test.h"

#include <time.h>

#include "base/rand.h"
#include "base/str.h"
#include "dep/json.h"

static int parse(const char *text, struct gpc_json **ret_j,
	struct gpc_error *err)
{
	return gpc_json_parse(text, strlen(text), ret_j, err);
}

/* Text that is printed exactly as it was read. */
TEST(prints_what_it_read)
{
	static const char *const texts[] = {
		"null", "true", "false", "0", "-1", "1.5", "\"\"", "[]", "{}",
		"[1,[2,{\"a\":null}]]", "{\"a\":1,\"A\":2,\"\":3}",
		"\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"",
		"\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\"", "9007199254740992",
		"-9007199254740992", "1000000000000000", "1700000000000123",
		"1e+300", "0.1", "1e-07", "123456789.123",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		gpc_autoptr(gpc_json) *j = NULL;
		gpc_autostr *out = NULL;
		struct gpc_error err = {0};

		assert_ok(parse(texts[i], &j, &err));
		out = gpc_json_print(j);
		assert_string_equal(out, texts[i]);
	}
}

TEST(reads_other_forms)
{
	static const struct { const char *in, *out; } cases[] = {
		{" \t\r\n[ 1 , 2 ]\n", "[1,2]"}, {"-0", "0"}, {"1E2", "100"},
		{"1.0", "1"}, {"\"\\u00e4\\ud83d\\ude00\\/\"",
			"\"\xc3\xa4\xf0\x9f\x98\x80/\""},
		{"\"\\u00AF\"", "\"\xc2\xaf\""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autoptr(gpc_json) *j = NULL;
		gpc_autostr *out = NULL;
		struct gpc_error err = {0};

		assert_ok(parse(cases[i].in, &j, &err));
		out = gpc_json_print(j);
		assert_string_equal(out, cases[i].out);
	}
}

TEST(refuses_what_is_no_json)
{
	static const char *const bad[] = {
		"", " ", "{", "[", "\"", "[1,]", "{\"a\":1,}", "{a:1}",
		"{\"a\"}", "{\"a\" 1}", "[1 2]", "01", "+1", "1.", ".5", "1e",
		"0x10", "nul", "nulll", "True", "NaN", "Infinity", "'a'",
		"\"\t\"", "\"\n\"", "\"\\x\"", "\"\\u12\"", "\"\\uZZZZ\"",
		"\"\\u0000\"", "\"\\ud800\"", "\"\\ud800x\"",
		"\"\\ud800\\u0041\"", "\"\\udc00\"", "1 2", "{} {}", "[]]",
		"// x\n1", "/**/1", "\xef\xbb\xbf{}", "\"\xff\"",
		"\"\xed\xa0\x80\"", "\"\xc0\x80\"", "1e999", "-1e999", "-",
		"{\"a\":1,\"a\":2}", "[{\"x\":{\"b\":1,\"\\u0062\":2}}]",
		"\f1", "1\v", "[,]", "{,}", "\"abc", "tru", "\"\\",
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		gpc_autoptr(gpc_json) *j = NULL;
		struct gpc_error err = {0};

		if (parse(bad[i], &j, &err) != -GPC_EPROTO)
			fail_msg("taken: %s", bad[i]);
		assert_null(j);
		assert_true(err.msg[0] != '\0');
		assert_true(gpc_utf8_valid(err.msg, strlen(err.msg)));
	}
}

TEST(refuses_nul_bytes_and_cut_text)
{
	static const char text[] = "{\"key\":[1,\"v\",true]}";
	struct gpc_json *j = NULL;
	struct gpc_error err = {0};

	assert_fails(gpc_json_parse("1\0", 2, &j, &err), GPC_EPROTO);
	assert_fails(gpc_json_parse("\"a\0b\"", 5, &j, &err), GPC_EPROTO);
	assert_fails(gpc_json_parse("\0", 1, &j, &err), GPC_EPROTO);
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		/* A copy of exact size, so that a sanitizer sees any overread. */
		gpc_autostr *exact = gpc_array(n + !n, 1);

		memcpy(exact, text, n);
		assert_fails(gpc_json_parse(exact, n, &j, &err), GPC_EPROTO);
	}
	assert_null(j);
}

TEST(names_the_place)
{
	struct gpc_json *j = NULL;
	struct gpc_error err = {0};

	assert_fails(parse("{\n  \"a\": 1,\n  b: 2\n}", &j, &err), GPC_EPROTO);
	assert_string_equal(err.msg,
		"JSON, line 3, column 3: expected a string");
	assert_fails(parse("{\"a\":1,\"a\":2}", &j, &err), GPC_EPROTO);
	assert_has(err.msg, "\"a\" twice");
}

static char *nest(size_t depth)
{
	char *text = gpc_array(2 * depth + 1, 1);

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	return text;
}

TEST(limits_depth)
{
	gpc_autostr *deep = nest(GPC_JSON_MAX_DEPTH);
	gpc_autostr *deeper = nest(GPC_JSON_MAX_DEPTH + 1);
	gpc_autostr *bomb = nest(10000000);
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_json *none = NULL;
	struct gpc_error err = {0};

	assert_ok(parse(deep, &j, &err));
	assert_fails(parse(deeper, &none, &err), GPC_EPROTO);
	assert_fails(parse(bomb, &none, &err), GPC_EPROTO);
	assert_has(err.msg, "nesting");
}

TEST(limits_size_and_count)
{
	size_t n = GPC_JSON_MAX_BYTES + 1;
	gpc_autostr *text = gpc_array(n + 1, 1);
	struct gpc_json *j = NULL;
	struct gpc_error err = {0};

	memset(text, ' ', n);
	text[0] = '1';
	assert_fails(gpc_json_parse(text, n, &j, &err), GPC_EPROTO);
	text[0] = '[';
	for (size_t i = 1; i < 6u << 20; i++)
		text[i] = i % 2 ? '0' : ',';
	assert_fails(gpc_json_parse(text, 6u << 20, &j, &err), GPC_EPROTO);
	assert_has(err.msg, "fewer values");
}

TEST(finds_duplicates_among_many_members_fast)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_json *none = NULL;
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err = {0};
	clock_t start = clock();

	gpc_buf_addc(&b, '{');
	for (int i = 0; i < 200000; i++)
		gpc_buf_addf(&b, "\"k%d\":0,", i);
	gpc_buf_adds(&b, "\"last\":1}");
	assert_ok(gpc_json_parse(b.data, b.len, &j, &err));
	b.len--;
	gpc_buf_adds(&b, ",\"k7\":1}");
	assert_fails(gpc_json_parse(b.data, b.len, &none, &err), GPC_EPROTO);
	assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
}

TEST(survives_random_damage)
{
	static const char good[] = "{\"a\":[1,-2.5e3,\"x\\u00e4\\n\",null],"
		"\"b\":{\"c\":true,\"d\":\"\\ud83d\\ude00\"}}";

	for (int i = 0; i < 20000; i++) {
		gpc_autostr *text = gpc_strdup(good);
		gpc_autoptr(gpc_json) *j = NULL, *again = NULL;
		size_t n = 1 + gpc_rand_below(sizeof(good) - 1);
		struct gpc_error err = {0};

		for (int k = 0; k < 3; k++)
			text[gpc_rand_below(n)] =
				(char)(gpc_rand_below(2) ?
					gpc_rand_below(256) :
					(unsigned char)"{}[]\",:\\u0e-"[
						gpc_rand_below(12)]);
		if (gpc_json_parse(text, n, &j, &err) == 0) {
			gpc_autostr *out = gpc_json_print(j);

			assert_ok(parse(out, &again, &err));
		}
	}
}

TEST(builds_and_changes)
{
	gpc_autoptr(gpc_json) *j = gpc_json_object(), *copy = NULL;
	struct gpc_json *list = gpc_json_array();
	gpc_autostr *out = NULL, *same = NULL, *pretty = NULL;

	gpc_json_add(list, gpc_json_int(1));
	gpc_json_add(list, gpc_json_bool(true));
	gpc_json_add(list, NULL);
	gpc_json_set(j, "list", list);
	gpc_json_set_str(j, "s", "old");
	gpc_json_set_str(j, "s", "new");
	gpc_json_set_str(j, "none", NULL);
	gpc_json_set_int(j, "n", INT64_C(9007199254740992));
	gpc_json_set_bool(j, "b", false);
	gpc_json_set(j, "gone", gpc_json_object());
	gpc_json_unset(j, "gone");
	gpc_json_unset(j, "never");
	out = gpc_json_print(j);
	assert_string_equal(out, "{\"list\":[1,true,null],\"s\":\"new\","
		"\"none\":null,\"n\":9007199254740992,\"b\":false}");
	copy = gpc_json_copy(j);
	gpc_json_set_str(j, "s", "changed");
	same = gpc_json_print(copy);
	assert_string_equal(same, out);
	pretty = gpc_json_print_pretty(gpc_json_get(j, "list"));
	assert_string_equal(pretty, "[\n  1,\n  true,\n  null\n]");
}

TEST(pretty_prints)
{
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *out = NULL;
	struct gpc_error err = {0};

	assert_ok(parse("{\"a\":{\"b\":[1]},\"c\":[],\"d\":{}}", &j, &err));
	out = gpc_json_print_pretty(j);
	assert_string_equal(out, "{\n  \"a\": {\n    \"b\": [\n      1\n"
		"    ]\n  },\n  \"c\": [],\n  \"d\": {}\n}");
}

TEST(prints_any_bytes_as_valid_text)
{
	gpc_autoptr(gpc_json) *j = gpc_json_object(), *back = NULL;
	gpc_autostr *out = NULL;
	struct gpc_error err = {0};

	gpc_json_set_str(j, "k\xff", "a\xff\xc3(\xed\xa0\x80z\x7f");
	gpc_json_set(j, "nan", gpc_json_number(0.0 / 0.0));
	out = gpc_json_print(j);
	assert_ok(parse(out, &back, &err));
	assert_string_equal(gpc_json_key(gpc_json_first(back)),
		"k\xef\xbf\xbd");
	assert_true(gpc_json_is_null(gpc_json_get(back, "nan")));
}

TEST(reads_members)
{
	gpc_autoptr(gpc_json) *j = NULL;
	const struct gpc_json *m;
	struct gpc_error err = {0};
	size_t n = 0;

	assert_ok(parse("{\"s\":\"x\",\"n\":7,\"f\":1.5,\"b\":true,\"z\":null,"
		"\"big\":9007199254740994}", &j, &err));
	assert_string_equal(gpc_json_get_str(j, "s"), "x");
	assert_null(gpc_json_get_str(j, "S"));
	assert_null(gpc_json_get_str(j, "n"));
	assert_int_equal(gpc_json_get_int(j, "n", -1), 7);
	assert_int_equal(gpc_json_get_int(j, "f", -1), -1);
	assert_int_equal(gpc_json_get_int(j, "s", -1), -1);
	assert_int_equal(gpc_json_get_int(j, "big", -1), -1);
	assert_int_equal(gpc_json_get_int(j, "none", -1), -1);
	assert_true(gpc_json_number_or(gpc_json_get(j, "f"), 0) == 1.5);
	assert_true(gpc_json_bool_or(gpc_json_get(j, "b"), false));
	assert_true(gpc_json_bool_or(gpc_json_get(j, "s"), true));
	assert_true(gpc_json_is_null(gpc_json_get(j, "z")));
	for (m = gpc_json_first(j); m; m = gpc_json_next(m))
		n += gpc_json_key(m) != NULL;
	assert_int_equal(n, 6);
}

TEST(takes_null_everywhere)
{
	assert_false(gpc_json_is_object(NULL) || gpc_json_is_array(NULL) ||
		gpc_json_is_string(NULL) || gpc_json_is_number(NULL) ||
		gpc_json_is_bool(NULL) || gpc_json_is_null(NULL));
	assert_null(gpc_json_get(NULL, "x"));
	assert_null(gpc_json_str(NULL));
	assert_int_equal(gpc_json_int_or(NULL, 3), 3);
	assert_null(gpc_json_get_str(NULL, "x"));
	assert_null(gpc_json_first(NULL));
	assert_null(gpc_json_next(NULL));
	assert_null(gpc_json_key(NULL));
	assert_null(gpc_json_copy(NULL));
	gpc_json_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_what_it_read),
		cmocka_unit_test(reads_other_forms),
		cmocka_unit_test(refuses_what_is_no_json),
		cmocka_unit_test(refuses_nul_bytes_and_cut_text),
		cmocka_unit_test(names_the_place),
		cmocka_unit_test(limits_depth),
		cmocka_unit_test(limits_size_and_count),
		cmocka_unit_test(finds_duplicates_among_many_members_fast),
		cmocka_unit_test(survives_random_damage),
		cmocka_unit_test(builds_and_changes),
		cmocka_unit_test(pretty_prints),
		cmocka_unit_test(prints_any_bytes_as_valid_text),
		cmocka_unit_test(reads_members),
		cmocka_unit_test(takes_null_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
