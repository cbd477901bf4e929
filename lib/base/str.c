/* Views, words and vectors of strings. Nothing here depends on the locale:
 * case is ASCII case, order is byte order.
 */
#include "base/str.h"

#include <string.h>

#include "base/vec.h"

struct gpc_str gpc_str_of(const char *s)
{
	return (struct gpc_str){s ? s : "", s ? strlen(s) : 0};
}

bool gpc_str_eq(struct gpc_str s, const char *word)
{
	return strlen(word) == s.len && memcmp(s.ptr, word, s.len) == 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct gpc_str gpc_str_trim(struct gpc_str s)
{
	while (s.len > 0 && is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool gpc_str_split(struct gpc_str *rest, char sep, struct gpc_str *ret_part)
{
	const char *at;

	/* A used-up rest has no pointer: an empty last part is still a part. */
	if (!rest->ptr)
		return false;
	at = rest->len ? memchr(rest->ptr, sep, rest->len) : NULL;
	if (!at) {
		*ret_part = *rest;
		*rest = (struct gpc_str){NULL, 0};
		return true;
	}
	*ret_part = (struct gpc_str){rest->ptr, (size_t)(at - rest->ptr)};
	rest->len -= ret_part->len + 1;
	rest->ptr = at + 1;
	return true;
}

bool gpc_starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool gpc_ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

bool gpc_eq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool gpc_eq_nocase(const char *a, const char *b)
{
	if (!a || !b)
		return a == b;
	while (*a && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return *a == *b;
}

char *gpc_shell_quote(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	size_t n = strlen(s), quotes = 0, at = 0;
	char *out;

	if (n > 0 && strspn(s, plain) == n)
		return gpc_strdup(s);
	for (size_t i = 0; i < n; i++)
		quotes += s[i] == '\'';
	out = gpc_array(n + 3 + quotes * 3, 1);
	out[at++] = '\'';
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\'') {
			memcpy(out + at, "'\\''", 4);
			at += 4;
		} else {
			out[at++] = s[i];
		}
	}
	out[at] = '\'';
	return out;
}

void gpc_hex(const void *bytes, size_t n, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++) {
		ret_hex[2 * i] = digits[p[i] >> 4];
		ret_hex[2 * i + 1] = digits[p[i] & 15];
	}
	ret_hex[2 * n] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool gpc_unhex(const char *hex, void *ret_bytes, size_t n)
{
	unsigned char *out = ret_bytes;

	if (strnlen(hex, 2 * n + 1) != 2 * n)
		return false;
	for (size_t i = 0; i < 2 * n; i++)
		if (hex_digit(hex[i]) < 0)
			return false;
	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)(hex_digit(hex[2 * i]) << 4 |
			hex_digit(hex[2 * i + 1]));
	return true;
}

bool gpc_is_hex(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (hex_digit(s[i]) < 0 || lower(s[i]) != s[i])
			return false;
	return s[n] == '\0';
}

uint64_t gpc_hash64(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
	h = (h ^ h >> 27) * 0x94d049bb133111eb;
	return h ^ h >> 31;
}

void gpc_strv_take(struct gpc_strv *s, char *owned)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 8;
		s->v = gpc_grow(s->v, s->cap, sizeof(*s->v));
	}
	s->v[s->n++] = owned;
}

void gpc_strv_add(struct gpc_strv *s, const char *text)
{
	gpc_strv_take(s, gpc_strdup(text));
}

bool gpc_strv_try_add(struct gpc_strv *s, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = gpc_try_grow(NULL, n, 1);
	char **slot = copy ? gpc_vec_try_push(s) : NULL;

	if (!slot) {
		free(copy);
		return false;
	}
	memcpy(copy, text, n);
	*slot = copy;
	return true;
}

void gpc_strv_addf(struct gpc_strv *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	gpc_strv_take(s, gpc_vformat(fmt, ap));
	va_end(ap);
}

void gpc_strv_remove(struct gpc_strv *s, size_t i)
{
	free(s->v[i]);
	s->n--;
	memmove(&s->v[i], &s->v[i + 1], (s->n - i) * sizeof(*s->v));
}

bool gpc_strv_has(const struct gpc_strv *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i], text) == 0)
			return true;
	return false;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void gpc_strv_sort(struct gpc_strv *s)
{
	if (s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), by_bytes);
}

char *gpc_strv_join(const struct gpc_strv *s, const char *sep)
{
	size_t sep_len = strlen(sep), len = 1;
	char *out, *at;

	for (size_t i = 0; i < s->n; i++)
		len += strlen(s->v[i]) + sep_len;
	at = out = gpc_array(len, 1);
	for (size_t i = 0; i < s->n; i++) {
		size_t n = strlen(s->v[i]);

		if (i > 0) {
			memcpy(at, sep, sep_len);
			at += sep_len;
		}
		memcpy(at, s->v[i], n);
		at += n;
	}
	return out;
}

void gpc_strv_copy(struct gpc_strv *to, const struct gpc_strv *from)
{
	if (to == from)
		return;
	gpc_strv_clear(to);
	for (size_t i = 0; i < from->n; i++)
		gpc_strv_add(to, from->v[i]);
}

void gpc_strv_clear(struct gpc_strv *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct gpc_strv){0};
}
