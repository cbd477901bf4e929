/* The newest value of each metric of a job. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "dep/json.h"
#include "store/store.h"

struct gpc_metric { char *name; double value; int64_t at_ms; int rank; };
struct gpc_metric_list { struct gpc_metric *v; size_t n, cap; };
void gpc_metric_list_clear(struct gpc_metric_list *l);
GPC_CLEANUP_VALUE(gpc_metric_list);
/* From the ends of the ranks' metrics streams; the newest over all ranks wins.
 * A stream that is not there yet is no error. */
int gpc_metrics_newest(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, struct gpc_metric_list *ret_l, struct gpc_error *err)
	gpc_must_check;
/* {"loss": {"value": 1.25, "at": "...", "rank": 0}, ...}; owned. */
struct gpc_json *gpc_metrics_json(const struct gpc_metric_list *l);
