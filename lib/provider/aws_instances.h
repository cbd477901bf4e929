/* Instances of EC2 as gpucloud sees them. */
#pragma once
#include "model/node.h"
#include "provider/aws_call.h"

/* An id that tells where it is: "us-east-1/i-0123456789abcdef0"; owned. */
char *gpc_aws_node_id(const char *region, const char *instance);
/* Its two parts; false for what is none. Borrowed from id: ret_region is owned. */
bool gpc_aws_node_parts(const char *id, char **ret_region,
	const char **ret_instance);

/* Whether Auto Scaling started it. */
bool gpc_aws_instance_is_grouped(const struct gpc_instance *x);
/* Its creation, as AWS writes times, and its end by its tag, where they are told. */
void gpc_aws_instance_times(const char *created, struct gpc_instance *x);
/* Appends one of <instancesSet>. One that a group of ours started has the group's
 * token. GPC_EPROTO without an id. */
int gpc_aws_instance_read(const struct gpc_xml *item, const char *region,
	struct gpc_instances *to, struct gpc_error *err) gpc_must_check;
/* Appends the ids of nodes that TerminateInstances ended while they were pending. */
void gpc_aws_instances_unstarted(const struct gpc_xml *answer, const char *region,
	struct gpc_strv *to);
/* GPC_ECONFLICT when one of these ids is a machine that lives, and is not ours: what
 * a list of ours does not show is either gone or another's. */
int gpc_aws_instances_foreign(struct gpc_aws *aws, const char *region,
	const struct gpc_strv *ids, struct gpc_error *err) gpc_must_check;
/* Appends all of a region whose tag gpucloud-store is store_id. */
int gpc_aws_instances_list(struct gpc_aws *aws, const char *region,
	const char *store_id, struct gpc_instances *to, struct gpc_error *err)
	gpc_must_check;
