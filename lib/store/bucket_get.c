/* Objects of a bucket, read. A get that breaks off goes on from where it was, as long
 * as the object is the same; what was read from its first byte to its last is held
 * against the checksum that the service tells. */
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "store/bucket.h"

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

int gpc_bucket_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autostr *what = gpc_format("looking at %s", key);
	int r = gpc_bucket_op_init(&op, s->state, "HEAD", what, key, err);

	if (r == 0)
		r = gpc_bucket_send(&op, &reply, err);
	return r < 0 ? r : describe(&reply, ret_o, err);
}

struct download {
	const struct gpc_bucket_rules *rules;
	gpc_sink_fn *sink;
	void *arg;
	int64_t offset, length;         /* length < 0: to the end */
	int64_t delivered;
	char *version;                  /* of the object whose bytes came */
	bool told;
	uint64_t told_sum, sum;
};

static void set_range(struct gpc_request *r, int64_t from, int64_t length)
{
	if (length >= 0 && from <= INT64_MAX - length)
		gpc_pairs_setf(&r->headers, "range",
			"bytes=%" PRId64 "-%" PRId64, from, from + length - 1);
	else if (from > 0)
		gpc_pairs_setf(&r->headers, "range", "bytes=%" PRId64 "-", from);
}

static bool is_whole(const struct download *d)
{
	return d->offset == 0 && d->length < 0 && d->rules->sum;
}

static int deliver(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct download *d = arg;

	d->delivered += (int64_t)n;
	if (is_whole(d))
		d->sum = d->rules->sum(d->sum, data, n);
	return d->sink(d->arg, data, n, err);
}

static int see(void *arg, const struct gpc_reply *reply, struct gpc_error *err)
{
	struct download *d = arg;
	const char *version = gpc_reply_header(reply, d->rules->version);

	if (d->offset + d->delivered > 0 && reply->status == 200)
		return gpc_fail(err, GPC_EPROTO,
			"the server sends all of an object, not the range "
			"that was asked for");
	if (version && !d->version)
		d->version = gpc_strdup(version);
	if (is_whole(d))
		d->told = d->rules->told(reply, &d->told_sum);
	return 0;
}

/* Another object may be there by now: its bytes must not follow the first's. */
static int go_on(void *arg, struct gpc_request *r, struct gpc_error *err)
{
	struct download *d = arg;

	if (!d->version)
		return gpc_fail(err, GPC_ENET, "the download broke off, and "
			"nothing tells whether the object is still the same");
	d->rules->pin(r, d->version);
	set_range(r, d->offset + d->delivered,
		d->length < 0 ? -1 : d->length - d->delivered);
	return 0;
}

/* What came is not what its server has: the caller must not keep it. */
static int check_sum(const struct download *d, const char *key,
	struct gpc_error *err)
{
	if (!d->told || d->sum == d->told_sum)
		return 0;
	return gpc_fail(err, GPC_ENET, "%s: the bytes that came do not have the "
		"checksum that the server tells", key);
}

static int read_object(struct gpc_bucket *b, const char *key,
	struct download *d, struct gpc_reply *reply, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_autostr *what = gpc_format("reading %s", key);
	int r = gpc_bucket_op_init(&op, b, "GET", what, key, err);

	if (r < 0)
		return r;
	if (b->rules->reads)
		b->rules->reads(&op.request);
	set_range(&op.request, d->offset, d->length);
	op.sink = deliver;
	op.head = see;
	op.rewind = go_on;
	op.arg = d;
	r = gpc_bucket_send(&op, reply, err);
	if (r == -GPC_ECONFLICT)                /* pinned, after a break */
		return gpc_fail(err, GPC_ENET, "%s: another object took its "
			"place while it was read", key);
	return r ? r : check_sum(d, key, err);
}

int gpc_bucket_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	struct gpc_bucket *b = s->state;
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	struct download d = { .rules = b->rules, .sink = sink, .arg = arg,
		.offset = offset, .length = length };
	int r;

	if (length == 0)
		return s->ops->head(s, key, ret_o, err);
	r = read_object(b, key, &d, &reply, err);
	free(d.version);
	if (r < 0 && reply.status == 416)       /* beyond the end: nothing there */
		return s->ops->head(s, key, ret_o, err);
	return r ? r : describe(&reply, ret_o, err);
}

/* --- bodies ----------------------------------------------------------------- */

int gpc_bucket_bytes(const struct gpc_body *body, uint64_t at, void *part,
	size_t n, const void **ret_data, struct gpc_error *err)
{
	size_t done = 0;

	*ret_data = body->data ? (const char *)body->data + at : part;
	while (!body->data && done < n) {
		size_t k;
		int r = gpc_body_read(body, at + done, (char *)part + done,
			n - done, &k, err);

		if (r < 0)
			return r;
		done += k;
	}
	return 0;
}

struct comparison {
	const struct gpc_body *body;
	uint64_t at;
	bool differs;
};

static int compare(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct comparison *c = arg;
	char part[16384];

	if (c->at + n > c->body->size)
		c->differs = true;
	for (size_t done = 0; done < n && !c->differs;) {
		size_t k = n - done < sizeof(part) ? n - done : sizeof(part);
		const void *ours;

		c->differs = gpc_bucket_bytes(c->body, c->at, part, k, &ours,
			err) < 0 ||
			memcmp(ours, (const char *)data + done, k) != 0;
		done += k;
		c->at += k;
	}
	return c->differs;
}

bool gpc_bucket_holds(struct gpc_store *s, const char *key,
	const struct gpc_body *body)
{
	struct comparison c = { .body = body };
	struct gpc_object o;
	struct gpc_error err;

	return gpc_bucket_get(s, key, 0, -1, compare, &c, &o, &err) == 0 &&
		!c.differs && c.at == body->size;
}

int gpc_bucket_sum(const struct gpc_bucket_rules *rules,
	const struct gpc_body *body, uint64_t *ret_sum, struct gpc_error *err)
{
	char part[65536];
	uint64_t sum = 0;

	for (uint64_t at = 0; at < body->size;) {
		size_t n = body->size - at < sizeof(part) ?
			(size_t)(body->size - at) : sizeof(part);
		const void *data;
		int r = gpc_bucket_bytes(body, at, part, n, &data, err);

		if (r < 0)
			return r;
		sum = rules->sum(sum, data, n);
		at += n;
	}
	*ret_sum = sum;
	return 0;
}
