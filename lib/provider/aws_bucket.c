/* One request each, signed as for objects; bodies bring their sha256, which some of
 * these calls demand. */
#include "provider/aws_bucket.h"

#include <string.h>

#include "base/encode.h"
#include "dep/crypto.h"
#include "net/sign.h"
#include "store/bucket_error.h"
#include "store/s3_error.h"

#define TOTAL_MS 60000

static const struct {
	const char *code;
	enum gpc_code is;
	const char *hint;
} codes[] = {
	{"NoSuchBucket", GPC_ENOTFOUND, NULL},
	{"NoSuchBucketPolicy", GPC_ENOTFOUND, NULL},
	{"NoSuchLifecycleConfiguration", GPC_ENOTFOUND, NULL},
	{"NoSuchPublicAccessBlockConfiguration", GPC_ENOTFOUND, NULL},
	{"NoSuchTagSet", GPC_ENOTFOUND, NULL},
	{"ServerSideEncryptionConfigurationNotFoundError", GPC_ENOTFOUND, NULL},
	{"BucketAlreadyOwnedByYou", GPC_ECONFLICT, NULL},
	{"BucketNotEmpty", GPC_ECONFLICT, NULL},
	{"BucketAlreadyExists", GPC_ECONFIG, "somebody else has a bucket of this name: "
		"choose another"},
	{"InvalidBucketName", GPC_ECONFIG, "choose another name"},
	{"TooManyBuckets", GPC_EQUOTA, "ask AWS for more buckets, or take one that "
		"is there"},
	{"MalformedPolicy", GPC_ECONFIG, NULL},
};

struct asking {
	struct gpc_aws *aws;
	const struct gpc_aws_setup *s;
	const char *what;
	bool head;
};

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	const struct asking *a = arg;

	return gpc_aws_sign(a->aws, r, &(struct gpc_sign_aws){
		.region = a->s->region, .service = "s3", .now_ms = now_ms,
		.s3 = true }, renew, err);
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const struct asking *a = arg;
	gpc_autoptr(gpc_xml) *error = gpc_bucket_xml_error(reply);
	const char *code = gpc_xml_text(error, "Code");
	gpc_autostr *region = NULL;

	if (a->head && reply->status >= 200 && reply->status < 500 &&
		reply->status != 408 && reply->status != 429)
		return GPC_NET_DONE;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		if (!gpc_eq(codes[i].code, code))
			continue;
		gpc_fail(err, codes[i].is, "%s: %s", a->what, code);
		if (codes[i].hint)
			gpc_hint(err, "%s", codes[i].hint);
		return GPC_NET_FAILED;
	}
	return gpc_s3_judge(reply, a->what, a->s->address.bucket, &region, err);
}

static void add_sum(struct gpc_request *r, const char *body)
{
	struct gpc_sha256 *h = gpc_sha256_new();
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	uint8_t sum[GPC_SHA256_SIZE];

	gpc_sha256_add(h, body, strlen(body));
	gpc_sha256_end(h, sum);
	gpc_sha256_free(h);
	gpc_base64(&text, sum, sizeof(sum));
	gpc_pairs_add(&r->headers, "x-amz-checksum-sha256", gpc_buf_str(&text));
}

static int prepare(const struct asking *a, const struct gpc_aws_bucket_call *call,
	struct gpc_request *r, struct gpc_error *err)
{
	bool makes = gpc_eq(call->method, "PUT") && !call->what;

	gpc_request_init(r, call->method);
	if (call->body) {
		r->body = (struct gpc_body){ .data = call->body,
			.size = strlen(call->body) };
		gpc_pairs_add(&r->headers, "content-type", gpc_eq(call->what,
			"policy") ? "application/json" : "application/xml");
		if (call->what)
			add_sum(r, call->body);
	}
	if (a->s->account && !makes)
		gpc_pairs_add(&r->headers, "x-amz-expected-bucket-owner",
			a->s->account);
	if (gpc_s3_address_url(&a->s->address, a->s->region, NULL, &r->url, err) < 0)
		return -GPC_ECONFIG;
	if (call->what)
		gpc_pairs_add(&r->url.query, call->what, "");
	return 0;
}

int gpc_aws_bucket(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_bucket_call *c, struct gpc_reply *ret_reply,
	struct gpc_error *err)
{
	bool puts = gpc_eq(c->method, "PUT"), gone = gpc_eq(c->method, "DELETE");
	gpc_autostr *what = gpc_format("%s %s%sbucket %s", puts ? c->what ?
		"setting" : "making" : gone ? c->what ? "removing" : "deleting" :
		"reading", c->what ? c->what : "", c->what ? " of " : "",
		s->address.bucket);
	struct asking a = { .aws = aws, .s = s, .what = what,
		.head = gpc_eq(c->method, "HEAD") };
	gpc_auto(gpc_request) struct gpc_request request = {0};
	gpc_autostr *ca = gpc_creds_ca_file(aws->creds);
	const struct gpc_call call = {
		.ca_file = ca, .ca_from = GPC_CREDS_CA_FROM,
		.request = &request, .repeatable = true, .total_ms = TOTAL_MS,
		.sign = sign, .judge = judge, .arg = &a };
	int r = prepare(&a, c, &request, err);

	if (r == 0)
		r = gpc_net_call(aws->net, &call, ret_reply, err);
	return r < 0 && err && !err->http ? gpc_wrap(err, r, "%s", what) : r;
}
