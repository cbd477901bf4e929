/* What a job of several machines needs beside them: a cluster placement group, and a
 * security group within which EFA's traffic may pass. Both cost nothing, bear the tags
 * of the job and one name, and go when its machines are gone. */
#pragma once
#include "model/node.h"
#include "provider/aws_call.h"

#define GPC_AWS_SIDE_TAG "gpucloud-side"        /* on them and on the machines: that name */

/* Makes the placement group of l; again is fine. */
int gpc_aws_side_cluster(struct gpc_aws *aws, const struct gpc_launch *l,
	const char *name, struct gpc_error *err) gpc_must_check;
/* Makes the security group in a network; again is fine. ret_id: owned. */
int gpc_aws_side_group(struct gpc_aws *aws, const struct gpc_launch *l,
	const char *name, const char *vpc, char **ret_id,
	struct gpc_error *err) gpc_must_check;
/* Ends what has this name, or (name NULL) the tag of this store, unless a machine still
 * uses it. Adds to *n how much it was; n may be NULL. */
int gpc_aws_side_end(struct gpc_aws *aws, const char *region,
	const char *store_id, const char *name, size_t *n,
	struct gpc_error *err) gpc_must_check;
