/* UTF-8 without a locale: what is valid, how wide it is on a terminal, and
 * how to show bytes from outside without letting them steer the terminal.
 */
#include <string.h>

#include "base/str.h"

struct range { uint32_t first, last; };

/* Combining marks and format characters: they take no column. */
static const struct range zero_width[] = {
	{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05bf},
	{0x05c1, 0x05c2}, {0x05c4, 0x05c5}, {0x05c7, 0x05c7}, {0x0610, 0x061a},
	{0x064b, 0x065f}, {0x0670, 0x0670}, {0x06d6, 0x06dc}, {0x06df, 0x06e4},
	{0x06e7, 0x06e8}, {0x06ea, 0x06ed}, {0x0711, 0x0711}, {0x0730, 0x074a},
	{0x0900, 0x0902}, {0x093a, 0x093a}, {0x093c, 0x093c}, {0x0941, 0x0948},
	{0x094d, 0x094d}, {0x0951, 0x0957}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a},
	{0x0e47, 0x0e4e}, {0x1160, 0x11ff}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
	{0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064}, {0x20d0, 0x20ff},
	{0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
	{0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0001, 0xe007f},
	{0xe0100, 0xe01ef},
};

/* East Asian wide characters and emoji: they take two. */
static const struct range double_width[] = {
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec},
	{0x23f0, 0x23f0}, {0x23f3, 0x23f3}, {0x25fd, 0x25fe}, {0x2614, 0x2615},
	{0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693}, {0x26a1, 0x26a1},
	{0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce},
	{0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f3}, {0x26f5, 0x26f5},
	{0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b},
	{0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755},
	{0x2757, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27b0}, {0x27bf, 0x27bf},
	{0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55}, {0x2e80, 0x303e},
	{0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0xa4cf}, {0xa960, 0xa97f},
	{0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe10, 0xfe19}, {0xfe30, 0xfe6f},
	{0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x18aff},
	{0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf},
	{0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
	{0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393},
	{0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0},
	{0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440},
	{0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e},
	{0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596},
	{0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5},
	{0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6df},
	{0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7f0},
	{0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/* Bytes of the character at s (n left, n > 0), 0 when it is invalid: overlong,
 * a surrogate, past U+10FFFF or cut off. */
static size_t decode(const unsigned char *s, size_t n, uint32_t *ret_c)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c = s[0];
	size_t len;

	if (c < 0x80) {
		*ret_c = c;
		return 1;
	}
	len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	if (c < 0xc2 || c > 0xf4 || len > n)
		return 0;
	c &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < smallest[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret_c = c;
	return len;
}

/* Most of what is long, as a page of a list, is ASCII. */
static size_t count_ascii(const unsigned char *p, size_t n)
{
	size_t i = 0;
	uint64_t word;

	for (; n - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	return i;
}

bool gpc_utf8_valid(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c;

	for (size_t i = count_ascii(p, n), len; i < n;
		i += len + count_ascii(p + i + len, n - i - len)) {
		len = decode(p + i, n - i, &c);
		if (len == 0)
			return false;
	}
	return true;
}

static bool in_table(uint32_t c, const struct range *t, size_t n)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (c > t[mid].last)
			low = mid + 1;
		else if (c < t[mid].first)
			high = mid;
		else
			return true;
	}
	return false;
}

#define IN(c, table) in_table(c, table, sizeof(table) / sizeof((table)[0]))

static size_t width_of(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return 0;
	if (c < 0x300)
		return 1;
	if (IN(c, zero_width))
		return 0;
	return IN(c, double_width) ? 2 : 1;
}

size_t gpc_utf8_width(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = strlen(s), width = 0;

	for (size_t i = 0; i < n;) {
		uint32_t c = 0;
		size_t len = decode(p + i, n - i, &c);

		width += len ? width_of(c) : 1;
		i += len ? len : 1;
	}
	return width;
}

/* C0, DEL and C1 controls move the cursor; U+202A.. and U+2066.. reorder the
 * line, which can make one thing look like another. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) ||
		(c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
		c == 0x2028 || c == 0x2029;
}

char *gpc_str_printable(const char *s, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)s;
	char *out = gpc_array(n, 4 * sizeof(*out) + 1), *at = out;

	for (size_t i = 0; i < n;) {
		uint32_t c = 0;
		size_t len = decode(p + i, n - i, &c);

		if (len && !is_control(c)) {
			memcpy(at, p + i, len);
			at += len;
			i += len;
			continue;
		}
		for (size_t end = i + (len ? len : 1); i < end; i++) {
			*at++ = '\\';
			*at++ = 'x';
			*at++ = digits[p[i] >> 4];
			*at++ = digits[p[i] & 15];
		}
	}
	*at = '\0';
	return out;
}

/* A byte within a character, not its first. */
static bool is_within(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

char *gpc_str_brief(const char *s, size_t most)
{
	char *all = gpc_str_printable(s, strlen(s)), *brief;
	size_t n = strlen(all), half = most / 2, from;

	if (n <= most)
		return all;
	from = n - half;
	while (half > 0 && is_within(all[half]))
		half--;
	while (is_within(all[from]))
		from++;
	brief = gpc_format("%.*s...%s", (int)half, all, all + from);
	free(all);
	return brief;
}
