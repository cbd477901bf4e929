/* Requests to S3: addressed, signed for the region of the bucket, judged. A bucket
 * in another region says so in its refusal; the call is then signed again, once,
 * and the region kept. */
#include "store/s3_client.h"

#include <string.h>

#include "base/str.h"
#include "net/sign.h"
#include "store/s3_error.h"

#define DEFAULT_REGION "us-east-1"

int gpc_s3_init(struct gpc_s3 *s3, const struct gpc_store *store,
	const char *where, struct gpc_error *err)
{
	int r = gpc_s3_address_parse(where, &s3->address, err);

	if (r < 0)
		return r;
	s3->store = store;
	pthread_mutex_init(&s3->lock, NULL);
	return 0;
}

void gpc_s3_clear(struct gpc_s3 *s3)
{
	if (!s3->store)
		return;
	gpc_creds_free(s3->creds);
	gpc_net_free(s3->net);
	gpc_s3_address_clear(&s3->address);
	free(s3->region);
	pthread_mutex_destroy(&s3->lock);
	memset(s3, 0, sizeof(*s3));
}

static int find_endpoint(struct gpc_s3 *s3, struct gpc_error *err)
{
	struct gpc_s3_address *a = &s3->address;
	gpc_autostr *url = NULL, *style = NULL;

	if (!a->custom)
		url = gpc_creds_setting(s3->creds, "s3", "endpoint_url");
	if (url) {
		int r = gpc_s3_address_endpoint(a, url,
			"the environment or profile", err);

		if (r < 0)
			return r;
	}
	if (a->addressing == GPC_S3_AUTO)
		style = gpc_creds_setting(s3->creds, "s3", "addressing_style");
	if (gpc_eq(style, "path"))
		a->addressing = GPC_S3_PATH;
	else if (gpc_eq(style, "virtual"))
		a->addressing = GPC_S3_VIRTUAL;
	return 0;
}

static int find_region(struct gpc_s3 *s3, struct gpc_error *err)
{
	if (s3->address.region) {
		s3->region = gpc_strdup(s3->address.region);
		return 0;
	}
	int r = gpc_creds_region(s3->creds, &s3->region, err);

	if (r == 0 && !s3->region)
		s3->region = gpc_strdup(DEFAULT_REGION);
	return r;
}

/* With the lock held. */
static int get_ready(struct gpc_s3 *s3, struct gpc_error *err)
{
	const struct gpc_net_settings settings = {
		.log = s3->store->log, .cancel = s3->store->cancel,
	};
	const struct gpc_creds_settings who = {
		.cloud = GPC_CLOUD_AWS, .profile = s3->address.profile,
		.cancel = s3->store->cancel,
	};
	int r;

	if (s3->region)
		return 0;
	if (!s3->net)
		s3->net = gpc_net_new(&settings);
	if (!s3->creds)
		s3->creds = gpc_creds_new(&who, s3->net);
	r = find_endpoint(s3, err);
	return r < 0 ? r : find_region(s3, err);
}

static int ready(struct gpc_s3 *s3, char **ret_region, struct gpc_error *err)
{
	int r;

	pthread_mutex_lock(&s3->lock);
	r = get_ready(s3, err);
	if (r == 0)
		gpc_set_str(ret_region, s3->region);
	pthread_mutex_unlock(&s3->lock);
	return r;
}

int gpc_s3_op_init(struct gpc_s3_op *op, struct gpc_s3 *s3, const char *method,
	const char *what, const char *key, struct gpc_error *err)
{
	int r;

	op->s3 = s3;
	op->what = what;
	op->key = key ? gpc_format("%s%s", s3->address.prefix, key) : NULL;
	op->repeatable = true;
	gpc_request_init(&op->request, method);
	r = ready(s3, &op->signed_region, err);
	return r < 0 ? r : gpc_s3_address_url(&s3->address, op->signed_region,
		op->key, &op->request.url, err);
}

void gpc_s3_op_clear(struct gpc_s3_op *op)
{
	free((char *)op->key);
	free(op->signed_region);
	gpc_request_clear(&op->request);
	memset(op, 0, sizeof(*op));
}

/* The host changes with the region; path and query do not. */
static int move_to(struct gpc_s3_op *op, const char *region,
	struct gpc_request *request, struct gpc_error *err)
{
	gpc_auto(gpc_url) struct gpc_url u = {0};
	int r;

	if (gpc_eq(op->signed_region, region))
		return 0;
	gpc_set_str(&op->signed_region, region);
	r = gpc_s3_address_url(&op->s3->address, region, op->key, &u, err);
	if (r == 0)
		gpc_set_str(&request->url.host, u.host);
	return r;
}

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	struct gpc_s3_op *op = arg;
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	gpc_autostr *region = NULL;
	int q = ready(op->s3, &region, err);

	if (q == 0)
		q = move_to(op, region, r, err);
	if (q == 0)
		q = gpc_creds_get(op->s3->creds, renew, &i, err);
	if (q < 0)
		return q;
	return gpc_sign_aws(r, &(struct gpc_sign_aws){
		.keys = { i.id, i.secret, i.token },
		.region = region, .service = "s3", .now_ms = now_ms, .s3 = true,
	}, err);
}

static bool learn_region(struct gpc_s3_op *op, const char *region)
{
	bool news;

	if (!region || op->moved)
		return false;
	pthread_mutex_lock(&op->s3->lock);
	news = !gpc_eq(region, op->signed_region);
	if (news)
		gpc_set_str(&op->s3->region, region);
	pthread_mutex_unlock(&op->s3->lock);
	op->moved = news;
	return news;
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	struct gpc_s3_op *op = arg;
	gpc_autostr *region = NULL;
	enum gpc_net_verdict v = gpc_s3_judge(reply, op->what,
		op->s3->address.bucket, &region, err);

	if (v != GPC_NET_DONE && learn_region(op, region))
		return GPC_NET_AGAIN;
	return v;
}

static int pass_on(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct gpc_s3_op *op = arg;

	return op->sink(op->sink_arg, data, n, err);
}

static int see_head(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	struct gpc_s3_op *op = arg;

	return op->head(op->sink_arg, reply, err);
}

static int go_back(void *arg, struct gpc_request *r, struct gpc_error *err)
{
	struct gpc_s3_op *op = arg;

	return op->rewind(op->sink_arg, r, err);
}

struct gpc_call gpc_s3_op_call(struct gpc_s3_op *op)
{
	return (struct gpc_call){
		.request = &op->request, .repeatable = op->repeatable,
		.max_body = op->max_body, .sign = sign, .judge = judge,
		.sink = op->sink ? pass_on : NULL,
		.head = op->head ? see_head : NULL,
		.rewind = op->rewind ? go_back : NULL,
		.arg = op,
	};
}

int gpc_s3_send(struct gpc_s3_op *op, struct gpc_reply *ret_reply,
	struct gpc_error *err)
{
	struct gpc_call call = gpc_s3_op_call(op);

	return gpc_net_call(op->s3->net, &call, ret_reply, err);
}
