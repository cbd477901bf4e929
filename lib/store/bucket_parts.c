/* CreateMultipartUpload, UploadPart, CompleteMultipartUpload (S3 REST API
 * 2006-03-01, which OSS shares). Parts are sent from one event loop and read from
 * their place when they are sent, so memory does not grow with the body. The answer
 * to Complete may be lost, or be an error with status 200: what is there then
 * decides. */
#include "store/bucket_parts.h"

#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "dep/xml.h"

#define PART_SIZE ((uint64_t)16 << 20)
#define MAX_PARTS 10000                 /* of the service */
#define AT_ONCE 6
#define ETAG_MAX 256
#define SLICE_MS 200

struct part {
	struct upload *upload;
	int number;                     /* from 1 */
	struct gpc_body body;
	uint64_t sum;                   /* of it, where the service has one */
	struct gpc_bucket_op op;
	char *etag;
};

struct upload {
	struct gpc_store *store;
	struct gpc_bucket *bucket;
	const char *key;
	const struct gpc_body *body;
	char *id;
	uint64_t part_size;
	int n_parts, started, done;
	struct part *parts;
	struct gpc_net_loop *loop;
	int failed;                     /* 0 or the first failure */
	struct gpc_error why;
};

static void upload_clear(struct upload *u)
{
	gpc_net_loop_free(u->loop);     /* before what its calls borrow */
	for (int i = 0; u->parts && i < u->n_parts; i++) {
		gpc_bucket_op_clear(&u->parts[i].op);
		free(u->parts[i].etag);
	}
	free(u->parts);
	free(u->id);
	memset(u, 0, sizeof(*u));
}
GPC_CLEANUP_VALUE(upload);

static int begin(struct upload *u, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autoptr(gpc_xml) *root = NULL;
	int r = gpc_bucket_op_init(&op, u->bucket, "POST", "beginning an upload", u->key,
		err);

	if (r < 0)
		return r;
	gpc_pairs_add(&op.request.url.query, "uploads", "");
	r = gpc_bucket_send(&op, &reply, err);
	if (r < 0)
		return r;
	r = gpc_xml_parse(gpc_buf_str(&reply.body), reply.body.len, &root, err);
	if (r < 0)
		return gpc_wrap(err, r, "beginning an upload");
	u->id = gpc_strdup(gpc_xml_text(root, "UploadId"));
	if (!*u->id)
		return gpc_fail(err, GPC_EPROTO,
			"the server began an upload but did not name it");
	return 0;
}

static void part_done(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct part *p = arg;
	const char *etag = r == 0 ? gpc_reply_header(reply, "etag") : NULL;

	p->upload->done++;
	if (etag && *etag && strlen(etag) <= ETAG_MAX) {
		p->etag = gpc_strdup(etag);
	} else if (!p->upload->failed) {
		p->upload->failed = r < 0 ? r : gpc_fail(&p->upload->why,
			GPC_EPROTO, "the server took a part without an ETag");
		if (r < 0)
			p->upload->why = *err;
	}
	gpc_bucket_op_clear(&p->op);
}

static int start_part(struct upload *u, int i, struct gpc_error *err)
{
	struct part *p = &u->parts[i];
	uint64_t at = (uint64_t)i * u->part_size;
	uint64_t left = u->body->size - at;
	struct gpc_call call;
	int r;

	p->upload = u;
	p->number = i + 1;
	p->body = *u->body;
	if (p->body.data)
		p->body.data = (const char *)p->body.data + at;
	p->body.offset += (int64_t)at;
	p->body.size = left < u->part_size ? left : u->part_size;
	r = gpc_bucket_op_init(&p->op, u->bucket, "PUT", "uploading a part", u->key, err);
	if (r < 0)
		return r;
	gpc_pairs_setf(&p->op.request.url.query, "partNumber", "%d", p->number);
	gpc_pairs_add(&p->op.request.url.query, "uploadId", u->id);
	p->op.request.body = p->body;
	r = gpc_bucket_op_check(&p->op, &p->body, err);
	if (r < 0)
		return r;
	p->sum = p->op.sum;
	call = gpc_bucket_op_call(&p->op);
	return gpc_net_loop_start(u->loop, &call, part_done, p, err);
}

static int send_parts(struct upload *u, struct gpc_error *err)
{
	int r = 0, running;

	while (r == 0 && !u->failed && u->done < u->n_parts) {
		while (r == 0 && u->started < u->n_parts &&
			u->started - u->done < AT_ONCE)
			r = start_part(u, u->started++, err);
		if (r == 0)
			r = gpc_net_loop_run(u->loop, SLICE_MS, &running, err);
	}
	if (r == 0 && u->failed) {
		r = u->failed;
		if (err)
			*err = u->why;
	}
	return r;
}

static void add_text(struct gpc_buf *b, const char *text)
{
	for (const char *p = text; *p; p++)
		switch (*p) {
		case '&': gpc_buf_adds(b, "&amp;"); break;
		case '<': gpc_buf_adds(b, "&lt;"); break;
		case '>': gpc_buf_adds(b, "&gt;"); break;
		case '"': gpc_buf_adds(b, "&quot;"); break;
		default: gpc_buf_addc(b, *p);
		}
}

static void list_parts(const struct upload *u, struct gpc_buf *b)
{
	const char *xmlns = u->bucket->rules->parts_xmlns;

	if (xmlns)
		gpc_buf_addf(b, "<CompleteMultipartUpload xmlns=\"%s\">", xmlns);
	else
		gpc_buf_adds(b, "<CompleteMultipartUpload>");
	for (int i = 0; i < u->n_parts; i++) {
		gpc_buf_addf(b, "<Part><PartNumber>%d</PartNumber><ETag>", i + 1);
		add_text(b, u->parts[i].etag);
		gpc_buf_adds(b, "</ETag></Part>");
	}
	gpc_buf_adds(b, "</CompleteMultipartUpload>");
}

static uint64_t whole_sum(const struct upload *u)
{
	uint64_t sum = 0;

	for (int i = 0; u->bucket->rules->join && i < u->n_parts; i++)
		sum = u->bucket->rules->join(sum, u->parts[i].sum,
			u->parts[i].body.size);
	return sum;
}

/* After an unclear end, when the upload is no longer known: an object of this size
 * and sum is ours. */
static int look(struct upload *u, struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = u->bucket->rules;
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	int64_t size = -1;
	uint64_t sum;
	int r = gpc_bucket_op_init(&op, u->bucket, "HEAD",
		"looking for an upload", u->key, err);

	if (r == 0)
		r = gpc_bucket_send(&op, &reply, err);
	if (r == 0)
		r = gpc_parse_i64(gpc_reply_header(&reply, "content-length"), 0,
			INT64_MAX, "content-length", &size, err);
	if (r < 0)
		return r;
	if ((uint64_t)size != u->body->size || (rules->sum &&
		rules->told(&reply, &sum) && sum != whole_sum(u)))
		return gpc_fail(err, GPC_ENET, "ending an upload: another object "
			"took its place");
	return 0;
}

/* A repeat of what had worked finds no upload, or its own object. */
static bool was_done(struct upload *u, int r)
{
	struct gpc_error err;

	if (r == -GPC_ENOTFOUND)
		return look(u, &err) == 0;
	return r == -GPC_ECONFLICT &&
		gpc_bucket_holds(u->store, u->key, u->body);
}

static int finish(struct upload *u, bool if_absent, struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = u->bucket->rules;
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_auto(gpc_buf) struct gpc_buf xml = {0};
	int r = gpc_bucket_op_init(&op, u->bucket, "POST", "ending an upload",
		u->key, err);

	if (r < 0)
		return r;
	list_parts(u, &xml);
	gpc_pairs_add(&op.request.url.query, "uploadId", u->id);
	gpc_pairs_add(&op.request.headers, "content-type", "application/xml");
	op.request.body = (struct gpc_body){ .data = gpc_buf_str(&xml),
		.size = xml.len };
	op.check = u->body;
	op.sum = whole_sum(u);
	if (if_absent)
		r = rules->if_absent(&op.request, err);
	if (r == 0)
		r = gpc_bucket_send(&op, &reply, err);
	if (r < 0 && reply.tries > 1 && was_done(u, r))
		return 0;
	return r == 0 && if_absent && rules->kept ? rules->kept(&reply, err) : r;
}

static void give_up(struct upload *u)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	struct gpc_error err;
	int r = gpc_bucket_op_init(&op, u->bucket, "DELETE", "dropping an upload",
		u->key, &err);

	if (r == 0) {
		gpc_pairs_add(&op.request.url.query, "uploadId", u->id);
		r = gpc_bucket_send(&op, &reply, &err);
	}
	if (r < 0 && r != -GPC_ENOTFOUND)
		gpc_log(u->store->log, GPC_WARN,
			"parts of %s may stay in bucket %s: %s", u->key,
			u->bucket->address.bucket, err.msg);
}

int gpc_bucket_put_parts(struct gpc_store *s, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err)
{
	gpc_auto(upload) struct upload u = { .store = s, .bucket = s->state,
		.key = key, .body = body };
	uint64_t least = (body->size + MAX_PARTS - 1) / MAX_PARTS;
	int r;

	u.part_size = least > PART_SIZE ? least : PART_SIZE;
	u.n_parts = (int)((body->size + u.part_size - 1) / u.part_size);
	u.parts = gpc_array((size_t)u.n_parts, sizeof(*u.parts));
	r = begin(&u, err);
	if (r < 0)
		return r;
	u.loop = gpc_net_loop_new(u.bucket->net);
	r = send_parts(&u, err);
	if (r == 0)
		r = finish(&u, if_absent, err);
	if (r < 0) {
		gpc_net_loop_free(u.loop);      /* nothing is sent any more */
		u.loop = NULL;
		give_up(&u);
	}
	return r;
}
