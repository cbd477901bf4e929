/* JSON out. The library's own printer writes 10^15 as "1e+15", indents by tabs
 * and passes invalid UTF-8 on; records need whole numbers as digits, text that
 * parses back, and the same bytes for the same tree on every machine.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "dep/json.h"

#define EXACT 9007199254740992.0        /* 2^53 */

static void print_value(struct gpc_buf *b, const struct gpc_json *j,
	int indent);

/* The bytes of the valid character at s, or 0. */
static size_t valid_at(const char *s, size_t n)
{
	for (size_t len = 1; len <= 4 && len <= n; len++)
		if (gpc_utf8_valid(s, len))
			return len;
	return 0;
}

/* How many bytes at s stand for themselves. */
static size_t plain_run(const char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && (unsigned char)s[n] < 0x80 && s[n] != '"' &&
		s[n] != '\\')
		n++;
	return n;
}

static void print_string(struct gpc_buf *b, const char *s)
{
	static const char special[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
	const char *end = s + strlen(s);

	gpc_buf_addc(b, '"');
	while (s < end) {
		size_t len = plain_run(s);
		const char *at;

		gpc_buf_add(b, s, len);
		s += len;
		if (s == end)
			break;
		at = strchr(special, *s);
		len = valid_at(s, (size_t)(end - s));
		if (at)
			gpc_buf_addf(b, "\\%c", letters[at - special]);
		else if (len == 0)
			gpc_buf_adds(b, "\xef\xbf\xbd");
		else if ((unsigned char)*s < 0x20)
			gpc_buf_addf(b, "\\u%04x", (unsigned)*s);
		else
			gpc_buf_add(b, s, len);
		s += len ? len : 1;
	}
	gpc_buf_addc(b, '"');
}

static void print_number(struct gpc_buf *b, double x)
{
	char text[40];

	/* NaN and infinity have no JSON form. */
	if (!isfinite(x)) {
		gpc_buf_adds(b, "null");
		return;
	}
	if (x == floor(x) && fabs(x) <= EXACT) {
		gpc_buf_addf(b, "%" PRId64, (int64_t)x);
		return;
	}
	/* The shortest of these that reads back as the same number. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	gpc_buf_adds(b, text);
}

/* indent < 0: everything on one line. */
static void new_line(struct gpc_buf *b, int indent)
{
	if (indent >= 0)
		gpc_buf_addf(b, "\n%*s", 2 * indent, "");
}

static void print_members(struct gpc_buf *b, const struct gpc_json *j,
	int indent)
{
	bool object = gpc_json_is_object(j);
	const struct gpc_json *first = gpc_json_first(j);
	int inner = indent < 0 ? indent : indent + 1;

	gpc_buf_addc(b, object ? '{' : '[');
	for (const struct gpc_json *m = first; m; m = gpc_json_next(m)) {
		if (m != first)
			gpc_buf_addc(b, ',');
		new_line(b, inner);
		if (object) {
			print_string(b, gpc_json_key(m));
			gpc_buf_adds(b, indent < 0 ? ":" : ": ");
		}
		print_value(b, m, inner);
	}
	if (first)
		new_line(b, indent);
	gpc_buf_addc(b, object ? '}' : ']');
}

static void print_value(struct gpc_buf *b, const struct gpc_json *j,
	int indent)
{
	if (gpc_json_is_object(j) || gpc_json_is_array(j))
		print_members(b, j, indent);
	else if (gpc_json_is_string(j))
		print_string(b, gpc_json_str(j));
	else if (gpc_json_is_number(j))
		print_number(b, gpc_json_number_or(j, 0));
	else if (gpc_json_is_bool(j))
		gpc_buf_adds(b, gpc_json_bool_or(j, false) ? "true" : "false");
	else
		gpc_buf_adds(b, "null");
}

static char *print(const struct gpc_json *j, int indent)
{
	/* Our own data: memory is the only limit. */
	gpc_auto(gpc_buf) struct gpc_buf b = {.max = SIZE_MAX / 2};

	print_value(&b, j, indent);
	return gpc_steal(&b.data);
}

int gpc_json_try_print(const struct gpc_json *j, size_t max, char **ret_text,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {.max = max, .soft = true};

	print_value(&b, j, -1);
	return gpc_buf_finish(&b, ret_text, err);
}

char *gpc_json_print(const struct gpc_json *j)
{
	return print(j, -1);
}

char *gpc_json_print_pretty(const struct gpc_json *j)
{
	return print(j, 0);
}
