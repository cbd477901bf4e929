/* The tables are text, as they are kept; a row is read when it is asked for. */
#include "provider/aws_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"

#define X(line) line,
static const char *const types[] = {
#include "provider/aws_types.inc"
};
static const char *const prices[] = {
#include "provider/aws_prices.inc"
};
#undef X
enum {
	N_TYPES = sizeof(types) / sizeof(*types),
	N_PRICES = sizeof(prices) / sizeof(*prices),
	FIELDS = 8, FIELD_MAX = 32,
};

struct row { char f[FIELDS][FIELD_MAX]; };

static void split(const char *line, struct row *to)
{
	struct gpc_str rest = gpc_str_of(line), part;

	*to = (struct row){0};
	for (int i = 0; i < FIELDS && gpc_str_split(&rest, ',', &part); i++)
		snprintf(to->f[i], FIELD_MAX, "%.*s", (int)part.len, part.ptr);
}

/* A test reads every row; none is wrong. */
static double number(const char *text)
{
	double x = 0;

	return gpc_parse_double(text, 0, 1e6, "table", &x, NULL) < 0 ? 0 : x;
}

bool gpc_aws_type_at(size_t i, struct gpc_aws_type *ret_t)
{
	struct row r;

	if (i >= N_TYPES)
		return false;
	split(types[i], &r);
	*ret_t = (struct gpc_aws_type){
		.gpus = (int)number(r.f[2]), .gpu_memory_gb = (int)number(r.f[3]),
		.cpus = number(r.f[4]),
		.memory_bytes = (uint64_t)(number(r.f[5]) * (1 << 30)),
		.arm = gpc_eq(r.f[6], "arm64"), .efa = gpc_eq(r.f[7], "1"),
	};
	snprintf(ret_t->name, sizeof(ret_t->name), "%s", r.f[0]);
	snprintf(ret_t->gpu, sizeof(ret_t->gpu), "%.23s", r.f[1]);
	return true;
}

bool gpc_aws_type_find(const char *name, struct gpc_aws_type *ret_t)
{
	for (size_t i = 0; gpc_aws_type_at(i, ret_t); i++)
		if (gpc_eq(ret_t->name, name))
			return true;
	return false;
}

bool gpc_aws_price(const char *region, const char *type,
	struct gpc_money *ret_price, int64_t *ret_ms)
{
	gpc_autostr *start = gpc_format("%s,%s,", region, type);

	for (size_t i = 0; i < N_PRICES; i++) {
		struct row r;
		gpc_autostr *day = NULL;

		if (!gpc_starts_with(prices[i], start))
			continue;
		split(prices[i], &r);
		day = gpc_format("%sT00:00:00Z", r.f[4]);
		return gpc_money_parse(r.f[2], r.f[3], "price", ret_price,
			NULL) == 0 && gpc_parse_rfc3339(day, ret_ms, NULL) == 0;
	}
	return false;
}

bool gpc_aws_sells_in(const char *region)
{
	gpc_autostr *start = gpc_format("%s,", region);

	for (size_t i = 0; i < N_PRICES; i++)
		if (gpc_starts_with(prices[i], start))
			return true;
	return false;
}
