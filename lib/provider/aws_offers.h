/* What AWS would sell for an ask. */
#pragma once
#include "base/str.h"
#include "model/offer.h"
#include "provider/aws_call.h"
#include "catalog/types.h"

/* Of the built-in table first; what fits is then looked up in each region: which
 * zones have it (DescribeInstanceTypeOfferings), and spot prices, which are those of
 * this moment (DescribeSpotPriceHistory). An ask that nothing fits needs no request,
 * and no credentials. reservations: ids of what is held already, or NULL
 * (aws_reserved.h); these come first. */
int gpc_aws_offers(struct gpc_aws *aws, const struct gpc_strv *regions,
	const char *reservations, const struct gpc_ask *ask, struct gpc_offers *ret_offers,
	struct gpc_error *err) gpc_must_check;
/* What every offer of a type has; *o is overwritten. */
void gpc_aws_offer_fill(const struct gpc_machine_type *t, const char *region,
	const char *market, struct gpc_offer *o);
/* Why it does not fit, its architecture included; NULL: it does. Owned. */
char *gpc_aws_offer_misfit(const struct gpc_ask *ask,
	const struct gpc_machine_type *t, const struct gpc_offer *o);
/* Its tariff, from its price and the disk that is asked for. */
void gpc_aws_offer_charge(const struct gpc_ask *ask, struct gpc_offer *o);
