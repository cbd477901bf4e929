/* What flows through calls, for how long, and how many at once: downloads that break
 * and go on, limits of size and time, connections, cancelling, loops and threads. */
#include "net_one.h"

#include <pthread.h>
#include <sys/time.h>

#include "base/time.h"

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
	prepare(&o, "GET", "/echo");
	gpc_set_str(&o.request.url.host, "metadata.invalid");
	o.call.direct = true;
	o.call.max_tries = 1;
	go(net, &o);
	assert_int_equal(o.r, -GPC_ENET);
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
	o.call.total_ms = 1500;
	go(net, &o);
	/* the last try may have been cut short */
	assert_true(o.r == -GPC_ENET || o.r == -GPC_ETIMEOUT);
	assert_true(gpc_boot_ms() - start < 30000);
	assert_true(requests("time") >= 2);
	clear(&o);
	prepare(&o, "GET", "/do/time2/hang");
	o.call.total_ms = 300;
	go(net, &o);
	assert_int_equal(o.r, -GPC_ETIMEOUT);
	assert_int_equal(requests("time2"), 1);
	clear(&o);
	/* One that hangs does not use up the time of the next ones. */
	prepare(&o, "GET", "/do/time3/hang,200");
	o.call.try_ms = 1500;
	go(net, &o);
	assert_int_equal(o.r, 0);
	assert_true(o.reply.tries >= 2);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
