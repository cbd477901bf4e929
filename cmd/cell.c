/* Fields as text and as JSON. One place decides what a missing value, a unit or
 * a hostile byte looks like, for every command alike.
 */
#include "cmd/cell.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "base/time.h"

static const void *field(const struct gpc_col *col, const void *row)
{
	return (const char *)row + col->offset;
}

static char *printable(const char *s)
{
	return gpc_str_printable(s, strlen(s));
}

/* The reader's own time zone: people compare it with their clock. */
static char *local_time(int64_t wall_ms)
{
	time_t t = (time_t)(wall_ms / 1000);
	struct tm tm;
	char text[32];

	if (!localtime_r(&t, &tm) ||
		!strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		return gpc_strdup("-");
	return gpc_strdup(text);
}

/* At most two units: nobody reads the seconds of a day. */
static char *age(int64_t wall_ms)
{
	int64_t ms = gpc_wall_ms() - wall_ms;
	int64_t unit = ms < 3600000 ? 1000 : ms < 86400000 ? 60000 : 3600000;
	char text[64];

	if (ms < 0)
		ms = 0;
	return gpc_strdup(gpc_format_duration(ms - ms % unit, text,
		sizeof(text)));
}

static char *number(double x)
{
	return isfinite(x) ? gpc_format("%.6g", x) : gpc_strdup("-");
}

static char *rfc3339(int64_t wall_ms)
{
	char text[GPC_RFC3339_SIZE];

	return gpc_strdup(gpc_format_rfc3339(wall_ms, text));
}

static const char *enum_word(const struct gpc_col *col, const void *f)
{
	int n = *(const int *)f;

	for (int i = 0; col->names[i]; i++) {
		if (i == n)
			return col->names[i];
	}
	return "?";
}

static char *text_of(const struct gpc_col *col, const void *f)
{
	char small[64];
	int64_t n;

	switch (col->kind) {
	case GPC_COL_STR:
		return *(char *const *)f ? printable(*(char *const *)f) : NULL;
	case GPC_COL_INT:
		return gpc_format("%d", *(const int *)f);
	case GPC_COL_I64:
		return gpc_format("%" PRId64, *(const int64_t *)f);
	case GPC_COL_COUNT:
		return *(const int *)f < 0 ? NULL :
			gpc_format("%d", *(const int *)f);
	case GPC_COL_BOOL:
		return gpc_strdup(*(const bool *)f ? "yes" : "no");
	case GPC_COL_DOUBLE:
		return number(*(const double *)f);
	case GPC_COL_MONEY: {
		const struct gpc_money *m = f;
		char money[GPC_MONEY_SIZE];
		return *m->currency ?
			gpc_strdup(gpc_money_format(*m, money)) : NULL;
	}
	case GPC_COL_TIME:
		n = *(const int64_t *)f;
		return n ? local_time(n) : NULL;
	case GPC_COL_AGE:
		n = *(const int64_t *)f;
		return n ? age(n) : NULL;
	case GPC_COL_DURATION:
		n = *(const int64_t *)f;
		return n < 0 ? NULL : gpc_strdup(gpc_format_duration(n, small,
			sizeof(small)));
	case GPC_COL_SIZE:
		return *(const uint64_t *)f == GPC_SIZE_NONE ? NULL :
			gpc_strdup(gpc_format_size(*(const uint64_t *)f, small,
			sizeof(small)));
	case GPC_COL_ENUM:
		return gpc_strdup(enum_word(col, f));
	case GPC_COL_STRV: {
		gpc_autostr *joined = gpc_strv_join(f, ",");
		return printable(joined);
	}
	case GPC_COL_END:
		break;
	}
	return NULL;
}

char *gpc_cell_text(const struct gpc_col *col, const void *row)
{
	gpc_autostr *text = text_of(col, field(col, row));

	return text && *text ? gpc_steal(&text) : gpc_strdup("-");
}

bool gpc_cell_is_none(const struct gpc_col *col, const void *row)
{
	gpc_autostr *text = text_of(col, field(col, row));

	return !text || !*text;
}

char *gpc_cell_csv(const struct gpc_col *col, const void *row)
{
	const void *f = field(col, row);
	char money[GPC_MONEY_SIZE];
	int64_t n;

	switch (col->kind) {
	case GPC_COL_STR:
		return gpc_strdup(*(char *const *)f ? *(char *const *)f : "");
	case GPC_COL_INT:
	case GPC_COL_I64:
	case GPC_COL_ENUM:
		return text_of(col, f);
	case GPC_COL_COUNT:
		return *(const int *)f < 0 ? gpc_strdup("") : text_of(col, f);
	case GPC_COL_BOOL:
		return gpc_strdup(*(const bool *)f ? "true" : "false");
	case GPC_COL_DOUBLE:
		return isfinite(*(const double *)f) ?
			gpc_format("%.15g", *(const double *)f) : gpc_strdup("");
	case GPC_COL_MONEY: {
		const struct gpc_money *m = f;
		return gpc_strdup(*m->currency ?
			gpc_money_decimal(*m, money) : "");
	}
	case GPC_COL_TIME:
	case GPC_COL_AGE:
		n = *(const int64_t *)f;
		return n ? rfc3339(n) : gpc_strdup("");
	case GPC_COL_DURATION:
		n = *(const int64_t *)f;
		return n < 0 ? gpc_strdup("") : gpc_format("%" PRId64, n);
	case GPC_COL_SIZE:
		return *(const uint64_t *)f == GPC_SIZE_NONE ? gpc_strdup("") :
			gpc_format("%" PRIu64, *(const uint64_t *)f);
	case GPC_COL_STRV:
		return gpc_strv_join(f, ",");
	case GPC_COL_END:
		break;
	}
	return gpc_strdup("");
}

/* JSON text is UTF-8: other bytes are shown, not passed on. */
static struct gpc_json *json_text(const char *s)
{
	if (!s || gpc_utf8_valid(s, strlen(s)))
		return gpc_json_string(s);
	gpc_autostr *shown = printable(s);
	return gpc_json_string(shown);
}

static struct gpc_json *json_money(struct gpc_money m)
{
	struct gpc_json *j;
	char text[GPC_MONEY_SIZE];

	if (!*m.currency)
		return gpc_json_null();
	j = gpc_json_object();
	gpc_json_set_str(j, "amount", gpc_money_decimal(m, text));
	gpc_json_set_str(j, "currency", m.currency);
	return j;
}

static struct gpc_json *json_list(const struct gpc_strv *s)
{
	struct gpc_json *j = gpc_json_array();

	for (size_t i = 0; i < s->n; i++)
		gpc_json_add(j, json_text(s->v[i]));
	return j;
}

struct gpc_json *gpc_cell_json(const struct gpc_col *col, const void *row)
{
	const void *f = field(col, row);
	int64_t n;

	switch (col->kind) {
	case GPC_COL_STR:
		return json_text(*(char *const *)f);
	case GPC_COL_INT:
		return gpc_json_int(*(const int *)f);
	case GPC_COL_I64:
		return gpc_json_int(*(const int64_t *)f);
	case GPC_COL_COUNT:
		return *(const int *)f < 0 ? gpc_json_null() :
			gpc_json_int(*(const int *)f);
	case GPC_COL_BOOL:
		return gpc_json_bool(*(const bool *)f);
	case GPC_COL_DOUBLE:
		return isfinite(*(const double *)f) ?
			gpc_json_number(*(const double *)f) : gpc_json_null();
	case GPC_COL_MONEY:
		return json_money(*(const struct gpc_money *)f);
	case GPC_COL_TIME:
	case GPC_COL_AGE: {
		n = *(const int64_t *)f;
		gpc_autostr *text = n ? rfc3339(n) : NULL;
		return gpc_json_string(text);
	}
	case GPC_COL_DURATION:
		n = *(const int64_t *)f;
		return n < 0 ? gpc_json_null() : gpc_json_int(n);
	case GPC_COL_SIZE:
		return *(const uint64_t *)f == GPC_SIZE_NONE ? gpc_json_null() :
			gpc_json_int((int64_t)*(const uint64_t *)f);
	case GPC_COL_ENUM: {
		const char *word = enum_word(col, f);
		return *word ? gpc_json_string(word) : gpc_json_null();
	}
	case GPC_COL_STRV:
		return json_list(f);
	case GPC_COL_END:
		break;
	}
	return gpc_json_null();
}

char *gpc_cell_key(const struct gpc_col *col)
{
	return gpc_format("%s%s", col->name,
		col->kind == GPC_COL_DURATION ? "_ms" :
		col->kind == GPC_COL_SIZE ? "_bytes" : "");
}

char *gpc_cell_title(const struct gpc_col *col)
{
	char *title = gpc_strdup(col->title ? col->title : col->name);

	for (char *s = title; *s; s++) {
		if (*s == '_')
			*s = ' ';
		else if (*s >= 'a' && *s <= 'z')
			*s = (char)(*s - 'a' + 'A');
	}
	return title;
}

bool gpc_cell_is_number(const struct gpc_col *col)
{
	switch (col->kind) {
	case GPC_COL_INT:
	case GPC_COL_I64:
	case GPC_COL_COUNT:
	case GPC_COL_DOUBLE:
	case GPC_COL_MONEY:
	case GPC_COL_DURATION:
	case GPC_COL_AGE:
	case GPC_COL_SIZE:
		return true;
	default:
		return false;
	}
}
