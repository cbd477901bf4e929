/* Secrets of a request in its refusal. A service that refuses may say what it got:
 * AWS shows what should have been signed, the session token in it, and gateways
 * show whole requests. Texts of refusals end up in errors and logs, so what was
 * secret on its way out is starred before anybody reads the reply. */
#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "dep/json.h"
#include "net/net_parts.h"

enum {
	SHORTEST = 8,                   /* what is shorter is found by chance */
	MAX_BODY = 64 << 10,            /* of requests: tokens, no uploads */
};

static void star(struct gpc_buf *body, const char *text, size_t n)
{
	char *at = body->data;
	size_t left = body->len;

	if (n < SHORTEST)
		return;
	while (left >= n) {
		if (memcmp(at, text, n) == 0)
			memset(at, '*', n);
		at++;
		left--;
	}
}

/* As it is, as URLs and forms have it, and without a scheme ("Bearer x"). */
static void star_value(struct gpc_buf *body, const char *value)
{
	const char *space = strchr(value, ' ');
	struct gpc_buf b = {0};

	star(body, value, strlen(value));
	if (space)
		star(body, space + 1, strlen(space + 1));
	gpc_percent_encode(&b, value, strlen(value), "");
	star(body, gpc_buf_str(&b), b.len);
	gpc_wipe(b.data, b.cap);
	gpc_buf_clear(&b);
}

/* "subject_token_type" tells what a token is, and is none. */
static bool is_secret(const char *name)
{
	return gpc_net_is_secret(name) && !gpc_ends_with(name, "_type");
}

static void star_pairs(struct gpc_buf *body, const struct gpc_pairs *p, bool all)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].value && (all || is_secret(p->v[i].key)))
			star_value(body, p->v[i].value);
}

static void star_form(struct gpc_buf *body, const char *text, size_t n)
{
	struct gpc_str rest = {text, n}, part;

	while (gpc_str_split(&rest, '&', &part)) {
		const char *equals = part.len ?
			memchr(part.ptr, '=', part.len) : NULL;
		size_t n_name = equals ? (size_t)(equals - part.ptr) : 0;
		gpc_autostr *name = gpc_strndup(part.ptr, n_name);
		struct gpc_buf value = {0};

		if (equals && is_secret(name) && gpc_percent_decode(equals + 1,
			part.len - n_name - 1, true, &value, NULL) == 0)
			star_value(body, gpc_buf_str(&value));
		gpc_wipe(value.data, value.cap);
		gpc_buf_clear(&value);
	}
}

static void star_json(struct gpc_buf *body, const char *text, size_t n)
{
	gpc_autoptr(gpc_json) *j = NULL;

	if (gpc_json_parse(text, n, &j, NULL) < 0)
		return;
	for (const struct gpc_json *m = gpc_json_is_object(j) ?
		gpc_json_first(j) : NULL; m; m = gpc_json_next(m))
		if (gpc_json_str(m) && is_secret(gpc_json_key(m)))
			star_value(body, gpc_json_str(m));
}

void gpc_net_hide(const struct gpc_request *r, bool all, struct gpc_buf *body)
{
	const char *type = gpc_pairs_get(&r->headers, "content-type");

	if (body->len == 0)
		return;
	star_pairs(body, &r->headers, all);
	star_pairs(body, &r->url.query, all);
	if (!type || !r->body.data || r->body.size > MAX_BODY)
		return;
	if (gpc_starts_with(type, "application/x-www-form-urlencoded"))
		star_form(body, r->body.data, (size_t)r->body.size);
	else if (gpc_starts_with(type, "application/json"))
		star_json(body, r->body.data, (size_t)r->body.size);
}
