/* Tokens of another service account, for who may make them. */
#include <string.h>

#include "base/str.h"
#include "creds/gcp_parts.h"
#include "creds/identity.h"

#define METHOD ":generateAccessToken"
#define SAID_MAX 240

/* The e-mail between the last slash and the method; owned. */
static char *email_of(const char *url)
{
	const char *slash = strrchr(url, '/');
	const char *end = slash ? strstr(slash, METHOD) : NULL;

	return end && end > slash + 1 ?
		gpc_strndup(slash + 1, (size_t)(end - slash) - 1) : NULL;
}

static int explain(const struct gpc_reply *reply, const char *email, int r,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *said = NULL;
	const char *text;
	struct gpc_error ignored;
	int http = err->http;

	if (gpc_json_parse(gpc_buf_str(&reply->body), reply->body.len, &j,
		&ignored) < 0)
		j = NULL;
	text = gpc_json_get_str(gpc_json_get(j, "error"), "message");
	if (!text)
		return r;
	said = gpc_str_printable(text, strnlen(text, SAID_MAX));
	r = gpc_fail(err, (enum gpc_code)-r, "impersonating %s: %s (status %d)",
		email, said, http);
	err->http = http;
	if (http == 403)
		gpc_hint(err, "the caller needs the role "
			"roles/iam.serviceAccountTokenCreator on that account");
	return r;
}

static char *make_body(const struct gpc_json *delegates, int64_t life_s,
	const char *scope)
{
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *life = gpc_format("%llds", (long long)life_s);
	struct gpc_json *scopes = gpc_json_array();

	gpc_json_set(j, "delegates", gpc_json_is_array(delegates) ?
		gpc_json_copy(delegates) : gpc_json_array());
	gpc_json_add(scopes, gpc_json_string(scope));
	gpc_json_set(j, "scope", scopes);
	gpc_json_set_str(j, "lifetime", life);
	return gpc_json_print(j);
}

int gpc_gcp_impersonate(const struct gpc_gcp_file *f, const char *url,
	const struct gpc_json *delegates, int64_t life_s, const char *scope,
	struct gpc_identity *i, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.bearer = "accessToken", .expires_at = "expireTime",
	};
	gpc_autostr *email = email_of(url), *body = NULL;
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	struct gpc_reply reply = {0};
	struct gpc_error why = {0};
	struct gpc_fetch fetch = {.what = "impersonation", .method = "POST",
		.url = url, .headers = &headers};
	int r;

	if (!email)
		return gpc_fail(err, GPC_ECONFIG, "%s: "
			"service_account_impersonation_url names no account",
			f->shown);
	body = make_body(delegates, life_s, scope);
	fetch.body = body;
	gpc_pairs_setf(&headers, "authorization", "Bearer %s", i->bearer);
	gpc_pairs_set(&headers, "content-type", "application/json");
	r = gpc_fetch(f->look->net, &fetch, &reply, &why);
	if (r)
		r = explain(&reply, email, r, &why);
	else
		r = gpc_identity_parse(reply.body.data, reply.body.len, &names,
			gpc_net_now_ms(f->look->net), i, &why);
	gpc_pairs_wipe(&headers);
	gpc_fetch_forget(&reply);
	if (r && err)
		*err = why;
	if (r)
		return gpc_wrap(err, r, "%s", f->shown);
	gpc_set_str(&i->name, email);
	return 0;
}

int gpc_gcp_from_impersonated(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_format("source_credentials of %s", f->shown);
	const struct gpc_gcp_file source = {.look = f->look, .shown = shown,
		.j = gpc_json_get(f->j, "source_credentials")};
	const char *url = NULL;
	int r = gpc_gcp_need(f, "service_account_impersonation_url", &url, err);

	if (!r)
		r = gpc_gcp_url(f, "service_account_impersonation_url", NULL,
			&url, err);
	if (r)
		return r;
	if (!gpc_json_is_object(source.j))
		return gpc_fail(err, GPC_ECONFIG, "%s has no "
			"\"source_credentials\"", f->shown);
	if (gpc_eq(gpc_gcp_get(&source, "type"), "impersonated_service_account"))
		return gpc_fail(err, GPC_ECONFIG, "%s are impersonated "
			"themselves: name the accounts between as delegates",
			shown);
	r = gpc_gcp_from_file(&source, scope, i, err);
	return r ? r : gpc_gcp_impersonate(f, url,
		gpc_json_get(f->j, "delegates"), 3600, scope, i, err);
}
