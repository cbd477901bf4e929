/* What no record explains is ended: nodes of this owner and store that no live
 * job needs. Part of a supervisor's rounds and of `release --orphans`. */
#pragma once
#include "core/session.h"

/* Ends this owner's orphans; *ret_n = how many. A node that cannot be judged
 * (its journal cannot be read) is left alone. */
int gpc_reconcile(struct gpc_session *s, int *ret_n, struct gpc_error *err)
	gpc_must_check;
