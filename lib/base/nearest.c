/* "Did you mean": the nearest of some words by Damerau-Levenshtein distance,
 * where swapping two neighbours is one step and letter case is none. Words
 * longer than 64 bytes are nobody's typo, which bounds time and memory.
 */
#include <string.h>

#include "base/str.h"

enum { LONGEST = 64 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static char fold(char c)
{
	if (c == '_')
		return '-';
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][LONGEST + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= m; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			char x = fold(a[i - 1]), y = fold(b[j - 1]);

			row[j] = least(last[j - 1] + (x != y),
				least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x == fold(b[j - 2]) &&
				fold(a[i - 2]) == y)
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = spare;
	}
	return last[m];
}

const char *gpc_nearest(const char *word, const char *const *words, size_t n)
{
	size_t len = strlen(word), limit = len / 3 > 1 ? len / 3 : 1;
	const char *best = NULL;

	if (len == 0 || len > LONGEST)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t other = strlen(words[i]), d;

		if (other > LONGEST || other > len + limit ||
			len > other + limit)
			continue;
		d = distance(word, len, words[i], other);
		/* All letters changed is no likeness. */
		if (d >= len && d > 0)
			continue;
		if (d < limit || (d == limit && !best)) {
			best = words[i];
			limit = d;
		}
	}
	return best;
}
