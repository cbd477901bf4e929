/* A strict scan over JSON text that allocates nothing. The parser behind it is
 * lenient (it takes "\uZZZZ" for NUL, raw control bytes, numbers like 01) and
 * counts nothing; input from outside meets this grammar and its limits first.
 */
#include "dep/json_check.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "dep/json.h"

struct scan {
	const char *start, *p, *end;
	const char *expected;            /* set at the place of the error */
	size_t values;
	int depth;
};

static bool value(struct scan *s);

static bool expect(struct scan *s, const char *what)
{
	s->expected = what;
	return false;
}

static int peek(const struct scan *s)
{
	return s->p < s->end ? (unsigned char)*s->p : -1;
}

static void skip_space(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' ||
			*s->p == '\n' || *s->p == '\r'))
		s->p++;
}

static bool take(struct scan *s, char c)
{
	if (peek(s) != c)
		return false;
	s->p++;
	return true;
}

static bool word(struct scan *s, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n) != 0)
		return expect(s, "a value");
	s->p += n;
	return true;
}

static bool digits(struct scan *s)
{
	const char *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > start || expect(s, "a digit");
}

static bool number(struct scan *s)
{
	take(s, '-');
	if (!take(s, '0') && !digits(s))
		return false;
	if (take(s, '.') && !digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			take(s, '-');
		return digits(s);
	}
	return true;
}

static bool hex4(struct scan *s, unsigned *ret_c)
{
	unsigned char bytes[2];
	char text[5] = "";

	if (s->end - s->p < 4)
		return expect(s, "four hexadecimal digits");
	memcpy(text, s->p, 4);
	if (!gpc_unhex(text, bytes, 2))
		return expect(s, "four hexadecimal digits");
	s->p += 4;
	*ret_c = (unsigned)bytes[0] << 8 | bytes[1];
	return true;
}

static bool escape(struct scan *s)
{
	unsigned c, low;

	if (peek(s) > 0 && strchr("\"\\/bfnrt", *s->p)) {
		s->p++;
		return true;
	}
	if (!take(s, 'u'))
		return expect(s, "an escape that JSON knows");
	if (!hex4(s, &c))
		return false;
	if (c == 0)
		return expect(s, "no NUL in a string");
	if (c < 0xd800 || c > 0xdfff)
		return true;
	if (c > 0xdbff || !take(s, '\\') || !take(s, 'u') || !hex4(s, &low) ||
		low < 0xdc00 || low > 0xdfff)
		return expect(s, "a whole surrogate pair");
	return true;
}

static bool string(struct scan *s)
{
	if (!take(s, '"'))
		return expect(s, "a string");
	for (;;) {
		int c = peek(s);

		if (c < 0)
			return expect(s, "the end of a string");
		if (c < 0x20)
			return expect(s, "control characters to be escaped");
		s->p++;
		if (c == '"')
			return true;
		if (c == '\\' && !escape(s))
			return false;
	}
}

static bool object(struct scan *s)
{
	skip_space(s);
	if (take(s, '}'))
		return true;
	do {
		skip_space(s);
		if (!string(s))
			return false;
		skip_space(s);
		if (!take(s, ':'))
			return expect(s, "':'");
		if (!value(s))
			return false;
	} while (take(s, ','));
	return take(s, '}') || expect(s, "',' or '}'");
}

static bool array(struct scan *s)
{
	skip_space(s);
	if (take(s, ']'))
		return true;
	do {
		if (!value(s))
			return false;
	} while (take(s, ','));
	return take(s, ']') || expect(s, "',' or ']'");
}

static bool nested(struct scan *s, bool (*inner)(struct scan *s))
{
	if (s->depth == GPC_JSON_MAX_DEPTH)
		return expect(s, "fewer levels of nesting");
	s->depth++;
	s->p++;
	if (!inner(s))
		return false;
	s->depth--;
	return true;
}

/* A value and the space around it. */
static bool value(struct scan *s)
{
	bool ok;

	if (s->values++ == GPC_JSON_MAX_VALUES)
		return expect(s, "fewer values");
	skip_space(s);
	switch (peek(s)) {
	case '{':
		ok = nested(s, object);
		break;
	case '[':
		ok = nested(s, array);
		break;
	case '"':
		ok = string(s);
		break;
	case 't':
		ok = word(s, "true");
		break;
	case 'f':
		ok = word(s, "false");
		break;
	case 'n':
		ok = word(s, "null");
		break;
	case '-': case '0': case '1': case '2': case '3': case '4':
	case '5': case '6': case '7': case '8': case '9':
		ok = number(s);
		break;
	default:
		ok = expect(s, "a value");
	}
	skip_space(s);
	return ok;
}

static int fail_at(const struct scan *s, struct gpc_error *err)
{
	size_t line = 1, column = 1;

	for (const char *p = s->start; p < s->p; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	return gpc_fail(err, GPC_EPROTO,
		"JSON, line %zu, column %zu: expected %s", line, column,
		s->expected);
}

int gpc_json_check(const char *text, size_t n, struct gpc_error *err)
{
	struct scan s = {.start = text, .p = text};

	if (n == 0)             /* an empty buffer may have no bytes at all */
		return gpc_fail(err, GPC_EPROTO, "JSON that is empty");
	s.end = text + n;
	if (n > GPC_JSON_MAX_BYTES)
		return gpc_fail(err, GPC_EPROTO,
			"JSON of %zu bytes; at most %d are read", n,
			GPC_JSON_MAX_BYTES);
	if (!gpc_utf8_valid(text, n))
		return gpc_fail(err, GPC_EPROTO, "JSON that is no valid UTF-8");
	if (!value(&s))
		return fail_at(&s, err);
	if (s.p < s.end) {
		expect(&s, "nothing more");
		return fail_at(&s, err);
	}
	return 0;
}
