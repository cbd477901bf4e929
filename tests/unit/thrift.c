/* The log's puts follow what the machine costs: 1 % of it, 5 % while watched. */
#include "test.h"

#include "agent/thrift.h"

TEST(the_log_waits_as_the_rate_says)
{
	static const struct {
		int64_t micros;
		bool watched;
		int64_t ms;
	} rows[] = {
		{ 0, false, 10000 }, { 0, true, 1000 },   /* costs nothing */
		{ 98320000, false, 10000 },               /* 8 x H100 */
		{ 98320000, true, 1000 },
		{ 526000, false, 10333 },                 /* a T4 */
		{ 526000, true, 1468 },
		{ 250000, false, 49724 },
		{ 100000, false, 120000 },                /* beats take it all */
		{ 100000, true, 11167 },
		{ 10000, true, 120000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(gpc_thrift_log_ms(rows[i].micros,
			1, rows[i].watched), rows[i].ms);
}

/* An hour of log, beats, slow streams and looks, in millionths. */
TEST(an_hours_requests_stay_within_the_share)
{
	for (int64_t rate = 320000; rate < 100000000; rate += 777777) {
		for (int i = 0; i < 8; i++) {
			static const int nodes[] = { 1, 2, 13, 1000 };
			static const int others[] = { 0, 576, 288 + 653, 288 + 8 };
			bool watched = i & 1;
			int64_t ms = gpc_thrift_log_ms(rate, nodes[i / 2],
				watched);
			int64_t spent = 3600000 / ms * 2 * 5 + 240 * 5 + 576 +
				others[i / 2];

			assert_true(spent <= rate / 100 * (watched ? 5 : 1));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_log_waits_as_the_rate_says),
		cmocka_unit_test(an_hours_requests_stay_within_the_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
