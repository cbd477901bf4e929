/* What a machine of EC2 is told about its own end. */
#pragma once
#include "provider/aws_call.h"

/* The spot market's notice, from the metadata service: *ret_at_ms is when the machine
 * will be taken (wall clock), 0 while nothing is said. */
int gpc_aws_notice(struct gpc_aws *aws, int64_t *ret_at_ms, struct gpc_error *err)
	gpc_must_check;
