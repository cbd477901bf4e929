/* What AWS would sell for an ask. */
#pragma once
#include "base/str.h"
#include "model/offer.h"
#include "provider/aws_call.h"

/* Of the built-in table first; what fits is then looked up in each region: which
 * zones have it (DescribeInstanceTypeOfferings), and spot prices, which are those of
 * this moment (DescribeSpotPriceHistory). An ask that nothing fits needs no request,
 * and no credentials. */
int gpc_aws_offers(struct gpc_aws *aws, const struct gpc_strv *regions,
	const struct gpc_ask *ask, struct gpc_offers *ret_offers,
	struct gpc_error *err) gpc_must_check;
