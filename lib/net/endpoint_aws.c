/* Hosts of AWS's services as its own tools build them. Tables only: a region that
 * is newer than this file works, because its name tells its partition. */
#include "net/endpoint_aws.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const struct {
	const char *prefix;             /* of region names */
	struct gpc_aws_partition partition;
} partitions[] = {
	{"cn-", {"aws-cn", "amazonaws.com.cn", "api.amazonwebservices.com.cn",
		"cn-north-1"}},
	{"us-gov-", {"aws-us-gov", "amazonaws.com", "api.aws",
		"us-gov-west-1"}},
	{"us-iso-", {"aws-iso", "c2s.ic.gov", NULL, "us-iso-east-1"}},
	{"us-isob-", {"aws-iso-b", "sc2s.sgov.gov", NULL, "us-isob-east-1"}},
	{"eu-isoe-", {"aws-iso-e", "cloud.adc-e.uk", NULL, "eu-isoe-west-1"}},
	{"us-isof-", {"aws-iso-f", "csp.hci.ic.gov", NULL, "us-isof-south-1"}},
	{"eusc-", {"aws-eusc", "amazonaws.eu", NULL, "eusc-de-east-1"}},
	{"", {"aws", "amazonaws.com", "api.aws", "us-east-1"}},
};

/* global: one place in each partition, at the region that is named for it. */
static const struct service {
	const char *name, *prefix, *signing;
	bool plain_fips_in_gov;         /* the plain host is the FIPS one there */
	const char *fips;               /* instead of prefix-fips */
	const char *home, *home_cn;     /* region of the one place; NULL: regional */
	bool no_region;                 /* the host does not name it */
	bool by_partition;              /* one place in each, at its first region */
} services[] = {
	{"auto_scaling", "autoscaling", "autoscaling", true},
	{"cloudwatch", "monitoring", "monitoring", true},
	{"cloudwatch_logs", "logs", "logs", true},
	{"cost_explorer", "ce", "ce", false, NULL, "us-east-1",
		"cn-northwest-1"},
	{"ec2", "ec2", "ec2", true},
	{"iam", "iam", "iam", .by_partition = true},
	{"pricing", "api.pricing", "pricing", false, NULL, "us-east-1",
		"cn-northwest-1"},
	{"s3", "s3", "s3"},
	{"sagemaker", "api.sagemaker", "sagemaker", false,
		"api-fips.sagemaker"},
	{"sagemaker_runtime", "runtime.sagemaker", "sagemaker", false,
		"runtime-fips.sagemaker"},
	{"savingsplans", "savingsplans", "savingsplans", false, NULL,
		"us-east-1", NULL, true},
	{"service_quotas", "servicequotas", "servicequotas", true},
	{"ssm", "ssm", "ssm", true},
	{"sso", "portal.sso", ""},
	{"sso_oidc", "oidc", ""},
	{"sts", "sts", "sts", true},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct gpc_aws_partition *gpc_aws_partition_of(const char *region)
{
	size_t i = 0;

	while (!gpc_starts_with(region ? region : "", partitions[i].prefix))
		i++;
	return &partitions[i].partition;
}

const struct gpc_aws_partition *gpc_aws_partition_of_arn(const char *arn)
{
	for (size_t i = 0; i < COUNT(partitions); i++) {
		const char *id = partitions[i].partition.id;
		size_t n = strlen(id);

		if (gpc_starts_with(arn, "arn:") &&
			strncmp(arn + 4, id, n) == 0 && arn[4 + n] == ':')
			return &partitions[i].partition;
	}
	return NULL;
}

bool gpc_aws_region_valid(const char *region)
{
	size_t n = region ? strlen(region) : 0;

	if (n < 2 || n > 40 || region[0] == '-' || region[n - 1] == '-')
		return false;
	return strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static const struct service *find(const char *name)
{
	for (size_t i = 0; i < COUNT(services); i++)
		if (strcmp(services[i].name, name) == 0)
			return &services[i];
	return NULL;
}

const char *gpc_aws_signing_name(const char *service)
{
	const struct service *s = find(service);

	return s ? s->signing : service;
}

const char *gpc_aws_signing_region(const char *service, const char *region)
{
	const struct service *s = find(service);

	if (s && s->by_partition)
		return gpc_aws_partition_of(region)->first;
	if (!s || !s->home)
		return region;
	if (s->home_cn && gpc_starts_with(region, "cn-"))
		return s->home_cn;
	return s->home;
}

/* s3.dualstack.R, but ec2.R on another suffix. */
static char *format(const struct service *s, const char *region,
	const struct gpc_aws_place *place, const struct gpc_aws_partition *part)
{
	bool gov = strcmp(part->id, "aws-us-gov") == 0 && s->plain_fips_in_gov;
	bool s3 = strcmp(s->name, "s3") == 0;
	gpc_autostr *prefix = !place->fips || (gov && !place->dualstack) ?
		gpc_strdup(s->prefix) : s->fips ? gpc_strdup(s->fips) :
		gpc_format("%s-fips", s->prefix);
	const char *suffix = place->dualstack && !s3 ? part->dual :
		part->suffix;

	if (s->by_partition && gpc_eq(part->id, "aws-us-gov"))
		return gpc_format("https://%s.us-gov.%s", s->prefix, suffix);
	if (s->no_region || (s->by_partition && gpc_eq(part->id, "aws")))
		return gpc_format("https://%s.%s", prefix, suffix);
	return gpc_format("https://%s%s.%s.%s", prefix,
		s3 && place->dualstack ? ".dualstack" : "", region, suffix);
}

int gpc_aws_endpoint(const struct gpc_aws_place *place, char **ret_url,
	struct gpc_error *err)
{
	const struct service *s = find(place->service);
	const struct gpc_aws_partition *part =
		gpc_aws_partition_of(place->region);
	int r;

	if (!s)
		return gpc_fail(err, GPC_ECONFIG, "no service of AWS is known "
			"as \"%s\"", place->service);
	if (!gpc_aws_region_valid(place->region)) {
		gpc_autostr *shown = gpc_str_printable(place->region ?
			place->region : "", place->region ?
			strnlen(place->region, 60) : 0);

		r = gpc_fail(err, GPC_ECONFIG, "\"%s\" is no region of AWS",
			shown);
		gpc_hint(err, "regions look like us-east-1: set AWS_REGION, or "
			"region in ~/.aws/config");
		return r;
	}
	if (place->dualstack && !part->dual)
		return gpc_fail(err, GPC_ECONFIG, "%s has no dual-stack "
			"endpoints", part->id);
	if (place->fips && strcmp(part->id, "aws-cn") == 0)
		return gpc_fail(err, GPC_ECONFIG, "%s has no FIPS endpoints",
			part->id);
	*ret_url = format(s, gpc_aws_signing_region(s->name, place->region),
		place, part);
	return 0;
}
