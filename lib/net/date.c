/* Dates of HTTP headers, in the three forms that RFC 9110 section 5.6.7 makes
 * every reader take. The name of the day is passed over: it says nothing that the
 * rest does not. */
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "net/request.h"

/* "Jan" gives 1; 0: no month. */
static int month_of(const char *word)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++)
		if (strncmp(word, names + (size_t)i * 3, 3) == 0)
			return i + 1;
	return 0;
}

/* Follows a pattern: d takes a digit of the day, M of the month's name, y Y h m
 * s likewise (Y: two digits); * takes a word, _ a space or a digit of the day. */
struct reading {
	int day, year, hour, minute, second;
	char month[4];
	size_t n_month;
	bool short_year;
};

static bool take_digit(int *number, char c)
{
	if (c < '0' || c > '9')
		return false;
	*number = *number * 10 + (c - '0');
	return true;
}

static bool take(struct reading *t, char what, char c)
{
	switch (what) {
	case 'd':
		return take_digit(&t->day, c);
	case '_':
		return c == ' ' || take_digit(&t->day, c);
	case 'M':
		t->month[t->n_month++] = c;
		return true;
	case 'Y':
		t->short_year = true;
		return take_digit(&t->year, c);
	case 'y':
		return take_digit(&t->year, c);
	case 'h':
		return take_digit(&t->hour, c);
	case 'm':
		return take_digit(&t->minute, c);
	case 's':
		return take_digit(&t->second, c);
	default:
		return c == what;
	}
}

static bool follow(const char *pattern, const char *text, struct reading *t)
{
	*t = (struct reading){0};
	for (; *pattern; pattern++) {
		if (*pattern == '*') {
			size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz");

			if (n < 3)
				return false;
			text += n;
		} else if (!*text || !take(t, *pattern, *text++)) {
			return false;
		}
	}
	return !*text;
}

int64_t gpc_http_date_ms(const char *text)
{
	static const char *const forms[] = {
		"*, dd MMM yyyy hh:mm:ss GMT",          /* the one in use */
		"*, dd-MMM-YY hh:mm:ss GMT",
		"* MMM _d hh:mm:ss yyyy",
	};
	gpc_autostr *form = NULL;
	struct reading t = {0};
	int64_t ms = 0;
	bool found = false;

	for (size_t i = 0; !found && text && i < 3; i++)
		found = follow(forms[i], text, &t);
	if (!found || month_of(t.month) == 0)
		return 0;
	if (t.short_year)
		t.year += t.year < 70 ? 2000 : 1900;
	if (t.second == 60)             /* a leap second */
		t.second = 59;
	form = gpc_format("%04d-%02d-%02dT%02d:%02d:%02dZ", t.year,
		month_of(t.month), t.day, t.hour, t.minute, t.second);
	if (gpc_parse_rfc3339(form, &ms, NULL) < 0 || ms < 0)
		return 0;
	return ms;
}
