/* What the pretend cloud sells. */
#pragma once
#include "base/err.h"
#include "dep/json.h"
#include "model/offer.h"

/* Every machine of the script's list (NULL: of the usual list), in its order,
 * those that do not fit the ask with why_not set. Appends to ret_offers. */
int gpc_fake_offers(const struct gpc_json *list, const struct gpc_ask *ask,
	struct gpc_offers *ret_offers, struct gpc_error *err) gpc_must_check;
