/* Requests and replies as values. A body is borrowed and never copied: it may be
 * a file of many gigabytes, which hashing reads once, piece by piece.
 */
#include "net/request.h"

#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "dep/crypto.h"

enum { PIECE = 256 << 10 };

void gpc_request_init(struct gpc_request *r, const char *method)
{
	*r = (struct gpc_request){ .method = method, .body.fd = -1 };
}

void gpc_request_clear(struct gpc_request *r)
{
	if (!r)
		return;
	gpc_url_clear(&r->url);
	gpc_pairs_clear(&r->headers);
	gpc_request_init(r, NULL);
}

void gpc_request_copy(struct gpc_request *to, const struct gpc_request *from)
{
	if (to == from)
		return;
	to->method = from->method;
	gpc_url_copy(&to->url, &from->url);
	gpc_pairs_copy(&to->headers, &from->headers);
	to->body = from->body;
	memcpy(to->body_sha256, from->body_sha256, sizeof(to->body_sha256));
}

static int hash_file(struct gpc_sha256 *h, const struct gpc_body *body,
	char ret_hex[GPC_SHA256_HEX], struct gpc_error *err)
{
	gpc_autostr *piece = gpc_array(PIECE, 1);
	uint64_t done = 0;

	while (done < body->size) {
		size_t n;
		int r = gpc_body_read(body, done, piece, PIECE, &n, err);

		if (r < 0)
			return r;
		gpc_sha256_add(h, piece, n);
		done += n;
	}
	gpc_sha256_end_hex(h, ret_hex);
	return 0;
}

int gpc_request_hash(struct gpc_request *r, struct gpc_error *err)
{
	gpc_autoptr(gpc_sha256) *h = NULL;

	if (r->body_sha256[0])
		return 0;
	if (r->body.data || r->body.size == 0) {
		gpc_sha256_hex(r->body.data ? r->body.data : "",
			(size_t)r->body.size, r->body_sha256);
		return 0;
	}
	h = gpc_sha256_new();
	return hash_file(h, &r->body, r->body_sha256, err);
}

void gpc_request_form(struct gpc_request *r, const struct gpc_pairs *form,
	struct gpc_buf *keep)
{
	gpc_buf_reset(keep);
	gpc_url_query(form, keep);
	r->body = (struct gpc_body){ .data = gpc_buf_str(keep), .fd = -1,
		.size = keep->len };
	r->body_sha256[0] = '\0';
	gpc_pairs_set(&r->headers, "content-type",
		"application/x-www-form-urlencoded; charset=utf-8");
}

void gpc_reply_clear(struct gpc_reply *r)
{
	if (!r)
		return;
	gpc_pairs_clear(&r->headers);
	gpc_buf_clear(&r->body);
	*r = (struct gpc_reply){ .body.max = r->body.max };
}

const char *gpc_reply_header(const struct gpc_reply *r, const char *name)
{
	return gpc_pairs_get(&r->headers, name);
}
