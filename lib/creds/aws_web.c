/* Web identity: a token that somebody else signed (Kubernetes, a CI system) is
 * exchanged for a role's keys. The token is read anew each time, because it is
 * short-lived and whoever issued it renews it.
 *
 * GitHub hands out a token for an address and a token of its own in the
 * environment; GitLab puts one into a variable that the job names
 * (GITLAB_OIDC_TOKEN by its documentation). Both only count beside AWS_ROLE_ARN
 * and without AWS_WEB_IDENTITY_TOKEN_FILE. */
#include <string.h>

#include "creds/aws_sts.h"
#include "creds/fetch.h"
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

/* The token of a GitHub workflow for AWS's audience. */
static int ask_github(struct gpc_aws_chain *c, const char *role,
	char **ret_token, struct gpc_error *err)
{
	const char *base = gpc_creds_env("ACTIONS_ID_TOKEN_REQUEST_URL");
	const char *key = gpc_creds_env("ACTIONS_ID_TOKEN_REQUEST_TOKEN");
	const struct gpc_aws_partition *part = gpc_aws_partition_of_arn(role);
	static const struct gpc_identity_names names = {.bearer = "value",
		.lasting = true};
	gpc_auto(gpc_identity) struct gpc_identity token = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_autostr *url = NULL;
	struct gpc_fetch f = {.what = "GitHub's token service",
		.method = "GET", .headers = &headers};
	int r;

	r = gpc_token_check("ACTIONS_ID_TOKEN_REQUEST_TOKEN", key, err);
	if (r)
		return r;
	url = gpc_format("%s%caudience=sts.amazonaws.com%s", base,
		strchr(base, '?') ? '&' : '?',
		part && strcmp(part->id, "aws-cn") == 0 ? ".cn" : "");
	f.url = url;
	gpc_pairs_setf(&headers, "authorization", "bearer %s", key);
	gpc_pairs_set(&headers, "accept", "application/json");
	r = gpc_fetch_identity(c->look->net, &f, &names, &token, err);
	gpc_wipe_str(headers.v[0].value);
	if (!r)
		*ret_token = gpc_steal(&token.bearer);
	return r;
}

static bool is_github(void)
{
	return gpc_creds_env_true("GITHUB_ACTIONS") &&
		gpc_creds_env("ACTIONS_ID_TOKEN_REQUEST_URL") &&
		gpc_creds_env("ACTIONS_ID_TOKEN_REQUEST_TOKEN");
}

static bool is_gitlab(void)
{
	return gpc_creds_env_true("GITLAB_CI") &&
		gpc_creds_env("GITLAB_OIDC_TOKEN");
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
	const char *text = gpc_creds_env("GITLAB_OIDC_TOKEN");
	int r;

	if (w->file) {
		gpc_autostr *path = gpc_creds_expand(w->file);

		return gpc_token_read("web identity token", path, ret_token,
			err);
	}
	if (is_github())
		return ask_github(c, w->role, ret_token, err);
	r = gpc_token_check("GITLAB_OIDC_TOKEN", text, err);
	if (!r)
		*ret_token = gpc_strdup(text);
	return r;
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
		(is_github() || is_gitlab());
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
		gpc_strdup(is_github() ? "GitHub Actions, AWS_ROLE_ARN" :
		"GitLab, AWS_ROLE_ARN");
	r = exchange(c, &w, ret_f, err);
	free(w.where);
	return r;
}
