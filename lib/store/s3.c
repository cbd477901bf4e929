/* s3://: Amazon S3 and servers that speak its API (REST API 2006-03-01).
 *
 * A put is one request, or parts above 32 MiB; both send the sha256 of what they
 * send, which the server checks before it takes it; over https, to a server that is
 * known to check it, large ones send their CRC-64/NVME instead, which costs a tenth of
 * that. If-absent is `If-None-Match: *`:
 * servers that refuse it are known by their answer, those that ignore it are found
 * out when the store is made (identify.c). */
#include <string.h>

#include "base/crc.h"
#include "base/encode.h"
#include "base/str.h"
#include "net/sign.h"
#include "store/bucket.h"
#include "store/bucket_parts.h"
#include "store/s3_address.h"
#include "store/s3_error.h"

#define IN_XML "<ChecksumCRC64NVME>"
#define SUM "x-amz-checksum-crc64nvme"

static int settle(struct gpc_bucket *b, struct gpc_error *err)
{
	return gpc_s3_address_settle(&b->address, b->creds, err);
}

static int sign(const struct gpc_bucket_op *op, const struct gpc_identity *i,
	int64_t now_ms, struct gpc_request *r, struct gpc_error *err)
{
	return gpc_sign_aws(r, &(struct gpc_sign_aws){
		.keys = { i->id, i->secret, i->token },
		.region = op->signed_region, .service = "s3", .now_ms = now_ms,
		.s3 = true, .unsigned_payload = op->is_unsigned,
	}, err);
}

static enum gpc_net_verdict judge(const struct gpc_bucket_op *op,
	const struct gpc_reply *reply, char **ret_region, struct gpc_error *err)
{
	return gpc_s3_judge(reply, op->what, op->bucket->address.bucket,
		ret_region, err);
}

/* Of a range it would be that of a part. */
static void ask_sum(struct gpc_request *r, bool whole)
{
	if (whole)
		gpc_pairs_add(&r->headers, "x-amz-checksum-mode", "ENABLED");
}

static void look(struct gpc_request *r)
{
	ask_sum(r, true);
}

/* The checksum that the service computes where none is sent; there is no other kind
 * of it than that of the whole, but servers of others may not know. */
static bool told_sum(const struct gpc_reply *reply, uint64_t *ret_sum)
{
	const char *text = gpc_reply_header(reply, SUM);
	const char *kind = gpc_reply_header(reply, "x-amz-checksum-type");
	const char *end;

	if (!text && reply->body.len) { /* the end of an upload in parts */
		text = strstr(reply->body.data, IN_XML);
		end = text ? strchr(text + strlen(IN_XML), '<') : NULL;
		return end && gpc_bucket_read_sum(text + strlen(IN_XML),
			(size_t)(end - text) - strlen(IN_XML), 8, ret_sum);
	}
	return text && reply->status != 206 && !gpc_eq(kind, "COMPOSITE") &&
		gpc_bucket_read_sum(text, strlen(text), 8, ret_sum);
}

/* Of the whole, where it ends an upload in parts. */
static void tell_sum(const struct gpc_bucket_op *op, struct gpc_request *r)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	uint8_t sum[8];

	for (size_t i = 0; i < sizeof(sum); i++)
		sum[i] = (uint8_t)(op->sum >> (56 - 8 * i));
	gpc_base64(&text, sum, sizeof(sum));
	gpc_pairs_set(&r->headers, SUM, gpc_buf_str(&text));
	if (gpc_eq(r->method, "POST"))
		gpc_pairs_set(&r->headers, "x-amz-checksum-type", "FULL_OBJECT");
}

static void ask_for_sums(struct gpc_request *r)
{
	gpc_pairs_add(&r->headers, "x-amz-checksum-algorithm", "CRC64NVME");
	gpc_pairs_add(&r->headers, "x-amz-checksum-type", "FULL_OBJECT");
}

/* Who does not know of it says nothing. */
static bool grants_sums(const struct gpc_reply *reply)
{
	return gpc_eq(gpc_reply_header(reply, "x-amz-checksum-algorithm"),
		"CRC64NVME");
}

static void pin(struct gpc_request *r, const char *etag)
{
	gpc_pairs_set(&r->headers, "if-match", etag);
}

static int if_absent(struct gpc_request *r, struct gpc_error *err)
{
	(void)err;
	gpc_pairs_add(&r->headers, "if-none-match", "*");
	return 0;
}

static void ask_page(struct gpc_request *r, const struct gpc_bucket_page *p)
{
	struct gpc_pairs *query = &r->url.query;

	gpc_pairs_add(query, "list-type", "2");
	gpc_pairs_add(query, "encoding-type", "url");
	gpc_pairs_add(query, "prefix", p->prefix);
	if (p->delimiter)
		gpc_pairs_add(query, "delimiter", p->delimiter);
	if (p->token)
		gpc_pairs_add(query, "continuation-token", p->token);
	else if (p->after)
		gpc_pairs_add(query, "start-after", p->after);
}

static const struct gpc_bucket_rules rules = {
	.form = &gpc_s3_form,
	.cloud = GPC_CLOUD_AWS,
	.region = "us-east-1",
	.settle = settle,
	.url = gpc_s3_address_url,
	.sign = sign,
	.judge = judge,
	.reads = ask_sum,
	.version = "etag",
	.storage_class = "x-amz-storage-class",
	.storage_words = "STANDARD, STANDARD_IA, ONEZONE_IA, INTELLIGENT_TIERING, "
		"GLACIER_IR, GLACIER, DEEP_ARCHIVE",
	.looks = look,
	.heads_are_mute = true,
	.pin = pin,
	.signs_body = true,
	.sum = gpc_crc64nvme,
	.told = told_sum,
	.join = gpc_crc64nvme_join,
	.tell = tell_sum,
	.ask_for_sums = ask_for_sums,
	.grants_sums = grants_sums,
	.puts_large = gpc_bucket_put_parts,
	.if_absent = if_absent,
	.parts_xmlns = "http://s3.amazonaws.com/doc/2006-03-01/",
	.deletes_many = true,
	.asks_page = ask_page,
	.before_token = "<NextContinuationToken>",
	.reads_page = gpc_bucket_read_xml,
};

static int s3_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	(void)flags;
	return gpc_bucket_open(s, &rules, where, err);
}

static const char *const identity[] = { "AWS_", NULL };

const struct gpc_store_ops gpc_store_s3 = {
	.scheme = "s3",
	.identity = identity,
	.bucket = &rules,
	.state_size = sizeof(struct gpc_bucket),
	.open = s3_open,
	.close = gpc_bucket_close,
	.get = gpc_bucket_get,
	.put = gpc_bucket_put,
	.head = gpc_bucket_head,
	.list = gpc_bucket_list,
	.del = gpc_bucket_del,
	.del_many = gpc_bucket_del_many,
	.address = gpc_bucket_where,
};
