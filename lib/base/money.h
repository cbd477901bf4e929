/* Money is exact: integer micro-units and an ISO 4217 code, never a double. */
#pragma once
#include <stdint.h>

#include "base/err.h"

#define GPC_MONEY_SIZE 40

struct gpc_money {
	int64_t micros;
	char currency[4];        /* "" = nothing set */
};

/* "12.50" (in `fallback`, e.g. "USD"), "80 CNY", "$3". Never negative; at most
 * six decimals. */
int gpc_money_parse(const char *s, const char *fallback, const char *what,
	struct gpc_money *ret_m, struct gpc_error *err) gpc_must_check;
/* "$1.23", "$0.0004" or "80.00 CNY": two decimals, more only below a cent */
char *gpc_money_format(struct gpc_money m, char out[GPC_MONEY_SIZE]);
/* Exact decimal text for records and JSON: "1.234567". */
char *gpc_money_decimal(struct gpc_money m, char out[GPC_MONEY_SIZE]);
/* a += b; an unset side takes the other's currency. */
int gpc_money_add(struct gpc_money *a, struct gpc_money b,
	struct gpc_error *err) gpc_must_check;
/* rate per hour over a time, rounded up to a micro; saturates. */
struct gpc_money gpc_money_for(struct gpc_money per_hour, int64_t ms);
/* The same for a price that is for another time than an hour: per_ms > 0, and not over
 * 35 days, beyond which it counts as so many. */
struct gpc_money gpc_money_per(struct gpc_money price, int64_t per_ms, int64_t ms);
/* How long `budget` lasts at per_hour, in ms; INT64_MAX at no cost. */
int64_t gpc_money_lasts(struct gpc_money budget, struct gpc_money per_hour);
int gpc_money_cmp(struct gpc_money a, struct gpc_money b); /* same currency */
