/* Tokens that CI systems sign for their jobs; not for other rooms.
 *
 * GitHub hands one out for an address and a token of its own in the environment;
 * GitLab puts one into a variable that the job names (GITLAB_OIDC_TOKEN by its
 * documentation). */
#pragma once
#include <stdbool.h>

#include "creds/backend.h"

bool gpc_ci_is_github(void);            /* with leave to ask for tokens */
bool gpc_ci_is_gitlab(void);            /* with a token */
/* The token for that audience, which GitLab has chosen already; owned, to be
 * wiped. Only after one of both is true. */
int gpc_ci_token(const struct gpc_creds_look *look, const char *audience,
	char **ret_token, struct gpc_error *err) gpc_must_check;
