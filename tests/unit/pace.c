/* Looks that find nothing come less and less often, and news brings them back. */
#include "test.h"

#include "base/pace.h"

TEST(pauses_grow_to_the_most)
{
	struct gpc_pace p = {0};
	int64_t before = 0;

	gpc_pace_set(&p, 1000, 5000);
	assert_int_equal(gpc_pace_next(&p, false), 1000);
	for (int i = 0; i < 10; i++) {
		int64_t ms = gpc_pace_next(&p, false);

		assert_true(ms > before || ms == 5000);
		before = ms;
	}
	assert_int_equal(before, 5000);
}

TEST(news_brings_the_least)
{
	struct gpc_pace p = {0};

	gpc_pace_set(&p, 1000, 5000);
	for (int i = 0; i < 10; i++)
		gpc_pace_next(&p, false);
	assert_int_equal(gpc_pace_next(&p, true), 1000);
	assert_int_equal(gpc_pace_next(&p, false), 1500);
}

TEST(new_bounds_hold_at_once)
{
	struct gpc_pace p = {0};

	gpc_pace_set(&p, 1000, 5000);
	for (int i = 0; i < 10; i++)
		gpc_pace_next(&p, false);
	gpc_pace_set(&p, 300, 2000);
	assert_int_equal(gpc_pace_next(&p, false), 2000);
	gpc_pace_set(&p, 3000, 1000);   /* the least counts */
	assert_int_equal(gpc_pace_next(&p, false), 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_grow_to_the_most),
		cmocka_unit_test(news_brings_the_least),
		cmocka_unit_test(new_bounds_hold_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
