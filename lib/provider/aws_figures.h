/* A node's figures in CloudWatch (API version 2010-08-01). */
#pragma once
#include "base/map.h"
#include "provider/figures.h"

/* As parameters of PutMetricData, one datum a name: a figure of a GPU
 * ("gpu3.utilization") is GPUUtilization with the dimension GPU = 3, others keep their
 * name; all have JobId and Rank. What CloudWatch would refuse is left out, since it
 * refuses the whole call for it. Returns how many there are; at most
 * GPC_AWS_FIGURES_MOST. */
#define GPC_AWS_FIGURES_MOST 1000
size_t gpc_aws_figures_params(const struct gpc_figures *f, struct gpc_pairs *to);
