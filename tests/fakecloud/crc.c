/* A reflected CRC, eight bytes at a time: for sums.py, which compiles it where there is
 * a compiler. t[k] is the map of a byte that k zero bytes follow. Little-endian. */
#include <stdint.h>
#include <string.h>

uint64_t add(const uint64_t (*t)[256], uint64_t state, const unsigned char *p, size_t n);

uint64_t add(const uint64_t (*t)[256], uint64_t state, const unsigned char *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		word ^= state;
		state = 0;
		for (int k = 0; k < 8; k++)
			state ^= t[7 - k][word >> 8 * k & 255];
	}
	for (; n; p++, n--)
		state = t[0][(state ^ *p) & 255] ^ state >> 8;
	return state;
}
