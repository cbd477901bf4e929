/* Random bytes: different, in range, without gaps. */
#include "test.h"

#include "base/rand.h"

TEST(fills_everything)
{
	unsigned char bytes[1000] = {0};
	size_t counts[256] = {0}, seen = 0;

	for (int i = 0; i < 100; i++) {
		gpc_rand(bytes, sizeof(bytes));
		for (size_t j = 0; j < sizeof(bytes); j++)
			counts[bytes[j]]++;
	}
	for (size_t i = 0; i < 256; i++)
		seen += counts[i] > 200 && counts[i] < 600;
	assert_int_equal(seen, 256);
	gpc_rand(bytes, 0);
}

TEST(stays_below)
{
	size_t counts[3] = {0};

	assert_true(gpc_rand_below(0) == 0);
	assert_true(gpc_rand_below(1) == 0);
	for (int i = 0; i < 3000; i++) {
		uint64_t n = gpc_rand_below(3);

		assert_true(n < 3);
		counts[n]++;
	}
	for (size_t i = 0; i < 3; i++)
		assert_in_range(counts[i], 800, 1200);
	assert_true(gpc_rand_below(UINT64_MAX) < UINT64_MAX);
}

TEST(writes_base32)
{
	char a[27], b[27];

	gpc_rand_base32(a, 26);
	gpc_rand_base32(b, 26);
	assert_int_equal(strlen(a), 26);
	assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz234567"), 26);
	assert_string_not_equal(a, b);
	assert_string_equal(gpc_rand_base32(a, 0), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_everything),
		cmocka_unit_test(stays_below),
		cmocka_unit_test(writes_base32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
