/* oss://: Alibaba Cloud's Object Storage Service.
 *
 * If-absent is `x-oss-forbid-overwrite`, which has no effect in a bucket that keeps
 * versions of objects, or ever did: such a bucket is found out by the races that make
 * a store (identify.c), and one where that begins later by the version that the reply
 * to a put then names; what is not honoured is an error, not a win. Each put is held
 * against the CRC-64 that the service computes. One that may exist only once also
 * brings an MD5, so that no damaged bytes can take its place. */
#include "base/crc.h"
#include "base/str.h"
#include "net/sign.h"
#include "store/bucket.h"
#include "store/bucket_parts.h"
#include "store/oss_address.h"
#include "store/oss_error.h"

static int settle(struct gpc_bucket *b, struct gpc_error *err)
{
	struct gpc_bucket_address *a = &b->address;
	gpc_autostr *url = NULL;

	if (!a->custom)
		url = gpc_creds_setting(b->creds, "oss", "endpoint_url");
	if (url) {
		int r = gpc_bucket_address_endpoint(a, &gpc_oss_form, url,
			"the environment or profile", err);

		if (r < 0)
			return r;
	}
	if (a->custom && !a->region)
		a->region = gpc_oss_region_of(a->endpoint.host);
	return 0;
}

static int sign(const struct gpc_bucket_op *op, const struct gpc_identity *i,
	int64_t now_ms, struct gpc_request *r, struct gpc_error *err)
{
	return gpc_sign_oss(r, &(struct gpc_sign_oss){
		.keys = { i->id, i->secret, i->token },
		.region = op->signed_region,
		.bucket = op->bucket->address.bucket, .key = op->key,
		.now_ms = now_ms,
	}, err);
}

/* An endpoint of one's own stays where it is, whatever region the bucket is in. */
static enum gpc_net_verdict judge(const struct gpc_bucket_op *op,
	const struct gpc_reply *reply, char **ret_region, struct gpc_error *err)
{
	gpc_autostr *region = NULL;
	enum gpc_net_verdict v = gpc_oss_judge(reply, op->what,
		op->bucket->address.bucket, &region, err);

	if (!op->bucket->address.custom)
		*ret_region = gpc_steal(&region);
	return v;
}

/* Without it a range beyond the end is all of the object. */
static void read_exactly(struct gpc_request *r, bool whole)
{
	(void)whole;
	gpc_pairs_add(&r->headers, "x-oss-range-behavior", "standard");
}

static void pin(struct gpc_request *r, const char *etag)
{
	gpc_pairs_set(&r->headers, "if-match", etag);
}

static bool told_sum(const struct gpc_reply *reply, uint64_t *ret_sum)
{
	const char *p = gpc_reply_header(reply, "x-oss-hash-crc64ecma");
	uint64_t sum = 0;

	if (!p || !*p)
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		sum = sum * 10 + (uint64_t)(*p - '0');
	*ret_sum = sum;
	return !*p;
}

static int if_absent(struct gpc_request *r, struct gpc_error *err)
{
	gpc_pairs_add(&r->headers, "x-oss-forbid-overwrite", "true");
	return gpc_bucket_add_md5(r, err);
}

static int was_kept(const struct gpc_reply *reply, struct gpc_error *err)
{
	int r;

	if (!gpc_reply_header(reply, "x-oss-version-id"))
		return 0;
	r = gpc_fail(err, GPC_EUNSUPPORTED, "the bucket keeps versions of "
		"objects: OSS then overwrites also what it should not");
	gpc_hint(err, "keep the journal in another bucket that never had "
		"versions");
	return r;
}

/* By the last key, because the form of tokens within encoded pages is not told. */
static void ask_page(struct gpc_request *r, const struct gpc_bucket_page *p)
{
	struct gpc_pairs *query = &r->url.query;
	const char *after = p->last ? p->last : p->after;

	gpc_pairs_add(query, "list-type", "2");
	gpc_pairs_add(query, "encoding-type", "url");
	gpc_pairs_add(query, "max-keys", "1000");
	if (*p->prefix)
		gpc_pairs_add(query, "prefix", p->prefix);
	if (p->delimiter)
		gpc_pairs_add(query, "delimiter", p->delimiter);
	if (after)
		gpc_pairs_add(query, "start-after", after);
}

static const struct gpc_bucket_rules rules = {
	.form = &gpc_oss_form,
	.cloud = GPC_CLOUD_ALIBABA,
	.region = "cn-hangzhou",
	.settle = settle,
	.url = gpc_oss_address_url,
	.sign = sign,
	.judge = judge,
	.reads = read_exactly,
	.version = "etag",
	.storage_class = "x-oss-storage-class",
	.storage_words = "Standard, IA, Archive, ColdArchive, DeepColdArchive",
	.heads_are_mute = true,
	.pin = pin,
	.sum = gpc_crc64,
	.told = told_sum,
	.join = gpc_crc64_join,
	.puts_large = gpc_bucket_put_parts,
	.if_absent = if_absent,
	.kept = was_kept,
	.deletes_many = true,
	.asks_page = ask_page,
	.reads_page = gpc_bucket_read_xml,
};

static int oss_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	(void)flags;
	return gpc_bucket_open(s, &rules, where, err);
}

static const char *const identity[] = { "ALIBABA_CLOUD_", "OSS_", NULL };

const struct gpc_store_ops gpc_store_oss = {
	.scheme = "oss",
	.identity = identity,
	.bucket = &rules,
	.state_size = sizeof(struct gpc_bucket),
	.open = oss_open,
	.close = gpc_bucket_close,
	.get = gpc_bucket_get,
	.put = gpc_bucket_put,
	.head = gpc_bucket_head,
	.list = gpc_bucket_list,
	.del = gpc_bucket_del,
	.del_many = gpc_bucket_del_many,
};
