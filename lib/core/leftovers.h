/* What submits that died left in the store, and secrets that nobody needs. */
#pragma once
#include "core/session.h"

/* Deletes secrets of jobs that are over or were never made, and index entries
 * of jobs that were never made. Only what is older than three hours (secrets) or a
 * day (entries) by the store's own clock: no submit under way is hit, even by a
 * clock that is off. */
int gpc_leftovers_sweep(struct gpc_session *s, struct gpc_error *err)
	gpc_must_check;
