/* Changing the limits of a job that has not ended, its priority, and who is told. The journal's event is the
 * change; supervisor and agents follow it by themselves. */
#pragma once
#include "core/session.h"
#include "core/view.h"

struct gpc_update {
	struct gpc_money cost;        /* "" = leave it */
	int64_t time_ms;              /* 0 = leave it */
	const int *priority;          /* NULL = leave it */
	const struct gpc_spec_notify *notify;   /* the same; empty = nobody */
	bool may_end;                 /* also when that ends the job at once */
};
struct gpc_update_result {
	struct gpc_money old_cost, new_cost;    /* "" = no limit */
	int64_t old_time_ms, new_time_ms;       /* 0 = no limit */
	int old_priority, new_priority;
	struct gpc_spec_notify old_notify, new_notify;
	bool changed;                 /* false: it was so already, or would_end */
	char *would_end;              /* why it would end the job at once, and
	                               * may_end was not set: nothing is changed */
	char *note;                   /* what it does not change, for people */
};
void gpc_update_result_clear(struct gpc_update_result *x);
GPC_CLEANUP_VALUE(gpc_update_result);
/* GPC_ECONFLICT: it has ended, or the time does not fit the lifetime of its
 * nodes, which is fixed when they are made; GPC_EUSAGE: another currency. */
int gpc_update_job(struct gpc_session *s, const char *job,
	const struct gpc_update *u, struct gpc_update_result *ret_x,
	struct gpc_error *err) gpc_must_check;
