/* Wall time and its one text form, RFC 3339 in UTC with milliseconds. The
 * calendar is computed here (proleptic Gregorian), because the C library's
 * needs a time zone database or a locale lock.
 */
#include "base/time.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

#define DAY_MS INT64_C(86400000)

int64_t gpc_wall_ms(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void gpc_sleep_ms(int64_t ms)
{
	struct timespec t;

	if (ms <= 0)
		return;
	t.tv_sec = (time_t)(ms / 1000);
	t.tv_nsec = (long)(ms % 1000) * 1000000;
	nanosleep(&t, NULL);
}

/* Days since 1970-01-01 of a date, and back. Years are counted from March, so
 * that the leap day is their last; 400 years have 146097 days. */
static int64_t days_of(int64_t y, int m, int d)
{
	int64_t era, year, day;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	year = y - era * 400;
	day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
}

static void date_of(int64_t days, int64_t *y, int *m, int *d)
{
	int64_t era, day, year, month;

	days += 719468;
	era = (days >= 0 ? days : days - 146096) / 146097;
	day = days - era * 146097;
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= year * 365 + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	*d = (int)(day - (153 * month + 2) / 5 + 1);
	*m = (int)(month < 10 ? month + 3 : month - 9);
	*y = year + era * 400 + (*m <= 2);
}

char *gpc_format_rfc3339(int64_t wall_ms, char out[GPC_RFC3339_SIZE])
{
	const int64_t first = days_of(0, 1, 1) * DAY_MS;
	const int64_t last = days_of(10000, 1, 1) * DAY_MS - 1;
	int64_t days, y;
	unsigned ms;
	int m, d;

	/* Only years of four digits have a text. */
	if (wall_ms < first)
		wall_ms = first;
	if (wall_ms > last)
		wall_ms = last;
	days = wall_ms / DAY_MS - (wall_ms % DAY_MS < 0);
	ms = (unsigned)(wall_ms - days * DAY_MS);
	date_of(days, &y, &m, &d);
	/* The moduli change nothing; they show the compiler that all fits. */
	snprintf(out, GPC_RFC3339_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
		(unsigned)y % 10000, (unsigned)m % 100, (unsigned)d % 100,
		ms / 3600000 % 24, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
	return out;
}

/* Exactly n digits at *p, then `then` unless that is 0. */
static bool take(const char **p, int n, char then, int *ret_n)
{
	int v = 0;

	for (int i = 0; i < n; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		v = v * 10 + (**p - '0');
	}
	if (then && *(*p)++ != then)
		return false;
	*ret_n = v;
	return true;
}

static bool take_fraction(const char **p, int *ret_ms)
{
	int ms = 0, unit = 100;

	if (**p == '.') {
		const char *start = ++*p;

		for (; **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
			ms += (**p - '0') * unit;
		if (*p == start)
			return false;
	}
	*ret_ms = ms;
	return true;
}

static bool take_offset(const char **p, int *ret_minutes)
{
	int h = 0, m = 0, sign = **p == '-' ? -1 : 1;

	if (**p == 'Z' || **p == 'z') {
		(*p)++;
		*ret_minutes = 0;
		return true;
	}
	if (**p != '+' && **p != '-')
		return false;
	(*p)++;
	if (!take(p, 2, ':', &h) || !take(p, 2, 0, &m) || h > 23 || m > 59)
		return false;
	*ret_minutes = sign * (h * 60 + m);
	return true;
}

static int days_in(int y, int m)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);

	return m == 2 && leap ? 29 : days[m - 1];
}

static bool parse(const char *p, int64_t *ret_ms)
{
	int y, mon, d, h, min, s, ms, offset;

	if (!take(&p, 4, '-', &y) || !take(&p, 2, '-', &mon) ||
		!take(&p, 2, 0, &d))
		return false;
	if (*p != 'T' && *p != 't' && *p != ' ')
		return false;
	p++;
	if (!take(&p, 2, ':', &h) || !take(&p, 2, ':', &min) ||
		!take(&p, 2, 0, &s) || !take_fraction(&p, &ms) ||
		!take_offset(&p, &offset) || *p != '\0')
		return false;
	/* Second 60 is a leap second; it reads as the next one. */
	if (mon < 1 || mon > 12 || d < 1 || d > days_in(y, mon) || h > 23 ||
		min > 59 || s > 60)
		return false;
	*ret_ms = days_of(y, mon, d) * DAY_MS +
		((h * 60 + min - offset) * INT64_C(60) + s) * 1000 + ms;
	return true;
}

int gpc_parse_rfc3339(const char *s, int64_t *ret_wall_ms,
	struct gpc_error *err)
{
	gpc_autostr *shown = NULL;

	if (s && parse(s, ret_wall_ms))
		return 0;
	shown = gpc_str_printable(s ? s : "", s ? strnlen(s, 60) : 0);
	return gpc_fail(err, GPC_EPROTO,
		"\"%s\" is no time like 2025-01-31T12:00:00Z", shown);
}
