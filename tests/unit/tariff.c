/* What machines cost, by part: exact sums, rounded up, never for less than the least
 * time. */
#include "test.h"

#include "base/str.h"
#include "base/rand.h"
#include "dep/json.h"
#include "model/tariff.h"
#include "provider/aws_tariff.h"

static struct gpc_money usd(int64_t micros)
{
	return (struct gpc_money){ micros, "USD" };
}

TEST(parts_of_a_machine)
{
	static const struct {
		int64_t ms;
		int n;
		bool free;
		int64_t machine, disk, address;
	} rows[] = {
		{ 0, 1, false, 347, 183, 84 },          /* a minute is paid */
		{ 60000, 1, false, 347, 183, 84 },
		{ 60001, 1, false, 353, 186, 85 },      /* the 61st second */
		{ 3600000, 1, false, 20800, 10959, 5000 },
		{ 3600000, 3, false, 62400, 32877, 15000 },
		{ 3600000, 2, true, 0, 21918, 10000 },
		{ 86400000, 1, false, 499200, 263014, 120000 },
		{ -5, 1, false, 347, 183, 84 },
	};
	gpc_auto(gpc_tariff) struct gpc_tariff t;

	gpc_aws_tariff("us-east-1", usd(20800), 100, true, &t);
	assert_int_equal(gpc_tariff_hourly(&t).micros, 20800 + 10959 + 5000);
	for (size_t i = 0; i < COUNT(rows); i++) {
		gpc_auto(gpc_bill) struct gpc_bill b = {0};
		struct gpc_money sum = gpc_tariff_charge(&t, rows[i].ms,
			rows[i].n, rows[i].free, &b);

		assert_int_equal(b.n, 3);
		assert_string_equal(b.v[1].name, "disk");
		assert_int_equal(b.v[0].sum.micros, rows[i].machine);
		assert_int_equal(b.v[1].sum.micros, rows[i].disk);
		assert_int_equal(b.v[2].sum.micros, rows[i].address);
		assert_int_equal(sum.micros, rows[i].machine + rows[i].disk +
			rows[i].address);
		assert_int_equal(gpc_tariff_charge(&t, rows[i].ms, rows[i].n,
			rows[i].free, NULL).micros, sum.micros);
	}
}

TEST(places_differ)
{
	gpc_auto(gpc_tariff) struct gpc_tariff far, unknown, china;

	gpc_aws_tariff("eu-central-1", usd(1), 730, true, &far);
	assert_int_equal(far.parts.v[1].price.micros, 730 * 95200);
	gpc_aws_tariff("xx-new-9", usd(1), 730, false, &unknown);
	assert_int_equal(unknown.parts.n, 2);
	assert_int_equal(unknown.parts.v[1].price.micros, 730 * 152000);
	gpc_aws_tariff("cn-north-1", (struct gpc_money){ 5, "CNY" }, 1, true,
		&china);
	assert_int_equal(china.parts.n, 2);
	assert_string_equal(china.parts.v[1].price.currency, "CNY");
}

TEST(bills_add_up)
{
	gpc_auto(gpc_bill) struct gpc_bill b = {0};

	gpc_bill_add(&b, "disk", usd(3));
	gpc_bill_add(&b, "machine", usd(INT64_MAX - 1));
	gpc_bill_add(&b, "disk", usd(4));
	gpc_bill_add(&b, "machine", usd(7));
	gpc_bill_add(&b, "disk", (struct gpc_money){ 9, "CNY" });
	assert_int_equal(b.n, 2);
	assert_int_equal(b.v[0].sum.micros, 7);
	assert_true(b.v[1].sum.micros == INT64_MAX);
}

TEST(hostile_ones_are_only_dear)
{
	static const char text[] = "{\"step_ms\":9007199254740991,"
		"\"least_ms\":9007199254740991,\"parts\":[{\"name\":\"machine\","
		"\"price\":{\"amount\":\"9223372036854\",\"currency\":\"USD\"},"
		"\"per_ms\":-5},{\"name\":\"disk\",\"price\":{\"amount\":"
		"\"9223372036854\",\"currency\":\"USD\"},"
		"\"per_ms\":9007199254740991}]}";
	gpc_auto(gpc_tariff) struct gpc_tariff t = {0};
	struct gpc_error err;

	assert_ok(gpc_bind_parse(text, strlen(text), gpc_tariff_fields, &t,
		&err));
	assert_true(gpc_tariff_charge(&t, INT64_MAX, 4096, false, NULL).micros ==
		INT64_MAX);
}

__extension__ typedef __int128 wide;

TEST(agrees_with_wide_arithmetic)
{
	for (int i = 0; i < 20000; i++) {
		int64_t price = (int64_t)(gpc_rand_below(INT64_MAX) >>
			gpc_rand_below(63)) + 1;
		int64_t ms = (int64_t)(gpc_rand_below(INT64_MAX) >>
			gpc_rand_below(63)) + 1;
		int64_t per = (int64_t)gpc_rand_below(3024000000) + 1;
		wide exact = ((wide)price * (wide)ms + per - 1) / per;

		assert_true(gpc_money_per(usd(price), per, ms).micros ==
			(exact > INT64_MAX ? INT64_MAX : (int64_t)exact));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_machine),
		cmocka_unit_test(places_differ),
		cmocka_unit_test(bills_add_up),
		cmocka_unit_test(hostile_ones_are_only_dear),
		cmocka_unit_test(agrees_with_wide_arithmetic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
