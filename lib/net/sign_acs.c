/* Alibaba Cloud's ACS3-HMAC-SHA256, for everything but OSS. The secret itself is
 * the key: neither day nor region narrow it, so a time and a nonce that the
 * service has seen already are all that protects against a replay.
 */
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "dep/crypto.h"
#include "net/canon.h"
#include "net/sign.h"

#define ALGORITHM "ACS3-HMAC-SHA256"

static bool is_signed(const char *name)
{
	return gpc_eq(name, "content-type") || gpc_starts_with(name, "x-acs-");
}

static const struct gpc_canon_rule rule = {
	.is_signed = is_signed, .host = true,
};

static void set_headers(struct gpc_request *r, const struct gpc_sign_acs *how)
{
	char time[GPC_RFC3339_SIZE];

	gpc_format_rfc3339(how->now_ms, time);
	/* whole seconds */
	gpc_pairs_setf(&r->headers, "x-acs-date", "%.19sZ", time);
	gpc_pairs_set(&r->headers, "x-acs-signature-nonce", how->nonce);
	gpc_pairs_set(&r->headers, "x-acs-content-sha256", r->body_sha256);
	if (how->keys.token)
		gpc_pairs_set(&r->headers, "x-acs-security-token",
			how->keys.token);
}

int gpc_sign_acs(struct gpc_request *r, const struct gpc_sign_acs *how,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf lines = {0}, names = {0};
	gpc_auto(gpc_buf) struct gpc_buf canonical = {0};
	char hash[GPC_SHA256_HEX], signature[GPC_CANON_HEX];
	uint8_t mac[GPC_SHA256_SIZE];
	gpc_autostr *text = NULL;
	int e = gpc_canon_check_keys(&how->keys, err);

	if (e == 0)
		e = gpc_canon_check_word(how->nonce, "nonce", err);
	if (e == 0)
		e = gpc_request_hash(r, err);
	if (e < 0)
		return e;
	set_headers(r, how);
	gpc_canon_headers(r, &rule, &lines, &names);
	gpc_buf_addf(&canonical, "%s\n%s\n", r->method, r->url.path);
	gpc_canon_query(&r->url.query, false, &canonical);
	gpc_buf_addc(&canonical, '\n');
	gpc_buf_add(&canonical, lines.data, lines.len);
	gpc_buf_addc(&canonical, '\n');
	gpc_buf_add(&canonical, names.data, names.len);
	gpc_buf_addf(&canonical, "\n%s", r->body_sha256);
	gpc_sha256_hex(canonical.data, canonical.len, hash);
	text = gpc_format(ALGORITHM "\n%s", hash);
	gpc_hmac_sha256(how->keys.secret, strlen(how->keys.secret), text,
		strlen(text), mac);
	gpc_hex(mac, sizeof(mac), signature);
	gpc_pairs_setf(&r->headers, "authorization", ALGORITHM
		" Credential=%s,SignedHeaders=%s,Signature=%s", how->keys.id,
		gpc_buf_str(&names), signature);
	return 0;
}
