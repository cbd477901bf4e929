/* What a job has cost, costs now, and may cost. */
#pragma once
#include <stdint.h>

#include "base/money.h"
#include "core/session.h"
#include "model/job.h"

struct gpc_cost {
	char job[GPC_JOB_ID_SIZE];
	char *name;
	enum gpc_job_status status;
	int attempts, nodes;          /* nodes < 0, node_ms < 0: not known */
	int64_t start_ms, end_ms;     /* end 0 = still live */
	int64_t node_ms;              /* paid node time */
	struct gpc_money spent;       /* so far */
	struct gpc_bill bill;         /* the same by part; empty: not known */
	struct gpc_money rate;        /* per hour now; 0 when nothing is held */
};
void gpc_cost_clear(struct gpc_cost *c);
struct gpc_costs { struct gpc_cost *v; size_t n, cap; };
void gpc_costs_clear(struct gpc_costs *c);
GPC_CLEANUP_VALUE(gpc_costs);
/* Sums of released and live nodes of a folded state at time now. */
struct gpc_money gpc_cost_spent(const struct gpc_job_state *st, int64_t now_ms);
/* The first by part, added to `to`. */
void gpc_cost_bill(const struct gpc_job_state *st, int64_t now_ms,
	struct gpc_bill *to);
struct gpc_money gpc_cost_rate(const struct gpc_job_state *st);
int gpc_cost_job(struct gpc_session *s, const char *job, struct gpc_cost *ret_c,
	struct gpc_error *err) gpc_must_check;
/* All jobs of this owner that ended at or after since_ms, and the live ones. */
int gpc_cost_since(struct gpc_session *s, int64_t since_ms, bool all_users,
	struct gpc_costs *ret_c, struct gpc_error *err) gpc_must_check;
