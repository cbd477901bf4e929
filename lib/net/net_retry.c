/* What becomes of a call after a try: it is done, it has failed, or it is tried
 * again, at once or after a pause. This is the only place of gpucloud that repeats
 * a request, and it repeats none that may have been carried out unless its caller
 * says that this does no harm. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/rand.h"
#include "base/time.h"
#include "net/net_parts.h"

enum {
	MAX_TRIES = 5,
	BASE_MS = 100, THROTTLED_BASE_MS = 500, PAUSE_MAX_MS = 20000,
	AFTER_MAX_MS = 60000,
	TOKENS = 500, COST = 5, COST_TIMEOUT = 10,
};

static int read_number(const char *text, int64_t unit_ms)
{
	int64_t n;

	if (!text || *text < '0' || *text > '9' ||
		text[strspn(text, "0123456789")])
		return -1;
	/* More than any wait that we grant is as good as that. */
	if (gpc_parse_i64(text, 0, INT64_MAX / 1000, "wait", &n, NULL) < 0)
		return AFTER_MAX_MS;
	return n > AFTER_MAX_MS ? AFTER_MAX_MS :
		n * unit_ms > AFTER_MAX_MS ? AFTER_MAX_MS : (int)(n * unit_ms);
}

int gpc_net_retry_after(const struct gpc_reply *reply, int64_t now_ms)
{
	static const char *const in_ms[] = {"x-acs-retry-after",
		"x-retry-after-ms", "retry-after-ms", "x-ms-retry-after-ms"};
	const char *text = gpc_reply_header(reply, "retry-after");
	int64_t date_ms;
	int ms = -1;

	for (size_t i = 0; ms < 0 && i < sizeof(in_ms) / sizeof(in_ms[0]); i++)
		ms = read_number(gpc_reply_header(reply, in_ms[i]), 1);
	if (ms < 0)
		ms = read_number(text, 1000);
	if (ms >= 0)
		return ms;
	date_ms = gpc_http_date_ms(text);
	/* Both by the service's clock, where it tells. */
	date_ms -= date_ms ? (reply->date_ms ? reply->date_ms : now_ms) : 0;
	if (date_ms <= 0)
		return 0;
	return date_ms > AFTER_MAX_MS ? AFTER_MAX_MS : (int)date_ms;
}

const char *gpc_net_request_id(const struct gpc_reply *reply)
{
	static const char *const names[] = {"x-amz-request-id",
		"x-amzn-requestid", "x-amzn-request-id", "x-oss-request-id",
		"x-acs-request-id", "x-guploader-uploadid", "x-request-id",
		"x-openstack-request-id", "x-trans-id", "request-id"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *id = gpc_reply_header(reply, names[i]);

		if (id && *id)
			return id;
	}
	return NULL;
}

void gpc_net_name_request(const struct gpc_reply *reply, struct gpc_error *err)
{
	const char *id = gpc_net_request_id(reply);

	if (!err->request_id[0] && id) {
		gpc_autostr *shown = gpc_str_printable(id, strnlen(id,
			sizeof(err->request_id) - 1));

		snprintf(err->request_id, sizeof(err->request_id), "%s", shown);
	}
}

static enum gpc_code code_of_status(int status)
{
	switch (status) {
	case 401: case 403: case 407:
		return GPC_EAUTH;
	case 404: case 410:
		return GPC_ENOTFOUND;
	case 408: case 504:
		return GPC_ETIMEOUT;
	case 409: case 412:
		return GPC_ECONFLICT;
	case 429: case 503:
		return GPC_ERATE;
	case 501:
		return GPC_EUNSUPPORTED;
	default:
		return status >= 500 ? GPC_ENET : GPC_EPROTO;
	}
}

static const char *words_of_status(int status)
{
	static const struct { int status; const char *words; } known[] = {
		{400, "a bad request"}, {401, "not authorized"},
		{403, "forbidden"}, {404, "not found"},
		{405, "method not allowed"},
		{407, "the proxy wants a user and a password"}, {408, "request timeout"},
		{409, "conflict"}, {411, "length required"},
		{412, "precondition failed"}, {413, "too large"},
		{416, "range not satisfiable"}, {429, "too many requests"},
		{500, "internal error"}, {501, "not implemented"},
		{502, "bad gateway"}, {503, "service unavailable"},
		{504, "gateway timeout"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].status == status)
			return known[i].words;
	return status < 400 ? "a redirect, which is not followed" :
		status < 500 ? "refused" : "a failure of the service";
}

enum gpc_net_verdict gpc_net_judge_status(const struct gpc_reply *reply,
	struct gpc_error *err)
{
	int status = reply->status;

	if (status >= 200 && status < 300)
		return GPC_NET_DONE;
	gpc_fail(err, code_of_status(status), "the service answers %d (%s)",
		status, words_of_status(status));
	if (status == 429)
		return GPC_NET_THROTTLED;
	return status == 408 || status >= 500 ? GPC_NET_RETRY : GPC_NET_FAILED;
}

/* Takes what a retry costs; false: there is not enough left. */
static bool pay(struct gpc_net *net, int cost)
{
	bool ok;

	pthread_mutex_lock(&net->lock);
	ok = net->tokens >= cost;
	net->tokens -= ok ? cost : 0;
	pthread_mutex_unlock(&net->lock);
	return ok;
}

static void earn(struct gpc_net *net)
{
	pthread_mutex_lock(&net->lock);
	net->tokens += net->tokens < TOKENS;
	pthread_mutex_unlock(&net->lock);
}

/* Decorrelated jitter: between the base and three times the pause before. */
static int next_pause(struct gpc_net_task *t, int base_ms, int after_ms)
{
	int last = t->pause_ms > base_ms ? t->pause_ms : base_ms;
	int pause = base_ms + (int)gpc_rand_below(
		(uint64_t)(last * 3 - base_ms) + 1);

	t->pause_ms = pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
	return after_ms > t->pause_ms ? after_ms : t->pause_ms;
}

static void fill_error(const struct gpc_net_task *t, struct gpc_error *err)
{
	if (!err->http)
		err->http = t->reply.status;
	gpc_net_name_request(&t->reply, err);
	if (!err->retry_after_ms)
		err->retry_after_ms = gpc_net_retry_after(&t->reply,
			gpc_wall_ms());
}

static void fail(struct gpc_net_task *t, int r, struct gpc_error *err)
{
	gpc_autostr *name = gpc_net_name(t);

	if (t->tries > 1)
		r = gpc_wrap(err, r, "%s, %d tries", name, t->tries);
	else
		r = gpc_wrap(err, r, "%s", name);
	gpc_net_finish(t, r, err);
}

static int tries_of(const struct gpc_net_task *t)
{
	int of_net = t->loop->net->set.max_tries;

	if (t->call.max_tries > 0)
		return t->call.max_tries;
	return of_net > 0 ? of_net : MAX_TRIES;
}

/* The sink cannot forget what it was given. */
static bool is_stuck(const struct gpc_net_task *t)
{
	return t->delivered > 0 && !t->call.rewind;
}

static void again_now(struct gpc_net_task *t, const struct gpc_error *err,
	const char *what)
{
	gpc_autostr *name = gpc_net_name(t);

	gpc_log(t->loop->net->set.log, GPC_VERBOSE, "%s: %s; %s", name,
		err->msg, what);
	gpc_net_wait(t, 0);
}

/* What stays away may do so for longer than one call is allowed to take. */
static bool rides_out(struct gpc_net_task *t, int base_ms,
	const struct gpc_error *err, int *wait)
{
	if (!gpc_net_host_fails(t, err, base_ms == THROTTLED_BASE_MS, wait))
		return false;
	if (t->call.total_ms <= 0)
		t->deadline_ms = gpc_boot_ms() + *wait + GPC_NET_TOTAL_MS;
	return true;
}

/* outage: it failed as everything does that its host is asked. */
static void again_later(struct gpc_net_task *t, int r, int base_ms, bool outage,
	struct gpc_error *err)
{
	struct gpc_net *net = t->loop->net;
	int64_t now = gpc_boot_ms();
	int cost = r == -GPC_ETIMEOUT ? COST_TIMEOUT : COST;
	int wait = next_pause(t, base_ms, err->retry_after_ms);
	gpc_autostr *name = gpc_net_name(t);
	bool patient = outage && gpc_net_host_known(t);
	char shown[32];

	err->passes = true;
	if (is_stuck(t) || (patient ? !rides_out(t, base_ms, err, &wait) :
		t->tries >= tries_of(t) || !pay(net, cost)) ||
		now + wait >= t->deadline_ms) {
		fail(t, r, err);
		return;
	}
	if (patient) {
		gpc_log(net->set.log, GPC_VERBOSE, "%s: %s; try %d in %s", name,
			err->msg, t->tries + 1, gpc_format_duration(wait, shown,
			sizeof(shown)));
		gpc_net_wait(t, now + wait);
		return;
	}
	gpc_log(net->set.log, GPC_VERBOSE, "%s: %s; try %d of %d in %s", name,
		err->msg, t->tries + 1, tries_of(t),
		gpc_format_duration(wait, shown, sizeof(shown)));
	gpc_net_wait(t, now + wait);
}

static void warn_unclear(struct gpc_error *err)
{
	gpc_hint(err, "it is not known whether the service carried this out: "
		"look before you repeat it");
}

/* What is wrong with the bytes that came, not with where they go. */
static bool is_of_reply(int r)
{
	return r == -GPC_EPROTO || r == -GPC_ECONFLICT || r == -GPC_ENET;
}

/* No whole reply came. */
static void lost(struct gpc_net_task *t, int r, struct gpc_error *err)
{
	bool unclear = t->x.maybe_sent && !t->call.repeatable;

	if (is_of_reply(r))
		gpc_net_name_request(&t->reply, err);
	/* The caller's own answer is handed back as it is. */
	if (t->stopped) {
		gpc_net_finish(t, r, err);
	} else if (t->x.lasting || !gpc_code_retryable(err->code)) {
		/* even a certificate: somebody else may have answered */
		err->passes = gpc_code_retryable(err->code) && !unclear;
		fail(t, r, err);
	} else if (unclear) {
		warn_unclear(err);
		fail(t, r, err);
	} else {
		again_later(t, r, BASE_MS, true, err);
	}
}

static void shift_clock(struct gpc_net_task *t, struct gpc_error *err)
{
	struct gpc_net *net = t->loop->net;
	int64_t offset_ms = t->reply.date_ms - gpc_wall_ms();
	gpc_autostr *what = NULL;
	char shown[32];

	t->skewed = true;
	gpc_net_set_host_clock(net, &t->request.url, t->reply.date_ms);
	if (t->call.dates_keys)
		gpc_net_set_clock(net, t->reply.date_ms);
	what = gpc_format("this machine's clock is %s %s that of the service: "
		"by that from now on", gpc_format_duration(offset_ms < 0 ?
		-offset_ms : offset_ms, shown, sizeof(shown)),
		offset_ms < 0 ? "ahead of" : "behind");
	again_now(t, err, what);
}

static void throttled(struct gpc_net_task *t)
{
	struct gpc_net *net = t->loop->net;

	pthread_mutex_lock(&net->lock);
	net->counts.throttled++;
	pthread_mutex_unlock(&net->lock);
}

/* Rather the service itself than what it was asked for. */
static bool is_overloaded(int status, enum gpc_net_verdict verdict)
{
	return verdict == GPC_NET_THROTTLED || (verdict == GPC_NET_RETRY &&
		(status >= 500 || status == 429 || status == 408));
}

static void refused(struct gpc_net_task *t, enum gpc_net_verdict verdict,
	struct gpc_error *err)
{
	bool outage = is_overloaded(t->reply.status, verdict);
	int r;

	if (err->code == GPC_OK)
		gpc_fail(err, code_of_status(t->reply.status),
			"the service answers %d (%s)", t->reply.status,
			words_of_status(t->reply.status));
	r = -(int)err->code;
	fill_error(t, err);
	if (verdict == GPC_NET_THROTTLED) {
		throttled(t);
		again_later(t, r, THROTTLED_BASE_MS, outage, err);
	} else if (verdict == GPC_NET_RETRY && t->call.repeatable) {
		again_later(t, r, BASE_MS, outage, err);
	} else if (is_stuck(t)) {
		fail(t, r, err);
	} else if (verdict == GPC_NET_RENEW && t->call.sign && !t->renewed) {
		t->renew = t->renewed = true;
		again_now(t, err, "again with new credentials");
	} else if (verdict == GPC_NET_SKEWED && t->reply.date_ms &&
		!t->skewed) {
		shift_clock(t, err);
	} else if (verdict == GPC_NET_AGAIN && !t->mended) {
		t->mended = true;
		again_now(t, err, "again at once");
	} else {
		if (verdict == GPC_NET_RETRY && !err->hint[0])
			warn_unclear(err);
		err->passes = verdict == GPC_NET_RENEW ||
			verdict == GPC_NET_SKEWED;
		fail(t, r, err);
	}
}

void gpc_net_tried(struct gpc_net_task *t, int r, struct gpc_error *err)
{
	enum gpc_net_verdict verdict;

	if (r != 0) {
		lost(t, r, err);
		return;
	}
	*err = (struct gpc_error){0};
	t->reply.tries = t->tries + t->resent;
	verdict = t->call.judge ? t->call.judge(t->call.arg, &t->reply, err) :
		gpc_net_judge_status(&t->reply, err);
	if (!is_overloaded(t->reply.status, verdict))
		gpc_net_host_moves(t);
	if (verdict == GPC_NET_DONE) {
		earn(t->loop->net);
		gpc_net_finish(t, 0, err);
		return;
	}
	refused(t, verdict, err);
}
