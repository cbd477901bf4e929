/* The beginning of an upload in parts (CreateMultipartUpload). Asked again because its
 * answer was lost, it begins another one: the first, whose parts nobody can send, would
 * stay and cost. It is found by its key, its time and its having no parts. */
#include <string.h>

#include "base/encode.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/xml.h"
#include "store/bucket_error.h"
#include "store/objects_task.h"

#define SLACK_MS 2000                   /* of dates that are whole seconds */
#define MAX_LOST 16
#define SWEEP_TRIES 2

struct begin {
	struct gpc_objects_task t;
	char *storage_class;            /* or NULL */
	bool asks;                      /* for sums of parts */
	bool repeated;                  /* a try of it was */
	char *whole;                    /* the key with its bucket's prefix */
	int64_t began_ms;               /* by the boot clock */
	int r;                          /* of the beginning; t.why when it failed */
	struct gpc_strv lost;           /* uploads that nobody knows */
	size_t at;                      /* of them */
};

static void clear(struct gpc_objects_task *t)
{
	struct begin *b = (struct begin *)t;

	gpc_strv_clear(&b->lost);
	free(b->whole);
	free(b->storage_class);
}

static void end(struct begin *b)
{
	gpc_objects_task_end(&b->t, b->r, &b->t.why);
}

/* --- uploads that were lost ---------------------------------------------------- */

static void give_up(struct begin *b, const char *why)
{
	gpc_log(b->t.bucket->store->log, GPC_WARN, "an upload in parts that was "
		"begun twice may stay in bucket %s (%s): %s",
		b->t.bucket->address.bucket, b->t.what, why);
	end(b);
}

static int upload_op(struct begin *b, const char *method, struct gpc_error *err)
{
	int r = gpc_objects_task_op(&b->t, method, b->t.key, err);

	if (r < 0)
		return r;
	gpc_pairs_add(&b->t.op.request.url.query, "uploadId",
		b->lost.v[b->at]);
	if (b->t.bucket->rules->parts)
		b->t.bucket->rules->parts(&b->t.op);
	b->t.op.max_tries = SWEEP_TRIES;
	return 0;
}

static void look_at_next(struct begin *b);

static void dropped(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct begin *b = arg;

	(void)reply;
	if (r < 0 && r != -GPC_ENOTFOUND) {
		give_up(b, err->msg);
		return;
	}
	b->at++;
	look_at_next(b);
}

/* One that has parts is somebody else's. */
static void looked_at(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct begin *b = arg;
	gpc_autoptr(gpc_xml) *root = NULL;
	struct gpc_error own;

	(void)err;
	if (r < 0 || gpc_bucket_xml(reply, &root, NULL) < 0 ||
		gpc_xml_get(root, "Part")) {
		b->at++;
		look_at_next(b);
		return;
	}
	r = upload_op(b, "DELETE", &own);
	if (r == 0)
		r = gpc_objects_task_send(&b->t, dropped, &own);
	if (r < 0)
		give_up(b, own.msg);
}

static void look_at_next(struct begin *b)
{
	struct gpc_error own;
	int r;

	if (b->at >= b->lost.n) {
		end(b);
		return;
	}
	r = upload_op(b, "GET", &own);
	if (r == 0)
		r = gpc_objects_task_send(&b->t, looked_at, &own);
	if (r < 0)
		give_up(b, own.msg);
}

static bool is_lost(const struct begin *b, const struct gpc_xml *x, bool encoded,
	int64_t since_ms)
{
	gpc_auto(gpc_buf) struct gpc_buf key = {0};
	const char *text = gpc_xml_text(x, "Key"), *id = gpc_xml_text(x, "UploadId");
	int64_t begun_ms;

	if (encoded && gpc_percent_decode(text, strlen(text), true, &key, NULL) < 0)
		return false;
	if (!encoded)
		gpc_buf_adds(&key, text);
	return gpc_eq(gpc_buf_str(&key), b->whole) && *id &&
		!gpc_eq(id, gpc_objects_upload_id(b->t.text, NULL)) &&
		gpc_parse_rfc3339(gpc_xml_text(x, "Initiated"), &begun_ms,
			NULL) == 0 && begun_ms >= since_ms;
}

static void listed(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct begin *b = arg;
	gpc_autoptr(gpc_xml) *root = NULL;
	struct gpc_error own;
	const struct gpc_xml *x;
	int64_t since_ms;
	bool encoded;

	if (r == 0) {
		r = gpc_xml_parse(gpc_buf_str(&reply->body), reply->body.len, &root,
			&own);
		err = &own;
	}
	if (r < 0 || !reply->date_ms) {
		give_up(b, r < 0 ? err->msg : "the server tells no time");
		return;
	}
	since_ms = reply->date_ms - (gpc_boot_ms() - b->began_ms) - SLACK_MS;
	encoded = gpc_eq(gpc_xml_text(root, "EncodingType"), "url");
	for (x = gpc_xml_get(root, "Upload"); x && b->lost.n < MAX_LOST;
		x = gpc_xml_again(x))
		if (is_lost(b, x, encoded, since_ms))
			gpc_strv_add(&b->lost, gpc_xml_text(x, "UploadId"));
	look_at_next(b);
}

static void sweep(struct begin *b)
{
	struct gpc_error own;
	struct gpc_pairs *query;
	int r = gpc_objects_task_op(&b->t, "GET", NULL, &own);

	if (r < 0) {
		give_up(b, own.msg);
		return;
	}
	query = &b->t.op.request.url.query;
	gpc_pairs_add(query, "uploads", "");
	gpc_pairs_add(query, "prefix", b->whole);
	gpc_pairs_add(query, "encoding-type", "url");
	if (b->t.bucket->rules->parts)
		b->t.bucket->rules->parts(&b->t.op);
	b->t.op.max_tries = SWEEP_TRIES;
	r = gpc_objects_task_send(&b->t, listed, &own);
	if (r < 0)
		give_up(b, own.msg);
}

/* --- the beginning --------------------------------------------------------------- */

#define SUMMED "sums:"

/* Whoever goes on with an upload has to know how it was begun: its name tells. */
static char *name_of(const char *id, bool summed)
{
	return gpc_format("%s%s", summed ? SUMMED : "", id);
}

const char *gpc_objects_upload_id(const char *upload, bool *ret_summed)
{
	bool summed = upload && gpc_starts_with(upload, SUMMED);

	if (ret_summed)
		*ret_summed = summed;
	return summed ? upload + strlen(SUMMED) : upload;
}

static int read_id(struct begin *b, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = b->t.bucket->rules;
	bool summed = b->asks && rules->grants_sums(reply);
	gpc_autoptr(gpc_xml) *root = NULL;
	int r = gpc_bucket_xml(reply, &root, err);
	const char *id;

	if (r < 0)
		return gpc_wrap(err, r, "%s", b->t.what);
	id = gpc_xml_text(root, "UploadId");
	if (!*id || gpc_starts_with(id, SUMMED))
		return gpc_fail(err, GPC_EPROTO, "%s: the server began an upload "
			"but did not name it", b->t.what);
	b->t.text = name_of(id, summed);
	if (gpc_bucket_op_may_tell(&b->t.op) && !summed)
		atomic_store(&b->t.bucket->has_no_sums, true);
	return 0;
}

static void go_without_sums(struct begin *b);

/* Stand-ins for Cloud Storage mostly have its JSON API alone. */
static int explain(struct begin *b, int r, struct gpc_error *err)
{
	const struct gpc_bucket *k = b->t.bucket;

	gpc_objects_explain(k, b->storage_class != NULL, err);
	if (!k->rules->parts || !k->address.custom || (err->http != 404 &&
		err->http != 405 && err->http != 501) || r == -GPC_ECONFIG)
		return r;
	return gpc_fail(err, GPC_EUNSUPPORTED, "%s: the server has no uploads in "
		"parts (the XML API of Cloud Storage)", b->t.what);
}

static void begun(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct begin *b = arg;

	b->repeated |= reply->tries > 1;
	if (r < 0 && b->asks && (err->http == 400 || err->http == 501)) {
		go_without_sums(b);
		return;
	}
	if (r == 0) {
		r = read_id(b, reply, &b->t.why);
	} else {
		b->t.why = *err;
		r = explain(b, r, &b->t.why);
	}
	b->r = r;
	if (b->repeated && r != -GPC_ECANCELED && r != -GPC_EUNSUPPORTED)
		sweep(b);
	else
		end(b);
}

static int start(struct begin *b, struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = b->t.bucket->rules;
	struct gpc_bucket_op *op = &b->t.op;
	int r = gpc_objects_task_op(&b->t, "POST", b->t.key, err);

	if (r < 0)
		return r;
	gpc_set_str(&b->whole, op->key);
	gpc_pairs_add(&op->request.url.query, "uploads", "");
	gpc_pairs_add(&op->request.headers, "content-type",
		"application/octet-stream");
	if (b->storage_class)
		gpc_pairs_add(&op->request.headers, rules->storage_class,
			b->storage_class);
	b->asks = b->asks && gpc_bucket_op_may_tell(op);
	if (b->asks)
		rules->ask_for_sums(&op->request);
	if (rules->parts)
		rules->parts(op);
	return gpc_objects_task_send(&b->t, begun, err);
}

/* Servers that are not Amazon's may refuse what they do not know. */
static void go_without_sums(struct begin *b)
{
	struct gpc_error own = {0};

	b->asks = false;
	gpc_objects_task_went_on(&b->t, start(b, &own), &own);
}

int gpc_objects_begin(struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, const struct gpc_object_options *options,
	gpc_object_done_fn *done, void *arg, struct gpc_error *err)
{
	struct begin *b;
	int r;

	if (options && options->if_absent && o->bucket->rules->parts_overwrite) {
		r = gpc_fail(err, GPC_EUNSUPPORTED, "an upload in parts to Cloud "
			"Storage replaces what is there: it has no if-absent");
		gpc_hint(err, "put the object in one request");
		return r;
	}
	r = gpc_objects_task_new(o, loop, sizeof(*b), "beginning an upload of", key,
		done, arg, &b, err);
	if (r < 0)
		return r;
	b->t.clear = clear;
	b->storage_class = gpc_strdup(options ? options->storage_class : NULL);
	b->asks = !atomic_load(&o->bucket->has_no_sums);
	b->began_ms = gpc_boot_ms();
	return gpc_objects_task_started(&b->t, start(b, err));
}
