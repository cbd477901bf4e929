/* Why nothing of what is offered fits, in few words. */
#pragma once
#include "core/plan.h"

/* Fails, for offers of which each has its why_not. A type or a region of the spec that
 * nobody sells is GPC_ECONFIG, with the one that may have been meant; only_price:
 * GPC_EOVERCAP; else GPC_ECAPACITY, with what is nearest to the wish and what of it
 * does not fit. */
int gpc_plan_none_fits(const struct gpc_spec *spec,
	const struct gpc_offers *offers, bool only_price, struct gpc_error *err)
	gpc_must_check;
