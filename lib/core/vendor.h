/* A provider in use: opened once in a session, and what it showed last.
 *
 * All jobs of a supervisor ask in turn, from one thread, so that one list serves them
 * all. A job that has made or ended something wants a list that began later: it waits
 * until `lists` is more than it was then. */
#pragma once
#include "base/vec.h"
#include "core/session.h"

struct gpc_vendor {
	struct gpc_provider_context ctx;
	struct gpc_provider *provider;
	struct gpc_instances instances;  /* as last listed */
	int64_t lists;                   /* that came; 0 = none yet */
	int64_t began_ms;                /* boot clock: when the last one was asked for */
	int64_t shown_ms;                /* wall clock: when it had come */
	int64_t failed_ms;               /* boot clock: none came; 0 = the last one did */
	struct gpc_error why;            /* why */
};
struct gpc_vendors { GPC_VEC(struct gpc_vendor *) all; };

/* Those of a session; the providers have its strings, so they go before them. */
struct gpc_vendors *gpc_vendors_new(void);
void gpc_vendors_free(struct gpc_vendors *v);

/* By name, for jobs with this session's settings; opened when it was not yet. It lives
 * as long as the session, which was opened, not made by hand. */
int gpc_session_vendor(struct gpc_session *s, const char *name,
	struct gpc_vendor **ret_v, struct gpc_error *err) gpc_must_check;
/* Lists anew unless the last list is at most max_age_ms old and there were more than
 * `after`. One that failed just now is not asked for again by the next job in turn: it
 * is told the same. Pointers into the former list end here. */
int gpc_vendor_list(struct gpc_vendor *v, int64_t max_age_ms, int64_t after,
	struct gpc_error *err) gpc_must_check;
