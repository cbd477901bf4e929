/* Numbers, sizes and durations from outside, good and hostile. */
#include "test.h"

#include "base/parse.h"
#include "base/str.h"

TEST(reads_whole_numbers)
{
	static const struct { const char *s; int64_t want; } cases[] = {
		{"0", 0}, {"-0", 0}, {"+7", 7}, {"007", 7}, {"-12", -12},
		{"9223372036854775807", INT64_MAX},
		{"-9223372036854775808", INT64_MIN},
	};
	static const char *const bad[] = {
		"", " 1", "1 ", "1.0", "0x10", "1e3", "--1", "-", "+", "abc",
		"9223372036854775808", "-9223372036854775809", "1,000",
		"99999999999999999999999999999999999", "\xd9\xa1", "1\n",
	};
	struct gpc_error err = {0};
	int64_t n;

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_ok(gpc_parse_i64(cases[i].s, INT64_MIN, INT64_MAX, "n",
			&n, &err));
		assert_true(n == cases[i].want);
	}
	n = 77;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(gpc_parse_i64(bad[i], INT64_MIN, INT64_MAX, "n",
			&n, &err), GPC_ECONFIG);
	assert_fails(gpc_parse_i64(NULL, 0, 1, "n", &n, &err), GPC_ECONFIG);
	assert_int_equal(n, 77);
}

TEST(keeps_ranges_and_names_them)
{
	struct gpc_error err = {0};
	int64_t n;

	assert_ok(gpc_parse_i64("64", 1, 64, "--nodes", &n, &err));
	assert_fails(gpc_parse_i64("65", 1, 64, "--nodes", &n, &err),
		GPC_ECONFIG);
	assert_string_equal(err.msg, "--nodes: expected a whole number from 1 "
		"to 64, not \"65\"");
	assert_fails(gpc_parse_i64("-1", 0, INT64_MAX, "x", &n, &err),
		GPC_ECONFIG);
	assert_has(err.msg, "at least 0");
	assert_fails(gpc_parse_i64("\033[2J", 0, 9, "x", &n, &err),
		GPC_ECONFIG);
	assert_has(err.msg, "\\x1b[2J");
}

TEST(cuts_long_input_in_messages)
{
	gpc_autostr *huge = gpc_array(1000001, 1);
	struct gpc_error err = {0};
	int64_t n;

	memset(huge, 'z', 1000000);
	assert_fails(gpc_parse_i64(huge, 0, 9, "x", &n, &err), GPC_ECONFIG);
	assert_true(strlen(err.msg) < 200);
	memset(huge, '1', 1000000);
	assert_fails(gpc_parse_duration(huge, 1, "x", &n, &err), GPC_ECONFIG);
}

TEST(reads_doubles)
{
	static const char *const bad[] = {
		"", ".", "-", "1e", "nan", "inf", "0x1p3", "1.5.2", " 1", "1 ",
		"1e999", "-1", "101", "1_000",
	};
	struct gpc_error err = {0};
	double x;

	assert_ok(gpc_parse_double("1.5e1", 0, 100, "x", &x, &err));
	assert_true(x == 15);
	assert_ok(gpc_parse_double(".5", 0, 100, "x", &x, &err));
	assert_true(x == 0.5);
	assert_ok(gpc_parse_double("+5.", 0, 100, "x", &x, &err));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(gpc_parse_double(bad[i], 0, 100, "x", &x, &err),
			GPC_ECONFIG);
}

TEST(reads_booleans)
{
	struct gpc_error err = {0};
	bool b = false;

	assert_ok(gpc_parse_bool("YES", "x", &b, &err));
	assert_true(b);
	assert_ok(gpc_parse_bool("off", "x", &b, &err));
	assert_false(b);
	assert_fails(gpc_parse_bool("", "x", &b, &err), GPC_ECONFIG);
	assert_fails(gpc_parse_bool("y", "x", &b, &err), GPC_ECONFIG);
	assert_fails(gpc_parse_bool("2", "x", &b, &err), GPC_ECONFIG);
	assert_fails(gpc_parse_bool(NULL, "x", &b, &err), GPC_ECONFIG);
}

TEST(reads_sizes)
{
	static const struct { const char *s; uint64_t unit, want; } cases[] = {
		{"256", 1, 256}, {"256", 1 << 30, UINT64_C(256) << 30},
		{"1.5GB", 1, 1610612736}, {"512MiB", 1, 536870912},
		{"512 mib", 1, 536870912}, {"1k", 1, 1024}, {"0", 1, 0},
		{"1B", 1 << 30, 1}, {".5", 1 << 30, 1 << 29},
		{"1.1GB", 1, 1181116006}, {"2T", 1, UINT64_C(2) << 40},
		{"7E", 1, UINT64_C(7) << 60},
		{"0.999999999G", 1, 1073741822},
		{"9223372036854775807", 1, INT64_MAX},
	};
	static const char *const bad[] = {
		"", "-1", "1.5", "1.5B", "GB", "1XB", "1GBB", "1 G B", "8E",
		"99999999999999999999", "9223372036854775808", "1e3",
		"1.0000000001G", "1kk", "1i", "0x10", "1K\033", "17179869184G",
	};
	struct gpc_error err = {0};
	uint64_t n;

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_ok(gpc_parse_size(cases[i].s, cases[i].unit, "x", &n,
			&err));
		assert_true(n == cases[i].want);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(gpc_parse_size(bad[i], 1, "x", &n, &err),
			GPC_ECONFIG);
	assert_fails(gpc_parse_size(NULL, 1, "x", &n, &err), GPC_ECONFIG);
}

TEST(reads_durations)
{
	static const struct { const char *s; int64_t unit, want; } cases[] = {
		{"90", 1000, 90000}, {"90", 60000, 5400000}, {"0", 1000, 0},
		{"10m", 1, 600000}, {"1h30m", 1, 5400000},
		{"1h 30min", 1, 5400000}, {"2d", 1, 172800000},
		{"500ms", 1, 500}, {"1.5h", 1, 5400000}, {"1w", 1, 604800000},
		{"2 days", 1, 172800000}, {"1H", 1, 3600000},
		{"1.5", 1000, 1500}, {"1d2h3m4s5ms", 1, 93784005},
	};
	static const char *const bad[] = {
		"", "-1", "m", "1x", "1m1h", "1h1h", "1h30", "h1", "1h-3m",
		"99999999999w", "9223372036854775808", "1 000", "1h  x",
		"9223372036854775807s", "1hm",
	};
	struct gpc_error err = {0};
	int64_t n;

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_ok(gpc_parse_duration(cases[i].s, cases[i].unit, "x", &n,
			&err));
		assert_true(n == cases[i].want);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(gpc_parse_duration(bad[i], 1000, "x", &n, &err),
			GPC_ECONFIG);
}

TEST(shows_sizes)
{
	static const struct { uint64_t n; const char *want; } cases[] = {
		{0, "0 B"}, {1023, "1023 B"}, {1024, "1 KiB"},
		{1536, "1.5 KiB"}, {1048575, "1 MiB"}, {1048576, "1 MiB"},
		{1610612736, "1.5 GiB"}, {UINT64_C(2) << 40, "2 TiB"},
		{UINT64_MAX, "16 EiB"}, {1023 * 1024 + 512, "1023.5 KiB"},
	};
	char out[32];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(gpc_format_size(cases[i].n, out,
			sizeof(out)), cases[i].want);
}

TEST(shows_durations)
{
	static const struct { int64_t n; const char *want; } cases[] = {
		{0, "0s"}, {1, "1ms"}, {999, "999ms"}, {1000, "1s"},
		{1500, "1.5s"}, {59999, "59s"}, {60000, "1m"},
		{5400000, "1h30m"}, {90061000, "1d1h"}, {172800000, "2d"},
		{-1500, "-1.5s"}, {INT64_MAX, "forever"}, {3600999, "1h"},
		{INT64_MAX - 1, "106751991167d7h"},
	};
	char out[32];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(gpc_format_duration(cases[i].n, out,
			sizeof(out)), cases[i].want);
}

TEST(reads_back_what_it_shows)
{
	struct gpc_error err = {0};

	for (int64_t ms = 1000; ms < INT64_C(1) << 40; ms = ms * 3 + 60000) {
		char out[32];
		int64_t n;

		assert_ok(gpc_parse_duration(gpc_format_duration(ms, out,
			sizeof(out)), 1, "x", &n, &err));
		assert_true(n <= ms && n > ms - ms / 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_whole_numbers),
		cmocka_unit_test(keeps_ranges_and_names_them),
		cmocka_unit_test(cuts_long_input_in_messages),
		cmocka_unit_test(reads_doubles),
		cmocka_unit_test(reads_booleans),
		cmocka_unit_test(reads_sizes),
		cmocka_unit_test(reads_durations),
		cmocka_unit_test(shows_sizes),
		cmocka_unit_test(shows_durations),
		cmocka_unit_test(reads_back_what_it_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
