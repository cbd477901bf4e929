/* Money is exact, rounds against us, and never wraps. */
#include "test.h"

#include "base/money.h"
#include "base/rand.h"

static struct gpc_money usd(int64_t micros)
{
	return (struct gpc_money){micros, "USD"};
}

TEST(parses)
{
	static const struct { const char *s; int64_t micros; const char *cur; }
	cases[] = {
		{"12.50", 12500000, "USD"}, {"80 CNY", 80000000, "CNY"},
		{"$3", 3000000, "USD"}, {"0", 0, "USD"}, {".5", 500000, "USD"},
		{"1.234567 eur", 1234567, "EUR"}, {" 7", 7000000, "USD"},
		{"0.000001", 1, "USD"}, {"5USD", 5000000, "USD"},
		{"9223372036854.775807", INT64_MAX, "USD"},
	};
	static const char *const bad[] = {
		"", "-1", "1.2345678", "$", "1,50", "1 US", "1 USDX", "$3 CNY",
		"1e3", "9223372036855", "9223372036854.775808", "abc", "1 U$D",
		"99999999999999999999", ".", "1.0 \033",
	};
	struct gpc_error err = {0};
	struct gpc_money m;

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_ok(gpc_money_parse(cases[i].s, "USD", "x", &m, &err));
		assert_true(m.micros == cases[i].micros);
		assert_string_equal(m.currency, cases[i].cur);
	}
	m = usd(7);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(gpc_money_parse(bad[i], "USD", "--max-cost", &m,
			&err), GPC_ECONFIG);
	assert_fails(gpc_money_parse(NULL, "USD", "x", &m, &err), GPC_ECONFIG);
	assert_true(m.micros == 7);
}

TEST(formats)
{
	static const struct { struct gpc_money m; const char *shown, *exact; }
	cases[] = {
		{{1230000, "USD"}, "$1.23", "1.23"},
		{{1234567, "USD"}, "$1.23", "1.234567"},
		{{1235000, "USD"}, "$1.24", "1.235"},
		{{400, "USD"}, "$0.0004", "0.0004"},
		{{1, "USD"}, "$0.000001", "0.000001"},
		{{0, "USD"}, "$0.00", "0.00"},
		{{80000000, "CNY"}, "80.00 CNY", "80.00"},
		{{400, "CNY"}, "0.0004 CNY", "0.0004"},
		{{0, ""}, "0.00", "0.00"},
		{{-1230000, "USD"}, "-$1.23", "-1.23"},
		{{9999, "USD"}, "$0.009999", "0.009999"},
		{{INT64_MAX, "USD"}, "$9223372036854.775807",
			"9223372036854.775807"},
		{{INT64_MIN, "CNY"}, "-9223372036854.775808 CNY",
			"-9223372036854.775808"},
	};
	char out[GPC_MONEY_SIZE];

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_string_equal(gpc_money_format(cases[i].m, out),
			cases[i].shown);
		assert_string_equal(gpc_money_decimal(cases[i].m, out),
			cases[i].exact);
	}
}

TEST(adds)
{
	struct gpc_money a = {0};
	struct gpc_error err = {0};

	assert_ok(gpc_money_add(&a, usd(5), &err));
	assert_string_equal(a.currency, "USD");
	assert_ok(gpc_money_add(&a, (struct gpc_money){0}, &err));
	assert_ok(gpc_money_add(&a, usd(6), &err));
	assert_true(a.micros == 11);
	assert_fails(gpc_money_add(&a, (struct gpc_money){1, "CNY"}, &err),
		GPC_ECONFIG);
	assert_true(a.micros == 11);
	assert_ok(gpc_money_add(&a, usd(INT64_MAX), &err));
	assert_true(a.micros == INT64_MAX);
}

TEST(charges_rounded_up)
{
	static const struct { int64_t rate, ms, want; } cases[] = {
		{1000000, 3600000, 1000000}, {1000000, 1, 1}, {1, 3600000, 1},
		{1, 1, 1}, {0, 100, 0}, {100, 0, 0}, {100, -5, 0},
		{3600000, 1, 1}, {3600001, 1, 2}, {98320000, 86400000, 2359680000},
		{INT64_MAX, 3600000, INT64_MAX}, {INT64_MAX, 3600001, INT64_MAX},
		{INT64_MAX, INT64_MAX, INT64_MAX},
		{1, INT64_MAX, 2562047788016},
		{INT64_MAX, 1, 2562047788016},
		{INT64_MAX, 1800000, INT64_MAX / 2 + 1},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_money m = gpc_money_for(usd(cases[i].rate),
			cases[i].ms);

		assert_true(m.micros == cases[i].want);
		assert_string_equal(m.currency, "USD");
	}
}

TEST(agrees_with_wide_arithmetic)
{
	__extension__ typedef unsigned __int128 wide;

	for (int i = 0; i < 20000; i++) {
		int64_t rate = (int64_t)(gpc_rand_below(INT64_MAX) >>
			gpc_rand_below(63)) + 1;
		int64_t ms = (int64_t)(gpc_rand_below(INT64_MAX) >>
			gpc_rand_below(63)) + 1;
		wide exact = ((wide)rate * (wide)ms + 3599999) / 3600000;
		wide lasts = (wide)ms * 3600000 / (wide)rate;
		int64_t got = gpc_money_for(usd(rate), ms).micros;
		int64_t time = gpc_money_lasts(usd(ms), usd(rate));

		assert_true(got == (exact > INT64_MAX ? INT64_MAX :
			(int64_t)exact));
		assert_true(time == (lasts > INT64_MAX ? INT64_MAX :
			(int64_t)lasts));
	}
}

TEST(tells_how_long_a_budget_lasts)
{
	assert_true(gpc_money_lasts(usd(1000000), usd(0)) == INT64_MAX);
	assert_true(gpc_money_lasts(usd(0), usd(5)) == 0);
	assert_true(gpc_money_lasts(usd(-5), usd(5)) == 0);
	assert_true(gpc_money_lasts(usd(1000000), usd(2000000)) == 1800000);
	/* What lasts that long costs no more than the budget. */
	assert_true(gpc_money_for(usd(7), gpc_money_lasts(usd(1000), usd(7)))
		.micros <= 1000);
}

TEST(compares)
{
	assert_true(gpc_money_cmp(usd(1), usd(2)) < 0);
	assert_true(gpc_money_cmp(usd(2), usd(2)) == 0);
	assert_true(gpc_money_cmp(usd(INT64_MAX), usd(INT64_MIN)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses),
		cmocka_unit_test(formats),
		cmocka_unit_test(adds),
		cmocka_unit_test(charges_rounded_up),
		cmocka_unit_test(agrees_with_wide_arithmetic),
		cmocka_unit_test(tells_how_long_a_budget_lasts),
		cmocka_unit_test(compares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
