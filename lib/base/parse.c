/* The one door for numbers from outside. Each parser takes the whole input or
 * refuses it with a message that names the thing, shows what was given (made
 * printable, cut when long) and says what was expected. Sizes and durations
 * with decimals are computed in integers, so "1.1GB" is the same everywhere.
 */
#include "base/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { SHOWN = 60 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static gpc_printf(4, 5) int refuse(struct gpc_error *err, const char *what,
	const char *s, const char *fmt, ...)
{
	size_t n = s ? strlen(s) : 0;
	gpc_autostr *shown = NULL, *expected = NULL;
	va_list ap;

	va_start(ap, fmt);
	expected = gpc_vformat(fmt, ap);
	va_end(ap);
	if (n == 0)
		return gpc_fail(err, GPC_ECONFIG,
			"%s: expected %s, but it is empty", what, expected);
	shown = gpc_str_printable(s, n > SHOWN ? SHOWN : n);
	return gpc_fail(err, GPC_ECONFIG, "%s: expected %s, not \"%s%s\"", what,
		expected, shown, n > SHOWN ? "..." : "");
}

int gpc_parse_i64(const char *s, int64_t min, int64_t max, const char *what,
	int64_t *ret_n, struct gpc_error *err)
{
	const char *p = s ? s : "";
	bool negative = *p == '-', ok;
	/* The magnitude of INT64_MIN is one more than INT64_MAX. */
	uint64_t limit = (uint64_t)INT64_MAX + negative, n = 0;
	int64_t value;

	if (*p == '-' || *p == '+')
		p++;
	ok = is_digit(*p);
	for (; is_digit(*p); p++) {
		uint64_t d = (uint64_t)(*p - '0');

		ok = ok && n <= (limit - d) / 10;
		n = ok ? n * 10 + d : n;
	}
	ok = ok && *p == '\0';
	value = !negative ? (int64_t)n : n ? -(int64_t)(n - 1) - 1 : 0;
	if (ok && value >= min && value <= max) {
		*ret_n = value;
		return 0;
	}
	if (min == INT64_MIN && max == INT64_MAX)
		return refuse(err, what, s, "a whole number");
	if (max == INT64_MAX)
		return refuse(err, what, s, "a whole number, at least %" PRId64,
			min);
	return refuse(err, what, s, "a whole number from %" PRId64 " to %" PRId64,
		min, max);
}

/* digits[.digits][e[+-]digits], so that hex, inf and nan never get through. */
static bool looks_decimal(const char *p)
{
	size_t digits = 0;

	if (*p == '-' || *p == '+')
		p++;
	for (; is_digit(*p); p++)
		digits++;
	if (*p == '.')
		for (p++; is_digit(*p); p++)
			digits++;
	if (digits == 0)
		return false;
	if (*p == 'e' || *p == 'E') {
		p++;
		if (*p == '-' || *p == '+')
			p++;
		if (!is_digit(*p))
			return false;
		while (is_digit(*p))
			p++;
	}
	return *p == '\0';
}

int gpc_parse_double(const char *s, double min, double max, const char *what,
	double *ret_x, struct gpc_error *err)
{
	char *end = NULL;
	double x;

	if (s && looks_decimal(s)) {
		x = strtod(s, &end);
		if (*end == '\0' && x >= min && x <= max) {
			*ret_x = x;
			return 0;
		}
	}
	return refuse(err, what, s, "a number from %g to %g", min, max);
}

int gpc_parse_bool(const char *s, const char *what, bool *ret_b,
	struct gpc_error *err)
{
	static const char *const words[] = {
		"false", "true", "no", "yes", "off", "on", "0", "1",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (gpc_eq_nocase(s, words[i])) {
			*ret_b = i % 2;
			return 0;
		}
	return refuse(err, what, s, "true or false");
}

/* A decimal number without sign at *p, split at its point; up to nine digits
 * behind it. */
struct decimal {
	uint64_t whole, part, scale;    /* value = whole + part / scale */
};

static bool take_decimal(const char **p, struct decimal *ret_d)
{
	struct decimal d = {0, 0, 1};
	size_t digits = 0;

	for (; is_digit(**p); (*p)++, digits++) {
		uint64_t v = (uint64_t)(**p - '0');

		if (d.whole > (UINT64_MAX - v) / 10)
			return false;
		d.whole = d.whole * 10 + v;
	}
	if (**p == '.') {
		for ((*p)++; is_digit(**p); (*p)++, digits++) {
			if (d.scale == 1000000000)
				return false;
			d.part = d.part * 10 + (uint64_t)(**p - '0');
			d.scale *= 10;
		}
	}
	*ret_d = d;
	return digits > 0;
}

/* d * unit, rounded down; false when it passes max. */
static bool multiply(struct decimal d, uint64_t unit, uint64_t max,
	uint64_t *ret_n)
{
	uint64_t part = unit / d.scale * d.part +
		unit % d.scale * d.part / d.scale;

	if (d.whole != 0 && unit > max / d.whole)
		return false;
	if (part > max - d.whole * unit)
		return false;
	*ret_n = d.whole * unit + part;
	return true;
}

/* k, kb, kib and so on, in any case; nothing counts `bare`. */
static bool size_unit(struct gpc_str s, uint64_t bare, uint64_t *ret_unit)
{
	static const char prefixes[] = "kmgtpe";
	char word[4] = "";
	const char *at;

	if (s.len >= sizeof(word))
		return false;
	memcpy(word, s.ptr, s.len);
	*ret_unit = s.len == 0 ? bare : 1;
	if (s.len == 0 || gpc_eq_nocase(word, "b"))
		return true;
	at = strchr(prefixes, word[0] | 0x20);
	if (!at)
		return false;
	*ret_unit = (uint64_t)1 << (10 * (at - prefixes + 1));
	return word[1] == '\0' || gpc_eq_nocase(word + 1, "b") ||
		gpc_eq_nocase(word + 1, "ib");
}

int gpc_parse_size(const char *s, uint64_t unit_bytes, const char *what,
	uint64_t *ret_bytes, struct gpc_error *err)
{
	const char *p = s ? s : "";
	struct decimal d;
	uint64_t unit, bytes;

	if (!take_decimal(&p, &d) ||
		!size_unit(gpc_str_trim(gpc_str_of(p)), unit_bytes, &unit) ||
		(unit == 1 && d.part != 0) ||
		!multiply(d, unit, INT64_MAX, &bytes))
		return refuse(err, what, s, "a size like 512MB or 1.5GB");
	*ret_bytes = bytes;
	return 0;
}

static const struct { const char *word; uint64_t ms; } duration_units[] = {
	{"w", 604800000}, {"week", 604800000}, {"weeks", 604800000},
	{"d", 86400000}, {"day", 86400000}, {"days", 86400000},
	{"h", 3600000}, {"hr", 3600000}, {"hour", 3600000}, {"hours", 3600000},
	{"m", 60000}, {"min", 60000}, {"minute", 60000}, {"minutes", 60000},
	{"s", 1000}, {"sec", 1000}, {"second", 1000}, {"seconds", 1000},
	{"ms", 1},
};

/* The unit's word at *p, or 0. */
static uint64_t take_duration_unit(const char **p)
{
	const char *at = *p + strspn(*p, " ");
	size_t len = 0;

	while ((at[len] | 0x20) >= 'a' && (at[len] | 0x20) <= 'z')
		len++;
	for (size_t i = 0;
		i < sizeof(duration_units) / sizeof(duration_units[0]); i++) {
		gpc_autostr *word = gpc_strndup(at, len);

		if (gpc_eq_nocase(word, duration_units[i].word)) {
			*p = at + len;
			return duration_units[i].ms;
		}
	}
	return 0;
}

static bool parse_duration(const char *p, int64_t unit_ms, uint64_t *ret_ms)
{
	uint64_t total = 0, last = UINT64_MAX;

	do {
		struct decimal d;
		uint64_t unit, ms;

		if (!take_decimal(&p, &d))
			return false;
		if (*p == '\0' && last == UINT64_MAX)
			return multiply(d, (uint64_t)unit_ms, INT64_MAX, ret_ms);
		/* Parts go from large to small, each unit once: "1m1h" is more
		 * likely a slip than a wish. */
		unit = take_duration_unit(&p);
		if (unit == 0 || unit >= last)
			return false;
		if (!multiply(d, unit, INT64_MAX - total, &ms))
			return false;
		total += ms;
		last = unit;
		p += strspn(p, " ");
	} while (*p != '\0');
	*ret_ms = total;
	return true;
}

int gpc_parse_duration(const char *s, int64_t unit_ms, const char *what,
	int64_t *ret_ms, struct gpc_error *err)
{
	uint64_t ms;

	if (!s || !parse_duration(s, unit_ms, &ms))
		return refuse(err, what, s, "a duration like 90s, 10m or 1h30m");
	*ret_ms = (int64_t)ms;
	return 0;
}

char *gpc_format_size(uint64_t bytes, char *out, unsigned long size)
{
	static const char units[] = "KMGTPE";
	uint64_t unit = 1024, whole, tenths;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(out, size, "%" PRIu64 " B", bytes);
		return out;
	}
	/* What would be rounded to 1024.0 of a unit is one of the next. */
	while (i < 5 && bytes >= unit * 1024 - unit / 20) {
		unit *= 1024;
		i++;
	}
	whole = bytes / unit;
	/* A remainder is below 2^60, so ten of it still fit. */
	tenths = (bytes % unit * 10 + unit / 2) / unit;
	whole += tenths / 10;
	tenths %= 10;
	if (tenths)
		snprintf(out, size, "%" PRIu64 ".%" PRIu64 " %ciB", whole,
			tenths, units[i]);
	else
		snprintf(out, size, "%" PRIu64 " %ciB", whole, units[i]);
	return out;
}

char *gpc_format_duration(int64_t ms, char *out, unsigned long size)
{
	static const struct { char name; int64_t ms; } units[] = {
		{'d', 86400000}, {'h', 3600000}, {'m', 60000}, {'s', 1000},
	};
	const char *sign = ms < 0 ? "-" : "";
	int64_t first, second;
	size_t i = 0;

	if (ms == INT64_MAX || ms == INT64_MIN) {
		snprintf(out, size, "%sforever", sign);
		return out;
	}
	ms = ms < 0 ? -ms : ms;
	if (ms < 1000) {
		snprintf(out, size, ms ? "%s%" PRId64 "ms" : "%s%" PRId64 "s",
			sign, ms);
		return out;
	}
	if (ms < 10000 && ms % 1000 >= 100) {
		snprintf(out, size, "%s%" PRId64 ".%" PRId64 "s", sign,
			ms / 1000, ms % 1000 / 100);
		return out;
	}
	while (ms < units[i].ms)
		i++;
	first = ms / units[i].ms;
	second = i < 3 ? ms % units[i].ms / units[i + 1].ms : 0;
	if (second)
		snprintf(out, size, "%s%" PRId64 "%c%" PRId64 "%c", sign, first,
			units[i].name, second, units[i + 1].name);
	else
		snprintf(out, size, "%s%" PRId64 "%c", sign, first,
			units[i].name);
	return out;
}
