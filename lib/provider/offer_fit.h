/* Whether what a cloud sells is what was asked for. */
#pragma once
#include "model/offer.h"

/* The first thing that is in the way, in words, owned; NULL when it fits. Prices and
 * caps are not looked at. exact: a machine with more GPUs than asked for does not fit,
 * nor one with GPUs where none are asked for, nor more CPUs or memory than an ask
 * without "+". */
char *gpc_offer_misfit(const struct gpc_ask *ask, const struct gpc_offer *o,
	bool exact);
