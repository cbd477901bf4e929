/* The token file that AWS's command line writes at login and that all tools share:
 * one that is about to end is renewed with its refresh token and written back, for
 * the others too. Refresh tokens work once: whoever loses that race finds the
 * winner's token in the file. */
#include "creds/aws_sso_token.h"

#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "creds/fetch.h"
#include "creds/token.h"
#include "dep/crypto.h"

#define MAX_BYTES ((size_t)64 << 10)
#define NEAR_MS (INT64_C(15) * 60 * 1000)

struct login {
	char *path, *shown;
	struct gpc_json *j;             /* all of the file */
	const char *token;              /* in j */
	int64_t expires_ms;
};

static void close_login(struct login *l)
{
	free(l->path);
	free(l->shown);
	gpc_json_free(l->j);
	*l = (struct login){0};
}

void gpc_aws_sso_hint(const struct gpc_aws_sso *s, struct gpc_error *err)
{
	gpc_autostr *name = gpc_shell_quote(s->profile->name);

	if (strcmp(s->profile->name, "default") == 0)
		gpc_hint(err, "run: aws sso login");
	else
		gpc_hint(err, "run: aws sso login --profile %s", name);
}

static int find_path(const struct gpc_aws_sso *s, struct login *l,
	struct gpc_error *err)
{
	const char *what = s->session ? s->session : s->start_url;
	char name[2 * GPC_SHA1_SIZE + 1];
	uint8_t sum[GPC_SHA1_SIZE];
	gpc_autostr *home = NULL;
	int r = gpc_home(&home, err);

	if (!r)
		r = gpc_sha1(what, strlen(what), sum, err);
	if (r)
		return r;
	gpc_hex(sum, sizeof(sum), name);
	l->path = gpc_format("%s/.aws/sso/cache/%s.json", home, name);
	l->shown = gpc_creds_show_path(l->path);
	return 0;
}

/* Who reads: fills j, token and expires_ms anew. */
static int read_login(const struct gpc_aws_sso *s, struct login *l,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error why = {0};
	int r = gpc_read_file(l->path, MAX_BYTES, &b, &why);

	gpc_json_free(l->j);
	l->j = NULL;
	if (r == -GPC_ENOTFOUND) {
		r = gpc_fail(err, GPC_EAUTH, "profile %s: you are not logged in "
			"to SSO (there is no %s)", s->profile->name, l->shown);
		gpc_aws_sso_hint(s, err);
		return r;
	}
	if (r)
		return gpc_fail(err, GPC_EAUTH, "profile %s: %s",
			s->profile->name, why.msg);
	if (gpc_json_parse(gpc_buf_str(&b), b.len, &l->j, &why) < 0)
		l->j = NULL;
	gpc_wipe(b.data, b.cap);
	l->token = gpc_json_get_str(l->j, "accessToken");
	if (l->token && *l->token && gpc_identity_time(gpc_json_get_str(l->j,
		"expiresAt"), &l->expires_ms, &why) == 0)
		return 0;
	r = gpc_fail(err, GPC_EAUTH, "profile %s: %s holds no SSO token",
		s->profile->name, l->shown);
	gpc_aws_sso_hint(s, err);
	return r;
}

/* --- renewing -------------------------------------------------------------- */
static bool may_renew(const struct gpc_aws_sso *s, const struct login *l,
	int64_t now_ms)
{
	int64_t registered;
	struct gpc_error ignored;

	return s->session && gpc_json_get_str(l->j, "refreshToken") &&
		gpc_json_get_str(l->j, "clientId") &&
		gpc_json_get_str(l->j, "clientSecret") &&
		gpc_identity_time(gpc_json_get_str(l->j,
			"registrationExpiresAt"), &registered, &ignored) == 0 &&
		registered > now_ms;
}

static char *ask_text(const struct login *l)
{
	static const char *const copied[] = {
		"clientId", "clientSecret", "refreshToken",
	};
	gpc_autoptr(gpc_json) *j = gpc_json_object();

	for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++)
		gpc_json_set_str(j, copied[i],
			gpc_json_get_str(l->j, copied[i]));
	gpc_json_set_str(j, "grantType", "refresh_token");
	return gpc_json_print(j);
}

static int ask(const struct gpc_aws_sso *s, const struct login *l,
	struct gpc_json **ret_j, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_autostr *base = NULL, *url = NULL;
	gpc_autostr *ca = gpc_aws_setting(s->chain->profile, NULL,
		"ca_bundle");
	gpc_autotoken *text = ask_text(l);
	struct gpc_fetch f = {
		.what = "the SSO token service", .method = "POST",
		.headers = &headers, .body = text, .ca_file = ca,
		.ca_from = GPC_CREDS_CA_FROM,
	};
	struct gpc_reply reply = {0};
	int r = gpc_aws_service_url(s->chain->profile, "sso_oidc", s->region,
		&base, err);

	if (r)
		return r;
	url = gpc_format("%s/token", base);
	f.url = url;
	gpc_pairs_set(&headers, "content-type", "application/json");
	r = gpc_fetch(s->chain->look->net, &f, &reply, err);
	if (!r)
		r = gpc_json_parse(gpc_buf_str(&reply.body), reply.body.len,
			ret_j, err);
	gpc_fetch_forget(&reply);
	return r;
}

/* Puts the answer into the login, and that into its file. */
static int keep(const struct gpc_aws_sso *s, const struct gpc_json *answer,
	int64_t now_ms, struct login *l, struct gpc_error *err)
{
	const char *token = gpc_json_get_str(answer, "accessToken");
	const char *refresh = gpc_json_get_str(answer, "refreshToken");
	int64_t seconds = gpc_json_get_int(answer, "expiresIn", 0);
	char end[GPC_RFC3339_SIZE];
	gpc_autotoken *text = NULL;
	int r;

	if (!token || seconds <= 0 || seconds > INT64_C(366) * 86400)
		return gpc_fail(err, GPC_EPROTO,
			"the SSO token service gave no token");
	l->expires_ms = now_ms + seconds * 1000;
	gpc_json_set_str(l->j, "accessToken", token);
	gpc_json_set_str(l->j, "expiresAt",
		gpc_identity_time_text(l->expires_ms, end));
	if (refresh)
		gpc_json_set_str(l->j, "refreshToken", refresh);
	gpc_json_set_str(l->j, "startUrl", s->start_url);
	gpc_json_set_str(l->j, "region", s->region);
	l->token = gpc_json_get_str(l->j, "accessToken");
	text = gpc_json_print(l->j);
	r = gpc_write_file(l->path, text, strlen(text), 0600, err);
	if (r)  /* the old refresh token is used up: this must not be silent */
		return gpc_wrap(err, r, "the renewed SSO token of profile %s",
			s->profile->name);
	return 0;
}

static int renew(const struct gpc_aws_sso *s, int64_t now_ms, struct login *l,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *answer = NULL;
	struct gpc_error why = {0};
	int r = ask(s, l, &answer, &why);

	if (!r)
		return keep(s, answer, now_ms, l, err);
	if (why.http >= 400 && why.http < 500) {
		r = read_login(s, l, err);
		if (r || l->expires_ms - now_ms > NEAR_MS)
			return r;
	}
	/* What is left of the old one is used up first. */
	if (l->expires_ms > now_ms || (why.http >= 400 && why.http < 500))
		return 0;
	if (err)
		*err = why;
	return gpc_wrap(err, r, "renewing the SSO login of profile %s",
		s->profile->name);
}

static int fail_expired(const struct gpc_aws_sso *s, const struct login *l,
	struct gpc_error *err)
{
	char end[GPC_RFC3339_SIZE];
	int r = gpc_fail(err, GPC_EAUTH, "profile %s: the SSO login%s%s has "
		"expired (%s)", s->profile->name, s->session ? " of session " :
		"", s->session ? s->session : "",
		gpc_identity_time_text(l->expires_ms, end));

	gpc_aws_sso_hint(s, err);
	return r;
}

int gpc_aws_sso_token(const struct gpc_aws_sso *s, char **ret_token,
	struct gpc_error *err)
{
	int64_t now_ms = gpc_net_now_ms(s->chain->look->net);
	struct login l = {0};
	int r = find_path(s, &l, err);

	if (!r)
		r = read_login(s, &l, err);
	if (!r && l.expires_ms - now_ms < NEAR_MS && may_renew(s, &l, now_ms))
		r = renew(s, now_ms, &l, err);
	if (!r && l.expires_ms <= now_ms)
		r = fail_expired(s, &l, err);
	if (!r)
		r = gpc_token_check("the SSO token", l.token, err);
	if (!r)
		*ret_token = gpc_strdup(l.token);
	close_login(&l);
	return r;
}
