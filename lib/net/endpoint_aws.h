/* Where the services of AWS live: hosts by partition, region and variant. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct gpc_aws_partition {
	const char *id;                 /* "aws-cn", as in ARNs */
	const char *suffix, *dual;      /* of hosts: "amazonaws.com.cn"; dual NULL:
	                                 * has no dual-stack hosts */
	const char *first;              /* a region that every account has */
};
/* By the form of the region's name; that of new regions is "aws". Never NULL. */
const struct gpc_aws_partition *gpc_aws_partition_of(const char *region);
/* Of an ARN ("arn:aws-cn:iam::…"); NULL when it is none that is known. */
const struct gpc_aws_partition *gpc_aws_partition_of_arn(const char *arn);

struct gpc_aws_place {
	const char *service;            /* "ec2", "s3", "sts", "sso_oidc": the name in
	                                 * AWS_ENDPOINT_URL_<NAME>, lower case */
	const char *region;
	bool fips, dualstack;
};
/* "https://sts.eu-west-1.amazonaws.com", without a path; owned. GPC_ECONFIG for a
 * region that is no name, a service that is not known, and a variant that the
 * partition does not have. */
int gpc_aws_endpoint(const struct gpc_aws_place *place, char **ret_url,
	struct gpc_error *err) gpc_must_check;
/* The name that requests to it are signed for. */
const char *gpc_aws_signing_name(const char *service);
/* The region that they are signed for: not the own one where a service has one
 * place for all. */
const char *gpc_aws_signing_region(const char *service, const char *region);
/* Lower-case letters, digits and -: safe as a part of a host. */
bool gpc_aws_region_valid(const char *region);
