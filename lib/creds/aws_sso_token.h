/* The login that `aws sso login` left on disk; not for other rooms. */
#pragma once
#include "creds/aws_parts.h"

struct gpc_aws_sso {
	const struct gpc_aws_chain *chain;
	const struct gpc_aws_profile *profile;
	const char *session;            /* NULL: of the old form, without */
	const char *start_url, *region;
};
/* Its access token, renewed where the session allows it; owned, to be wiped.
 * GPC_EAUTH with the command to run when there is none that is still good. */
int gpc_aws_sso_token(const struct gpc_aws_sso *s, char **ret_token,
	struct gpc_error *err) gpc_must_check;
/* Adds that command to the error. */
void gpc_aws_sso_hint(const struct gpc_aws_sso *s, struct gpc_error *err);
