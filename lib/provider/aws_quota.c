/* EC2 only says that a limit was passed. New accounts have limits of 0 for GPUs: who
 * waits there waits for ever, so the limit is asked for once it has refused. */
#include "provider/aws_quota.h"

#include <string.h>

#include "base/str.h"

#define TARGET "ServiceQuotasV20190624."

/* By what a type's name begins with; the first that fits. */
static const struct { const char *start, *on_demand, *spot; } limits[] = {
	{"p5", "L-417A185B", "L-C4BD4855"},
	{"p6", "L-417A185B", NULL},     /* lists disagree */
	{"p", "L-417A185B", "L-7212CCBC"},
	{"g", "L-DB2E81BA", "L-3819A6DF"},
	{"vt", "L-DB2E81BA", "L-3819A6DF"},
	{"trn", "L-2C3B7624", "L-6B0D517C"},
	{"inf", "L-1945791B", "L-B5D1601B"},
	{"dl", "L-6E869C2A", "L-85EED4F7"},
};
#define STANDARD "acdhimrtz"    /* letters of the other families of one limit */

const char *gpc_aws_limit(const char *type, bool spot)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (gpc_starts_with(type, limits[i].start))
			return spot ? limits[i].spot : limits[i].on_demand;
	if (!*type || !strchr(STANDARD, *type))
		return NULL;
	return spot ? "L-34B43A08" : "L-1216C47A";
}

/* An account that never had another has the default, which only another call says. */
int gpc_aws_quota(struct gpc_aws *aws, const char *region, const char *code,
	double *ret_vcpus, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *params = gpc_json_object(), *reply = NULL;
	const struct gpc_json *value;
	int r;

	gpc_json_set_str(params, "ServiceCode", "ec2");
	gpc_json_set_str(params, "QuotaCode", code);
	r = gpc_aws_json(aws, "service_quotas", region, TARGET "GetServiceQuota",
		params, &reply, err);
	if (r == -GPC_ENOTFOUND)
		r = gpc_aws_json(aws, "service_quotas", region,
			TARGET "GetAWSDefaultServiceQuota", params, &reply, err);
	if (r < 0)
		return r;
	value = gpc_json_get(gpc_json_get(reply, "Quota"), "Value");
	if (!gpc_json_is_number(value))
		return gpc_fail(err, GPC_EPROTO, "quota %s in %s has no value",
			code, region);
	*ret_vcpus = gpc_json_number_or(value, 0);
	return 0;
}

void gpc_aws_quota_look(struct gpc_aws *aws, const struct gpc_launch *l,
	struct gpc_error *err)
{
	const char *code = gpc_aws_limit(l->offer.instance_type,
		gpc_eq(l->offer.market, "spot"));
	double vcpus = 0, wanted = l->offer.cpus * l->count;
	struct gpc_error why;

	if (!err || !code || wanted <= 0 || gpc_aws_quota(aws, l->offer.region,
		code, &vcpus, &why) < 0 || wanted <= vcpus)
		return;
	err->retry_after_ms = GPC_NEVER_MS;
	gpc_hint(err, "the limit is %g vCPUs, and this needs %g: aws service-quotas "
		"request-service-quota-increase --service-code ec2 --quota-code %s "
		"--desired-value %g --region %s; or name another region or market",
		vcpus, wanted, code, wanted, l->offer.region);
}
