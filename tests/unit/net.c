/* Calls against a server that fails on command: what is tried again, how often,
 * after which pause, and what never is. */
#include "net_bed.h"

#include <pthread.h>
#include <sys/time.h>

#include "base/time.h"
#include "net/net_parts.h"

static struct bed bed;

/* A call with everything that it borrows, and a log. */
struct one {
	struct gpc_request request;
	struct gpc_call call;
	struct gpc_reply reply;
	struct gpc_error err;
	int r, done, signed_n, renewed, rewound;
	enum gpc_net_verdict on_refusal;        /* of our judge */
	struct gpc_buf sunk;
	bool no_resume;
};

static void prepare(struct one *o, const char *method, const char *path)
{
	gpc_autostr *url = gpc_format("http://127.0.0.1:%d%s",
		bed.ports[BED_HTTP], path);
	struct gpc_error err = {0};

	*o = (struct one){0};
	gpc_request_init(&o->request, method);
	assert_ok(gpc_url_parse(url, &o->request.url, &err));
	o->call.request = &o->request;
	o->call.repeatable = gpc_eq(method, "GET");
	o->call.arg = o;
}

static void clear(struct one *o)
{
	gpc_request_clear(&o->request);
	gpc_reply_clear(&o->reply);
	gpc_buf_clear(&o->sunk);
}

static struct gpc_net *new_net(struct gpc_net_settings settings)
{
	if (!settings.max_tries)
		settings.max_tries = 3;
	return gpc_net_new(&settings);
}

static void go(struct gpc_net *net, struct one *o)
{
	o->r = gpc_net_call(net, &o->call, &o->reply, &o->err);
}

static int number(const char *path)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;
	int n;

	prepare(&o, "GET", path);
	go(net, &o);
	assert_int_equal(o.r, 0);
	n = (int)strtol(gpc_buf_str(&o.reply.body), NULL, 10);
	clear(&o);
	return n;
}

static int requests(const char *key)
{
	gpc_autostr *path = gpc_format("/count/%s", key);

	return number(path);
}

TEST(tries_again_what_may_be)
{
	static const struct {
		const char *key, *method, *steps;
		bool repeatable;
		int want, code;
	} cases[] = {
		{"a1", "GET", "503,500,200", true, 3, 0},
		{"a2", "GET", "408,429,200", true, 3, 0},
		{"a3", "PUT", "close,reset,200", true, 3, 0},
		{"a4", "GET", "cut,cutchunk,200", true, 3, 0},
		{"a5", "GET", "502", true, 3, GPC_ENET},
		{"a6", "GET", "504", true, 3, GPC_ETIMEOUT},
		{"a7", "GET", "503", true, 3, GPC_ERATE},
		{"a8", "GET", "400,200", true, 1, GPC_EPROTO},
		{"a9", "GET", "403,200", true, 1, GPC_EAUTH},
		{"a10", "GET", "404,200", true, 1, GPC_ENOTFOUND},
		{"a11", "GET", "412,200", true, 1, GPC_ECONFLICT},
		{"a12", "GET", "junk,200", true, 1, GPC_EPROTO},
		{"a13", "GET", "control,200", true, 1, GPC_EPROTO},
		{"a14", "GET", "many:300,200", true, 1, GPC_EPROTO},
		/* Not repeatable: only what the service refused to do. */
		{"b1", "POST", "500,200", false, 1, GPC_ENET},
		{"b2", "POST", "503,200", false, 1, GPC_ERATE},
		{"b3", "POST", "429,200", false, 2, 0},
		{"b4", "POST", "close,200", false, 1, GPC_ENET},
		{"b5", "POST", "reset,200", false, 1, GPC_ENET},
		{"b6", "POST", "cut,200", false, 1, GPC_ENET},
		{"b7", "POST", "stall,200", false, 1, GPC_ETIMEOUT},
		{"b8", "POST", "hang,200", false, 1, GPC_ETIMEOUT},
		{"b9", "GET", "stall,hang,200", true, 3, 0},
	};
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){
		.stall_ms = 300});

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *path = gpc_format("/do/%s/%s", cases[i].key,
			cases[i].steps);
		struct one o;

		prepare(&o, cases[i].method, path);
		o.call.repeatable = cases[i].repeatable;
		go(net, &o);
		if (o.r != -cases[i].code)
			fail_msg("%s: %d: %s", path, o.r, o.err.msg);
		assert_int_equal(requests(cases[i].key), cases[i].want);
		/* What a used connection lost, libcurl sends again itself. */
		if (o.reply.status)
			assert_in_range(o.reply.tries, 1, cases[i].want);
		if (o.r == 0)
			assert_int_equal(o.reply.status, 200);
		else
			assert_has(o.err.msg, cases[i].method);
		if (o.r == -GPC_ENET && !cases[i].repeatable)
			assert_has(o.err.hint, "not known whether");
		clear(&o);
	}
}

TEST(tells_all_of_a_failure)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	gpc_autostr *host = gpc_format("GET 127.0.0.1:%d, 2 tries: ",
		bed.ports[BED_HTTP]);
	struct gpc_net_counts counts;
	struct one o;

	prepare(&o, "GET", "/do/c1/503:Retry-After=0");
	o.call.max_tries = 2;
	go(net, &o);
	assert_int_equal(o.r, -GPC_ERATE);
	assert_int_equal(o.err.http, 503);
	assert_string_equal(o.err.request_id, "REQ-1");
	assert_true(gpc_starts_with(o.err.msg, host));
	assert_int_equal(o.reply.status, 503);
	assert_int_equal(o.reply.tries, 2);
	assert_string_equal(gpc_buf_str(&o.reply.body), "body of 503");
	assert_true(o.reply.date_ms > 0);
	gpc_net_counts(net, &counts);
	assert_int_equal(counts.requests, 2);
	assert_int_equal(counts.retries, 1);
	assert_int_equal(counts.received, 22);
	clear(&o);
}

/* Nothing was sent, so even what may be done once is tried again. */
TEST(tries_to_connect_again)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct gpc_net_counts counts;
	struct one o;

	prepare(&o, "POST", "/");
	o.request.url.port = 1;
	o.call.max_tries = 2;
	go(net, &o);
	assert_int_equal(o.r, -GPC_ENET);
	assert_has(o.err.msg, "2 tries: no connection");
	assert_null(strstr(o.err.hint, "not known"));
	gpc_net_counts(net, &counts);
	assert_int_equal(counts.requests, 2);
	clear(&o);
}

TEST(waits_as_long_as_it_is_asked_to)
{
	static const struct { const char *path; int least_ms; } cases[] = {
		{"/do/w1/429:Retry-After=1,200", 1000},
		{"/do/w2/503:x-acs-retry-after=1200,200", 1200},
		{"/do/w3/after:3,200", 1900},
	};
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t start = gpc_boot_ms();
		struct one o;

		prepare(&o, "GET", cases[i].path);
		go(net, &o);
		assert_int_equal(o.r, 0);
		assert_true(gpc_boot_ms() - start >= cases[i].least_ms);
		clear(&o);
	}
}

TEST(reads_what_replies_ask_for)
{
	static const struct { const char *name, *value, *date; int ms; }
	cases[] = {
		{"retry-after", "0", NULL, 0},
		{"retry-after", "2", NULL, 2000},
		{"retry-after", "3600", NULL, 60000},
		{"retry-after", "99999999999999999999", NULL, 0},
		{"retry-after", "-1", NULL, 0},
		{"retry-after", "+1", NULL, 0},
		{"retry-after", "1.5", NULL, 0},
		{"retry-after", "", NULL, 0},
		{"retry-after", "soon", NULL, 0},
		{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT",
			"Sun, 06 Nov 1994 08:49:30 GMT", 7000},
		{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT",
			"Sun, 06 Nov 1994 08:49:38 GMT", 0},
		{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", NULL, 0},
		{"retry-after", "Sun, 06 Nov 2094 08:49:37 GMT",
			"Sun, 06 Nov 1994 08:49:38 GMT", 60000},
		{"x-acs-retry-after", "1500", NULL, 1500},
		{"retry-after-ms", "70000", NULL, 60000},
		{"x-retry-after-ms", "12", NULL, 12},
		{"x-other", "12", NULL, 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_reply) struct gpc_reply r = {0};

		r.date_ms = gpc_http_date_ms(cases[i].date);
		gpc_pairs_add(&r.headers, cases[i].name, cases[i].value);
		if (gpc_net_retry_after(&r, gpc_wall_ms()) != cases[i].ms)
			fail_msg("%s: %s", cases[i].name, cases[i].value);
	}
}

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	struct one *o = arg;

	(void)err;
	/* Each try starts from the caller's request. */
	assert_false(gpc_pairs_has(&r->headers, "x-now"));
	gpc_pairs_setf(&r->headers, "x-now", "%lld", (long long)now_ms);
	o->signed_n++;
	o->renewed += renew;
	return 0;
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	struct one *o = arg;
	enum gpc_net_verdict verdict = gpc_net_judge_status(reply, err);

	return verdict == GPC_NET_FAILED ? o->on_refusal : verdict;
}

TEST(shifts_its_clock_once)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	for (int i = 0; i < 2; i++) {
		prepare(&o, "POST", "/do/skew/skew");
		o.call.sign = sign;
		o.call.judge = judge;
		o.on_refusal = GPC_NET_SKEWED;
		go(net, &o);
		assert_int_equal(o.r, 0);
		/* The second call knows. */
		assert_int_equal(o.signed_n, i == 0 ? 2 : 1);
		clear(&o);
	}
	/* Keys do not end by the clock of a service that makes none. */
	assert_true(gpc_net_now_ms(net) - gpc_wall_ms() < 60000);
	/* A service that is never content is asked twice. */
	prepare(&o, "POST", "/do/skew2/403");
	o.call.sign = sign;
	o.call.judge = judge;
	o.on_refusal = GPC_NET_SKEWED;
	go(net, &o);
	assert_int_equal(o.r, -GPC_EAUTH);
	assert_int_equal(o.signed_n, 2);
	assert_int_equal(requests("skew2"), 2);
	clear(&o);
}

/* Of two services one has a clock that is off: the other's signatures are as they
 * were. */
TEST(keeps_clocks_apart)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	for (int i = 0; i < 4; i++) {
		prepare(&o, "POST", "/do/apart/skew");
		if (i % 2 == 1)
			gpc_set_str(&o.request.url.host, "localhost");
		o.call.sign = sign;
		o.call.judge = judge;
		o.on_refusal = GPC_NET_SKEWED;
		go(net, &o);
		assert_int_equal(o.r, 0);
		/* Each of them has to be learned, once. */
		assert_int_equal(o.signed_n, i < 2 ? 2 : 1);
		clear(&o);
	}
	/* One that hands out keys says when they end, and speaks for those that
	 * nothing is known of. */
	prepare(&o, "POST", "/do/keys/skew");
	gpc_net_set_host_clock(net, &o.request.url, gpc_wall_ms());
	o.call.sign = sign;
	o.call.judge = judge;
	o.call.dates_keys = true;
	o.on_refusal = GPC_NET_SKEWED;
	go(net, &o);
	assert_int_equal(o.r, 0);
	assert_true(gpc_net_now_ms(net) - gpc_wall_ms() > 7100000);
	assert_true(gpc_net_now_ms(net) - gpc_wall_ms() < 7300000);
	gpc_set_str(&o.request.url.host, "third.test");
	assert_true(gpc_net_host_now_ms(net, &o.request.url) - gpc_wall_ms() >
		7100000);
	clear(&o);
}

TEST(forgets_old_clocks)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	prepare(&o, "GET", "/");
	for (int port = 1; port <= 3 * GPC_NET_CLOCKS; port++) {
		o.request.url.port = port;
		gpc_net_set_host_clock(net, &o.request.url,
			gpc_wall_ms() + port * INT64_C(3600000));
	}
	assert_int_equal(net->n_clocks, GPC_NET_CLOCKS);
	for (int port = 1; port <= 3 * GPC_NET_CLOCKS; port++) {
		int64_t want = port > 2 * GPC_NET_CLOCKS ?
			port * INT64_C(3600000) : 0, off;

		o.request.url.port = port;
		off = gpc_net_host_now_ms(net, &o.request.url) - gpc_wall_ms() -
			want;
		assert_true(off > -1800000 && off < 1800000);
	}
	clear(&o);
}

TEST(renews_and_mends_once)
{
	static const struct {
		const char *path;
		enum gpc_net_verdict verdict;
		int code, renewed;
	} cases[] = {
		{"/do/r1/401,200", GPC_NET_RENEW, 0, 1},
		{"/do/r2/401", GPC_NET_RENEW, GPC_EAUTH, 1},
		{"/do/r3/301,200", GPC_NET_AGAIN, 0, 0},
		{"/do/r4/301", GPC_NET_AGAIN, GPC_EPROTO, 0},
	};
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){
		.max_tries = 1});

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct one o;

		prepare(&o, "POST", cases[i].path);
		o.call.sign = sign;
		o.call.judge = judge;
		o.on_refusal = cases[i].verdict;
		go(net, &o);
		assert_int_equal(o.r, -cases[i].code);
		assert_int_equal(o.signed_n, 2);
		assert_int_equal(o.renewed, cases[i].renewed);
		clear(&o);
	}
}

static int refuse_to_sign(void *arg, struct gpc_request *r, int64_t now_ms,
	bool renew, struct gpc_error *err)
{
	(void)arg;
	(void)r;
	(void)now_ms;
	(void)renew;
	return gpc_fail(err, GPC_EAUTH, "no credentials");
}

TEST(ends_when_it_cannot_sign)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	prepare(&o, "GET", "/do/nosign/200");
	o.call.sign = refuse_to_sign;
	go(net, &o);
	assert_int_equal(o.r, -GPC_EAUTH);
	assert_string_equal(o.err.msg, "no credentials");
	assert_int_equal(requests("nosign"), 0);
	clear(&o);
}

static int sink(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct one *o = arg;

	(void)err;
	gpc_buf_add(&o->sunk, data, n);
	return 0;
}

static int resume(void *arg, struct gpc_request *r, struct gpc_error *err)
{
	struct one *o = arg;

	(void)err;
	o->rewound++;
	if (o->no_resume)
		gpc_buf_reset(&o->sunk);
	else
		gpc_pairs_setf(&r->headers, "range", "bytes=%zu-", o->sunk.len);
	return 0;
}

TEST(goes_on_where_a_download_broke)
{
	static const struct {
		const char *path;
		bool rewind, no_resume;
		int code;
	} cases[] = {
		{"/do/d1/part:1500,part:700,part", true, false, 0},
		{"/do/d2/part:1500,part:700,part", true, true, 0},
		{"/do/d3/part:1500,part", false, false, GPC_ENET},
		/* Nothing had been delivered yet. */
		{"/do/d4/503,close,part", false, false, 0},
	};
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct one o;

		prepare(&o, "GET", cases[i].path);
		o.call.sink = sink;
		o.call.rewind = cases[i].rewind ? resume : NULL;
		o.no_resume = cases[i].no_resume;
		go(net, &o);
		assert_int_equal(o.r, -cases[i].code);
		assert_int_equal(o.rewound, cases[i].rewind ? 2 : 0);
		if (o.r == 0) {
			assert_int_equal(o.sunk.len, 4000);
			for (size_t k = 0; k < 4000; k++)
				assert_int_equal((uint8_t)o.sunk.data[k],
					k % 251);
		}
		assert_int_equal(o.reply.body.len, 0);
		clear(&o);
	}
}

static int full(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	(void)arg;
	(void)data;
	(void)n;
	return gpc_fail(err, GPC_ENET, "the other store is away");
}

TEST(hands_back_what_the_sink_says)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	prepare(&o, "GET", "/do/sink/bytes:100000");
	o.call.sink = full;
	o.call.rewind = resume;
	go(net, &o);
	assert_int_equal(o.r, -GPC_ENET);
	assert_string_equal(o.err.msg, "the other store is away");
	assert_int_equal(requests("sink"), 1);
	clear(&o);
	/* Only successes go there. */
	prepare(&o, "GET", "/do/sink2/404");
	o.call.sink = full;
	go(net, &o);
	assert_int_equal(o.r, -GPC_ENOTFOUND);
	assert_string_equal(gpc_buf_str(&o.reply.body), "body of 404");
	clear(&o);
}

static int only_partial(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	struct one *o = arg;

	o->done++;
	assert_int_equal(o->sunk.len, 0);
	return reply->status == 206 ? 0 :
		gpc_fail(err, GPC_EPROTO, "not the range");
}

TEST(shows_the_head_before_the_body)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	prepare(&o, "GET", "/do/head/bytes:100");
	o.call.sink = sink;
	o.call.head = only_partial;
	go(net, &o);
	assert_int_equal(o.r, -GPC_EPROTO);
	assert_string_equal(o.err.msg, "not the range");
	assert_int_equal(o.sunk.len, 0);
	assert_int_equal(o.done, 1);
	clear(&o);
	prepare(&o, "GET", "/do/head2/bytes:0");
	o.call.head = only_partial;
	go(net, &o);
	assert_int_equal(o.r, -GPC_EPROTO);
	clear(&o);
	prepare(&o, "GET", "/do/head3/206");
	o.call.sink = sink;
	o.call.head = only_partial;
	go(net, &o);
	assert_int_equal(o.r, 0);
	assert_int_equal(o.done, 1);
	assert_string_equal(gpc_buf_str(&o.sunk), "body of 206");
	clear(&o);
}

TEST(caps_bodies)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	prepare(&o, "GET", "/do/cap/bytes:1001");
	o.call.max_body = 1000;
	go(net, &o);
	assert_int_equal(o.r, -GPC_EPROTO);
	assert_has(o.err.msg, "more than 1000 bytes");
	assert_int_equal(requests("cap"), 1);
	clear(&o);
	prepare(&o, "GET", "/do/cap2/bytes:1000");
	o.call.max_body = 1000;
	go(net, &o);
	assert_int_equal(o.r, 0);
	assert_int_equal(o.reply.body.len, 1000);
	clear(&o);
	prepare(&o, "GET", "/do/cap3/bytes:17000000");
	go(net, &o);
	assert_int_equal(o.r, -GPC_EPROTO);
	clear(&o);
}

TEST(follows_no_redirect)
{
	gpc_autostr *path = gpc_format("/do/red/307:Location="
		"http://127.0.0.1:%d/do/target/200", bed.ports[BED_HTTP]);
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	prepare(&o, "GET", path);
	go(net, &o);
	assert_int_equal(o.r, -GPC_EPROTO);
	assert_has(o.err.msg, "redirect");
	assert_int_equal(o.reply.status, 307);
	assert_has(gpc_reply_header(&o.reply, "location"), "/do/target/200");
	assert_int_equal(requests("target"), 0);
	clear(&o);
}

TEST(keeps_connections)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	int before = number("/connections");

	for (int i = 0; i < 20; i++) {
		struct one o;

		prepare(&o, "GET", "/echo");
		go(net, &o);
		assert_int_equal(o.r, 0);
		clear(&o);
	}
	/* One is that which asks. */
	assert_int_equal(number("/connections"), before + 2);
}

TEST(asks_what_is_near_without_a_proxy)
{
	gpc_autostr *proxy = gpc_format("http://127.0.0.1:%d",
		bed.ports[BED_HTTP]);
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	int before = number("/proxied");
	struct one o;

	setenv("http_proxy", proxy, 1);
	prepare(&o, "GET", "/echo");
	go(net, &o);
	assert_int_equal(o.r, 0);
	clear(&o);
	prepare(&o, "GET", "/echo");
	gpc_set_str(&o.request.url.host, "far.test");
	o.request.url.port = 80;
	go(net, &o);
	assert_int_equal(o.r, 0);
	assert_has(gpc_buf_str(&o.reply.body), "host: far.test");
	clear(&o);
	bed_clean_environment();
	assert_int_equal(number("/proxied"), before + 1);
}

TEST(keeps_to_its_time)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){
		.max_tries = 1000});
	int64_t start = gpc_boot_ms();
	struct one o;

	prepare(&o, "GET", "/do/time/500");
	o.call.total_ms = 700;
	go(net, &o);
	assert_int_equal(o.r, -GPC_ENET);
	assert_true(gpc_boot_ms() - start < 30000);
	assert_true(o.reply.tries >= 2);
	clear(&o);
	prepare(&o, "GET", "/do/time2/hang");
	o.call.total_ms = 300;
	go(net, &o);
	assert_int_equal(o.r, -GPC_ETIMEOUT);
	assert_int_equal(requests("time2"), 1);
	clear(&o);
}

static struct gpc_cancel cancel;

static void on_alarm(int signal)
{
	cancel.signal = signal;
}

static void cancel_soon(void)
{
	struct itimerval soon = { .it_value.tv_usec = 200000 };

	cancel.signal = 0;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &soon, NULL);
}

TEST(ends_when_it_is_cancelled)
{
	static const char *const paths[] = {"/do/cancel1/hang",
		"/do/cancel2/503:Retry-After=50", "/do/cancel3/trickle"};

	for (size_t i = 0; i < COUNT(paths); i++) {
		gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){
			.cancel = &cancel});
		int64_t start = gpc_boot_ms();
		struct one o;

		cancel_soon();
		prepare(&o, "GET", paths[i]);
		go(net, &o);
		assert_int_equal(o.r, -GPC_ECANCELED);
		assert_true(gpc_boot_ms() - start < 20000);
		clear(&o);
		/* And begins nothing after it. */
		prepare(&o, "GET", "/do/cancel9/200");
		go(net, &o);
		assert_int_equal(o.r, -GPC_ECANCELED);
		clear(&o);
	}
	cancel.signal = 0;
	assert_int_equal(requests("cancel9"), 0);
}

static void on_done(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct one *o = arg;

	o->done++;
	o->r = r;
	o->reply.status = reply->status;
	if (r < 0)
		o->err = *err;
}

TEST(runs_many_at_once)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct gpc_net_loop *loop = gpc_net_loop_new(net);
	struct gpc_error err = {0};
	struct one o[64];
	int running = -1;

	for (size_t i = 0; i < COUNT(o); i++) {
		gpc_autostr *path = gpc_format("/do/many%zu/%s", i,
			i % 4 == 0 ? "503,200" : i % 4 == 1 ? "404" : "200");

		prepare(&o[i], "GET", path);
		assert_ok(gpc_net_loop_start(loop, &o[i].call, on_done, &o[i],
			&err));
		assert_int_equal(o[i].done, 0);
	}
	assert_ok(gpc_net_loop_run(loop, -1, &running, &err));
	assert_int_equal(running, 0);
	for (size_t i = 0; i < COUNT(o); i++) {
		assert_int_equal(o[i].done, 1);
		assert_int_equal(o[i].reply.status, i % 4 == 1 ? 404 : 200);
		clear(&o[i]);
	}
	gpc_net_loop_free(loop);
}

/* Each that ends starts the next one, up to a hundred. */
struct chain {
	struct gpc_net_loop *loop;
	struct one o;
	int n;
};

static void go_on(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct chain *c = arg;
	struct gpc_error e = {0};

	(void)err;
	assert_int_equal(r, 0);
	assert_int_equal(reply->status, 200);
	if (++c->n < 100)
		assert_int_equal(gpc_net_loop_start(c->loop, &c->o.call, go_on,
			c, &e), 0);
}

TEST(starts_calls_from_calls)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct chain c = { .loop = gpc_net_loop_new(net) };
	struct gpc_error err = {0};

	prepare(&c.o, "GET", "/echo");
	assert_ok(gpc_net_loop_start(c.loop, &c.o.call, go_on, &c, &err));
	assert_ok(gpc_net_loop_run(c.loop, -1, NULL, &err));
	assert_int_equal(c.n, 100);
	clear(&c.o);
	gpc_net_loop_free(c.loop);
}

static void *wake_soon(void *arg)
{
	gpc_sleep_ms(100);
	gpc_net_loop_wake(arg);
	return NULL;
}

TEST(returns_early_and_drops_what_runs)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct gpc_net_loop *loop = gpc_net_loop_new(net);
	struct gpc_error err = {0};
	pthread_t thread;
	struct one a, b;
	int running = 0;

	prepare(&a, "GET", "/do/early1/hang");
	prepare(&b, "GET", "/do/early2/503:Retry-After=50");
	assert_ok(gpc_net_loop_start(loop, &a.call, on_done, &a, &err));
	assert_ok(gpc_net_loop_start(loop, &b.call, on_done, &b, &err));
	assert_ok(gpc_net_loop_run(loop, 100, &running, &err));
	assert_int_equal(running, 2);
	assert_int_equal(pthread_create(&thread, NULL, wake_soon, loop), 0);
	assert_ok(gpc_net_loop_run(loop, 25000, &running, &err));
	assert_int_equal(running, 2);
	pthread_join(thread, NULL);
	gpc_net_loop_free(loop);
	assert_int_equal(a.done + b.done, 0);
	clear(&a);
	clear(&b);
}

TEST(has_a_budget)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){
		.max_tries = 4});
	struct gpc_net_loop *loop = gpc_net_loop_new(net);
	struct gpc_net_counts counts;
	struct gpc_error err = {0};
	struct one o[64];

	for (size_t i = 0; i < COUNT(o); i++) {
		prepare(&o[i], "GET", "/do/budget/500");
		assert_ok(gpc_net_loop_start(loop, &o[i].call, on_done, &o[i],
			&err));
	}
	assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
	gpc_net_counts(net, &counts);
	/* 500 tokens, 5 a retry: of 192 retries that were wanted. */
	assert_int_equal(counts.retries, 100);
	assert_int_equal(counts.requests, 164);
	for (size_t i = 0; i < COUNT(o); i++) {
		assert_int_equal(o[i].r, -GPC_ENET);
		clear(&o[i]);
	}
	gpc_net_loop_free(loop);
}

static void *call_often(void *arg)
{
	struct gpc_net *net = arg;

	for (int i = 0; i < 25; i++) {
		struct one o;

		prepare(&o, "PUT", "/echo");
		o.request.body = (struct gpc_body){ .data = "abc", .fd = -1,
			.size = 3 };
		o.call.repeatable = true;
		go(net, &o);
		if (o.r != 0 || !strstr(gpc_buf_str(&o.reply.body), "ba7816bf"))
			return arg;
		clear(&o);
	}
	return NULL;
}

TEST(may_be_called_from_several_threads)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct gpc_net_counts counts;
	pthread_t threads[8];

	for (size_t i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_often,
			net), 0);
	for (size_t i = 0; i < COUNT(threads); i++) {
		void *what;

		pthread_join(threads[i], &what);
		assert_null(what);
	}
	gpc_net_counts(net, &counts);
	assert_int_equal(counts.requests, 200);
	assert_int_equal(counts.sent, 600);
}

static void keep_line(void *arg, enum gpc_level level, const char *line)
{
	gpc_buf_addf(arg, "%d %s\n", (int)level, line);
}

TEST(traces_without_secrets)
{
	static const char *const hidden[] = {"authorization",
		"x-amz-security-token", "x-acs-security-token",
		"x-oss-security-token", "cookie", "x-aws-ec2-metadata-token",
		"x-amz-server-side-encryption-customer-key"};
	static const char *const hidden_queries[] = {"X-Amz-Signature",
		"X-Amz-Security-Token", "X-Amz-Credential", "Signature",
		"access_token", "OSSAccessKeyId", "x-oss-signature",
		"x-oss-credential", "X-Goog-Signature", "X-Goog-Credential",
		"key", "client_secret"};
	gpc_auto(gpc_buf) struct gpc_buf lines = {0};
	struct gpc_log log = { .level = GPC_TRACE, .sink = keep_line,
		.sink_arg = &lines };
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){
		.log = &log});
	struct one o;

	prepare(&o, "POST", "/do/trace/200:Set-Cookie=CRUMB");
	for (size_t i = 0; i < COUNT(hidden); i++)
		gpc_pairs_add(&o.request.headers, hidden[i], "HUSH");
	for (size_t i = 0; i < COUNT(hidden_queries); i++)
		gpc_pairs_add(&o.request.url.query, hidden_queries[i], "HUSH");
	gpc_pairs_add(&o.request.headers, "x-shown", "seen");
	gpc_pairs_add(&o.request.url.query, "prefix", "a/b c");
	o.request.body = (struct gpc_body){ .data = "password=HUSH", .fd = -1,
		.size = 13 };
	go(net, &o);
	assert_int_equal(o.r, 0);
	assert_null(strstr(gpc_buf_str(&lines), "HUSH"));
	assert_has(gpc_buf_str(&lines), "x-shown: seen");
	assert_has(gpc_buf_str(&lines), "prefix=a/b%20c");
	assert_has(gpc_buf_str(&lines), "X-Amz-Signature=***");
	assert_has(gpc_buf_str(&lines), "authorization: ***");
	assert_has(gpc_buf_str(&lines), "set-cookie: ***");
	assert_has(gpc_buf_str(&lines), "13 bytes");
	assert_has(gpc_buf_str(&lines), "< 200 after ");
	assert_has(gpc_buf_str(&lines), "request id REQ-1");
	clear(&o);

	gpc_buf_reset(&lines);
	prepare(&o, "GET",
		"/do/trace2/301:Location=https://x/y%3FX-Amz-Signature=HUSH");
	go(net, &o);
	assert_has(gpc_buf_str(&lines), "< location: https://x/y?***");
	clear(&o);
}

TEST(says_why_it_tries_again)
{
	gpc_auto(gpc_buf) struct gpc_buf lines = {0};
	struct gpc_log log = { .level = GPC_VERBOSE, .sink = keep_line,
		.sink_arg = &lines };
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){
		.log = &log});
	struct one o;

	prepare(&o, "GET", "/do/verbose/503,cut,200");
	go(net, &o);
	assert_int_equal(o.r, 0);
	assert_has(gpc_buf_str(&lines), "the service answers 503 (service "
		"unavailable); try 2 of 3 in ");
	assert_has(gpc_buf_str(&lines), "cut off");
	assert_has(gpc_buf_str(&lines), "; try 3 of 3 in ");
	assert_null(strstr(gpc_buf_str(&lines), " > "));
	clear(&o);
}

TEST(refuses_headers_that_would_be_two)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;

	prepare(&o, "GET", "/do/crlf/200");
	gpc_pairs_add(&o.request.headers, "x-a", "b\r\nx-c: d");
	go(net, &o);
	assert_int_equal(o.r, -GPC_EPROTO);
	clear(&o);
	assert_int_equal(requests("crlf"), 0);
}

static int set_up(void **state)
{
	(void)state;
	bed_start(&bed, false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bed_end(&bed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tries_again_what_may_be),
		cmocka_unit_test(tells_all_of_a_failure),
		cmocka_unit_test(tries_to_connect_again),
		cmocka_unit_test(waits_as_long_as_it_is_asked_to),
		cmocka_unit_test(reads_what_replies_ask_for),
		cmocka_unit_test(shifts_its_clock_once),
		cmocka_unit_test(keeps_clocks_apart),
		cmocka_unit_test(forgets_old_clocks),
		cmocka_unit_test(renews_and_mends_once),
		cmocka_unit_test(ends_when_it_cannot_sign),
		cmocka_unit_test(goes_on_where_a_download_broke),
		cmocka_unit_test(hands_back_what_the_sink_says),
		cmocka_unit_test(shows_the_head_before_the_body),
		cmocka_unit_test(caps_bodies),
		cmocka_unit_test(follows_no_redirect),
		cmocka_unit_test(keeps_connections),
		cmocka_unit_test(asks_what_is_near_without_a_proxy),
		cmocka_unit_test(keeps_to_its_time),
		cmocka_unit_test(ends_when_it_is_cancelled),
		cmocka_unit_test(runs_many_at_once),
		cmocka_unit_test(starts_calls_from_calls),
		cmocka_unit_test(returns_early_and_drops_what_runs),
		cmocka_unit_test(has_a_budget),
		cmocka_unit_test(may_be_called_from_several_threads),
		cmocka_unit_test(traces_without_secrets),
		cmocka_unit_test(says_why_it_tries_again),
		cmocka_unit_test(refuses_headers_that_would_be_two),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
