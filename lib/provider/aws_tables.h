/* What AWS sells, as it is built in: see data/README.md. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/money.h"

struct gpc_aws_type {
	char name[32], gpu[24];         /* gpu "": none */
	int gpus, gpu_memory_gb;
	double cpus;
	uint64_t memory_bytes;
	bool arm, efa;
};
/* Row i of the table; false past its end. */
bool gpc_aws_type_at(size_t i, struct gpc_aws_type *ret_t);
/* By its name. */
bool gpc_aws_type_find(const char *name, struct gpc_aws_type *ret_t);
/* Whether any price of this region is known. */
bool gpc_aws_sells_in(const char *region);
/* On demand, an hour; ret_ms: the day that it is from. False: not known there. */
bool gpc_aws_price(const char *region, const char *type,
	struct gpc_money *ret_price, int64_t *ret_ms);
