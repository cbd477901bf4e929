/* From a launch to the parameters of RunInstances. */
#pragma once
#include "model/node.h"
#include "provider/aws_call.h"

#define GPC_AWS_PROFILE "gpucloud-node" /* that nodes run with; `setup aws` makes it */

/* Looks up what a launch leaves open (image, its disk) and writes it, with the user
 * data, into l->rest under "aws": so a repeat sends the same bytes, as AWS demands of
 * one with the same token. GPC_ECONFIG for what can never work, before money is
 * spent. */
int gpc_aws_launch_prepare(struct gpc_aws *aws, struct gpc_launch *l,
	struct gpc_error *err) gpc_must_check;
/* Of a launch that was prepared. */
int gpc_aws_launch_params(const struct gpc_launch *l, struct gpc_pairs *to,
	struct gpc_error *err) gpc_must_check;
