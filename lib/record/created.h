/* The payload of `created`, as supervisors and the nodes of a group write it. */
#pragma once
#include "model/job.h"
#include "model/node.h"

/* One of its nodes: what became of a launch, whose intent it was. x: as the provider
 * shows it. Owned. */
struct gpc_json *gpc_created_node(const struct gpc_launch *l,
	const struct gpc_intent *intent, const struct gpc_instance *x, int rank);
/* All of it; takes nodes, an array of these. Owned. */
struct gpc_json *gpc_created(const struct gpc_launch *l,
	const struct gpc_intent *intent, struct gpc_json *nodes);
