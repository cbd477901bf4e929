/* Limits of an account: vCPUs of a family of types, in a region and market. */
#pragma once
#include "model/node.h"
#include "provider/aws_call.h"

/* The code in Service Quotas that bounds these types, such as "L-DB2E81BA"; NULL where
 * it is not known which. Facts: EC2's service quotas, as AWS lists them. */
const char *gpc_aws_limit(const char *type, bool spot);
/* What it is now, in vCPUs. */
int gpc_aws_quota(struct gpc_aws *aws, const char *region, const char *code,
	double *ret_vcpus, struct gpc_error *err) gpc_must_check;
/* EC2 refused a launch for a limit (err): if the limit itself is less than the launch
 * asks for, that waits in vain, so err then says GPC_NEVER_MS, how much there is, and
 * how one asks for more. One request; without the permission for it err stays. */
void gpc_aws_quota_look(struct gpc_aws *aws, const struct gpc_launch *l,
	struct gpc_error *err);
