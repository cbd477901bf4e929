/* Calls about a bucket itself (S3 REST API, 2006-03-01), not about its objects. */
#pragma once
#include "provider/aws_setup.h"

struct gpc_aws_bucket_call {
	const char *method;
	const char *what;               /* the sub-resource: "policy"; NULL: none */
	const char *body;               /* NULL: none */
};
/* The bucket must be this account's. GPC_ENOTFOUND where it or what is asked for is not
 * there; of HEAD every answer that is no failure of the service is a success, to be
 * judged by its status. ret_reply must be zero. */
int gpc_aws_bucket(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_bucket_call *call, struct gpc_reply *ret_reply,
	struct gpc_error *err) gpc_must_check;

/* What setup makes of and in a bucket. */
enum gpc_aws_part {
	GPC_AWS_BUCKET, GPC_AWS_ACCESS, GPC_AWS_ENCRYPTION, GPC_AWS_UPLOADS,
	GPC_AWS_ONCE,
	GPC_AWS_ROLE, GPC_AWS_ROLE_POLICY, GPC_AWS_PROFILE_OF, GPC_AWS_PART__COUNT
};
/* Whether it is there; s is given its region. GPC_EAUTH for another account's,
 * GPC_ECONFIG for one in another region than the store's URL says. */
int gpc_aws_bucket_find(struct gpc_aws *aws, struct gpc_aws_setup *s,
	bool *ret_there, struct gpc_error *err) gpc_must_check;
/* Whether setup made it: it bears the tag. */
int gpc_aws_bucket_is_ours(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	bool *ret_ours, struct gpc_error *err) gpc_must_check;
/* Of a bucket that is there: whether a part is as it shall be. ret_detail: how it
 * differs, owned; or untouched. */
int gpc_aws_bucket_look(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_aws_part part, enum gpc_setup_state *ret_state,
	char **ret_detail, struct gpc_error *err) gpc_must_check;
int gpc_aws_bucket_make(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_aws_part part, struct gpc_error *err) gpc_must_check;
/* Whether a part that holds other people's entries too (ONCE, UPLOADS) has ours. */
int gpc_aws_bucket_has(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_aws_part part, bool *ret_has, struct gpc_error *err)
	gpc_must_check;
/* Takes ours out of ONCE and UPLOADS; deletes the bucket, which must be empty. */
int gpc_aws_bucket_unmake(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_aws_part part, struct gpc_error *err) gpc_must_check;

/* Roles, their policies and instance profiles, in the same way. */
int gpc_aws_role_look(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, enum gpc_aws_part part,
	enum gpc_setup_state *ret_state, char **ret_detail, struct gpc_error *err)
	gpc_must_check;
int gpc_aws_role_make(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, enum gpc_aws_part part,
	struct gpc_error *err) gpc_must_check;
/* A role that setup made and no other store uses goes; one that others use stays. */
int gpc_aws_role_look_back(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *role, enum gpc_aws_part part, bool *ret_there,
	char **ret_kept, struct gpc_error *err) gpc_must_check;
int gpc_aws_role_unmake(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *role, enum gpc_aws_part part, struct gpc_error *err)
	gpc_must_check;
