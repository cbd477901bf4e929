/* What `gcloud auth application-default login` leaves: a refresh token of a person,
 * of Google itself or of a workforce pool. */
#include <string.h>

#include "base/str.h"
#include "creds/gcp_parts.h"

#define ENDPOINT "https://oauth2.googleapis.com/token"
#define POOL_ENDPOINT "https://sts.googleapis.com/v1/oauthtoken"

int gpc_gcp_from_user(const struct gpc_gcp_file *f, struct gpc_identity *i,
	struct gpc_error *err)
{
	bool pool = gpc_eq(gpc_gcp_get(f, "type"),
		"external_account_authorized_user");
	const char *id = NULL, *secret = NULL, *refresh = NULL, *url = NULL;
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0}, headers = {0};
	int r = gpc_gcp_need(f, "refresh_token", &refresh, err);

	if (!r)
		r = gpc_gcp_need(f, "client_id", &id, err);
	if (!r)
		r = gpc_gcp_need(f, "client_secret", &secret, err);
	if (!r)
		r = gpc_gcp_url(f, pool ? "token_url" : "token_uri",
			pool ? POOL_ENDPOINT : ENDPOINT, &url, err);
	if (r) {
		if (err && !err->hint[0])
			gpc_hint(err, GPC_GCP_LOGIN);
		return r;
	}
	gpc_pairs_add(&form, "grant_type", "refresh_token");
	gpc_pairs_add(&form, "refresh_token", refresh);
	if (pool) {
		gpc_gcp_basic(id, secret, &headers);
	} else {
		gpc_pairs_add(&form, "client_id", id);
		gpc_pairs_add(&form, "client_secret", secret);
	}
	r = gpc_gcp_token(f, url, &headers, &form, GPC_GCP_LOGIN, i, err);
	gpc_pairs_wipe(&headers);
	if (!r)
		gpc_set_str(&i->name, gpc_gcp_get(f, "account"));
	return r;
}
