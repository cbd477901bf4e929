/* One way for all chains to ask a service: replies are small, secrets in them do
 * not outlive the reading, and a failure names the service and its status, never
 * the body as it came. */
#include "creds/fetch.h"

#include <string.h>

#include "base/str.h"

#define TIMEOUT_MS 10000
#define TRIES 3
#define PAUSE_MS 2000           /* what is granted to pauses between them */
#define SAID_MAX 200

static bool says_again(const struct gpc_fetch *f, const struct gpc_reply *reply)
{
	static const char *const error[] = {"error", NULL};
	gpc_autostr *word = f->again ? gpc_fetch_said(reply, error) : NULL;

	for (size_t i = 0; word && f->again[i]; i++)
		if (strcmp(f->again[i], word) == 0)
			return true;
	return false;
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const struct gpc_fetch *f = arg;
	int s = reply->status;
	bool again;

	if (s >= 200 && s < 300)
		return GPC_NET_DONE;
	again = s == 408 || s == 429 || s >= 500 || says_again(f, reply);
	gpc_fail(err, s == 429 ? GPC_ERATE : again ? GPC_ENET :
		s >= 400 ? GPC_EAUTH : GPC_EPROTO, "%s answered with status %d%s",
		f->what, s, s < 400 ? ": redirects are not followed" : "");
	err->http = s;
	return s == 429 ? GPC_NET_THROTTLED : again ? GPC_NET_RETRY :
		GPC_NET_FAILED;
}

int gpc_fetch(struct gpc_net *net, const struct gpc_fetch *f,
	struct gpc_reply *ret_reply, struct gpc_error *err)
{
	gpc_auto(gpc_request) struct gpc_request request = {0};
	struct gpc_fetch own = *f;
	struct gpc_call call = {
		.request = &request,
		.repeatable = true,
		.max_tries = f->max_tries ? f->max_tries : TRIES,
		.max_body = GPC_FETCH_MAX_BYTES,
		.direct = f->direct,
		.ca_file = f->ca_file,
		.ca_from = f->ca_from,
		.hushed = f->hushed,
		.judge = judge,
		.arg = &own,
	};
	int r;

	call.try_ms = f->timeout_ms ? f->timeout_ms : TIMEOUT_MS;
	call.total_ms = call.try_ms * call.max_tries +
		PAUSE_MS * (call.max_tries - 1);
	gpc_request_init(&request, f->method);
	r = gpc_url_parse(f->url, &request.url, err);
	if (r)
		return gpc_wrap(err, r, "%s", f->what);
	if (f->headers)
		gpc_pairs_copy(&request.headers, f->headers);
	if (f->body)
		request.body = (struct gpc_body){.data = f->body,
			.size = strlen(f->body)};
	r = gpc_net_call(net, &call, ret_reply, err);
	gpc_pairs_wipe(&request.headers);
	if (r && err && !err->http && !gpc_starts_with(err->msg, f->what))
		gpc_wrap(err, r, "%s", f->what);
	return r;
}

void gpc_fetch_mend_clock(struct gpc_net *net, const struct gpc_reply *reply,
	const struct gpc_identity *i)
{
	if (i->expires_ms && i->expires_ms <= gpc_net_now_ms(net) &&
		reply->date_ms && i->expires_ms > reply->date_ms)
		gpc_net_set_clock(net, reply->date_ms);
}

void gpc_fetch_forget(struct gpc_reply *reply)
{
	gpc_wipe(reply->body.data, reply->body.cap);
	gpc_reply_clear(reply);
}

int gpc_fetch_identity(struct gpc_net *net, const struct gpc_fetch *f,
	const struct gpc_identity_names *names, struct gpc_identity *i,
	struct gpc_error *err)
{
	struct gpc_reply reply = {0};
	int r = gpc_fetch(net, f, &reply, err);

	gpc_buf_str(&reply.body);
	if (!r)
		r = gpc_wrap(err, gpc_identity_parse(reply.body.data,
			reply.body.len, names, gpc_net_now_ms(net), i, err),
			"%s", f->what);
	if (!r)
		gpc_fetch_mend_clock(net, &reply, i);
	gpc_fetch_forget(&reply);
	return r;
}

char *gpc_fetch_said(const struct gpc_reply *reply, const char *const *members)
{
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error ignored;

	if (gpc_json_parse(gpc_buf_str(&reply->body), reply->body.len, &j,
		&ignored) < 0)
		return NULL;
	for (; *members; members++) {
		const char *text = gpc_json_get_str(j, *members);
		size_t n = text ? strlen(text) : 0;

		if (n)
			return gpc_str_printable(text,
				n < SAID_MAX ? n : SAID_MAX);
	}
	return NULL;
}
