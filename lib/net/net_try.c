/* One try of a call: a copy of its request is signed for this moment, sent, and
 * its reply collected. */
#include "base/time.h"
#include "net/net_parts.h"

enum { MAX_BODY = 16 << 20 };

static void count_traffic(struct gpc_net_task *t)
{
	struct gpc_net *net = t->loop->net;
	/* Beyond the one that is counted when it begins. */
	unsigned more = t->x.sends > 1 ? (unsigned)t->x.sends - 1 : 0;

	t->resent += (int)more;
	pthread_mutex_lock(&net->lock);
	net->counts.requests += more;
	net->counts.retries += more;
	net->counts.sent += t->x.sent;
	net->counts.received += t->x.received;
	pthread_mutex_unlock(&net->lock);
}

static int on_status(void *arg, int status, struct gpc_error *err)
{
	struct gpc_net_task *t = arg;

	(void)err;
	t->reply.status = status;
	t->sinking = t->call.sink && status >= 200 && status < 300;
	return 0;
}

static int on_header(void *arg, const char *name, const char *value,
	struct gpc_error *err)
{
	struct gpc_net_task *t = arg;

	(void)err;
	gpc_pairs_add(&t->reply.headers, name, value);
	if (gpc_eq(name, "date"))
		t->reply.date_ms = gpc_http_date_ms(value);
	return 0;
}

static int see_head(struct gpc_net_task *t, struct gpc_error *err)
{
	int r = 0;

	if (!t->head_seen && t->call.head && t->reply.status >= 200 &&
		t->reply.status < 300)
		r = t->call.head(t->call.arg, &t->reply, err);
	t->head_seen = true;
	return r;
}

static int take(struct gpc_net_task *t, const void *data, size_t n,
	struct gpc_error *err)
{
	int r = see_head(t, err);

	if (r != 0)
		return r;
	if (t->sinking) {
		t->delivered += n;
		gpc_net_host_moves(t);
		return t->call.sink(t->call.arg, data, n, err);
	}
	if (n > t->reply.body.max - t->reply.body.len)
		return gpc_fail(err, GPC_EPROTO, "the reply (status %d) has "
			"more than %zu bytes", t->reply.status,
			t->reply.body.max);
	return gpc_buf_try_add(&t->reply.body, data, n, err);
}

static int on_body(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct gpc_net_task *t = arg;
	int r = take(t, data, n, err);

	t->stopped = r != 0;
	return r;
}

static void on_done(void *arg, int r, const struct gpc_error *err)
{
	struct gpc_net_task *t = arg;
	struct gpc_error own = *err;

	t->transfer = NULL;
	count_traffic(t);
	if (r == 0) {
		r = see_head(t, &own);
		t->stopped = r != 0;
	}
	gpc_net_trace_reply(t, r, &own);
	if (r == 0 && (t->reply.status < 200 || t->reply.status >= 300))
		gpc_net_hide(&t->request, t->call.hushed, &t->reply.body);
	gpc_net_tried(t, r, &own);
}

void gpc_net_try_clear(struct gpc_net_task *t)
{
	if (t->transfer) {
		gpc_http_stop(t->loop->http, t->transfer);
		t->transfer = NULL;
		count_traffic(t);
	}
	gpc_strv_clear(&t->lines);
	gpc_set_str(&t->url, NULL);
}

/* Header lines and URL as they go out. */
static void render(struct gpc_net_task *t)
{
	const struct gpc_request *r = &t->request;
	gpc_auto(gpc_buf) struct gpc_buf url = {0};

	for (size_t i = 0; i < r->headers.n; i++)
		gpc_strv_addf(&t->lines, "%s: %s", r->headers.v[i].key,
			r->headers.v[i].value ? r->headers.v[i].value : "");
	gpc_url_format(&r->url, &url);
	gpc_set_str(&t->url, gpc_buf_str(&url));
}

static int make_request(struct gpc_net_task *t, struct gpc_error *err)
{
	const struct gpc_call *call = &t->call;
	int r = 0;

	gpc_request_copy(&t->request, call->request);
	if (t->delivered > 0) {
		r = call->rewind(call->arg, &t->request, err);
		t->delivered = 0;
	}
	if (r == 0 && call->sign) {
		r = call->sign(call->arg, &t->request,
			gpc_net_host_now_ms(t->loop->net, &t->request.url),
			t->renew, err);
		/* Nobody has seen the request, let alone refused it. */
		if (r < 0)
			err->passes = r == -GPC_EAUTH || gpc_code_retryable(-r);
	}
	t->renew = false;
	return r;
}

static void count_try(struct gpc_net_task *t)
{
	struct gpc_net *net = t->loop->net;

	t->tries++;
	pthread_mutex_lock(&net->lock);
	t->number = ++net->counts.requests;
	if (t->tries > 1)
		net->counts.retries++;
	pthread_mutex_unlock(&net->lock);
}

static void reset(struct gpc_net_task *t)
{
	gpc_net_try_clear(t);
	gpc_reply_clear(&t->reply);
	t->reply.body.max = t->call.max_body ? t->call.max_body : MAX_BODY;
	t->sinking = t->head_seen = t->stopped = false;
}

int gpc_net_try(struct gpc_net_task *t, struct gpc_error *err)
{
	const struct gpc_net_settings *set = &t->loop->net->set;
	int64_t left_ms;
	int r;

	reset(t);
	r = make_request(t, err);
	if (r < 0)
		return r;
	gpc_net_host_find(t);
	t->began_ms = gpc_boot_ms();
	left_ms = t->deadline_ms - t->began_ms;
	if (t->call.try_ms > 0 && t->call.try_ms < left_ms)
		left_ms = t->call.try_ms;
	render(t);
	t->x = (struct gpc_http_exchange){
		.method = t->request.method,
		.url = t->url,
		.headers = &t->lines,
		.body = t->request.body,
		.no_proxy = t->call.direct ||
			gpc_url_is_local(&t->request.url),
		.once = !t->call.repeatable,
		.ca_file = t->call.ca_file,
		.ca_from = t->call.ca_from,
		.connect_ms = set->connect_ms,
		.stall_ms = set->stall_ms,
		.total_ms = left_ms > 1 ? (int)left_ms : 1,
		.status = on_status,
		.header = on_header,
		.sink = on_body,
		.done = on_done,
		.arg = t,
	};
	count_try(t);
	gpc_net_trace_request(t);
	return gpc_http_start(t->loop->http, &t->x, &t->transfer, err);
}
