/* Calls to a bucket: addressed, signed for its region, judged. A bucket in another
 * region says so in its refusal; the call is then signed again, once, and the region
 * kept. What a reply tells of the bytes that it took is compared with what was sent;
 * where that differs, they are sent again. */
#include "store/bucket.h"

#include <string.h>

#include "base/str.h"
#include "dep/crypto.h"
#include "store/objects_task.h"

/* Sums of larger bodies are computed beside the other requests. */
#define SUM_LATER ((uint64_t)256 << 10)
/* Services take signatures of up to 15 minutes before or after. */
#define SKEW_MS ((int64_t)10 * 60 * 1000)

int gpc_bucket_open(struct gpc_store *s, const struct gpc_bucket_rules *rules,
	const char *where, struct gpc_error *err)
{
	struct gpc_bucket *b = s->state;
	int r = gpc_bucket_address_parse(rules->form, where, &b->address, err);

	if (r < 0)
		return r;
	b->store = s;
	b->rules = rules;
	pthread_mutex_init(&b->lock, NULL);
	s->caps = GPC_STORE_IF_ABSENT;
	return 0;
}

void gpc_bucket_close(struct gpc_store *s)
{
	struct gpc_bucket *b = s->state;

	if (!b->store)
		return;
	gpc_objects_tasks_free(b);
	gpc_creds_free(b->creds);
	if (!b->net_is_lent)
		gpc_net_free(b->net);
	gpc_bucket_address_clear(&b->address);
	free(b->region);
	free(b->ca_file);
	pthread_mutex_destroy(&b->lock);
	memset(b, 0, sizeof(*b));
}

static int find_region(struct gpc_bucket *b, struct gpc_error *err)
{
	int r = 0;

	if (b->address.region)
		b->region = gpc_strdup(b->address.region);
	else if (b->rules->region)
		r = gpc_creds_region(b->creds, &b->region, err);
	if (r == 0 && !b->region)
		b->region = gpc_strdup(b->rules->region ? b->rules->region : "");
	return r;
}

/* With the lock held. */
static int get_ready(struct gpc_bucket *b, struct gpc_error *err)
{
	const struct gpc_net_settings settings = {
		.log = b->store->log, .cancel = b->store->cancel,
		.ca_file = b->store->ca_file,
	};
	const struct gpc_creds_settings who = {
		.cloud = b->rules->cloud, .profile = b->address.profile,
		.cancel = b->store->cancel,
	};
	int r = 0;

	if (b->region)
		return 0;
	if (!b->net)
		b->net = gpc_net_new(&settings);
	if (!b->creds)
		b->creds = gpc_creds_new(&who, b->net);
	if (!b->ca_file)
		b->ca_file = gpc_creds_ca_file(b->creds);
	if (b->rules->settle)
		r = b->rules->settle(b, err);
	return r < 0 ? r : find_region(b, err);
}

static int ready(struct gpc_bucket *b, char **ret_region, struct gpc_error *err)
{
	int r;

	pthread_mutex_lock(&b->lock);
	r = get_ready(b, err);
	if (r == 0)
		gpc_set_str(ret_region, b->region);
	pthread_mutex_unlock(&b->lock);
	return r;
}

int gpc_bucket_ready(struct gpc_bucket *b, struct gpc_error *err)
{
	gpc_autostr *region = NULL;

	return ready(b, &region, err);
}

int gpc_bucket_op_init(struct gpc_bucket_op *op, struct gpc_bucket *b,
	const char *method, const char *what, const char *key,
	struct gpc_error *err)
{
	int r;

	op->bucket = b;
	op->what = what;
	op->key = key ? gpc_format("%s%s", b->address.prefix, key) : NULL;
	gpc_request_init(&op->request, method);
	r = ready(b, &op->signed_region, err);
	return r < 0 ? r : b->rules->url(&b->address, op->signed_region,
		op->key, &op->request.url, err);
}

int gpc_bucket_where(struct gpc_store *s, const char *key, char **ret_url,
	char **ret_region, struct gpc_error *err)
{
	struct gpc_bucket_op op = {0};
	gpc_auto(gpc_buf) struct gpc_buf url = {0};
	int r = gpc_bucket_op_init(&op, s->state, "GET", "address", key, err);

	if (r == 0) {
		gpc_url_format(&op.request.url, &url);
		*ret_url = gpc_strdup(gpc_buf_str(&url));
		*ret_region = gpc_strdup(op.signed_region);
	}
	gpc_bucket_op_clear(&op);
	return r;
}

void gpc_bucket_op_clear(struct gpc_bucket_op *op)
{
	free((char *)op->key);
	free(op->signed_region);
	gpc_request_clear(&op->request);
	memset(op, 0, sizeof(*op));
}

/* Reading it once more for the signature would cost more than the hash. */
static int sum_up(void *arg, const atomic_bool *stop, struct gpc_error *err)
{
	struct gpc_bucket_op *op = arg;
	gpc_autoptr(gpc_sha256) *h = op->hashes ? gpc_sha256_new() : NULL;
	int r = gpc_bucket_sum(op->bucket->rules, op->check, h, stop, &op->sum, err);

	if (r == 0 && h)
		gpc_sha256_end_hex(h, op->request.body_sha256);
	return r;
}

bool gpc_bucket_op_may_tell(const struct gpc_bucket_op *op)
{
	return op->bucket->rules->ask_for_sums &&
		gpc_eq(op->request.url.scheme, "https");
}

int gpc_bucket_op_check(struct gpc_bucket_op *op, const struct gpc_body *body,
	struct gpc_error *err)
{
	const struct gpc_bucket *b = op->bucket;

	op->check = body;
	if (!b->rules->sum)
		return 0;
	op->sums_later = body->size > SUM_LATER;
	op->is_unsigned = op->tells && op->sums_later && gpc_bucket_op_may_tell(op) &&
		!atomic_load(&b->wants_signed);
	op->hashes = b->rules->signs_body && !b->anonymous && !op->is_unsigned;
	return op->sums_later ? 0 : sum_up(op, NULL, err);
}

/* The host changes with the region; path and query do not. */
static int move_to(struct gpc_bucket_op *op, const char *region,
	struct gpc_request *request, struct gpc_error *err)
{
	const struct gpc_bucket *b = op->bucket;
	gpc_auto(gpc_url) struct gpc_url u = {0};
	int r;

	if (gpc_eq(op->signed_region, region))
		return 0;
	gpc_set_str(&op->signed_region, region);
	r = b->rules->url(&b->address, region, op->key, &u, err);
	if (r == 0)
		gpc_set_str(&request->url.host, u.host);
	return r;
}

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	struct gpc_bucket_op *op = arg;
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	gpc_autostr *region = NULL;
	int q = 0;

	if (op->tells && op->bucket->rules->tell)
		op->bucket->rules->tell(op, r);
	if (op->tries++ > 0 && op->again)
		q = op->again(op->arg, r, err);
	if (q < 0 || op->is_open)
		return q;
	q = ready(op->bucket, &region, err);
	if (q == 0)
		q = move_to(op, region, r, err);
	if (q < 0 || op->bucket->anonymous)
		return q;
	q = gpc_creds_get(op->bucket->creds, renew, &i, err);
	if (q < 0)
		return gpc_wrap(err, q, "%s://%s", op->bucket->rules->form->scheme,
			op->bucket->address.bucket);
	return op->bucket->rules->sign(op, &i, now_ms, r, err);
}

static bool learn_region(struct gpc_bucket_op *op, const char *region)
{
	struct gpc_bucket *b = op->bucket;
	bool news;

	if (!region || op->moved)
		return false;
	pthread_mutex_lock(&b->lock);
	news = !gpc_eq(region, op->signed_region);
	if (news)
		gpc_set_str(&b->region, region);
	pthread_mutex_unlock(&b->lock);
	op->moved = news;
	return news;
}

static bool is_damaged(const struct gpc_bucket_op *op,
	const struct gpc_reply *reply)
{
	const struct gpc_bucket_rules *rules = op->bucket->rules;
	uint64_t sum;

	if (!op->check || !rules->sum || !rules->told(reply, &sum))
		return false;
	atomic_store(&op->bucket->checks_sums, true);
	return sum != op->sum;
}

/* Policies may want every body signed: one that is refused without is sent with its
 * hash, once, and so are those that follow. */
static bool wants_signed(struct gpc_bucket_op *op, const struct gpc_reply *reply)
{
	if (!op->is_unsigned || (reply->status != 400 && reply->status != 403))
		return false;
	op->is_unsigned = false;
	atomic_store(&op->bucket->wants_signed, true);
	return true;
}

/* An answer to HEAD has no words for a clock that is wrong; it has the time. */
static bool is_skewed(const struct gpc_bucket_op *op, const struct gpc_reply *reply)
{
	int64_t off;

	if (reply->status != 403 || !reply->date_ms ||
		!gpc_eq(op->request.method, "HEAD"))
		return false;
	off = reply->date_ms - gpc_net_host_now_ms(op->bucket->net, &op->request.url);
	return off > SKEW_MS || off < -SKEW_MS;
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	struct gpc_bucket_op *op = arg;
	gpc_autostr *region = NULL;
	enum gpc_net_verdict v = op->bucket->rules->judge(op, reply, &region,
		err);

	if (v == GPC_NET_DONE)
		atomic_store(&op->bucket->is_there, true);
	if (v == GPC_NET_DONE && is_damaged(op, reply)) {
		gpc_fail(err, GPC_ENET, "%s in bucket %s: the server's checksum "
			"is not that of the bytes that were sent", op->what,
			op->bucket->address.bucket);
		return GPC_NET_RETRY;
	}
	if (v != GPC_NET_DONE && learn_region(op, region))
		return GPC_NET_AGAIN;
	if (v == GPC_NET_FAILED && is_skewed(op, reply))
		return GPC_NET_SKEWED;
	return v == GPC_NET_FAILED && wants_signed(op, reply) ? GPC_NET_AGAIN : v;
}

static int pass_on(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct gpc_bucket_op *op = arg;

	return op->sink(op->arg, data, n, err);
}

static int see_head(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	struct gpc_bucket_op *op = arg;

	return op->head(op->arg, reply, err);
}

static int go_back(void *arg, struct gpc_request *r, struct gpc_error *err)
{
	struct gpc_bucket_op *op = arg;

	return op->rewind(op->arg, r, err);
}

struct gpc_call gpc_bucket_op_call(struct gpc_bucket_op *op)
{
	return (struct gpc_call){
		.request = &op->request, .repeatable = true,
		.max_body = op->max_body, .max_tries = op->max_tries,
		.prepare = op->sums_later ? sum_up : NULL,
		.sign = sign, .judge = judge,
		.sink = op->sink ? pass_on : NULL,
		.head = op->head ? see_head : NULL,
		.rewind = op->rewind ? go_back : NULL,
		.ca_file = op->bucket->ca_file, .ca_from = GPC_CREDS_CA_FROM,
		.arg = op,
	};
}

int gpc_bucket_send(struct gpc_bucket_op *op, struct gpc_reply *ret_reply,
	struct gpc_error *err)
{
	struct gpc_call call = gpc_bucket_op_call(op);

	return gpc_net_call(op->bucket->net, &call, ret_reply, err);
}
