/* Calls to AWS's services as the provider aws makes them: signed, judged, parsed. */
#pragma once
#include "base/map.h"
#include "creds/creds.h"
#include "dep/json.h"
#include "dep/xml.h"
#include "net/net.h"
#include "net/sign.h"
#include "provider/aws_answers.h"

/* What the open provider has; its parts live as long. */
struct gpc_aws {
	struct gpc_net *net;
	struct gpc_creds *creds;
	struct gpc_aws_answers answers;
};

/* Signs with the provider's credentials, which are got anew for renew; how: all but
 * the keys. */
int gpc_aws_sign(struct gpc_aws *aws, struct gpc_request *r,
	const struct gpc_sign_aws *how, bool renew, struct gpc_error *err)
	gpc_must_check;

/* A call of the query protocol. params: flattened names as the service has them
 * ("Filter.1.Name" in EC2, "Tags.member.1.Key" elsewhere); Action and the service's
 * Version are added. repeatable: reads, and what carries an idempotency token or is
 * the same when it is done twice. ret_xml: the root of the answer, owned. Failures are
 * classified as provider.h says, by the code alone; an error names code, region and
 * request id. What aws_answers.h keeps may be a minute old. */
struct gpc_aws_call {
	const char *region, *action;
	const struct gpc_pairs *params;         /* borrowed */
	bool repeatable;
};
/* service: "ec2", or "auto_scaling" and "iam", whose answers lie below <ActionResult>. */
int gpc_aws_query(struct gpc_aws *aws, const char *service,
	const struct gpc_aws_call *call, struct gpc_xml **ret_xml,
	struct gpc_error *err) gpc_must_check;
/* The same of EC2. */
int gpc_aws_ec2(struct gpc_aws *aws, const struct gpc_aws_call *call,
	struct gpc_xml **ret_xml, struct gpc_error *err) gpc_must_check;
/* Whether a failure says that who asks is unknown there: the keys are wrong, or, where
 * they are good elsewhere, the account has not enabled that region. */
bool gpc_aws_is_stranger(int r, const struct gpc_error *err);
/* A describe call, page by page until there is no other one; params is given the token
 * of the next. read takes each answer; what is not 0 ends it. */
typedef int gpc_aws_page_fn(void *arg, const struct gpc_xml *page,
	struct gpc_error *err);
int gpc_aws_ec2_pages(struct gpc_aws *aws, const char *region,
	const char *action, struct gpc_pairs *params, gpc_aws_page_fn *read,
	void *arg, struct gpc_error *err) gpc_must_check;
/* A call of the JSON protocol 1.1 that only reads. target: "AmazonSSM.GetParameter". */
int gpc_aws_json(struct gpc_aws *aws, const char *service, const char *region,
	const char *target, const struct gpc_json *params,
	struct gpc_json **ret_json, struct gpc_error *err) gpc_must_check;
