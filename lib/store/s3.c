/* s3://: Amazon S3 and servers that speak its API (REST API 2006-03-01).
 *
 * A put is one request, or parts above 32 MiB; both send the sha256 of what they
 * send, which the server checks before it takes it. If-absent is `If-None-Match: *`:
 * servers that refuse it are known by their answer, those that ignore it are found
 * out when the store is made (identify.c). A put whose answer was lost is sent again;
 * when the repeat finds the object there, its bytes decide whose it is. A get that
 * breaks off goes on from where it was, as long as the object is the same. */
#include "store/store.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/str.h"
#include "store/s3_client.h"
#include "store/s3_list.h"
#include "store/s3_upload.h"

#define PAGE_MAX_BYTES ((size_t)8 << 20)
#define OWN_MAX_BYTES ((size_t)8 << 20)

static int s3_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	int r = gpc_s3_init(s->state, s, where, err);

	(void)flags;
	if (r == 0)
		s->caps = GPC_STORE_IF_ABSENT;
	return r;
}

static void s3_close(struct gpc_store *s)
{
	gpc_s3_clear(s->state);
}

/* --- what a reply says of its object ------------------------------------ */

static int64_t number_of(const char *text)
{
	int64_t n;

	if (!text || gpc_parse_i64(text, 0, INT64_MAX, "size", &n, NULL) < 0)
		return -1;
	return n;
}

static int describe(const struct gpc_reply *reply, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	const char *range = gpc_reply_header(reply, "content-range");
	const char *slash = range ? strchr(range, '/') : NULL;
	int64_t size = number_of(slash ? slash + 1 :
		gpc_reply_header(reply, "content-length"));
	const char *modified = gpc_reply_header(reply, "last-modified");

	if (size < 0)
		return gpc_fail(err, GPC_EPROTO,
			"the server does not say how large the object is");
	memset(ret_o, 0, sizeof(*ret_o));
	ret_o->size = (uint64_t)size;
	ret_o->now_ms = reply->date_ms;
	if (modified)
		ret_o->modified_ms = gpc_http_date_ms(modified);
	return 0;
}

static int s3_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	gpc_auto(gpc_s3_op) struct gpc_s3_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autostr *what = gpc_format("looking at %s", key);
	int r = gpc_s3_op_init(&op, s->state, "HEAD", what, key, err);

	if (r == 0)
		r = gpc_s3_send(&op, &reply, err);
	return r < 0 ? r : describe(&reply, ret_o, err);
}

/* --- get ----------------------------------------------------------------- */

struct download {
	gpc_sink_fn *sink;
	void *arg;
	int64_t offset, length;         /* length < 0: to the end */
	int64_t delivered;
	char *etag;                     /* of the object whose bytes came */
};

static void set_range(struct gpc_request *r, int64_t from, int64_t length)
{
	if (length >= 0 && from <= INT64_MAX - length)
		gpc_pairs_setf(&r->headers, "range",
			"bytes=%" PRId64 "-%" PRId64, from, from + length - 1);
	else if (from > 0)
		gpc_pairs_setf(&r->headers, "range", "bytes=%" PRId64 "-", from);
}

static int deliver(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct download *d = arg;

	d->delivered += (int64_t)n;
	return d->sink(d->arg, data, n, err);
}

static int see(void *arg, const struct gpc_reply *reply, struct gpc_error *err)
{
	struct download *d = arg;
	const char *etag = gpc_reply_header(reply, "etag");

	if (d->offset + d->delivered > 0 && reply->status == 200)
		return gpc_fail(err, GPC_EPROTO,
			"the server sends all of an object, not the range "
			"that was asked for");
	if (etag && !d->etag)
		d->etag = gpc_strdup(etag);
	return 0;
}

/* Another object may be there by now: its bytes must not follow the first's. */
static int go_on(void *arg, struct gpc_request *r, struct gpc_error *err)
{
	struct download *d = arg;

	if (!d->etag)
		return gpc_fail(err, GPC_ENET, "the download broke off, and "
			"nothing tells whether the object is still the same");
	gpc_pairs_set(&r->headers, "if-match", d->etag);
	set_range(r, d->offset + d->delivered,
		d->length < 0 ? -1 : d->length - d->delivered);
	return 0;
}

static int s3_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	gpc_auto(gpc_s3_op) struct gpc_s3_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autostr *what = gpc_format("reading %s", key);
	struct download d = { .sink = sink, .arg = arg, .offset = offset,
		.length = length };
	int r;

	if (length == 0)
		return s3_head(s, key, ret_o, err);
	r = gpc_s3_op_init(&op, s->state, "GET", what, key, err);
	if (r < 0)
		return r;
	set_range(&op.request, offset, length);
	op.sink = deliver;
	op.sink_arg = &d;
	op.head = see;
	op.rewind = go_on;
	r = gpc_s3_send(&op, &reply, err);
	free(d.etag);
	if (r == -GPC_ECONFLICT)                /* if-match, after a break */
		return gpc_fail(err, GPC_ENET, "%s: another object took its "
			"place while it was read", key);
	if (r < 0 && reply.status == 416)       /* beyond the end: nothing there */
		r = 0;
	return r < 0 ? r : describe(&reply, ret_o, err);
}

/* --- put ----------------------------------------------------------------- */

struct comparison {
	const struct gpc_body *body;
	uint64_t at;
	bool differs;
};

static int compare(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct comparison *c = arg;
	char part[16384];

	(void)err;
	if (c->at + n > c->body->size)
		c->differs = true;
	for (size_t done = 0; done < n && !c->differs;) {
		size_t k = n - done < sizeof(part) ? n - done : sizeof(part);
		const void *ours = part;

		if (c->body->data)
			ours = (const char *)c->body->data + c->at;
		else if (pread(c->body->fd, part, k, c->body->offset +
			(int64_t)c->at) != (ssize_t)k)
			c->differs = true;
		c->differs = c->differs ||
			memcmp(ours, (const char *)data + done, k) != 0;
		done += k;
		c->at += k;
	}
	return 0;
}

/* Whether the object that a repeated put found is what the first try had put. */
static bool is_ours(struct gpc_store *s, const char *key,
	const struct gpc_body *body)
{
	struct comparison c = { .body = body };
	struct gpc_object o;
	struct gpc_error err;

	return body->size <= OWN_MAX_BYTES &&
		s3_get(s, key, 0, -1, compare, &c, &o, &err) == 0 &&
		!c.differs && c.at == body->size;
}

static int put_once(struct gpc_store *s, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err)
{
	gpc_auto(gpc_s3_op) struct gpc_s3_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autostr *what = gpc_format("writing %s", key);
	int r = gpc_s3_op_init(&op, s->state, "PUT", what, key, err);

	if (r < 0)
		return r;
	if (if_absent)
		gpc_pairs_add(&op.request.headers, "if-none-match", "*");
	gpc_pairs_add(&op.request.headers, "content-type",
		"application/octet-stream");
	op.request.body = *body;
	r = gpc_s3_send(&op, &reply, err);
	if (r == -GPC_ECONFLICT && reply.tries > 1 && is_ours(s, key, body))
		return 0;
	return r;
}

static int s3_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	bool if_absent = (flags & GPC_PUT_IF_ABSENT) != 0;
	int r = body->size > GPC_S3_ONE_PUT ?
		gpc_s3_upload(s->state, key, body, if_absent, err) :
		put_once(s, key, body, if_absent, err);

	if (if_absent && r == -GPC_EUNSUPPORTED)
		s->caps &= ~(unsigned)GPC_STORE_IF_ABSENT;
	return r;
}

/* --- list, delete --------------------------------------------------- */

static int list_page(struct gpc_s3 *s3, const char *prefix, const char *after,
	struct gpc_s3_page *page, gpc_list_fn *fn, void *arg,
	struct gpc_error *err)
{
	gpc_auto(gpc_s3_op) struct gpc_s3_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	struct gpc_s3_page next = {0};
	const char *root = s3->address.prefix;
	struct gpc_pairs *query;
	int r = gpc_s3_op_init(&op, s3, "GET", "listing objects", NULL, err);

	if (r < 0)
		return r;
	query = &op.request.url.query;
	gpc_pairs_add(query, "list-type", "2");
	gpc_pairs_add(query, "encoding-type", "url");
	gpc_pairs_setf(query, "prefix", "%s%s", root, prefix);
	if (page->token)
		gpc_pairs_add(query, "continuation-token", page->token);
	else if (after)
		gpc_pairs_setf(query, "start-after", "%s%s", root, after);
	op.max_body = PAGE_MAX_BYTES;
	r = gpc_s3_send(&op, &reply, err);
	if (r < 0)
		return r;
	r = gpc_s3_read_page(gpc_buf_str(&reply.body), reply.body.len,
		strlen(root), reply.date_ms, fn, arg, &next, err);
	if (r == 0 && next.more && gpc_eq(next.token, page->token))
		r = gpc_fail(err, GPC_EPROTO, "the same page came twice");
	gpc_s3_page_clear(page);
	*page = next;
	return gpc_wrap(err, r, "listing objects in bucket %s",
		s3->address.bucket);
}

static int s3_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	gpc_auto(gpc_s3_page) struct gpc_s3_page page = {0};
	int r;

	do {
		r = list_page(s->state, prefix, after, &page, fn, arg, err);
	} while (r == 0 && page.more && !page.stopped);
	return r;
}

static int s3_del(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	gpc_auto(gpc_s3_op) struct gpc_s3_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autostr *what = gpc_format("deleting %s", key);
	int r = gpc_s3_op_init(&op, s->state, "DELETE", what, key, err);

	if (r == 0)
		r = gpc_s3_send(&op, &reply, err);
	return r == -GPC_ENOTFOUND ? 0 : r;
}

static const char *const identity[] = { "AWS_", NULL };

const struct gpc_store_ops gpc_store_s3 = {
	.scheme = "s3",
	.identity = identity,
	.state_size = sizeof(struct gpc_s3),
	.open = s3_open,
	.close = s3_close,
	.get = s3_get,
	.put = s3_put,
	.head = s3_head,
	.list = s3_list,
	.del = s3_del,
};
