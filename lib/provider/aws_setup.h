/* What `setup aws` makes, described once: the calls that make it and the template that
 * says the same are both written from this.
 *
 * A bucket that nobody else sees, whose journal cannot be overwritten; a role for nodes
 * that reaches the store's part of it and nothing else, with its instance profile; and,
 * where it is wanted, a role for a supervisor, which may buy and end nodes. */
#pragma once
#include "net/endpoint_aws.h"
#include "provider/aws_call.h"
#include "provider/setup.h"
#include "store/s3_address.h"

#define GPC_AWS_SETUP_TAG "gpucloud-setup"      /* on all that setup made */
#define GPC_AWS_SUPERVISOR "gpucloud-supervisor"
#define GPC_AWS_UPLOAD_DAYS 7                   /* until an unfinished one goes */

struct gpc_aws_role {
	const char *name, *title;
	struct gpc_json *policy;
};
struct gpc_aws_setup {
	struct gpc_bucket_address address;
	char *region;                   /* of the bucket */
	const struct gpc_aws_partition *partition;
	char *account;                  /* NULL: no document names it */
	char mark[9];                   /* of bucket and prefix: stores may share both
	                                 * bucket and roles */
	char *own;                      /* start of the Sids in the bucket's policy */
	char *rule;                     /* id of the lifecycle rule */
	char *policy_name;              /* of the roles' inline policies */
	struct gpc_json *trust;
	struct gpc_json *bucket_policy; /* our statements alone; there may be none */
	struct gpc_aws_role roles[2];
	size_t n_roles;
};
/* Whether a document names the account. */
bool gpc_aws_setup_names_account(const struct gpc_setup_wish *wish);
/* account: 12 digits, or NULL. region: where the store's URL names none. GPC_ECONFIG
 * for a store in no bucket of S3, a name that no bucket has, an address block that is
 * none; GPC_EUSAGE when the account is needed. */
int gpc_aws_setup_init(struct gpc_aws_setup *s, const struct gpc_setup_wish *wish,
	const char *region, const char *account, struct gpc_error *err)
	gpc_must_check;
void gpc_aws_setup_clear(struct gpc_aws_setup *s);
GPC_CLEANUP_VALUE(gpc_aws_setup);
/* Of a role of this account; owned. */
char *gpc_aws_setup_role_arn(const struct gpc_aws_setup *s, const char *role);

/* All of it as a template of CloudFormation, in JSON; owned. */
char *gpc_aws_setup_template(const struct gpc_aws_setup *s);

extern const struct gpc_setup_ops gpc_aws_setup_ops;
