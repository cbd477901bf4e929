/* A credentials URI: some service on this machine or by https that hands out keys
 * as JSON. */
#include "creds/alibaba_parts.h"
#include "creds/fetch.h"

#define TIMEOUT_MS 5000

int gpc_alibaba_from_uri(const struct gpc_creds_look *look, const char *url,
	const char *where, struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "AccessKeySecret",
		.token = "SecurityToken", .expires_at = "Expiration",
	};
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_autostr *what = gpc_format("the credentials URI (%s)", where);
	const struct gpc_fetch f = {
		.what = what, .method = "GET", .url = url,
		.headers = &headers, .timeout_ms = TIMEOUT_MS,
		.hushed = true,
	};
	int r = gpc_creds_check_url(where, url, err);

	gpc_pairs_set(&headers, "accept", "application/json");
	if (!r)
		r = gpc_fetch_identity(look->net, &f, &names, &ret_f->identity,
			err);
	if (r)
		return r;
	free(ret_f->identity.source);
	ret_f->identity.source = gpc_format("credentials URI (%s)", where);
	return 0;
}
