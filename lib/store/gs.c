/* gs://: Google Cloud Storage by its JSON API.
 *
 * Objects are immutable versions, "generations": if-absent is ifGenerationMatch=0, and
 * a download goes on from the generation that it began with. A put brings the CRC-32C
 * of its bytes, which the service checks before it takes them; above 32 MiB it is a
 * resumable upload. STORAGE_EMULATOR_HOST leads to a server for tests, unsigned, as
 * Google's own libraries have it. */
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/str.h"
#include "store/bucket.h"
#include "store/gs_address.h"
#include "store/gs_reply.h"
#include "store/gs_upload.h"

static int settle(struct gpc_bucket *b, struct gpc_error *err)
{
	const char *emulator = getenv("STORAGE_EMULATOR_HOST");
	gpc_autostr *url = NULL;

	if (b->address.custom)
		return 0;
	if (emulator && *emulator) {
		b->anonymous = true;
		url = gpc_format("%s%s", strstr(emulator, "://") ? "" :
			"http://", emulator);
	} else {
		url = gpc_creds_setting(b->creds, "storage", "endpoint_url");
	}
	return url ? gpc_bucket_address_endpoint(&b->address, &gpc_gs_form, url,
		"the environment or configuration", err) : 0;
}

static int sign(const struct gpc_bucket_op *op, const struct gpc_identity *i,
	int64_t now_ms, struct gpc_request *r, struct gpc_error *err)
{
	(void)op;
	(void)now_ms;
	if (!i->bearer)
		return gpc_fail(err, GPC_EAUTH,
			"the credentials of Google hold no access token");
	gpc_pairs_setf(&r->headers, "authorization", "Bearer %s", i->bearer);
	if (i->quota_project)
		gpc_pairs_set(&r->headers, "x-goog-user-project",
			i->quota_project);
	return 0;
}

static enum gpc_net_verdict judge(const struct gpc_bucket_op *op,
	const struct gpc_reply *reply, char **ret_region, struct gpc_error *err)
{
	bool of_bucket = !op->is_xml && (!op->key ||
		gpc_eq(op->request.method, "POST"));

	(void)ret_region;
	return gpc_gs_judge(reply, op->what, op->bucket->address.bucket,
		of_bucket, err);
}

static void read_media(struct gpc_request *r, bool whole)
{
	(void)whole;
	gpc_pairs_set(&r->url.query, "alt", "media");
}

static void look(struct gpc_request *r)
{
	gpc_pairs_set(&r->url.query, "fields",
		"size,updated,generation,storageClass,crc32c");
}

static void pin(struct gpc_request *r, const char *generation)
{
	gpc_pairs_set(&r->url.query, "ifGenerationMatch", generation);
}

static uint64_t add_sum(uint64_t sum, const void *data, size_t n)
{
	return gpc_crc32c((uint32_t)sum, data, n);
}

static uint64_t join_sums(uint64_t a, uint64_t b, uint64_t n_b)
{
	return gpc_crc32c_join((uint32_t)a, (uint32_t)b, n_b);
}

/* The JSON API takes a storage class only in front of the bytes, in a body of two
 * parts; the XML API has a header for it. */
static void write_media(struct gpc_bucket_op *op, const char *storage_class)
{
	op->is_xml = storage_class != NULL;
	op->request.method = op->is_xml ? "PUT" : "POST";
	if (op->is_xml)
		gpc_gs_xml_url(&op->bucket->address, op->key, &op->request.url);
	else
		gpc_gs_upload_url(&op->bucket->address, "media", op->key,
			&op->request.url);
	op->tells = true;
}

static void tell_sum(const struct gpc_bucket_op *op, struct gpc_request *r)
{
	gpc_autostr *sum = gpc_gs_sum_text(op->sum);

	gpc_pairs_setf(&r->headers, "x-goog-hash", "crc32c=%s", sum);
}

static int if_absent(struct gpc_request *r, struct gpc_error *err)
{
	(void)err;
	if (gpc_pairs_has(&r->url.query, "uploadType"))
		gpc_pairs_set(&r->url.query, "ifGenerationMatch", "0");
	else
		gpc_pairs_set(&r->headers, "x-goog-if-generation-match", "0");
	return 0;
}

/* startOffset is inclusive: the reader of the page leaves it out. */
static void ask_page(struct gpc_request *r, const struct gpc_bucket_page *p)
{
	struct gpc_pairs *query = &r->url.query;

	gpc_pairs_add(query, "fields", p->all ? "kind,items(name,size,updated,"
		"generation,storageClass,crc32c),prefixes,nextPageToken" :
		"kind,items(name,size,updated),nextPageToken");
	gpc_pairs_add(query, "maxResults", "1000");
	if (p->delimiter)
		gpc_pairs_add(query, "delimiter", p->delimiter);
	if (*p->prefix)
		gpc_pairs_add(query, "prefix", p->prefix);
	if (p->after)
		gpc_pairs_add(query, "startOffset", p->after);
	if (p->token)
		gpc_pairs_add(query, "pageToken", p->token);
}

/* Only the XML API has uploads in parts. */
static void use_xml(struct gpc_bucket_op *op)
{
	op->is_xml = true;
	gpc_gs_xml_url(&op->bucket->address, op->key, &op->request.url);
	op->tells = gpc_pairs_has(&op->request.url.query, "partNumber");
}

static const struct gpc_bucket_rules rules = {
	.form = &gpc_gs_form,
	.cloud = GPC_CLOUD_GCP,
	.settle = settle,
	.url = gpc_gs_address_url,
	.sign = sign,
	.judge = judge,
	.reads = read_media,
	.looks = look,
	.describes = gpc_gs_describe,
	.version = "x-goog-generation",
	.storage_class = "x-goog-storage-class",
	.storage_words = "STANDARD, NEARLINE, COLDLINE, ARCHIVE",
	.pin = pin,
	.sum = add_sum,
	.told = gpc_gs_told_sum,
	.join = join_sums,
	.tell = tell_sum,
	.writes = write_media,
	.puts_large = gpc_gs_upload,
	.if_absent = if_absent,
	.parts_xmlns = "http://s3.amazonaws.com/doc/2006-03-01/",
	.parts = use_xml,
	.parts_overwrite = true,
	.asks_page = ask_page,
	.reads_page = gpc_gs_read_page,
};

static int gs_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	(void)flags;
	return gpc_bucket_open(s, &rules, where, err);
}

static const char *const identity[] = { "GOOGLE_", "GCLOUD_", "CLOUDSDK_",
	"STORAGE_EMULATOR_HOST", NULL };

const struct gpc_store_ops gpc_store_gs = {
	.scheme = "gs",
	.identity = identity,
	.bucket = &rules,
	.state_size = sizeof(struct gpc_bucket),
	.open = gs_open,
	.close = gpc_bucket_close,
	.get = gpc_bucket_get,
	.put = gpc_bucket_put,
	.head = gpc_bucket_head,
	.list = gpc_bucket_list,
	.del = gpc_bucket_del,
	.del_many = gpc_bucket_del_many,
};
