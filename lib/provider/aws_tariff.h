/* What a machine of EC2 costs besides itself. */
#pragma once
#include <stdbool.h>

#include "model/tariff.h"

/* By the second, a minute at least: the machine at this price an hour, its gp3 disk,
 * and its address where it has a public one. */
void gpc_aws_tariff(const char *region, struct gpc_money machine, int64_t disk_gib,
	bool address, struct gpc_tariff *ret_t);
