/* Logins of a person: CloudSSO and OAuth. Both exchange an access token of the
 * profile for keys. That of OAuth is renewed and written back for the other tools,
 * under a lock and after another look, because a refresh token works once. */
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "creds/alibaba_config.h"
#include "creds/fetch.h"
#include "creds/identity.h"
#include "creds/token.h"

#define NEAR_S 1200

static void hint_login(const struct gpc_alibaba_profile *p, const char *mode,
	struct gpc_error *err)
{
	gpc_autostr *name = gpc_shell_quote(p->name);

	gpc_hint(err, "run: aliyun configure --mode %s --profile %s", mode,
		name);
}

static int fail_login(const struct gpc_alibaba_profile *p, const char *mode,
	const char *why, struct gpc_error *err)
{
	int http = err ? err->http : 0;
	int r = gpc_fail(err, GPC_EAUTH, "%s: the %s login %s", p->where, mode,
		why);

	if (err)
		err->http = http;
	hint_login(p, mode, err);
	return r;
}

static int64_t now_s(const struct gpc_alibaba_profile *p)
{
	return gpc_net_now_ms(p->look->net) / 1000;
}

/* POST with the access token; the answer is keys, below `member` if not NULL. */
static int exchange(const struct gpc_alibaba_profile *p, struct gpc_fetch *f,
	const char *token, const char *member,
	const struct gpc_identity_names *names, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_reply reply = {0};
	struct gpc_error ignored;
	int r = gpc_token_check("the access token", token, err);

	if (r)
		return gpc_wrap(err, r, "%s", p->where);
	gpc_pairs_setf(&headers, "authorization", "Bearer %s", token);
	gpc_pairs_set(&headers, "accept", "application/json");
	if (f->body)
		gpc_pairs_set(&headers, "content-type", "application/json");
	f->method = "POST";
	f->headers = &headers;
	r = gpc_fetch(p->look->net, f, &reply, err);
	if (!r && gpc_json_parse(gpc_buf_str(&reply.body), reply.body.len, &j,
		&ignored) < 0)
		r = gpc_fail(err, GPC_EPROTO, "%s: the answer is no JSON",
			f->what);
	if (!r)
		r = gpc_wrap(err, gpc_identity_read(member ?
			gpc_json_get(j, member) : j, names,
			gpc_net_now_ms(p->look->net), i, err), "%s", f->what);
	gpc_wipe_str(headers.v[0].value);
	gpc_fetch_forget(&reply);
	return r;
}

/* --- CloudSSO -------------------------------------------------------------- */
/* Scheme and host of the page where one signs in. */
static int sso_url(const char *page, char **ret_url, struct gpc_error *err)
{
	gpc_auto(gpc_url) struct gpc_url u = {0};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_creds_check_url("cloud_sso_sign_in_url", page, err);

	if (!r)
		r = gpc_url_parse(page, &u, err);
	if (r)
		return r;
	gpc_set_str(&u.path, "/cloud-credentials");
	gpc_pairs_clear(&u.query);
	gpc_url_format(&u, &b);
	*ret_url = gpc_strdup(gpc_buf_str(&b));
	return 0;
}

int gpc_alibaba_from_sso(const struct gpc_alibaba_profile *p,
	struct gpc_identity *i, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "AccessKeySecret",
		.token = "SecurityToken", .expires_at = "Expiration",
	};
	static const char *const needed[] = {
		"cloud_sso_sign_in_url", "cloud_sso_account_id",
		"cloud_sso_access_config",
	};
	const char *token = gpc_alibaba_profile_get(p, "access_token");
	int64_t end_s = gpc_json_get_int(p->j, "cloud_sso_access_token_expire",
		0);
	gpc_autoptr(gpc_json) *ask = gpc_json_object();
	gpc_autostr *url = NULL, *body = NULL;
	struct gpc_fetch f = {.what = "CloudSSO"};
	int r;

	for (size_t k = 0; k < sizeof(needed) / sizeof(*needed); k++)
		if (!gpc_alibaba_profile_get(p, needed[k]))
			return gpc_alibaba_profile_lacks(p, needed[k], err);
	if (!token)
		return fail_login(p, "CloudSSO", "was not done yet", err);
	if (end_s > 0 && end_s <= now_s(p))
		return fail_login(p, "CloudSSO", "has expired", err);
	r = sso_url(gpc_alibaba_profile_get(p, needed[0]), &url, err);
	if (r)
		return gpc_wrap(err, r, "%s", p->where);
	gpc_json_set_str(ask, "AccountId",
		gpc_alibaba_profile_get(p, needed[1]));
	gpc_json_set_str(ask, "AccessConfigurationId",
		gpc_alibaba_profile_get(p, needed[2]));
	body = gpc_json_print(ask);
	f.url = url;
	f.body = body;
	r = exchange(p, &f, token, "CloudCredential", &names, i, err);
	if (r && err && err->http == 401)
		return fail_login(p, "CloudSSO", "is refused: it has expired",
			err);
	return gpc_wrap(err, r, "%s", p->where);
}

/* --- OAuth ----------------------------------------------------------------- */
static bool is_international(const struct gpc_alibaba_profile *p)
{
	return gpc_eq_nocase(gpc_alibaba_profile_get(p, "oauth_site_type"),
		"INTL");
}

static char *oauth_url(const struct gpc_alibaba_profile *p, const char *path)
{
	const char *set = gpc_creds_env("ALIBABA_CLOUD_OAUTH_ENDPOINT");

	return gpc_format("%s%s", set ? set : is_international(p) ?
		"https://oauth.alibabacloud.com" : "https://oauth.aliyun.com",
		path);
}

/* The file with other fields of this profile; all else stays as it was. */
static int write_back(const struct gpc_alibaba_profile *p,
	const struct gpc_json *fields, struct gpc_error *err)
{
	const struct gpc_json *old = gpc_json_get(p->config->j, "profiles");
	struct gpc_json *list = gpc_json_array();
	gpc_autotoken *text = NULL;

	for (const struct gpc_json *m = gpc_json_first(old); m;
		m = gpc_json_next(m)) {
		struct gpc_json *copy = gpc_json_copy(m);

		if (gpc_eq(gpc_json_get_str(m, "name"), p->name))
			for (const struct gpc_json *f = gpc_json_first(fields);
				f; f = gpc_json_next(f))
				gpc_json_set(copy, gpc_json_key(f),
					gpc_json_copy(f));
		gpc_json_add(list, copy);
	}
	gpc_json_set(p->config->j, "profiles", list);
	text = gpc_json_print_pretty(p->config->j);
	return gpc_write_file(p->config->path, text, strlen(text), 0600, err);
}

static int ask_token(const struct gpc_alibaba_profile *p, const char *refresh,
	struct gpc_json **ret_j, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0}, form = {0};
	gpc_auto(gpc_buf) struct gpc_buf body = {0};
	gpc_autostr *url = oauth_url(p, "/v1/token");
	struct gpc_reply reply = {0};
	struct gpc_fetch f = {.what = "Alibaba Cloud's OAuth service",
		.method = "POST", .url = url, .headers = &headers};
	int r;

	gpc_pairs_add(&form, "grant_type", "refresh_token");
	gpc_pairs_add(&form, "refresh_token", refresh);
	gpc_pairs_add(&form, "client_id", is_international(p) ?
		"4103531455503354461" : "4038181954557748008");
	gpc_url_query(&form, &body);
	f.body = gpc_buf_str(&body);
	gpc_pairs_set(&headers, "content-type",
		"application/x-www-form-urlencoded");
	r = gpc_creds_check_url("ALIBABA_CLOUD_OAUTH_ENDPOINT", url, err);
	if (!r)
		r = gpc_fetch(p->look->net, &f, &reply, err);
	if (!r)
		r = gpc_json_parse(gpc_buf_str(&reply.body), reply.body.len,
			ret_j, err);
	gpc_wipe_str(form.v[1].value);
	gpc_wipe(body.data, body.cap);
	gpc_fetch_forget(&reply);
	return r;
}

/* With the lock, and the file as it is now. */
static int renew_locked(const struct gpc_alibaba_profile *p, char **ret_token,
	struct gpc_error *err)
{
	const char *refresh = gpc_alibaba_profile_get(p, "oauth_refresh_token");
	gpc_autoptr(gpc_json) *answer = NULL, *fields = gpc_json_object();
	const char *token, *next;
	int64_t life_s;
	int r;

	if (!refresh)
		return fail_login(p, "OAuth", "has expired", err);
	r = ask_token(p, refresh, &answer, err);
	if (r && err && err->http >= 400 && err->http < 500 && err->http != 429)
		return fail_login(p, "OAuth", "cannot be renewed: it has "
			"expired", err);
	if (r)
		return gpc_wrap(err, r, "renewing the OAuth login of %s",
			p->where);
	token = gpc_json_get_str(answer, "access_token");
	next = gpc_json_get_str(answer, "refresh_token");
	life_s = gpc_json_get_int(answer, "expires_in", 0);
	if (!token || life_s <= 0)
		return gpc_fail(err, GPC_EPROTO, "%s: the OAuth service gave no "
			"token", p->where);
	gpc_json_set_str(fields, "oauth_access_token", token);
	gpc_json_set_int(fields, "oauth_access_token_expire",
		now_s(p) + life_s);
	if (next)
		gpc_json_set_str(fields, "oauth_refresh_token", next);
	*ret_token = gpc_strdup(token);
	r = write_back(p, fields, err);
	/* The old refresh token is used up: this must not be silent. */
	return gpc_wrap(err, r, "the renewed OAuth login of %s", p->where);
}

static bool is_fresh(const struct gpc_alibaba_profile *p, int64_t least_s)
{
	return gpc_alibaba_profile_get(p, "oauth_access_token") &&
		gpc_json_get_int(p->j, "oauth_access_token_expire", 0) -
		now_s(p) > least_s;
}

static int renew(const struct gpc_alibaba_profile *p, char **ret_token,
	struct gpc_error *err)
{
	gpc_auto(gpc_alibaba_config) struct gpc_alibaba_config now = {0};
	gpc_autostr *lock = gpc_format("%s.lock", p->config->path);
	struct gpc_alibaba_profile fresh = *p;
	gpc_autofd fd = -1;
	int r = gpc_lock_file(lock, true, &fd, err);

	if (!r)
		r = gpc_alibaba_config_load(&now, err);
	if (r)
		return r;
	fresh.config = &now;
	fresh.j = gpc_alibaba_config_find(&now, p->name);
	if (!is_fresh(&fresh, NEAR_S))
		return renew_locked(&fresh, ret_token, err);
	*ret_token = gpc_strdup(gpc_alibaba_profile_get(&fresh,
		"oauth_access_token"));
	return 0;
}

int gpc_alibaba_from_oauth(const struct gpc_alibaba_profile *p,
	struct gpc_identity *i, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "accessKeyId", .secret = "accessKeySecret",
		.token = "securityToken", .expires_at = "expiration",
	};
	const char *token = gpc_alibaba_profile_get(p, "oauth_access_token");
	gpc_autostr *url = oauth_url(p, "/v1/exchange");
	struct gpc_fetch f = {.what = "Alibaba Cloud's OAuth service",
		.url = url};
	struct gpc_error why = {0};
	gpc_autotoken *renewed = NULL;
	int r = gpc_creds_check_url("ALIBABA_CLOUD_OAUTH_ENDPOINT", url, err);

	if (r)
		return r;
	if (!token && !gpc_alibaba_profile_get(p, "oauth_refresh_token"))
		return fail_login(p, "OAuth", "was not done yet", err);
	if (!is_fresh(p, NEAR_S) && renew(p, &renewed, &why) < 0 &&
		(renewed || !is_fresh(p, 0))) {
		if (err)
			*err = why;     /* what is left is used up first */
		return -(int)why.code;
	}
	r = exchange(p, &f, renewed ? renewed : token, NULL, &names, i, err);
	if (r && err && err->http == 401)
		return fail_login(p, "OAuth", "is refused: it has expired", err);
	return gpc_wrap(err, r, "%s", p->where);
}
