/* What a launch on EC2 leaves open. */
#pragma once
#include "model/node.h"
#include "provider/aws_call.h"

#define GPC_AWS_PROFILE "gpucloud-node" /* that nodes run with; `setup aws` makes it */
#define GPC_AWS_REST "aws"              /* the part of l->rest that is EC2's own */
#define GPC_AWS_DISK_LEAST_GIB 100      /* a system with drivers, and a workspace */

/* Looks up what a launch leaves open (image, its disk) and writes it, with the user
 * data, into l->rest under "aws": so a repeat sends the same bytes, as AWS demands of
 * one with the same token. GPC_ECONFIG for what can never work, before money is
 * spent. */
int gpc_aws_launch_prepare(struct gpc_aws *aws, struct gpc_launch *l,
	struct gpc_error *err) gpc_must_check;
/* The newest image that AWS publishes for such machines: with NVIDIA's driver for those
 * with GPUs, else Ubuntu's own. ret_id is owned. GPC_ECONFIG where a region has none. */
int gpc_aws_image_published(struct gpc_aws *aws, const char *region, bool arm,
	bool gpu, char **ret_id, struct gpc_error *err) gpc_must_check;
