/* Where in a zone a machine goes: subnet, security groups, network cards, placement. */
#pragma once
#include "model/node.h"
#include "provider/aws_call.h"
#include "provider/aws_tables.h"

#define GPC_AWS_OWN_TAG "gpucloud"      /* on subnets and groups that are to be used */

/* Looks up the network of the launch's zone and writes into `to` what RunInstances is
 * told of it: nothing where the default network does. GPC_ECAPACITY: another zone may
 * have room; GPC_ECONFIG with what a person can do where the region has no network.
 * Makes what gpc_aws_side_… makes when the machines talk by EFA. */
int gpc_aws_place(struct gpc_aws *aws, const struct gpc_launch *l,
	const struct gpc_aws_type *t, struct gpc_json *to,
	struct gpc_error *err) gpc_must_check;
