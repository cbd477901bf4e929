/* Resumable uploads: a session that takes the bytes in order, chunk by chunk, and
 * makes the object with the last one. After a break the session is asked how much it
 * has, and only the rest is sent. Its URL is all that it takes to write to it: it is
 * signed once, when the session begins. The session checks the whole by the CRC-32C
 * that it was told at the start, and the condition of the start holds at the end. */
#include "store/gs_upload.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "store/gs_address.h"
#include "store/gs_reply.h"

#define CHUNK ((uint64_t)32 << 20)      /* a multiple of 256 KiB */
#define MAX_SESSIONS 3
#define MAX_IDLE 5                      /* chunks of which nothing was taken */

struct session {
	struct gpc_bucket *bucket;
	const char *key;
	const struct gpc_body *body;
	uint64_t sum;
	struct gpc_url url;
	uint64_t held;                  /* bytes that it has */
	uint64_t end;                   /* of the chunk under way */
	bool done;                      /* the object is there */
	bool ahead;                     /* it has the chunk; the answer was lost */
};

static void session_clear(struct session *s)
{
	gpc_url_clear(&s->url);
}
GPC_CLEANUP_VALUE(session);

static int begin(struct session *s, bool if_absent, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autostr *sum = gpc_gs_sum_text(s->sum);
	gpc_autostr *text = gpc_format("{\"crc32c\":\"%s\"}", sum);
	const char *where;
	int r = gpc_bucket_op_init(&op, s->bucket, "POST",
		"beginning an upload", s->key, err);

	if (r < 0)
		return r;
	gpc_gs_upload_url(&s->bucket->address, "resumable", op.key,
		&op.request.url);
	gpc_pairs_add(&op.request.headers, "content-type", "application/json");
	gpc_pairs_add(&op.request.headers, "x-upload-content-type",
		"application/octet-stream");
	gpc_pairs_setf(&op.request.headers, "x-upload-content-length",
		"%" PRIu64, s->body->size);
	op.request.body = (struct gpc_body){ .data = text,
		.size = strlen(text) };
	if (if_absent)
		r = s->bucket->rules->if_absent(&op.request, err);
	if (r == 0)
		r = gpc_bucket_send(&op, &reply, err);
	if (r < 0)
		return r;
	where = gpc_reply_header(&reply, "location");
	gpc_url_clear(&s->url);
	s->held = 0;
	return where ? gpc_url_parse(where, &s->url, err) :
		gpc_fail(err, GPC_EPROTO,
			"the server began an upload but did not say where");
}

/* A call to the session itself. */
static int session_op(struct gpc_bucket_op *op, struct session *s,
	const char *method, const char *what, struct gpc_error *err)
{
	int r = gpc_bucket_op_init(op, s->bucket, method, what, s->key, err);

	if (r < 0)
		return r;
	gpc_url_clear(&op->request.url);
	gpc_url_copy(&op->request.url, &s->url);
	op->is_open = true;
	op->check = s->body;
	op->sum = s->sum;
	return 0;
}

static int take_answer(struct session *s, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	s->done = reply->status != 308;
	return s->done ? 0 : gpc_gs_held(gpc_reply_header(reply, "range"),
		&s->held, err);
}

static int ask(struct session *s, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	int r = session_op(&op, s, "PUT", "asking for an upload", err);

	if (r < 0)
		return r;
	gpc_pairs_setf(&op.request.headers, "content-range",
		"bytes */%" PRIu64, s->body->size);
	op.request.body = (struct gpc_body){ .data = "" };
	r = gpc_bucket_send(&op, &reply, err);
	return r < 0 ? r : take_answer(s, &reply, err);
}

static void set_chunk(const struct session *s, struct gpc_request *r)
{
	r->body = *s->body;
	if (r->body.data)
		r->body.data = (const char *)r->body.data + s->held;
	r->body.offset += (int64_t)s->held;
	r->body.size = s->end - s->held;
	gpc_pairs_setf(&r->headers, "content-range",
		"bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, s->held, s->end - 1,
		s->body->size);
}

/* Before a chunk is sent again: what of it is there already is left out. */
static int catch_up(void *arg, struct gpc_request *r, struct gpc_error *err)
{
	struct session *s = arg;
	int q = ask(s, err);

	if (q < 0)
		return q;
	s->ahead = s->done || s->held >= s->end;
	if (s->ahead)
		return gpc_fail(err, GPC_ECANCELED, "nothing is left to send");
	set_chunk(s, r);
	return 0;
}

static int send_chunk(struct session *s, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	struct gpc_error why;
	int r = session_op(&op, s, "PUT", "uploading a chunk", err);

	if (r < 0)
		return r;
	s->end = s->body->size - s->held > CHUNK ? s->held + CHUNK :
		s->body->size;
	s->ahead = false;
	set_chunk(s, &op.request);
	op.again = catch_up;
	op.arg = s;
	r = gpc_bucket_send(&op, &reply, &why);
	if (s->ahead)
		return 0;
	if (r == 0)
		return take_answer(s, &reply, err);
	if (err)
		*err = why;
	return r;
}

static int send_all(struct session *s, struct gpc_error *err)
{
	int r = 0, idle = 0;

	while (r == 0 && !s->done) {
		uint64_t before = s->held;

		r = before < s->body->size ? send_chunk(s, err) : ask(s, err);
		idle = s->held > before ? 0 : idle + 1;
		if (r == 0 && !s->done && (idle > MAX_IDLE ||
			s->held > s->body->size))
			return gpc_fail(err, GPC_EPROTO, "an upload does not go "
				"on: the server has %" PRIu64 " of %" PRIu64
				" bytes", s->held, s->body->size);
	}
	return r;
}

/* Best effort: a session ends by itself after a week, and costs nothing. */
static void give_up(struct session *s)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	struct gpc_error err;

	if (s->url.host && session_op(&op, s, "DELETE", "dropping an upload",
		&err) == 0 && gpc_bucket_send(&op, &reply, &err) < 0)
		gpc_log(s->bucket->store->log, GPC_VERBOSE,
			"an upload of %s was not dropped: %s", s->key, err.msg);
}

int gpc_gs_upload(struct gpc_store *store, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err)
{
	gpc_auto(session) struct session s = { .bucket = store->state,
		.key = key, .body = body };
	int r = gpc_bucket_sum(s.bucket->rules, body, NULL, NULL, &s.sum, err);
	int n = 0;

	if (r < 0)
		return r;
	do {
		r = begin(&s, if_absent, err);
		/* the session before may have ended well, unheard */
		if (r == -GPC_ECONFLICT && n > 0 &&
			gpc_bucket_holds(store, key, body))
			return 0;
		if (r < 0)
			return r;
		r = send_all(&s, err);
	} while (r == -GPC_ENOTFOUND && ++n < MAX_SESSIONS);
	if (r < 0)
		give_up(&s);
	return r;
}
