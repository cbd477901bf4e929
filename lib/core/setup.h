/* Making and taking away what an account needs, with the waiting that it takes. */
#pragma once
#include "base/cancel.h"
#include "provider/provider.h"
#include "provider/setup.h"

/* Told of each item: before (r > 0), and after with what became of it; err only where
 * r < 0. */
typedef void gpc_setup_fn(void *arg, const struct gpc_setup_item *item, int r,
	const struct gpc_error *err);
struct gpc_setup_work {
	struct gpc_provider *p;
	const struct gpc_setup_wish *wish;
	const struct gpc_cancel *cancel;        /* may be NULL */
	gpc_setup_fn *tell;
	void *arg;
};
/* Makes what is not there as it shall be, in order, and looks until all of it is seen
 * there; a minute at most for either. Stops at the first failure: what was made stays,
 * and the next call goes on from there. */
int gpc_setup_make(const struct gpc_setup_work *w,
	const struct gpc_setup_items *items, struct gpc_error *err) gpc_must_check;
/* Takes away what is there and not KEPT. */
int gpc_setup_unmake(const struct gpc_setup_work *w,
	const struct gpc_setup_items *items, struct gpc_error *err) gpc_must_check;
/* GPC_ECONFLICT while a node with the tag of this store is there, which needs what setup
 * made to save its work and to end. */
int gpc_setup_may_unmake(struct gpc_provider *p, struct gpc_error *err)
	gpc_must_check;
