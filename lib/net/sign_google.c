/* What a Google service account signs with its RSA key: tokens that are exchanged
 * for access, and URLs that give access to one object of Cloud Storage.
 */
#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "dep/crypto.h"
#include "dep/json.h"
#include "net/canon.h"
#include "net/sign.h"

#define ALGORITHM "GOOG4-RSA-SHA256"

enum { MAX_TOKEN_S = 3600 };

/* Each part of a token is JSON as Base64. */
static void add_part(const struct gpc_json *j, struct gpc_buf *to)
{
	gpc_autostr *text = gpc_json_print(j);

	gpc_base64url(to, text, strlen(text));
}

static void set_text(struct gpc_json *j, const char *name, const char *text)
{
	if (text)
		gpc_json_set_str(j, name, text);
}

static void add_claims(const struct gpc_jwt *how, struct gpc_buf *to)
{
	gpc_autoptr(gpc_json) *header = gpc_json_object();
	gpc_autoptr(gpc_json) *claims = gpc_json_object();
	int64_t now_s = how->now_ms / 1000;

	gpc_json_set_str(header, "alg", "RS256");
	gpc_json_set_str(header, "typ", "JWT");
	set_text(header, "kid", how->key_id);
	set_text(claims, "iss", how->issuer);
	set_text(claims, "sub", how->subject);
	set_text(claims, "aud", how->audience);
	set_text(claims, "scope", how->scope);
	gpc_json_set_int(claims, "iat", now_s);
	gpc_json_set_int(claims, "exp", now_s + how->lifetime_s);
	add_part(header, to);
	gpc_buf_addc(to, '.');
	add_part(claims, to);
}

int gpc_sign_jwt(const struct gpc_jwt *how, char **ret_jwt,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf token = {0}, signature = {0};
	int r;

	if (how->lifetime_s < 1 || how->lifetime_s > MAX_TOKEN_S)
		return gpc_fail(err, GPC_EUSAGE, "a token is good for 1 to %d "
			"seconds, not %d", MAX_TOKEN_S, how->lifetime_s);
	if (!how->key_pem)
		return gpc_fail(err, GPC_EAUTH, "no key to sign a token with");
	add_claims(how, &token);
	r = gpc_sign_rs256(how->key_pem, token.data, token.len, &signature, err);
	if (r < 0)
		return r;
	gpc_buf_addc(&token, '.');
	gpc_base64url(&token, signature.data, signature.len);
	return gpc_buf_finish(&token, ret_jwt, err);
}

static bool is_signed(const char *name)
{
	return !gpc_eq(name, "authorization") && !gpc_eq(name, "user-agent");
}

/* The port of an emulator is not signed, as by Google's own clients. */
static const struct gpc_canon_rule rule = {
	.is_signed = is_signed, .host = true, .no_port = true, .collapse = true,
};

static void add_canonical(const struct gpc_request *r,
	const struct gpc_buf *lines, const struct gpc_buf *names,
	struct gpc_buf *to)
{
	const char *hash = gpc_pairs_get(&r->headers, "x-goog-content-sha256");

	gpc_buf_addf(to, "%s\n%s\n", r->method, r->url.path);
	gpc_canon_query(&r->url.query, false, to);
	gpc_buf_addc(to, '\n');
	gpc_buf_add(to, lines->data, lines->len);
	gpc_buf_addc(to, '\n');
	gpc_buf_add(to, names->data, names->len);
	gpc_buf_addf(to, "\n%s", hash ? hash : "UNSIGNED-PAYLOAD");
}

int gpc_presign_gcs(struct gpc_request *r, const struct gpc_sign_gcs *how,
	int expires_s, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf lines = {0}, names = {0}, scope = {0};
	gpc_auto(gpc_buf) struct gpc_buf canonical = {0}, text = {0};
	gpc_auto(gpc_buf) struct gpc_buf signature = {0};
	struct gpc_pairs *query = &r->url.query;
	char time[GPC_CANON_TIME];
	struct gpc_canon_scope s = {ALGORITHM, time, "auto", "storage",
		"goog4_request"};
	gpc_autostr *hex = NULL;
	int e = gpc_canon_check_word(how->email, "service account", err);

	if (e == 0)
		e = gpc_canon_check_expires(expires_s, err);
	if (e == 0 && !how->key_pem)
		e = gpc_fail(err, GPC_EAUTH, "no key to sign a URL with");
	if (e < 0)
		return e;
	gpc_canon_time(how->now_ms, time);
	gpc_canon_scope(&s, &scope);
	gpc_canon_headers(r, &rule, &lines, &names);
	gpc_pairs_set(query, "X-Goog-Algorithm", ALGORITHM);
	gpc_pairs_setf(query, "X-Goog-Credential", "%s/%s", how->email,
		gpc_buf_str(&scope));
	gpc_pairs_set(query, "X-Goog-Date", time);
	gpc_pairs_setf(query, "X-Goog-Expires", "%d", expires_s);
	gpc_pairs_set(query, "X-Goog-SignedHeaders", gpc_buf_str(&names));
	add_canonical(r, &lines, &names, &canonical);
	gpc_canon_to_sign(&s, &canonical, &text);
	e = gpc_sign_rs256(how->key_pem, text.data, text.len, &signature, err);
	if (e < 0)
		return e;
	hex = gpc_array(2 * signature.len + 1, 1);
	gpc_hex(signature.data, signature.len, hex);
	gpc_pairs_set(query, "X-Goog-Signature", hex);
	return 0;
}
