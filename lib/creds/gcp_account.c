/* Service accounts: a key in a file signs a token of its own. It is exchanged at
 * Google's token endpoint; where that is not the default universe, it is used as it
 * is, because those have no other way. */
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "creds/gcp_parts.h"
#include "net/sign.h"

#define ENDPOINT "https://oauth2.googleapis.com/token"
#define LIFE_S 3600

static int make_jwt(const struct gpc_gcp_file *f, const char *email,
	const char *scope, bool own, char **ret_jwt, struct gpc_error *err)
{
	struct gpc_jwt how = {
		.key_id = gpc_gcp_get(f, "private_key_id"),
		.issuer = email, .subject = own ? email : NULL,
		/* the same for every endpoint */
		.audience = own ? NULL : ENDPOINT,
		.scope = scope, .now_ms = gpc_net_now_ms(f->look->net),
		.lifetime_s = LIFE_S,
	};
	int r = gpc_gcp_need(f, "private_key", &how.key_pem, err);

	return r ? r : gpc_wrap(err, gpc_sign_jwt(&how, ret_jwt, err),
		"%s: private_key", f->shown);
}

/* The token that is exchanged says the time: with a clock that is wrong it is
 * refused, once. */
static int exchange(const struct gpc_gcp_file *f, const char *url,
	const char *email, const char *scope, bool again,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	struct gpc_net *net = f->look->net;
	int64_t boot_ms = gpc_boot_ms(), now_ms = gpc_net_now_ms(net), off_ms;
	char *jwt = NULL;
	int r = make_jwt(f, email, scope, false, &jwt, err);

	if (r)
		return r;
	gpc_pairs_add(&form, "grant_type",
		"urn:ietf:params:oauth:grant-type:jwt-bearer");
	gpc_pairs_add(&form, "assertion", jwt);
	gpc_wipe_str(jwt);
	free(jwt);
	r = gpc_gcp_token(f, url, NULL, &form, NULL, i, err);
	off_ms = gpc_net_now_ms(net) - now_ms - (gpc_boot_ms() - boot_ms);
	if (r == -GPC_EAUTH && !again &&
		(off_ms > GPC_GCP_SKEW_MS || off_ms < -GPC_GCP_SKEW_MS))
		return exchange(f, url, email, scope, true, i, err);
	if (r == -GPC_EAUTH && err && !err->hint[0])
		gpc_hint(err, "the key may have been deleted: make a new one, "
			"and check the clock of this machine");
	return r;
}

int gpc_gcp_from_account(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_identity *i, struct gpc_error *err)
{
	const char *universe = gpc_gcp_get(f, "universe_domain");
	const char *email = NULL, *url = NULL;
	bool own = universe && strcmp(universe, "googleapis.com") != 0;
	int r = gpc_gcp_need(f, "client_email", &email, err);

	if (r)
		return r;
	gpc_set_str(&i->name, email);
	gpc_set_str(&i->account, gpc_gcp_get(f, "project_id"));
	if (own) {
		r = make_jwt(f, email, scope, true, &i->bearer, err);
		i->expires_ms = gpc_net_now_ms(f->look->net) +
			LIFE_S * INT64_C(1000);
		return r;
	}
	r = gpc_gcp_url(f, "token_uri", ENDPOINT, &url, err);
	return r ? r : exchange(f, url, email, scope, false, i, err);
}
