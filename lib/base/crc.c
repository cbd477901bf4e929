/* Checksums that object stores compute beside us, so that a byte which changed on
 * the way is found without reading an object again. All four are one algorithm
 * over polynomials of 32 and 64 bits, bit-reflected, with all ones before and
 * after: eight bytes a step by tables, or by the processor (crc_fold.h).
 *
 * Parts that are summed apart are joined by multiplying with the power of x that
 * stands for the bytes between (Adler's way in zlib).
 */
#include "base/crc.h"

#include <pthread.h>

#include "base/crc_fold.h"

enum kind { CRC32, CRC32C, CRC64, CRC64NVME, KINDS };

static const struct { int bits; uint64_t poly; } kinds[KINDS] = {
	[CRC32] = {32, 0xedb88320},
	[CRC32C] = {32, 0x82f63b78},
	[CRC64] = {64, 0xc96c5795d7870f42},
	[CRC64NVME] = {64, 0x9a6c9329ac4bc9b5},
};

/* What follows from that, computed once. */
static struct {
	uint64_t by_byte[8][256];       /* a byte with 0 to 7 bytes behind it */
	uint64_t keys[4];
} tables[KINDS];
static bool folds;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Numbers are polynomials with x^0 in the highest of their bits. */
static uint64_t times_x(enum kind k, uint64_t v)
{
	return v & 1 ? v >> 1 ^ kinds[k].poly : v >> 1;
}

static uint64_t times(enum kind k, uint64_t a, uint64_t b)
{
	uint64_t product = 0;

	for (uint64_t m = UINT64_C(1) << (kinds[k].bits - 1); m; m >>= 1) {
		if (a & m)
			product ^= b;
		b = times_x(k, b);
	}
	return product;
}

static uint64_t power(enum kind k, uint64_t base, uint64_t n)
{
	uint64_t result = UINT64_C(1) << (kinds[k].bits - 1);

	for (; n; n >>= 1) {
		if (n & 1)
			result = times(k, result, base);
		base = times(k, base, base);
	}
	return result;
}

static uint64_t power_of_x(enum kind k, uint64_t n)
{
	return power(k, UINT64_C(1) << (kinds[k].bits - 2), n);
}

static void fill_table(enum kind k)
{
	uint64_t (*t)[256] = tables[k].by_byte;
	static const int distances[4] = {575, 511, 191, 127};

	for (uint64_t i = 0; i < 256; i++) {
		t[0][i] = i;
		for (int bit = 0; bit < 8; bit++)
			t[0][i] = times_x(k, t[0][i]);
	}
	for (int far = 1; far < 8; far++)
		for (int i = 0; i < 256; i++)
			t[far][i] = t[far - 1][i] >> 8
				^ t[0][t[far - 1][i] & 255];
	for (int i = 0; i < 4; i++)
		tables[k].keys[i] = power_of_x(k, (uint64_t)distances[i])
			<< (64 - kinds[k].bits);
}

static void fill_tables(void)
{
	for (enum kind k = 0; k < KINDS; k++)
		fill_table(k);
	folds = gpc_crc_can_fold();
}

static uint64_t load(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

static uint64_t add_by_table(enum kind k, uint64_t state, const uint8_t *p,
	size_t n)
{
	const uint64_t (*t)[256] = (const uint64_t (*)[256])tables[k].by_byte;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t v = state ^ load(p);

		state = t[7][v & 255] ^ t[6][v >> 8 & 255]
			^ t[5][v >> 16 & 255] ^ t[4][v >> 24 & 255]
			^ t[3][v >> 32 & 255] ^ t[2][v >> 40 & 255]
			^ t[1][v >> 48 & 255] ^ t[0][v >> 56];
	}
	for (; n > 0; n--)
		state = state >> 8 ^ t[0][(state ^ *p++) & 255];
	return state;
}

static uint64_t add(enum kind k, uint64_t sum, const void *data, size_t n)
{
	const uint64_t ones = UINT64_MAX >> (64 - kinds[k].bits);
	uint64_t state = sum ^ ones;
	const uint8_t *p = data;

	pthread_once(&once, fill_tables);
	if (folds && n >= GPC_CRC_FOLD_MIN) {
		size_t part = n - n % 64;
		uint8_t rest[16];

		gpc_crc_fold(tables[k].keys, state, p, part, rest);
		state = add_by_table(k, 0, rest, sizeof(rest));
		p += part;
		n -= part;
	}
	return add_by_table(k, state, p, n) ^ ones;
}

static uint64_t join(enum kind k, uint64_t a, uint64_t b, uint64_t n_b)
{
	return times(k, power(k, power_of_x(k, 8), n_b), a) ^ b;
}

uint32_t gpc_crc32(uint32_t crc, const void *data, size_t n)
{
	return (uint32_t)add(CRC32, crc, data, n);
}

uint32_t gpc_crc32c(uint32_t crc, const void *data, size_t n)
{
	return (uint32_t)add(CRC32C, crc, data, n);
}

uint64_t gpc_crc64(uint64_t crc, const void *data, size_t n)
{
	return add(CRC64, crc, data, n);
}

uint64_t gpc_crc64nvme(uint64_t crc, const void *data, size_t n)
{
	return add(CRC64NVME, crc, data, n);
}

uint32_t gpc_crc32c_join(uint32_t a, uint32_t b, uint64_t n_b)
{
	return (uint32_t)join(CRC32C, a, b, n_b);
}

uint64_t gpc_crc64_join(uint64_t a, uint64_t b, uint64_t n_b)
{
	return join(CRC64, a, b, n_b);
}

uint64_t gpc_crc64nvme_join(uint64_t a, uint64_t b, uint64_t n_b)
{
	return join(CRC64NVME, a, b, n_b);
}
