/* The rows are sorted by what they begin with, which is what they are looked up by. */
#include "catalog/prices.h"

#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "catalog/row.h"

#define X(line) line,
static const char rows[][96] = {
#include "catalog/prices.inc"
};
#undef X
enum { N_ROWS = sizeof(rows) / sizeof(*rows) };
enum { PROVIDER, REGION, TYPE, ON_DEMAND, CURRENCY, AS_OF };

/* The first row that begins so; NULL: there is none. */
static const char *find(const char *start)
{
	size_t from = 0, to = N_ROWS;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(rows[middle], start) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < N_ROWS && gpc_starts_with(rows[from], start) ? rows[from] : NULL;
}

bool gpc_list_price(const char *provider, const char *region, const char *type,
	struct gpc_money *ret_price, int64_t *ret_ms)
{
	gpc_autostr *start = gpc_format("%s,%s,%s,", provider, region, type);
	gpc_autostr *day = NULL;
	const char *line = find(start);
	struct gpc_row r;

	if (!line)
		return false;
	gpc_row_split(line, &r);
	day = gpc_format("%sT00:00:00Z", r.f[AS_OF]);
	return gpc_money_parse(r.f[ON_DEMAND], r.f[CURRENCY], "price", ret_price,
		NULL) == 0 && gpc_parse_rfc3339(day, ret_ms, NULL) == 0;
}

bool gpc_list_sells_in(const char *provider, const char *region)
{
	gpc_autostr *start = gpc_format("%s,%s,", provider, region);

	return find(start) != NULL;
}
