/* AWS Signature Version 4, in headers and in queries. What everybody trips over:
 * all services but S3 encode the path of the wire once more; the query is sorted
 * by names, not by "name=value"; a header that is sent twice is signed once, its
 * values in order; and what proxies and libcurl may add or change is not signed.
 */
#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "net/canon.h"
#include "net/sign.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define UNSIGNED "UNSIGNED-PAYLOAD"

static bool is_signed(const char *name)
{
	static const char *const others[] = {"authorization", "connection",
		"expect", "keep-alive", "te", "trailer", "transfer-encoding",
		"upgrade", "user-agent", "x-amzn-trace-id"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (gpc_eq(name, others[i]))
			return false;
	return !gpc_starts_with(name, "proxy-");
}

static const struct gpc_canon_rule rule = {
	.is_signed = is_signed, .host = true, .collapse = true,
};

/* Without ".", ".." and empty segments; ends in "/" where the path does. */
static void normalise(const char *path, struct gpc_buf *to)
{
	struct gpc_str rest = gpc_str_of(path), part;
	size_t n = strlen(path);

	while (gpc_str_split(&rest, '/', &part)) {
		if (part.len == 0 || gpc_str_eq(part, "."))
			continue;
		if (!gpc_str_eq(part, "..")) {
			gpc_buf_addc(to, '/');
			gpc_buf_add(to, part.ptr, part.len);
			continue;
		}
		while (to->len > 0 && to->data[to->len - 1] != '/')
			to->len--;
		if (to->len > 0)
			to->len--;
	}
	if (to->len == 0 || (n > 0 && path[n - 1] == '/'))
		gpc_buf_addc(to, '/');
}

static void add_path(const struct gpc_request *r,
	const struct gpc_sign_aws *how, struct gpc_buf *to)
{
	const char *path = r->url.path && r->url.path[0] ? r->url.path : "/";
	gpc_auto(gpc_buf) struct gpc_buf normal = {0};

	if (how->s3 || how->raw_path) {
		gpc_buf_adds(to, path);
		return;
	}
	normalise(path, &normal);
	gpc_percent_encode(to, normal.data, normal.len, "/");
}

static int check(const struct gpc_sign_aws *how, struct gpc_error *err)
{
	int r = gpc_canon_check_keys(&how->keys, err);

	if (r == 0)
		r = gpc_canon_check_word(how->region, "region", err);
	return r < 0 ? r : gpc_canon_check_word(how->service, "service", err);
}

/* The hash that is signed; borrowed from r. A header that is there already (a
 * body of chunks) says it. */
static int hash_of_body(struct gpc_request *r, bool is_unsigned,
	const char **ret_hash, struct gpc_error *err)
{
	int e;

	*ret_hash = gpc_pairs_get(&r->headers, "x-amz-content-sha256");
	if (*ret_hash)
		return 0;
	*ret_hash = UNSIGNED;
	if (is_unsigned)
		return 0;
	e = gpc_request_hash(r, err);
	if (e < 0)
		return e;
	*ret_hash = r->body_sha256;
	return 0;
}

struct signing {
	struct gpc_canon_scope scope;
	char time[GPC_CANON_TIME];
	struct gpc_buf lines, names;
};

static void signing_clear(struct signing *s)
{
	gpc_buf_clear(&s->lines);
	gpc_buf_clear(&s->names);
}

static void begin(struct signing *s, const struct gpc_sign_aws *how)
{
	gpc_canon_time(how->now_ms, s->time);
	s->scope = (struct gpc_canon_scope){ALGORITHM, s->time, how->region,
		how->service, "aws4_request"};
}

static void finish(const struct signing *s, const struct gpc_request *r,
	const struct gpc_sign_aws *how, const char *hash,
	char ret_hex[GPC_CANON_HEX])
{
	gpc_auto(gpc_buf) struct gpc_buf canonical = {0};

	gpc_buf_adds(&canonical, r->method);
	gpc_buf_addc(&canonical, '\n');
	add_path(r, how, &canonical);
	gpc_buf_addc(&canonical, '\n');
	gpc_canon_query(&r->url.query, false, &canonical);
	gpc_buf_addc(&canonical, '\n');
	gpc_buf_add(&canonical, s->lines.data, s->lines.len);
	gpc_buf_addc(&canonical, '\n');
	gpc_buf_add(&canonical, s->names.data, s->names.len);
	gpc_buf_addc(&canonical, '\n');
	gpc_buf_adds(&canonical, hash);
	gpc_canon_mac(&s->scope, "AWS4", how->keys.secret, &canonical, ret_hex);
}

int gpc_sign_aws(struct gpc_request *r, const struct gpc_sign_aws *how,
	struct gpc_error *err)
{
	__attribute__((cleanup(signing_clear))) struct signing s = {0};
	gpc_auto(gpc_buf) struct gpc_buf scope = {0};
	char signature[GPC_CANON_HEX];
	const char *hash = NULL;
	int e = check(how, err);

	/* Only TLS keeps a body that is not hashed. */
	if (e == 0)
		e = hash_of_body(r, how->s3 && how->unsigned_payload
			&& gpc_eq(r->url.scheme, "https"), &hash, err);
	if (e < 0)
		return e;
	begin(&s, how);
	gpc_pairs_set(&r->headers, "x-amz-date", s.time);
	if (how->keys.token)
		gpc_pairs_set(&r->headers, "x-amz-security-token",
			how->keys.token);
	if (how->s3 && !gpc_pairs_has(&r->headers, "x-amz-content-sha256"))
		gpc_pairs_add(&r->headers, "x-amz-content-sha256", hash);
	gpc_canon_headers(r, &rule, &s.lines, &s.names);
	finish(&s, r, how, hash, signature);
	gpc_canon_scope(&s.scope, &scope);
	gpc_pairs_setf(&r->headers, "authorization", ALGORITHM
		" Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		how->keys.id, gpc_buf_str(&scope), gpc_buf_str(&s.names),
		signature);
	return 0;
}

int gpc_presign_aws(struct gpc_request *r, const struct gpc_sign_aws *how,
	int expires_s, struct gpc_error *err)
{
	__attribute__((cleanup(signing_clear))) struct signing s = {0};
	gpc_auto(gpc_buf) struct gpc_buf scope = {0};
	struct gpc_pairs *query = &r->url.query;
	char signature[GPC_CANON_HEX];
	const char *hash = NULL;
	int e = check(how, err);

	if (e == 0)
		e = gpc_canon_check_expires(expires_s, err);
	if (e == 0)
		e = hash_of_body(r, how->s3, &hash, err);
	if (e < 0)
		return e;
	begin(&s, how);
	gpc_canon_scope(&s.scope, &scope);
	gpc_canon_headers(r, &rule, &s.lines, &s.names);
	gpc_pairs_set(query, "X-Amz-Algorithm", ALGORITHM);
	gpc_pairs_setf(query, "X-Amz-Credential", "%s/%s", how->keys.id,
		gpc_buf_str(&scope));
	gpc_pairs_set(query, "X-Amz-Date", s.time);
	gpc_pairs_setf(query, "X-Amz-Expires", "%d", expires_s);
	gpc_pairs_set(query, "X-Amz-SignedHeaders", gpc_buf_str(&s.names));
	if (how->keys.token)
		gpc_pairs_set(query, "X-Amz-Security-Token", how->keys.token);
	finish(&s, r, how, hash, signature);
	gpc_pairs_set(query, "X-Amz-Signature", signature);
	return 0;
}
