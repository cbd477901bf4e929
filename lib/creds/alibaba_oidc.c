/* OIDC: a token that somebody else signed (Kubernetes, a CI system) is exchanged
 * for a role's keys. Read anew each time, because whoever issued it renews it.
 * GitHub and GitLab only count without ALIBABA_CLOUD_OIDC_TOKEN_FILE. */
#include <string.h>

#include "creds/alibaba_parts.h"
#include "creds/ci.h"
#include "creds/token.h"

#define AUDIENCE "sts.aliyuncs.com"

static int find_token(const struct gpc_creds_look *look, const char *file,
	char **ret_token, struct gpc_error *err)
{
	gpc_autostr *path = NULL;

	if (!file)
		return gpc_ci_token(look, AUDIENCE, ret_token, err);
	path = gpc_creds_expand(file);
	return gpc_token_read("ALIBABA_CLOUD_OIDC_TOKEN_FILE", path, ret_token,
		err);
}

/* A role alone is no error: other programs may use it. */
static void say_why_not(const struct gpc_creds_look *look)
{
	bool role = gpc_creds_env("ALIBABA_CLOUD_ROLE_ARN") != NULL;

	if (role && gpc_creds_env_true("GITHUB_ACTIONS"))
		gpc_creds_saw(look, "ALIBABA_CLOUD_ROLE_ARN is set, but this "
			"workflow has no token (permissions: id-token: write)");
	else if (role && gpc_creds_env_true("GITLAB_CI"))
		gpc_creds_saw(look, "ALIBABA_CLOUD_ROLE_ARN is set, but this "
			"job has no GITLAB_OIDC_TOKEN (id_tokens)");
	else
		gpc_creds_saw(look, "ALIBABA_CLOUD_OIDC_TOKEN_FILE is not set");
}

int gpc_alibaba_from_oidc(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const char *file = gpc_creds_env("ALIBABA_CLOUD_OIDC_TOKEN_FILE");
	const struct gpc_alibaba_role role = {
		.arn = gpc_creds_env("ALIBABA_CLOUD_ROLE_ARN"),
		.session = gpc_creds_env("ALIBABA_CLOUD_ROLE_SESSION_NAME"),
		.provider = gpc_creds_env("ALIBABA_CLOUD_OIDC_PROVIDER_ARN"),
		.where = file ? "ALIBABA_CLOUD_OIDC_TOKEN_FILE" :
			gpc_ci_is_github() ? "GitHub Actions" : "GitLab",
	};
	bool ci = role.arn && role.provider &&
		(gpc_ci_is_github() || gpc_ci_is_gitlab());
	gpc_autotoken *token = NULL;
	int r;

	if (!file && !ci) {
		say_why_not(look);
		return 0;
	}
	if (!role.arn || !role.provider)
		return gpc_fail(err, GPC_ECONFIG,
			"ALIBABA_CLOUD_OIDC_TOKEN_FILE is set, but not %s",
			role.arn ? "ALIBABA_CLOUD_OIDC_PROVIDER_ARN" :
			"ALIBABA_CLOUD_ROLE_ARN");
	r = find_token(look, file, &token, err);
	if (r)
		return gpc_wrap(err, r, "OIDC (%s)", role.where);
	r = gpc_alibaba_assume_oidc(look, &role, token, &ret_f->identity, err);
	if (r)
		return r;
	free(ret_f->identity.source);
	ret_f->identity.source = gpc_format("role %s by OIDC (%s)", role.arn,
		role.where);
	return 0;
}
