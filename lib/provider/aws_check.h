/* Whether machines could be bought now, asked of the services themselves; nothing is
 * made, and nothing is spent. */
#pragma once
#include "provider/aws_call.h"
#include "provider/setup.h"

/* Adds lines to ret. store_url: where a bucket is to be reached, the profile of nodes is
 * needed. Fails only when nothing can be asked. */
int gpc_aws_check(struct gpc_provider *p, struct gpc_aws *aws,
	const char *store_url, struct gpc_check_lines *ret, struct gpc_error *err)
	gpc_must_check;
