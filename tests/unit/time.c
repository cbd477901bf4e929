/* Times as text, against the C library's calendar, and the clocks. */
#include "test.h"

#include <stdio.h>
#include <time.h>

#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"

TEST(formats)
{
	static const struct { int64_t ms; const char *want; } cases[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{1, "1970-01-01T00:00:00.001Z"},
		{-1, "1969-12-31T23:59:59.999Z"},
		{951782400000, "2000-02-29T00:00:00.000Z"},
		{1709251199999, "2024-02-29T23:59:59.999Z"},
		{4102444800000, "2100-01-01T00:00:00.000Z"},
		{INT64_MAX, "9999-12-31T23:59:59.999Z"},
		{INT64_MIN, "0000-01-01T00:00:00.000Z"},
	};
	char out[GPC_RFC3339_SIZE];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(gpc_format_rfc3339(cases[i].ms, out),
			cases[i].want);
}

TEST(agrees_with_gmtime)
{
	for (int i = 0; i < 20000; i++) {
		int64_t s = (int64_t)gpc_rand_below(UINT64_C(300000000000)) -
			60000000000;
		time_t t = (time_t)s;
		char out[GPC_RFC3339_SIZE], want[64];
		struct gpc_error err = {0};
		int64_t back;
		struct tm tm;

		gmtime_r(&t, &tm);
		if (tm.tm_year < -1900 || tm.tm_year > 8099)
			continue;
		snprintf(want, sizeof(want), "%04d-%02d-%02dT%02d:%02d:%02d.000Z",
			tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			tm.tm_hour, tm.tm_min, tm.tm_sec);
		assert_string_equal(gpc_format_rfc3339(s * 1000, out), want);
		assert_ok(gpc_parse_rfc3339(out, &back, &err));
		assert_true(back == s * 1000);
	}
}

TEST(parses)
{
	static const struct { const char *s; int64_t want; } cases[] = {
		{"1970-01-01T00:00:00Z", 0}, {"1970-01-01t00:00:00z", 0},
		{"1970-01-01 01:00:00+01:00", 0},
		{"1969-12-31T18:30:00-05:30", 0},
		{"1970-01-01T00:00:00.1Z", 100},
		{"1970-01-01T00:00:00.123456789Z", 123},
		{"2016-12-31T23:59:60Z", 1483228800000},
	};
	static const char *const bad[] = {
		"", "1970", "1970-01-01", "1970-01-01T00:00:00",
		"1970-13-01T00:00:00Z", "1970-00-01T00:00:00Z",
		"1970-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
		"1970-01-32T00:00:00Z", "1970-01-01T24:00:00Z",
		"1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z",
		"1970-01-01T00:00:00.Z", "1970-01-01T00:00:00Zx",
		"1970-1-1T00:00:00Z", "+970-01-01T00:00:00Z",
		"1970-01-01T00:00:00+1:00", "1970-01-01T00:00:00+24:00",
		"\033[2J",
	};
	struct gpc_error err = {0};
	int64_t ms;

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_ok(gpc_parse_rfc3339(cases[i].s, &ms, &err));
		assert_true(ms == cases[i].want);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_fails(gpc_parse_rfc3339(bad[i], &ms, &err), GPC_EPROTO);
		assert_null(strchr(err.msg, '\033'));
	}
	assert_fails(gpc_parse_rfc3339(NULL, &ms, &err), GPC_EPROTO);
}

TEST(has_clocks)
{
	int64_t wall = gpc_wall_ms(), boot = gpc_boot_ms(), after;

	assert_true(llabs(wall - (int64_t)time(NULL) * 1000) < 2000);
	gpc_sleep_ms(20);
	after = gpc_boot_ms();
	assert_true(after - boot >= 19 && after - boot < 5000);
	gpc_sleep_ms(0);
	gpc_sleep_ms(-5);
}

TEST(names_the_boot)
{
	char a[64], b[64];

	gpc_boot_id(a);
	assert_string_equal(gpc_boot_id(b), a);
#ifdef __linux__
	assert_int_equal(strlen(a), 36);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(agrees_with_gmtime),
		cmocka_unit_test(parses),
		cmocka_unit_test(has_clocks),
		cmocka_unit_test(names_the_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
