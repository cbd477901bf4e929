/* Calls against a server that fails on command: what is tried again, how often,
 * after which pause, what never is, and what is said of it. */
#include "net_one.h"

#include "base/time.h"

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
		{"retry-after", "99999999999999999999", NULL, 60000},
		{"retry-after", "99999999999999999999s", NULL, 0},
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

static void keep_line(void *arg, enum gpc_level level, const char *line)
{
	gpc_buf_addf(arg, "%d %s\n", (int)level, line);
}

TEST(traces_without_secrets)
{
	static const char *const hidden[] = {"authorization",
		"x-amz-security-token", "x-acs-security-token",
		"x-oss-security-token", "cookie", "x-aws-ec2-metadata-token",
		"x-amz-server-side-encryption-customer-key", "x-api-key",
		"X-Auth-Key", "Proxy-Authorization"};
	static const char *const hidden_queries[] = {"X-Amz-Signature",
		"X-Amz-Security-Token", "X-Amz-Credential", "Signature",
		"access_token", "OSSAccessKeyId", "x-oss-signature",
		"x-oss-credential", "X-Goog-Signature", "X-Goog-Credential",
		"key", "client_secret", "apikey", "pwd", "jwt"};
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

	/* What is somebody's own may be secret by any name. */
	gpc_buf_reset(&lines);
	prepare(&o, "GET", "/do/HUSH/200?any=HUSH");
	gpc_pairs_add(&o.request.headers, "any", "HUSH");
	o.call.hushed = true;
	go(net, &o);
	assert_int_equal(o.r, 0);
	assert_null(strstr(gpc_buf_str(&lines), "HUSH"));
	assert_has(gpc_buf_str(&lines), "/***?any=***");
	clear(&o);
}

TEST(hides_secrets_in_refusals)
{
	static const struct {
		const char *type, *body;        /* of the request */
		bool all;
		const char *said, *want;        /* of the refusal */
	} cases[] = {
		{NULL, NULL, false, "no Bearer in-a-header, in-a-header",
			"no ******************, ***********"},
		{NULL, NULL, false, "q=in+a%query q=in%2Ba%25query",
			"q=********** q=**************"},
		{NULL, NULL, false, "any-thing any-query", "any-thing any-query"},
		{NULL, NULL, true, "any-thing any-query", "********* *********"},
		{"application/x-www-form-urlencoded; charset=utf-8",
			"a=visible1&refresh_token=in%2Fa+form&short_token=x&"
			"subject_token_type=visible2", false,
			"visible1 in/a form in%2Fa%20form x visible2",
			"visible1 ********* ************* x visible2"},
		{"application/json", "{\"a\": \"visible1\", \"clientSecret\": "
			"\"in-a-json\", \"n\": 1}", false,
			"visible1in-a-json", "visible1*********"},
		{"application/json", "{\"clientSecret", false, "\"clientSecret",
			"\"clientSecret"},
		{"text/plain", "token=in-a-text", false, "in-a-text",
			"in-a-text"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_buf) struct gpc_buf said = {0};
		struct one o;

		prepare(&o, "POST", "/?any=any-query&access_token=in%2Ba%25query");
		gpc_pairs_add(&o.request.headers, "authorization",
			"Bearer in-a-header");
		gpc_pairs_add(&o.request.headers, "any", "any-thing");
		if (cases[i].type)
			gpc_pairs_add(&o.request.headers, "content-type",
				cases[i].type);
		if (cases[i].body)
			o.request.body = (struct gpc_body){ .fd = -1,
				.data = cases[i].body,
				.size = strlen(cases[i].body) };
		gpc_buf_adds(&said, cases[i].said);
		gpc_net_hide(&o.request, cases[i].all, &said);
		assert_string_equal(gpc_buf_str(&said), cases[i].want);
		clear(&o);
	}
}

/* What is good is handed on as it came. */
TEST(hides_nothing_in_successes)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	static const char *const paths[] = {"/echo", "/deny"};

	for (size_t i = 0; i < 2; i++) {
		struct one o;

		prepare(&o, "GET", paths[i]);
		gpc_pairs_add(&o.request.headers, "x-amz-security-token",
			"HUSHHUSH");
		go(net, &o);
		assert_int_equal(o.r, i ? -GPC_EPROTO : 0);
		assert_int_equal(!strstr(gpc_buf_str(&o.reply.body), "HUSH"),
			i == 1);
		assert_has(gpc_buf_str(&o.reply.body), "x-amz-security-token: ");
		clear(&o);
	}
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
		cmocka_unit_test(traces_without_secrets),
		cmocka_unit_test(hides_secrets_in_refusals),
		cmocka_unit_test(hides_nothing_in_successes),
		cmocka_unit_test(says_why_it_tries_again),
		cmocka_unit_test(refuses_headers_that_would_be_two),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
