/* OSS Signature Version 4. Its canonical request is AWS's with changes: bucket and
 * key are its path whatever host and path the wire has, a name without a value has
 * no "=", the host is not signed, and the body never is.
 */
#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "net/canon.h"
#include "net/sign.h"

#define ALGORITHM "OSS4-HMAC-SHA256"
#define UNSIGNED "UNSIGNED-PAYLOAD"

static bool is_signed(const char *name)
{
	return gpc_eq(name, "content-type") || gpc_eq(name, "content-md5")
		|| gpc_starts_with(name, "x-oss-");
}

static const struct gpc_canon_rule rule = { .is_signed = is_signed };

static int check(const struct gpc_sign_oss *how, struct gpc_error *err)
{
	int r = gpc_canon_check_keys(&how->keys, err);

	return r < 0 ? r : gpc_canon_check_word(how->region, "region", err);
}

static void add_resource(const struct gpc_sign_oss *how, struct gpc_buf *to)
{
	gpc_buf_addc(to, '/');
	if (!how->bucket)
		return;
	gpc_percent_encode(to, how->bucket, strlen(how->bucket), "");
	gpc_buf_addc(to, '/');
	if (how->key)
		gpc_percent_encode(to, how->key, strlen(how->key), "/");
}

static void sign(const struct gpc_request *r, const struct gpc_sign_oss *how,
	const struct gpc_canon_scope *scope, char ret_hex[GPC_CANON_HEX])
{
	gpc_auto(gpc_buf) struct gpc_buf canonical = {0}, names = {0};

	gpc_buf_addf(&canonical, "%s\n", r->method);
	add_resource(how, &canonical);
	gpc_buf_addc(&canonical, '\n');
	gpc_canon_query(&r->url.query, true, &canonical);
	gpc_buf_addc(&canonical, '\n');
	gpc_canon_headers(r, &rule, &canonical, &names);
	/* no additional headers */
	gpc_buf_adds(&canonical, "\n\n" UNSIGNED);
	gpc_canon_mac(scope, "aliyun_v4", how->keys.secret, &canonical, ret_hex);
}

static struct gpc_canon_scope scope_of(const struct gpc_sign_oss *how,
	char time[GPC_CANON_TIME])
{
	gpc_canon_time(how->now_ms, time);
	return (struct gpc_canon_scope){ALGORITHM, time, how->region, "oss",
		"aliyun_v4_request"};
}

int gpc_sign_oss(struct gpc_request *r, const struct gpc_sign_oss *how,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf scope_text = {0};
	char time[GPC_CANON_TIME], signature[GPC_CANON_HEX];
	struct gpc_canon_scope scope;
	int e = check(how, err);

	if (e < 0)
		return e;
	scope = scope_of(how, time);
	gpc_pairs_set(&r->headers, "x-oss-date", time);
	gpc_pairs_set(&r->headers, "x-oss-content-sha256", UNSIGNED);
	if (how->keys.token)
		gpc_pairs_set(&r->headers, "x-oss-security-token",
			how->keys.token);
	sign(r, how, &scope, signature);
	gpc_canon_scope(&scope, &scope_text);
	gpc_pairs_setf(&r->headers, "authorization", ALGORITHM
		" Credential=%s/%s,Signature=%s", how->keys.id,
		gpc_buf_str(&scope_text), signature);
	return 0;
}

int gpc_presign_oss(struct gpc_request *r, const struct gpc_sign_oss *how,
	int expires_s, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf scope_text = {0};
	struct gpc_pairs *query = &r->url.query;
	char time[GPC_CANON_TIME], signature[GPC_CANON_HEX];
	struct gpc_canon_scope scope;
	int e = check(how, err);

	if (e == 0)
		e = gpc_canon_check_expires(expires_s, err);
	if (e < 0)
		return e;
	scope = scope_of(how, time);
	gpc_canon_scope(&scope, &scope_text);
	gpc_pairs_set(query, "x-oss-signature-version", ALGORITHM);
	gpc_pairs_set(query, "x-oss-date", time);
	gpc_pairs_setf(query, "x-oss-expires", "%d", expires_s);
	gpc_pairs_setf(query, "x-oss-credential", "%s/%s", how->keys.id,
		gpc_buf_str(&scope_text));
	if (how->keys.token)
		gpc_pairs_set(query, "x-oss-security-token", how->keys.token);
	sign(r, how, &scope, signature);
	gpc_pairs_set(query, "x-oss-signature", signature);
	return 0;
}
