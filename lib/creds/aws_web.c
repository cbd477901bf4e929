/* Web identity: a token that somebody else signed (Kubernetes, a CI system) is
 * exchanged for a role's keys. The token is read anew each time, because it is
 * short-lived and whoever issued it renews it.
 *
 * Those of CI systems only count beside AWS_ROLE_ARN and without
 * AWS_WEB_IDENTITY_TOKEN_FILE. */
#include <string.h>

#include "creds/aws_sts.h"
#include "creds/ci.h"
#include "creds/token.h"
#include "net/endpoint_aws.h"

struct web {
	const char *role, *session;     /* session NULL: not set */
	const char *file;               /* NULL: the CI system has the token */
	char *where;                    /* what set it up */
};

/* A variable, where they count, before the profile's key. */
static const char *pick(const struct gpc_aws_profile *p, bool with_env,
	const char *variable, const char *key)
{
	const char *value = with_env ? gpc_creds_env(variable) : NULL;

	return value ? value : gpc_aws_profile_get(p, key);
}

/* Whom tokens of CI systems are made for. */
static const char *audience_of(const char *role)
{
	const struct gpc_aws_partition *part = gpc_aws_partition_of_arn(role);

	return part && strcmp(part->id, "aws-cn") == 0 ?
		"sts.amazonaws.com.cn" : "sts.amazonaws.com";
}

/* AWS_ROLE_ARN alone is no error: other programs of the job may use it. */
static void say_why_not(const struct gpc_creds_look *look)
{
	bool role = gpc_creds_env("AWS_ROLE_ARN") != NULL;

	if (role && gpc_creds_env_true("GITHUB_ACTIONS"))
		gpc_creds_saw(look, "AWS_ROLE_ARN is set, but this workflow has "
			"no token (permissions: id-token: write)");
	else if (role && gpc_creds_env_true("GITLAB_CI"))
		gpc_creds_saw(look, "AWS_ROLE_ARN is set, but this job has no "
			"GITLAB_OIDC_TOKEN (id_tokens)");
	else
		gpc_creds_saw(look, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
}

static int find_token(struct gpc_aws_chain *c, const struct web *w,
	char **ret_token, struct gpc_error *err)
{
	gpc_autostr *path = NULL;

	if (!w->file)
		return gpc_ci_token(c->look, audience_of(w->role), ret_token,
			err);
	path = gpc_creds_expand(w->file);
	return gpc_token_read("web identity token", path, ret_token, err);
}

static int exchange(struct gpc_aws_chain *c, const struct web *w,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	gpc_autostr *session = gpc_aws_session_name(w->session);
	gpc_autotoken *token = NULL;
	const struct gpc_aws_sts how = {
		.chain = c, .action = "AssumeRoleWithWebIdentity",
		.role = w->role, .where = w->where,
	};
	int r = find_token(c, w, &token, err);

	if (r)
		return gpc_wrap(err, r, "web identity (%s)", w->where);
	gpc_pairs_add(&form, "RoleSessionName", session);
	gpc_pairs_add(&form, "WebIdentityToken", token);
	r = gpc_aws_sts_call(&how, &form, &ret_f->identity, err);
	if (r)
		return r;
	free(ret_f->identity.source);
	ret_f->identity.source = gpc_format("role %s by web identity (%s)",
		w->role, w->where);
	return 0;
}

int gpc_aws_from_web(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	bool with_env, struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	bool env_file = with_env && gpc_creds_env("AWS_WEB_IDENTITY_TOKEN_FILE");
	bool ci = with_env && gpc_creds_env("AWS_ROLE_ARN") &&
		(gpc_ci_is_github() || gpc_ci_is_gitlab());
	gpc_autostr *at = gpc_aws_profile_where(p, "web_identity_token_file");
	struct web w = {
		.role = pick(p, with_env, "AWS_ROLE_ARN", "role_arn"),
		.session = pick(p, with_env, "AWS_ROLE_SESSION_NAME",
			"role_session_name"),
		.file = pick(p, with_env, "AWS_WEB_IDENTITY_TOKEN_FILE",
			"web_identity_token_file"),
	};
	int r;

	if (!w.file && !ci) {
		if (with_env)
			say_why_not(c->look);
		return 0;
	}
	if (!w.role)
		return gpc_fail(err, GPC_ECONFIG, env_file ?
			"AWS_WEB_IDENTITY_TOKEN_FILE is set, but neither "
			"AWS_ROLE_ARN nor role_arn of the profile" :
			"%s: web_identity_token_file without role_arn", at);
	w.where = env_file ? gpc_strdup("AWS_WEB_IDENTITY_TOKEN_FILE") :
		w.file ? gpc_format("profile %s, %s", p->name, at) :
		gpc_strdup(gpc_ci_is_github() ? "GitHub Actions, AWS_ROLE_ARN" :
		"GitLab, AWS_ROLE_ARN");
	r = exchange(c, &w, ret_f, err);
	free(w.where);
	return r;
}
