/* What this machine has, as an offer. */
#pragma once
#include <stdbool.h>

#include "base/money.h"
#include "model/offer.h"

enum { GPC_LOCAL_MAX_GPUS = 64 };

/* Fills a zeroed offer; why_not when the ask does not fit. */
void gpc_local_offer(const struct gpc_ask *ask, struct gpc_money per_hour,
	struct gpc_offer *ret_o);
/* Sets fits[i] for each GPU of that name as NVML says it (NULL: any). */
void gpc_local_gpus(const char *name, bool fits[GPC_LOCAL_MAX_GPUS]);
