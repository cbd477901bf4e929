/* Groups of EC2 Auto Scaling, which keep one machine of a launch. */
#pragma once
#include "model/node.h"
#include "provider/aws_call.h"

/* "us-east-1/gpucloud-TOKEN"; owned. */
char *gpc_aws_group_id(const struct gpc_launch *l);
/* Its two parts; false for what is none. ret_name is borrowed, ret_region owned. */
bool gpc_aws_group_parts(const char *id, char **ret_region,
	const char **ret_name);
/* The token in a group's name; NULL for what is no name of ours. Borrowed. */
const char *gpc_aws_group_token(const char *name);

/* A launch template, a group of size 0, the action that sets it to 0 for good when the
 * launch expires, read back, and only then size 1. Repeated, it goes on where it was.
 * GPC_EPROTO: the action is not there as it was asked for. */
int gpc_aws_group_keep(struct gpc_aws *aws, const struct gpc_launch *l,
	struct gpc_error *err) gpc_must_check;
/* Deletes it, its machines and its template, each by its name; fine when it is not there.
 * Whether it is gone a later list tells. GPC_ECONFLICT: it is of another store. */
int gpc_aws_group_end(struct gpc_aws *aws, const char *region, const char *name,
	const char *store_id, struct gpc_error *err) gpc_must_check;
/* Ends a machine that is one too many in its group. The size that somebody has made
 * larger than 1 shrinks with it, so that no other one comes; 1 stays for the rest. */
int gpc_aws_group_leave(struct gpc_aws *aws, const char *region,
	const char *name, const char *instance, struct gpc_error *err) gpc_must_check;
/* Appends those of a region whose tag gpucloud-store is store_id, and templates that
 * stand alone, each as a group: where there is no group, or thorough. One that starts
 * nothing more is STOPPING; one that has no machine says why its last try failed. */
int gpc_aws_groups_list(struct gpc_aws *aws, const char *region,
	const char *store_id, bool thorough, struct gpc_instances *to,
	struct gpc_error *err) gpc_must_check;
