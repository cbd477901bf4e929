/* The end of an upload in parts (CompleteMultipartUpload), which makes the object. Its
 * answer may be lost, or be an error with status 200: then what is there decides, by
 * its size, its checksum, and its ETag where that is the MD5 of the parts' MD5s, as S3
 * makes it. */
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "dep/crypto.h"
#include "dep/xml.h"
#include "store/bucket_error.h"
#include "store/objects_task.h"

struct ending {
	struct gpc_objects_task t;
	struct gpc_buf xml;
	struct gpc_body body;
	bool if_absent;
	uint64_t size, sum;             /* of the whole */
	char *etag;                     /* that it should have; NULL: not known */
};

static void clear(struct gpc_objects_task *t)
{
	struct ending *e = (struct ending *)t;

	gpc_buf_clear(&e->xml);
	free(e->etag);
}

static void list_parts(const struct gpc_bucket_rules *rules,
	const struct gpc_object_part *parts, int n, struct gpc_buf *b)
{
	if (rules->parts_xmlns)
		gpc_buf_addf(b, "<CompleteMultipartUpload xmlns=\"%s\">",
			rules->parts_xmlns);
	else
		gpc_buf_adds(b, "<CompleteMultipartUpload>");
	for (int i = 0; i < n; i++) {
		gpc_buf_addf(b, "<Part><PartNumber>%d</PartNumber><ETag>", i + 1);
		gpc_xml_add_text(b, parts[i].etag);
		gpc_buf_adds(b, "</ETag></Part>");
	}
	gpc_buf_adds(b, "</CompleteMultipartUpload>");
}

static void sum_up(struct ending *e, const struct gpc_object_part *parts, int n)
{
	const struct gpc_bucket_rules *rules = e->t.bucket->rules;

	for (int i = 0; i < n; i++) {
		e->size += parts[i].size;
		if (rules->sum && rules->join)
			e->sum = rules->join(e->sum, parts[i].sum, parts[i].size);
	}
}

/* "\"HEX-N\"" of parts whose ETags are MD5s. */
static char *etag_of(const struct gpc_object_part *parts, int n)
{
	gpc_autoptr(gpc_md5) *h = NULL;
	uint8_t sum[GPC_MD5_SIZE];
	char hex[2 * GPC_MD5_SIZE + 1];

	if (gpc_md5_new(&h, NULL) < 0)
		return NULL;
	for (int i = 0; i < n; i++) {
		const char *p = parts[i].etag + (parts[i].etag[0] == '"');

		if (strspn(p, "0123456789abcdefABCDEF") != 2 * GPC_MD5_SIZE)
			return NULL;
		for (size_t k = 0; k < 2 * GPC_MD5_SIZE; k++)
			hex[k] = (char)(p[k] >= 'A' && p[k] <= 'F' ?
				p[k] + ('a' - 'A') : p[k]);
		hex[2 * GPC_MD5_SIZE] = '\0';
		if (!gpc_unhex(hex, sum, sizeof(sum)))
			return NULL;
		gpc_md5_add(h, sum, sizeof(sum));
	}
	gpc_md5_end(h, sum);
	gpc_hex(sum, sizeof(sum), hex);
	return gpc_format("\"%s-%d\"", hex, n);
}

/* --- what is there ------------------------------------------------------------- */

/* The same checksum is the same object, unless one was there before whose bytes are
 * the same too: then the ETag decides. Else it says something only where it has the form
 * that parts give; objects with a key of KMS have that form, but no MD5s in it. */
static bool is_ours(const struct ending *e, const struct gpc_object_info *i)
{
	bool tells = e->etag && i->version && strchr(i->version, '-') &&
		strlen(i->version) == strlen(e->etag);

	if (i->size != e->size || (i->has_sum && e->t.bucket->rules->join &&
		i->sum != e->sum))
		return false;
	if (i->has_sum && e->t.bucket->rules->join && e->t.why.code != GPC_ECONFLICT)
		return true;
	if (tells)
		return strcasecmp(i->version, e->etag) == 0;
	return i->has_sum || e->t.why.code != GPC_ECONFLICT;
}

static void looked(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct ending *e = arg;

	(void)err;
	r = r == 0 && is_ours(e, &result->info) ? 0 : -(int)e->t.why.code;
	gpc_objects_task_end(&e->t, r, &e->t.why);
}

static void look(struct ending *e)
{
	const struct gpc_objects o = { .bucket = e->t.bucket };
	struct gpc_error own;
	int r = gpc_objects_look(&o, e->t.loop, e->t.key, looked, e, &own);

	gpc_objects_task_went_on(&e->t, r, &own);
}

/* --- the end -------------------------------------------------------------------- */

/* A success without its words is none yet. */
static int check_words(const struct ending *e, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *root = NULL;

	if (gpc_bucket_xml(reply, &root, NULL) == 0 &&
		gpc_eq(root->name, "CompleteMultipartUploadResult"))
		return 0;
	return gpc_fail(err, GPC_ENET, "%s: the server does not say that the object "
		"is there", e->t.what);
}

static void ended(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct ending *e = arg;
	const struct gpc_bucket_rules *rules = e->t.bucket->rules;
	bool unclear;

	if (r < 0) {
		/* a repeat of what had worked finds no upload, or its own object */
		unclear = reply->tries > 1 &&
			(r == -GPC_ENOTFOUND || r == -GPC_ECONFLICT);
		e->t.why = *err;
	} else {
		r = check_words(e, reply, &e->t.why);
		unclear = r < 0;
		gpc_net_name_request(reply, &e->t.why);
	}
	if (unclear) {
		look(e);
		return;
	}
	if (r == 0 && e->if_absent && rules->kept)
		r = rules->kept(reply, &e->t.why);
	gpc_objects_task_end(&e->t, r, &e->t.why);
}

static int start(struct ending *e, const char *upload, struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = e->t.bucket->rules;
	struct gpc_bucket_op *op = &e->t.op;
	int r = gpc_objects_task_op(&e->t, "POST", e->t.key, err);

	if (r < 0)
		return r;
	gpc_pairs_add(&op->request.url.query, "uploadId",
		gpc_objects_upload_id(upload, &op->tells));
	gpc_pairs_add(&op->request.headers, "content-type", "application/xml");
	e->body = (struct gpc_body){ .data = gpc_buf_str(&e->xml), .fd = -1,
		.size = e->xml.len };
	op->request.body = e->body;
	if (rules->join) {
		op->check = &e->body;
		op->sum = e->sum;
	}
	if (rules->parts)
		rules->parts(op);
	if (e->if_absent)
		r = rules->if_absent(&op->request, err);
	return r < 0 ? r : gpc_objects_task_send(&e->t, ended, err);
}

int gpc_objects_end(struct gpc_objects *o, struct gpc_net_loop *loop, const char *key,
	const char *upload, const struct gpc_object_part *parts, int n,
	const struct gpc_object_options *options, gpc_object_done_fn *done, void *arg,
	struct gpc_error *err)
{
	struct ending *e;
	int r;

	if (n < 1 || n > GPC_OBJECT_PARTS)
		return gpc_fail(err, GPC_EPROTO, "an upload has 1 to %d parts, not "
			"%d", GPC_OBJECT_PARTS, n);
	if (options && options->if_absent && o->bucket->rules->parts_overwrite)
		return gpc_fail(err, GPC_EUNSUPPORTED, "an upload in parts to Cloud "
			"Storage replaces what is there: it has no if-absent");
	r = gpc_objects_task_new(o, loop, sizeof(*e), "ending an upload of", key,
		done, arg, &e, err);
	if (r < 0)
		return r;
	e->t.clear = clear;
	e->if_absent = options && options->if_absent;
	e->etag = etag_of(parts, n);
	list_parts(o->bucket->rules, parts, n, &e->xml);
	sum_up(e, parts, n);
	return gpc_objects_task_started(&e->t, start(e, upload, err));
}
