/* What clouds ask for machines by their lists, as it is built in: see data/README.md. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/money.h"

/* On demand, an hour; ret_ms: the day that it is from. False: not known there. */
bool gpc_list_price(const char *provider, const char *region, const char *type,
	struct gpc_money *ret_price, int64_t *ret_ms);
/* Whether any price of this region is known. */
bool gpc_list_sells_in(const char *provider, const char *region);
