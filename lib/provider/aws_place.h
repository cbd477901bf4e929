/* Where in a zone a machine goes: subnet, security groups, network cards, placement. */
#pragma once
#include "model/node.h"
#include "provider/aws_call.h"
#include "catalog/types.h"

#define GPC_AWS_OWN_TAG "gpucloud"      /* on subnets and groups that are to be used */

struct gpc_aws_subnet { char id[64], vpc[64]; bool own, public; int64_t free; };

/* The subnet that a machine of this region would be in: one with the tag, else one of the
 * default network; own = it has the tag. GPC_ENOTFOUND, with what a person can do: the
 * region has neither. */
int gpc_aws_place_find(struct gpc_aws *aws, const char *region,
	struct gpc_aws_subnet *ret_s, struct gpc_error *err) gpc_must_check;
/* Looks up the network of the launch's zone and writes into `to` what RunInstances is
 * told of it: nothing where the default network does. GPC_ECAPACITY: another zone may
 * have room; GPC_ECONFIG with what a person can do where the region has no network.
 * Makes what gpc_aws_side_… makes when the machines talk by EFA. */
int gpc_aws_place(struct gpc_aws *aws, const struct gpc_launch *l,
	const struct gpc_machine_type *t, struct gpc_json *to,
	struct gpc_error *err) gpc_must_check;
