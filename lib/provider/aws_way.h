/* Ways from outside to machines of EC2: a security group of a job's own, made when a way
 * is asked for, and deleted once no machine has it any more. Its tags are those of the
 * job's machines, so that it is found when nobody remembers it. */
#pragma once
#include "model/node.h"
#include "model/spec_ports.h"
#include "provider/aws_call.h"

/* Lets some reach TCP ports of this instance; the same again is fine. *ret_address:
 * where it is then reached, owned. GPC_ECONFLICT for an instance of another store, or one
 * that does not run. */
struct gpc_aws_way {
	const char *region, *instance, *store_id;
	const struct gpc_strv *from;            /* ADDRESS/BITS */
	const struct gpc_port_ranges *ports;
};
int gpc_aws_way_open(struct gpc_aws *aws, const struct gpc_aws_way *way,
	char **ret_address, struct gpc_error *err) gpc_must_check;
/* Adds the groups of this store in a region as instances, of ids "REGION/sg-...". */
int gpc_aws_way_list(struct gpc_aws *aws, const char *region,
	const char *store_id, struct gpc_instances *to, struct gpc_error *err)
	gpc_must_check;
/* Whether an id is that of such a group; *ret_region is owned. */
bool gpc_aws_way_parts(const char *id, char **ret_region, const char **ret_group);
/* Deletes a group, if it is this store's; one that a machine still has, stays. */
int gpc_aws_way_close(struct gpc_aws *aws, const char *region,
	const char *group, const char *store_id, struct gpc_error *err)
	gpc_must_check;
/* The address by which this machine is seen from outside, as ADDRESS/BITS: AWS's own
 * checkip.amazonaws.com tells, or what AWS_ENDPOINT_URL_CHECKIP names. Owned. */
int gpc_aws_way_caller(struct gpc_aws *aws, char **ret_cidr,
	struct gpc_error *err) gpc_must_check;
