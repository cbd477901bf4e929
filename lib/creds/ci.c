/* See ci.h. Tokens are asked for anew each time, because they are short-lived. */
#include "creds/ci.h"

#include <string.h>

#include "base/encode.h"
#include "creds/fetch.h"
#include "creds/token.h"

#define GITHUB_URL "ACTIONS_ID_TOKEN_REQUEST_URL"
#define GITHUB_KEY "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
#define GITLAB_TOKEN "GITLAB_OIDC_TOKEN"

bool gpc_ci_is_github(void)
{
	return gpc_creds_env_true("GITHUB_ACTIONS") &&
		gpc_creds_env(GITHUB_URL) && gpc_creds_env(GITHUB_KEY);
}

bool gpc_ci_is_gitlab(void)
{
	return gpc_creds_env_true("GITLAB_CI") && gpc_creds_env(GITLAB_TOKEN);
}

static int ask_github(const struct gpc_creds_look *look, const char *audience,
	char **ret_token, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {.bearer = "value",
		.lasting = true};
	const char *base = gpc_creds_env(GITHUB_URL);
	const char *key = gpc_creds_env(GITHUB_KEY);
	gpc_auto(gpc_identity) struct gpc_identity token = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_auto(gpc_buf) struct gpc_buf url = {0};
	struct gpc_fetch f = {.what = "GitHub's token service",
		.method = "GET", .headers = &headers};
	int r = gpc_token_check(GITHUB_KEY, key, err);

	if (r)
		return r;
	gpc_buf_addf(&url, "%s%caudience=", base,
		strchr(base, '?') ? '&' : '?');
	gpc_percent_encode(&url, audience, strlen(audience), "");
	f.url = gpc_buf_str(&url);
	gpc_pairs_setf(&headers, "authorization", "bearer %s", key);
	gpc_pairs_set(&headers, "accept", "application/json");
	r = gpc_fetch_identity(look->net, &f, &names, &token, err);
	gpc_pairs_wipe(&headers);
	if (!r)
		*ret_token = gpc_steal(&token.bearer);
	return r;
}

int gpc_ci_token(const struct gpc_creds_look *look, const char *audience,
	char **ret_token, struct gpc_error *err)
{
	const char *text = gpc_creds_env(GITLAB_TOKEN);
	int r;

	if (gpc_ci_is_github())
		return ask_github(look, audience, ret_token, err);
	r = gpc_token_check(GITLAB_TOKEN, text, err);
	if (!r)
		*ret_token = gpc_strdup(text);
	return r;
}
