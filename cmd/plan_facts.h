/* What a plan says to people and programs alike, counted once. */
#pragma once
#include "cmd/plan_print.h"

/* The wall clock's time at which it is over, 0 for never, and what ends it: a
 * machine's lifetime, or the job's deadline. */
int64_t gpc_plan_latest_end(const struct gpc_plan_text *t, const char **ret_cause);

#define GPC_PLAN_BIGGEST 5
/* Indexes of the biggest files, biggest first; returns how many. */
size_t gpc_plan_biggest(const struct gpc_tree *t, size_t ret_at[GPC_PLAN_BIGGEST]);

struct gpc_plan_rule { const char *text; size_t n; };
/* Rules with what each excluded, most first; owned array. */
struct gpc_plan_rule *gpc_plan_rules(const struct gpc_tree *t, size_t *ret_n);
