/* Numbers over time: found in the job's output by the spec's expressions, or
 * written by the job as JSON lines into $GPUCLOUD_METRICS. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

struct gpc_metrics;
/* Takes one line {"t":..,"name":..,"value":..} with its newline. */
typedef void gpc_metrics_fn(void *arg, const char *line, size_t n);

/* exprs: name -> POSIX extended regular expression, whose first group (or
 * whole match) is the number. file may not exist yet. */
int gpc_metrics_new(const struct gpc_pairs *exprs, const char *file,
	gpc_metrics_fn *fn, void *arg, struct gpc_metrics **ret_m,
	struct gpc_error *err) gpc_must_check;
void gpc_metrics_free(struct gpc_metrics *m);
GPC_CLEANUP_POINTER(gpc_metrics);
/* Output of the job: any pieces of lines; source 0 or 1. */
void gpc_metrics_feed(struct gpc_metrics *m, int source, const char *data,
	size_t n);
/* Reads on in the file; gives out what was held back. Call it each second. */
void gpc_metrics_tick(struct gpc_metrics *m);
/* A value of the agent's own ("gpu0.utilization"). */
void gpc_metrics_put(struct gpc_metrics *m, const char *name, double value);
