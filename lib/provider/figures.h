/* What nodes measured, for a cloud that keeps such figures. */
#pragma once
#include <stdint.h>

#include "base/vec.h"

/* All values of one name since the batch before. */
struct gpc_figure {
	char *name;                   /* "gpu0.utilization", "loss" */
	double least, most, sum;
	int64_t n;
	int64_t at_ms;                /* wall: the newest */
};
struct gpc_figures {
	const char *space, *job, *node;       /* node: its id; borrowed */
	int rank;
	GPC_VEC(struct gpc_figure) v;
};
