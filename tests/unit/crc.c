/* Checksums against published check values, against a bit by bit computation at
 * every length and alignment around where the ways of computing change, and
 * joined at random splits. */
#include "test.h"

#include <pthread.h>

#include "base/crc.h"
#include "base/rand.h"

/* All four in one table, as numbers of 64 bits. */
static uint64_t crc32_of(uint64_t sum, const void *data, size_t n)
{
	return gpc_crc32((uint32_t)sum, data, n);
}

static uint64_t crc32c_of(uint64_t sum, const void *data, size_t n)
{
	return gpc_crc32c((uint32_t)sum, data, n);
}

static uint64_t crc32c_join(uint64_t a, uint64_t b, uint64_t n_b)
{
	return gpc_crc32c_join((uint32_t)a, (uint32_t)b, n_b);
}

static const struct {
	uint64_t (*of)(uint64_t sum, const void *data, size_t n);
	uint64_t (*join)(uint64_t a, uint64_t b, uint64_t n_b);
	int bits;
	uint64_t poly, check;           /* of "123456789" */
} sums[] = {
	{crc32_of, NULL, 32, 0xedb88320, 0xcbf43926},
	{crc32c_of, crc32c_join, 32, 0x82f63b78, 0xe3069283},
	{gpc_crc64, gpc_crc64_join, 64, 0xc96c5795d7870f42, 0x995dc9bbdf1939fa},
	{gpc_crc64nvme, gpc_crc64nvme_join, 64, 0x9a6c9329ac4bc9b5,
		0xae8b14860a799888},
};

static uint64_t by_bits(size_t which, const uint8_t *p, size_t n)
{
	uint64_t ones = UINT64_MAX >> (64 - sums[which].bits), v = ones;

	for (; n > 0; n--) {
		v ^= *p++;
		for (int i = 0; i < 8; i++)
			v = v & 1 ? v >> 1 ^ sums[which].poly : v >> 1;
	}
	return v ^ ones;
}

TEST(gives_check_values)
{
	uint8_t zeros[32] = {0};

	for (size_t i = 0; i < COUNT(sums); i++) {
		assert_true(sums[i].of(0, "123456789", 9) == sums[i].check);
		assert_true(sums[i].of(0, NULL, 0) == 0);
		assert_true(sums[i].of(77, NULL, 0) == 77);
		assert_true(by_bits(i, zeros, 32) == sums[i].of(0, zeros, 32));
	}
	/* iSCSI's, RFC 3720 B.4 */
	assert_true(gpc_crc32c(0, zeros, 32) == 0x8a9136aa);
}

/* Lengths that end in each step of each way, from each alignment. */
TEST(computes_the_same_as_bit_by_bit)
{
	uint8_t data[600];

	gpc_rand(data, sizeof(data));
	for (size_t i = 0; i < COUNT(sums); i++)
		for (size_t n = 0; n < 500; n += n < 300 ? 1 : 7) {
			size_t at = n % 17;

			assert_true(sums[i].of(0, data + at, n)
				== by_bits(i, data + at, n));
		}
}

TEST(goes_on_from_what_came_before)
{
	uint8_t data[5000];

	gpc_rand(data, sizeof(data));
	for (size_t i = 0; i < COUNT(sums); i++) {
		uint64_t all = sums[i].of(0, data, sizeof(data)), sum = 0;
		size_t at = 0, step = 1;

		assert_true(all == by_bits(i, data, sizeof(data)));
		for (; at + step < sizeof(data); at += step, step += 13)
			sum = sums[i].of(sum, data + at, step);
		assert_true(sums[i].of(sum, data + at, sizeof(data) - at)
			== all);
	}
}

TEST(joins_parts)
{
	uint8_t data[3000];
	uint16_t split;

	gpc_rand(data, sizeof(data));
	for (size_t i = 0; i < COUNT(sums); i++) {
		uint64_t all = sums[i].of(0, data, sizeof(data));

		for (int round = 0; sums[i].join && round < 200; round++) {
			size_t n;

			gpc_rand(&split, sizeof(split));
			n = round == 0 ? 0 : round == 1 ? sizeof(data)
				: split % sizeof(data);
			assert_true(sums[i].join(sums[i].of(0, data, n),
				sums[i].of(0, data + n, sizeof(data) - n),
				sizeof(data) - n) == all);
		}
	}
}

/* More bytes than anybody sums in a test: (A B) C is A (B C). */
TEST(joins_huge_parts)
{
	const uint64_t n = (UINT64_C(1) << 62) + 12345, m = UINT64_C(7) << 40;

	for (size_t i = 0; i < COUNT(sums); i++) {
		uint64_t a = sums[i].of(0, "a", 1), b = sums[i].of(0, "b", 1);
		uint64_t c = sums[i].of(0, "c", 1);

		if (!sums[i].join)
			continue;
		assert_true(sums[i].join(sums[i].join(a, b, n), c, m)
			== sums[i].join(a, sums[i].join(b, c, m), n + m));
	}
}

static void *sum_in_thread(void *arg)
{
	uint8_t *data = arg;

	return (void *)(uintptr_t)(by_bits(2, data, 300)
		== gpc_crc64(0, data, 300));
}

TEST(works_in_threads)
{
	uint8_t data[300];
	pthread_t threads[4];

	gpc_rand(data, sizeof(data));
	for (size_t i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
			sum_in_thread, data), 0);
	for (size_t i = 0; i < COUNT(threads); i++) {
		void *same = NULL;

		pthread_join(threads[i], &same);
		assert_non_null(same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(works_in_threads),
		cmocka_unit_test(gives_check_values),
		cmocka_unit_test(computes_the_same_as_bit_by_bit),
		cmocka_unit_test(goes_on_from_what_came_before),
		cmocka_unit_test(joins_parts),
		cmocka_unit_test(joins_huge_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
