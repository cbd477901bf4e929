/* Exact money. Everything is integer arithmetic in micro-units: what is owed
 * is rounded up, what a budget buys is rounded down, and sums that would pass
 * the type saturate or fail; none of them wraps.
 */
#include "base/money.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define MICROS 1000000
#define HOUR_MS 3600000
#define PER_MAX_MS ((int64_t)35 * 24 * HOUR_MS)

static bool take_currency(struct gpc_str s, char ret_code[4])
{
	char code[4] = "";

	if (s.len != 3)
		return false;
	for (size_t i = 0; i < 3; i++) {
		char c = s.ptr[i];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		if (c < 'A' || c > 'Z')
			return false;
		code[i] = c;
	}
	memcpy(ret_code, code, 4);
	return true;
}

/* digits[.up to six digits] at *p. */
static bool take_micros(const char **p, int64_t *ret_micros)
{
	int64_t micros = 0, unit = MICROS;
	size_t digits = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++, digits++) {
		int64_t v = **p - '0';

		if (micros > (INT64_MAX / MICROS - v) / 10)
			return false;
		micros = micros * 10 + v;
	}
	micros *= MICROS;
	if (**p == '.') {
		for ((*p)++; **p >= '0' && **p <= '9'; (*p)++, digits++) {
			unit /= 10;
			if (unit == 0 ||
				micros > INT64_MAX - (**p - '0') * unit)
				return false;
			micros += (**p - '0') * unit;
		}
	}
	*ret_micros = micros;
	return digits > 0;
}

static bool parse(const char *s, const char *fallback, struct gpc_money *ret_m)
{
	struct gpc_money m = {0};
	struct gpc_str rest;
	bool dollar;

	s += strspn(s, " ");
	dollar = *s == '$';
	s += dollar;
	if (!take_micros(&s, &m.micros))
		return false;
	rest = gpc_str_trim(gpc_str_of(s));
	if (dollar && rest.len > 0)
		return false;
	if (rest.len == 0)
		rest = gpc_str_of(dollar ? "USD" : fallback);
	if (!take_currency(rest, m.currency))
		return false;
	*ret_m = m;
	return true;
}

int gpc_money_parse(const char *s, const char *fallback, const char *what,
	struct gpc_money *ret_m, struct gpc_error *err)
{
	gpc_autostr *shown = NULL;
	size_t n = s ? strlen(s) : 0;

	if (s && parse(s, fallback, ret_m))
		return 0;
	shown = gpc_str_printable(s ? s : "", n > 60 ? 60 : n);
	return gpc_fail(err, GPC_ECONFIG, "%s: expected an amount like 12.50, "
		"$3 or \"80 CNY\" (at most six decimals), not \"%s\"", what,
		shown);
}

/* The amount with `places` to six decimals, without needless zeros. */
static void decimal(int64_t micros, int places, char *out, size_t size)
{
	uint64_t n = micros < 0 ? -(uint64_t)micros : (uint64_t)micros;
	int digits = 6;
	uint64_t part = n % MICROS;

	while (digits > places && part % 10 == 0) {
		part /= 10;
		digits--;
	}
	snprintf(out, size, "%s%" PRIu64 ".%0*" PRIu64, micros < 0 ? "-" : "",
		n / MICROS, digits, part);
}

char *gpc_money_decimal(struct gpc_money m, char out[GPC_MONEY_SIZE])
{
	decimal(m.micros, 2, out, GPC_MONEY_SIZE);
	return out;
}

char *gpc_money_format(struct gpc_money m, char out[GPC_MONEY_SIZE])
{
	const int64_t cent = MICROS / 100;
	int64_t shown = m.micros;
	char text[GPC_MONEY_SIZE - 8];

	if ((shown >= cent && shown <= INT64_MAX - cent) ||
		(shown <= -cent && shown >= INT64_MIN + cent))
		shown = (shown + (shown > 0 ? cent / 2 : -cent / 2)) / cent *
			cent;
	decimal(shown, 2, text, sizeof(text));
	if (strcmp(m.currency, "USD") != 0)
		snprintf(out, GPC_MONEY_SIZE, "%s%s%.3s", text,
			m.currency[0] ? " " : "", m.currency);
	else if (text[0] == '-')
		snprintf(out, GPC_MONEY_SIZE, "-$%s", text + 1);
	else
		snprintf(out, GPC_MONEY_SIZE, "$%s", text);
	return out;
}

static int64_t add_saturating(int64_t a, int64_t b)
{
	if (b > 0 && a > INT64_MAX - b)
		return INT64_MAX;
	if (b < 0 && a < INT64_MIN - b)
		return INT64_MIN;
	return a + b;
}

int gpc_money_add(struct gpc_money *a, struct gpc_money b,
	struct gpc_error *err)
{
	if (a->currency[0] && b.currency[0] &&
		strcmp(a->currency, b.currency) != 0)
		return gpc_fail(err, GPC_ECONFIG,
			"cannot add %s to %s: gpucloud does not convert currencies",
			b.currency, a->currency);
	if (!a->currency[0])
		memcpy(a->currency, b.currency, sizeof(a->currency));
	a->micros = add_saturating(a->micros, b.micros);
	return 0;
}

static int64_t multiply_saturating(int64_t a, int64_t b)
{
	if (a != 0 && b > INT64_MAX / a)
		return INT64_MAX;
	return a * b;
}

struct gpc_money gpc_money_per(struct gpc_money price, int64_t per_ms, int64_t ms)
{
	struct gpc_money sum = price;
	int64_t times, left, part;

	if (per_ms > PER_MAX_MS)
		per_ms = PER_MAX_MS;
	if (price.micros <= 0 || ms <= 0 || per_ms <= 0) {
		sum.micros = 0;
		return sum;
	}
	/* price * left / per_ms without passing 63 bits: both remainders are
	 * below 3.1e9. */
	times = ms / per_ms;
	left = ms % per_ms;
	part = price.micros / per_ms * left +
		(price.micros % per_ms * left + per_ms - 1) / per_ms;
	sum.micros = add_saturating(
		multiply_saturating(price.micros, times), part);
	return sum;
}

struct gpc_money gpc_money_for(struct gpc_money per_hour, int64_t ms)
{
	return gpc_money_per(per_hour, HOUR_MS, ms);
}

/* a * factor / b, rounded down, for 0 <= a < b: long division bit by bit. */
static int64_t scale_down(int64_t a, uint32_t factor, int64_t b)
{
	uint64_t quotient = 0, rest = 0;

	for (int bit = 31; bit >= 0; bit--) {
		quotient *= 2;
		rest *= 2;
		if (rest >= (uint64_t)b) {
			rest -= (uint64_t)b;
			quotient++;
		}
		if (factor >> bit & 1)
			rest += (uint64_t)a;
		if (rest >= (uint64_t)b) {
			rest -= (uint64_t)b;
			quotient++;
		}
	}
	return (int64_t)quotient;
}

int64_t gpc_money_lasts(struct gpc_money budget, struct gpc_money per_hour)
{
	int64_t whole, part;

	if (per_hour.micros <= 0)
		return INT64_MAX;
	if (budget.micros <= 0)
		return 0;
	whole = multiply_saturating(budget.micros / per_hour.micros, HOUR_MS);
	part = scale_down(budget.micros % per_hour.micros, HOUR_MS,
		per_hour.micros);
	return add_saturating(whole, part);
}

int gpc_money_cmp(struct gpc_money a, struct gpc_money b)
{
	return (a.micros > b.micros) - (a.micros < b.micros);
}
