/* Capacity that the account holds already: reservations and capacity blocks. */
#pragma once
#include "model/offer.h"
#include "provider/aws_call.h"

/* Adds an offer (market "reserved", price 0: it is paid whether it is used or not) for
 * each reservation of a region whose id stands in `wanted` (by comma), with why_not
 * where it does not fit or has no room. One request, none without ids. Its rest names
 * the reservation, whether it is a block, and when it ends ("until_ms"). */
int gpc_aws_reserved(struct gpc_aws *aws, const char *region,
	const char *wanted, const struct gpc_ask *ask, struct gpc_offers *to,
	struct gpc_error *err) gpc_must_check;
/* Warns of what is named and was not found in any of the regions: it would be paid for
 * beside what is bought instead. */
void gpc_aws_reserved_tell(const char *wanted, const struct gpc_offers *found,
	const struct gpc_strv *regions, const struct gpc_log *log);
