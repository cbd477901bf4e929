/* The calls of AWS STS that give credentials, and the one that says whose they are;
 * not for other rooms. */
#pragma once
#include "base/map.h"
#include "creds/aws_parts.h"

struct gpc_aws_sts {
	const struct gpc_aws_chain *chain;
	const struct gpc_identity *by;  /* who signs; NULL: nobody */
	const char *action;             /* "AssumeRole" */
	const char *role;               /* its ARN; NULL: GetCallerIdentity */
	const char *where;              /* what asks for it, for messages */
};
/* form: what the action needs beside Action, Version, RoleArn; wiped. Fills keys,
 * end and account of *i; without a role its name and account. */
int gpc_aws_sts_call(const struct gpc_aws_sts *how, struct gpc_pairs *form,
	struct gpc_identity *i, struct gpc_error *err) gpc_must_check;
/* A name for the session: what is set, else one of gpucloud; owned. */
char *gpc_aws_session_name(const char *set);
