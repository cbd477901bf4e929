/* See sign_case.h. */
#include "sign_case.h"

#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "dep/crypto.h"

static int64_t now_of(const struct gpc_json *j)
{
	const char *now = gpc_json_get_str(j, "now");
	struct gpc_error err = {0};
	int64_t ms = 0;

	if (!now || gpc_parse_rfc3339(now, &ms, &err) < 0)
		abort();
	return ms;
}

/* [[name, value], ...]; null is no value */
static void add_pairs(const struct gpc_json *list, struct gpc_pairs *to)
{
	const struct gpc_json *m;

	for (m = gpc_json_first(list); m; m = gpc_json_next(m)) {
		const struct gpc_json *name = gpc_json_first(m);

		gpc_pairs_add(to, gpc_json_str(name),
			gpc_json_str(gpc_json_next(name)));
	}
}

static void build(const struct gpc_json *j, struct gpc_request *r)
{
	const char *scheme = gpc_json_get_str(j, "scheme");
	const char *path = gpc_json_get_str(j, "path");
	const char *body = gpc_json_get_str(j, "body");

	gpc_request_init(r, gpc_json_get_str(j, "method"));
	r->url.scheme = gpc_strdup(scheme ? scheme : "https");
	r->url.host = gpc_strdup(gpc_json_get_str(j, "host"));
	r->url.path = gpc_strdup(path ? path : "/");
	r->url.port = (int)gpc_json_get_int(j, "port",
		gpc_eq(r->url.scheme, "https") ? 443 : 80);
	add_pairs(gpc_json_get(j, "query"), &r->url.query);
	add_pairs(gpc_json_get(j, "headers"), &r->headers);
	if (body)
		r->body = (struct gpc_body){.data = body, .fd = -1,
			.size = strlen(body)};
}

static struct gpc_keys keys_of(const struct gpc_json *j)
{
	return (struct gpc_keys){gpc_json_get_str(j, "id"),
		gpc_json_get_str(j, "secret"), gpc_json_get_str(j, "token")};
}

static bool flag(const struct gpc_json *j, const char *name)
{
	return gpc_json_bool_or(gpc_json_get(j, name), false);
}

static int sign_aws(const struct gpc_json *j, bool in_url,
	struct gpc_request *r, struct gpc_error *err)
{
	const struct gpc_sign_aws how = {
		.keys = keys_of(j), .region = gpc_json_get_str(j, "region"),
		.service = gpc_json_get_str(j, "service"), .now_ms = now_of(j),
		.s3 = flag(j, "s3"), .raw_path = flag(j, "raw_path"),
		.unsigned_payload = flag(j, "unsigned_payload"),
	};

	if (in_url)
		return gpc_presign_aws(r, &how,
			(int)gpc_json_get_int(j, "expires", 0), err);
	if (flag(j, "hash_header")) {
		if (gpc_request_hash(r, err) < 0)
			return -GPC_EIO;
		gpc_pairs_add(&r->headers, "x-amz-content-sha256",
			r->body_sha256);
	}
	return gpc_sign_aws(r, &how, err);
}

static int sign_oss(const struct gpc_json *j, bool in_url,
	struct gpc_request *r, struct gpc_error *err)
{
	const struct gpc_sign_oss how = {
		.keys = keys_of(j), .region = gpc_json_get_str(j, "region"),
		.bucket = gpc_json_get_str(j, "bucket"),
		.key = gpc_json_get_str(j, "object"), .now_ms = now_of(j),
	};

	if (in_url)
		return gpc_presign_oss(r, &how,
			(int)gpc_json_get_int(j, "expires", 0), err);
	return gpc_sign_oss(r, &how, err);
}

int sign_case(const char *how, const struct gpc_json *j, const char *pem,
	bool in_url, struct gpc_request *r, struct gpc_error *err)
{
	build(j, r);
	if (gpc_eq(how, "sigv4"))
		return sign_aws(j, in_url, r, err);
	if (gpc_eq(how, "oss4"))
		return sign_oss(j, in_url, r, err);
	if (gpc_eq(how, "acs3") && !in_url)
		return gpc_sign_acs(r, &(struct gpc_sign_acs){
			.keys = keys_of(j), .now_ms = now_of(j),
			.nonce = gpc_json_get_str(j, "nonce")}, err);
	if (gpc_eq(how, "gcs") && in_url)
		return gpc_presign_gcs(r, &(struct gpc_sign_gcs){
			.key_pem = pem, .email = gpc_json_get_str(j, "email"),
			.now_ms = now_of(j)},
			(int)gpc_json_get_int(j, "expires", 0), err);
	return gpc_fail(err, GPC_EUSAGE, "nobody signs so");
}

const char *sign_case_signature(const struct gpc_request *r)
{
	static const char *const names[] = {"X-Amz-Signature",
		"x-oss-signature", "X-Goog-Signature"};
	const char *header = gpc_pairs_get(&r->headers, "authorization");
	const char *at = header ? strstr(header, "Signature=") : NULL;

	if (at)
		return at + strlen("Signature=");
	for (size_t i = 0; i < 3; i++)
		if (gpc_pairs_get(&r->url.query, names[i]))
			return gpc_pairs_get(&r->url.query, names[i]);
	return "";
}

int sign_case_jwt(const struct gpc_json *j, const char *pem, char **ret_token,
	struct gpc_error *err)
{
	return gpc_sign_jwt(&(struct gpc_jwt){
		.key_pem = pem, .key_id = gpc_json_get_str(j, "kid"),
		.issuer = gpc_json_get_str(j, "iss"),
		.subject = gpc_json_get_str(j, "sub"),
		.audience = gpc_json_get_str(j, "aud"),
		.scope = gpc_json_get_str(j, "scope"), .now_ms = now_of(j),
		.lifetime_s = (int)gpc_json_get_int(j, "lifetime", 3600),
	}, ret_token, err);
}
