/* IAM Identity Center ("SSO"): the login that a person did in a browser is
 * exchanged for keys of one role in one account. */
#include <string.h>

#include "base/encode.h"
#include "creds/aws_sso_token.h"
#include "creds/fetch.h"
#include "creds/token.h"

struct sso {
	struct gpc_aws_sso login;
	const char *account, *role;
	char *where;
};

/* A key of the session section that the profile says as well must be the same. */
static const char *agree(const struct gpc_aws_profile *p,
	const struct gpc_ini_section *session, const char *key, bool *ret_differs)
{
	const char *here = gpc_aws_profile_get(p, key);
	const char *there = gpc_aws_section_get(session, key);

	if (here && there && strcmp(here, there) != 0)
		*ret_differs = true;
	return there ? there : here;
}

static int fail_missing(const struct sso *s, const struct gpc_aws_profile *p,
	struct gpc_error *err)
{
	const struct { const char *key; bool missing; } keys[] = {
		{"sso_account_id", !s->account},
		{"sso_role_name", !s->role},
		{"sso_start_url", !s->login.start_url},
		{"sso_region", !s->login.region},
	};
	gpc_auto(gpc_strv) struct gpc_strv missing = {0};
	gpc_autostr *list = NULL;
	int r;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].missing)
			gpc_strv_add(&missing, keys[i].key);
	if (missing.n == 0)
		return 0;
	list = gpc_strv_join(&missing, ", ");
	r = gpc_fail(err, GPC_ECONFIG, "%s: profile %s uses SSO, but lacks %s",
		s->where, p->name, list);
	gpc_hint(err, "run: aws configure sso --profile %s", p->name);
	return r;
}

static int read_sso(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	struct sso *ret_s, struct gpc_error *err)
{
	const char *name = gpc_aws_profile_get(p, "sso_session");
	const struct gpc_ini_section *session = name ?
		gpc_aws_files_section(c->files, "sso-session", name) : NULL;
	gpc_autostr *at = gpc_aws_profile_where(p, "sso_session");
	bool differs = false;

	if (name && !session)
		return gpc_fail(err, GPC_ECONFIG, "%s: there is no section "
			"[sso-session %s] in %s", at, name,
			c->files->config_shown);
	*ret_s = (struct sso){
		.login = {
			.chain = c, .profile = p, .session = name,
			.start_url = agree(p, session, "sso_start_url",
				&differs),
			.region = agree(p, session, "sso_region", &differs),
		},
		.account = agree(p, session, "sso_account_id", &differs),
		.role = agree(p, session, "sso_role_name", &differs),
	};
	if (differs)
		return gpc_fail(err, GPC_ECONFIG, "%s: profile %s and "
			"[sso-session %s] disagree: take the key out of one",
			at, p->name, name);
	ret_s->where = gpc_aws_profile_where(p, gpc_aws_profile_get(p,
		"sso_role_name") ? "sso_role_name" : "sso_account_id");
	return fail_missing(ret_s, p, err);
}

/* The bytes that AWS's command line hashes for its cache. */
static void open_cache(const struct sso *s, struct gpc_aws_cache *cache)
{
	const char *const all[] = {s->account, s->role, s->login.session ?
		s->login.session : s->login.start_url};
	gpc_autostr *text = NULL;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (const char *p = all[i]; *p; p++)
			if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
				return;
	text = gpc_format("{\"accountId\":\"%s\",\"roleName\":\"%s\",\"%s\":"
		"\"%s\"}", s->account, s->role, s->login.session ?
		"sessionName" : "startUrl", all[2]);
	gpc_aws_cache_open(text, cache);
}

static char *portal_url(const struct sso *s, const char *base)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	gpc_buf_addf(&b, "%s/federation/credentials?role_name=", base);
	gpc_percent_encode(&b, s->role, strlen(s->role), "");
	gpc_buf_adds(&b, "&account_id=");
	gpc_percent_encode(&b, s->account, strlen(s->account), "");
	return gpc_strdup(gpc_buf_str(&b));
}

static int explain(const struct sso *s, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	static const char *const said[] = {"message", "Message", NULL};
	gpc_autostr *why = gpc_fetch_said(reply, said);
	int http = reply->status;
	bool out = http == 401;
	int r = gpc_fail(err, GPC_EAUTH, "%s: SSO refuses the role %s of "
		"account %s to profile %s (status %d%s%s)", s->where, s->role,
		s->account, s->login.profile->name, http, why ? ": " : "",
		why ? why : "");

	if (err)
		err->http = http;
	if (out)
		gpc_aws_sso_hint(&s->login, err);
	else
		gpc_hint(err, "check sso_account_id and sso_role_name, or have "
			"the role assigned to you");
	return r;
}

static int ask(const struct sso *s, const char *url, const char *token,
	struct gpc_identity *i, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "accessKeyId", .secret = "secretAccessKey",
		.token = "sessionToken", .expires_at = "expiration",
	};
	struct gpc_net *net = s->login.chain->look->net;
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *ca = gpc_aws_setting(s->login.chain->profile, NULL,
		"ca_bundle");
	const struct gpc_fetch f = {
		.what = "the SSO portal", .method = "GET", .url = url,
		.headers = &headers, .ca_file = ca,
		.ca_from = GPC_CREDS_CA_FROM,
	};
	struct gpc_reply reply = {0};
	int r;

	gpc_pairs_set(&headers, "x-amz-sso_bearer_token", token);
	r = gpc_fetch(net, &f, &reply, err);
	gpc_pairs_wipe(&headers);
	if (r && reply.status >= 400 && reply.status < 500 &&
		reply.status != 429)
		r = explain(s, &reply, err);
	if (!r && gpc_json_parse(gpc_buf_str(&reply.body), reply.body.len, &j,
		NULL) < 0)
		r = gpc_fail(err, GPC_EPROTO, "the SSO portal answered with "
			"something that is no JSON");
	if (!r)
		r = gpc_wrap(err, gpc_identity_read(gpc_json_get(j,
			"roleCredentials"), &names, gpc_net_now_ms(net), i,
			err), "the SSO portal");
	if (!r)
		gpc_fetch_mend_clock(net, &reply, i);
	gpc_fetch_forget(&reply);
	return r;
}

static int get_keys(struct gpc_aws_chain *c, const struct sso *s,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_aws_cache) struct gpc_aws_cache cache = {0};
	gpc_autostr *base = NULL, *url = NULL;
	gpc_autotoken *token = NULL;
	int r;

	open_cache(s, &cache);
	if (!c->look->renew && gpc_aws_cache_get(&cache,
		gpc_net_now_ms(c->look->net), i))
		return 0;
	r = gpc_aws_sso_token(&s->login, &token, err);
	if (!r)
		r = gpc_aws_service_url(c->profile, "sso", s->login.region,
			&base, err);
	if (r)
		return r;
	url = portal_url(s, base);
	r = ask(s, url, token, i, err);
	if (!r) {
		gpc_set_str(&i->account, s->account);
		gpc_aws_cache_put(&cache, "sso", i);
	}
	return r;
}

int gpc_aws_from_sso(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	struct sso s = {0};
	int r;

	if (!gpc_aws_profile_get(p, "sso_account_id") &&
		!gpc_aws_profile_get(p, "sso_role_name"))
		return 0;
	r = read_sso(c, p, &s, err);
	if (!r)
		r = get_keys(c, &s, &ret_f->identity, err);
	if (!r) {
		free(ret_f->identity.source);
		ret_f->identity.source = gpc_format("SSO, role %s of profile %s "
			"(%s)", s.role, p->name, s.where);
	}
	free(s.where);
	return r;
}
