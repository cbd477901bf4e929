/* Google's token endpoints: where they may be, and what they answer. */
#include <string.h>

#include "base/encode.h"
#include "base/parse.h"
#include "base/str.h"
#include "creds/gcp_parts.h"
#include "creds/identity.h"

const char *gpc_gcp_get(const struct gpc_gcp_file *f, const char *key)
{
	const char *value = gpc_json_get_str(f->j, key);

	return value && *value ? value : NULL;
}

int gpc_gcp_need(const struct gpc_gcp_file *f, const char *key,
	const char **ret_value, struct gpc_error *err)
{
	const char *value = gpc_gcp_get(f, key);

	if (!value)
		return gpc_fail(err, GPC_ECONFIG, "%s has no \"%s\"", f->shown,
			key);
	*ret_value = value;
	return 0;
}

/* --- addresses ------------------------------------------------------------- */
static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
		(gpc_starts_with(host, "127.") &&
		strspn(host, "0123456789.") == strlen(host));
}

int gpc_gcp_check_url(const char *what, const char *url, struct gpc_error *err)
{
	gpc_auto(gpc_url) struct gpc_url u = {0};
	int r = gpc_creds_parse_url(what, url, &u, err);

	if (r)
		return r;
	if (is_loopback(u.host) || (strcmp(u.scheme, "https") == 0 &&
		gpc_ends_with(u.host, ".googleapis.com")))
		return 0;
	r = gpc_fail(err, GPC_ECONFIG, "%s is at %s://%s, which is not "
		"Google's: nothing is sent there", what, u.scheme, u.host);
	gpc_hint(err, "tokens go to https://*.googleapis.com only; if you did "
		"not expect that address, do not trust the file");
	return r;
}

int gpc_gcp_url(const struct gpc_gcp_file *f, const char *key,
	const char *otherwise, const char **ret_url, struct gpc_error *err)
{
	const char *url = gpc_gcp_get(f, key);
	gpc_autostr *what = gpc_format("%s of %s", key, f->shown);
	int r = url ? gpc_gcp_check_url(what, url, err) : 0;

	if (!r)
		*ret_url = url ? url : otherwise;
	return r;
}

void gpc_gcp_basic(const char *id, const char *secret,
	struct gpc_pairs *headers)
{
	gpc_autostr *pair = gpc_format("%s:%s", id, secret);
	struct gpc_buf b = {0};

	gpc_base64(&b, pair, strlen(pair));
	gpc_pairs_setf(headers, "authorization", "Basic %s", gpc_buf_str(&b));
	gpc_wipe_str(pair);
	gpc_wipe(b.data, b.cap);
	gpc_buf_clear(&b);
}

/* --- answers --------------------------------------------------------------- */
/* The error in the words of OAuth, and what they mean. */
static int explain(const struct gpc_gcp_file *f, const struct gpc_reply *reply,
	const char *login, int r, struct gpc_error *err)
{
	static const char *const error[] = {"error", NULL};
	static const char *const text[] = {"error_description", NULL};
	static const char *const more[] = {"error_subtype", NULL};
	gpc_autostr *code = gpc_fetch_said(reply, error);
	gpc_autostr *said = gpc_fetch_said(reply, text);
	gpc_autostr *sub = gpc_fetch_said(reply, more);
	int http = err->http;
	bool again = gpc_eq(code, "invalid_grant") ||
		gpc_eq(code, "invalid_rapt") || gpc_eq(code, "rapt_required") ||
		gpc_eq(sub, "invalid_rapt") || gpc_eq(sub, "rapt_required");

	if (!code)
		return gpc_wrap(err, r, "%s", f->shown);
	r = gpc_fail(err, r == -GPC_ENET || r == -GPC_ERATE ?
		(enum gpc_code)-r : GPC_EAUTH, "%s: %s%s%s (status %d)%s%s",
		again && login ? "the login has expired" : "Google refuses",
		code, said ? ": " : "", said ? said : "", http,
		sub ? " " : "", sub ? sub : "");
	gpc_wrap(err, r, "%s", f->shown);
	err->http = http;
	if (again && login)
		gpc_hint(err, "%s", login);
	else if (said && strstr(said, "short-lived"))
		gpc_hint(err, "set the clock of this machine");
	return r;
}

/* expires_in is a number, or a number as text. */
static int64_t life_of(const struct gpc_json *j)
{
	const struct gpc_json *in = gpc_json_get(j, "expires_in");
	const char *text = gpc_json_str(in);
	int64_t life_s = gpc_json_int_or(in, 0);
	struct gpc_error ignored;

	if (text && gpc_parse_i64(text, 1, INT64_C(366) * 86400, "expires_in",
		&life_s, &ignored) < 0)
		return 0;
	return life_s;
}

static int read_token(const struct gpc_reply *reply, int64_t now_ms,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error ignored;
	const char *token;
	int64_t life_s;
	int r;

	if (gpc_json_parse(gpc_buf_str(&reply->body), reply->body.len, &j,
		&ignored) < 0)
		return gpc_fail(err, GPC_EPROTO, "the token endpoint answered "
			"no JSON");
	token = gpc_json_get_str(j, "access_token");
	life_s = life_of(j);
	if (!token || !*token || life_s <= 0)
		return gpc_fail(err, GPC_EPROTO, "the token endpoint gave no %s",
			token && *token ? "expires_in" : "access_token");
	r = gpc_identity_check("access_token", token, err);
	if (r)
		return r;
	gpc_wipe_str(i->bearer);
	gpc_set_str(&i->bearer, token);
	i->expires_ms = now_ms + life_s * 1000;
	return 0;
}

/* What is refused by a service whose clock is another than ours is mostly refused
 * for that: its clock counts from now on. */
static void mend_clock(struct gpc_net *net, const struct gpc_reply *reply)
{
	int64_t off_ms = reply->date_ms - gpc_net_now_ms(net);

	if (reply->status >= 400 && reply->status < 500 && reply->date_ms > 0 &&
		(off_ms > GPC_GCP_SKEW_MS || off_ms < -GPC_GCP_SKEW_MS))
		gpc_net_set_clock(net, reply->date_ms);
}

int gpc_gcp_token(const struct gpc_gcp_file *f, const char *url,
	struct gpc_pairs *headers, struct gpc_pairs *form, const char *login,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs own = {0};
	gpc_auto(gpc_buf) struct gpc_buf body = {0};
	struct gpc_reply reply = {0};
	struct gpc_error why = {0};
	static const char *const again[] = {"internal_failure",
		"server_error", "temporarily_unavailable", NULL};
	struct gpc_fetch fetch = {.what = "Google's token endpoint",
		.method = "POST", .url = url, .again = again};
	int r;

	if (headers)
		gpc_pairs_copy(&own, headers);
	gpc_pairs_set(&own, "content-type",
		"application/x-www-form-urlencoded");
	gpc_url_query(form, &body);
	fetch.headers = &own;
	fetch.body = gpc_buf_str(&body);
	r = gpc_fetch(f->look->net, &fetch, &reply, &why);
	mend_clock(f->look->net, &reply);
	if (r)
		r = explain(f, &reply, login, r, &why);
	else
		r = gpc_wrap(&why, read_token(&reply,
			gpc_net_now_ms(f->look->net), i, &why), "%s", f->shown);
	gpc_pairs_wipe(form);
	gpc_wipe(body.data, body.cap);
	gpc_fetch_forget(&reply);
	if (r && err)
		*err = why;
	return r;
}
