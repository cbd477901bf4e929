/* Transfers against a server that does on command what servers should not do. */
#include "net_bed.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/time.h"
#include "dep/crypto.h"
#include "dep/http.h"
#include "dep/http_parts.h"

static struct bed bed;

struct one {
	struct gpc_http_exchange x;
	int status, done, r, stop_at;
	struct gpc_pairs headers;
	struct gpc_buf body;
	struct gpc_error err;
	bool slow;
};

static int on_status(void *arg, int status, struct gpc_error *err)
{
	struct one *o = arg;

	(void)err;
	assert_int_equal(o->status, 0);
	o->status = status;
	return 0;
}

static int on_header(void *arg, const char *name, const char *value,
	struct gpc_error *err)
{
	struct one *o = arg;

	assert_int_equal(o->body.len, 0);
	if (gpc_eq(name, "x-refuse"))
		return gpc_fail(err, GPC_EPROTO, "not this header");
	gpc_pairs_add(&o->headers, name, value);
	return 0;
}

static int on_bytes(void *arg, const void *data, size_t n,
	struct gpc_error *err)
{
	struct one *o = arg;

	gpc_buf_add(&o->body, data, n);
	if (o->stop_at && o->body.len >= (size_t)o->stop_at)
		return gpc_fail(err, GPC_EIO, "the disk is full");
	return 0;
}

static void on_done(void *arg, int r, const struct gpc_error *err)
{
	struct one *o = arg;

	o->done++;
	o->r = r;
	o->err = *err;
}

static void prepare(struct one *o, const char *method)
{
	*o = (struct one){
		.x = {
			.method = method,
			.body.fd = -1,
			.status = on_status,
			.header = on_header,
			.sink = on_bytes,
			.done = on_done,
			.arg = o,
		},
	};
}

static void clear(struct one *o)
{
	gpc_pairs_clear(&o->headers);
	gpc_buf_clear(&o->body);
}

static struct gpc_http *new_http(const char *ca_file)
{
	struct gpc_http_settings settings = { .ca_file = ca_file,
		.user_agent = "gpucloud-test/1" };
	struct gpc_error err = {0};
	struct gpc_http *h = NULL;

	assert_ok(gpc_http_new(&settings, &h, &err));
	return h;
}

static void run_all(struct gpc_http *h)
{
	struct gpc_error err = {0};
	int running = 1;

	while (running > 0)
		assert_ok(gpc_http_run(h, 1000, &running, &err));
}

static char *url_of(const char *path)
{
	return gpc_format("http://127.0.0.1:%d%s", bed.ports[BED_HTTP], path);
}

/* Prepared by prepare; the whole of it. */
static void go(struct gpc_http *h, struct one *o, const char *path)
{
	gpc_autostr *url = url_of(path);
	struct gpc_error err = {0};

	o->x.url = url;
	assert_ok(gpc_http_start(h, &o->x, NULL, &err));
	assert_int_equal(o->done, 0);
	run_all(h);
	assert_int_equal(o->done, 1);
}

static void get(struct gpc_http *h, struct one *o, const char *path)
{
	prepare(o, "GET");
	go(h, o, path);
}

/* The number that a path of the server tells. */
static int number(struct gpc_http *h, const char *path)
{
	struct one o;
	int n;

	get(h, &o, path);
	assert_int_equal(o.r, 0);
	n = (int)strtol(gpc_buf_str(&o.body), NULL, 10);
	clear(&o);
	return n;
}

TEST(sends_only_what_it_was_told)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	gpc_auto(gpc_strv) struct gpc_strv headers = {0};
	gpc_autostr *want = NULL;
	struct one o;

	gpc_strv_add(&headers, "x-empty:");
	gpc_strv_add(&headers, "x-b: two  words");
	prepare(&o, "GET");
	o.x.headers = &headers;
	go(h, &o, "/echo/a/../b/./c//%7e%2F?x=%2f&y");
	assert_int_equal(o.r, 0);
	assert_int_equal(o.status, 200);
	want = gpc_format("GET /echo/a/../b/./c//%%7e%%2F?x=%%2f&y\n"
		"host: 127.0.0.1:%d\nuser-agent: gpucloud-test/1\nx-empty: \n"
		"x-b: two  words\nsha256: e3b0c44298fc1c149afbf4c8996fb92427ae"
		"41e4649b934ca495991b7852b855\n", bed.ports[BED_HTTP]);
	assert_string_equal(gpc_buf_str(&o.body), want);
	assert_string_equal(gpc_pairs_get(&o.headers, "content-type"),
		"text/plain");
	clear(&o);
}

TEST(sends_lengths)
{
	static const struct { const char *method, *body, *want; } cases[] = {
		{"POST", NULL, "content-length: 0\n"},
		{"PUT", "", "content-length: 0\n"},
		{"PUT", "abc", "content-length: 3\n"},
		{"DELETE", "abc", "content-length: 3\n"},
		{"GET", "abc", "content-length: 3\n"},
		{"DELETE", NULL, NULL},
		{"GET", NULL, NULL},
	};
	gpc_autoptr(gpc_http) *h = new_http(NULL);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct one o;

		prepare(&o, cases[i].method);
		o.x.body.data = cases[i].body;
		o.x.body.size = cases[i].body ? strlen(cases[i].body) : 0;
		go(h, &o, "/echo");
		assert_int_equal(o.r, 0);
		assert_true(gpc_starts_with(gpc_buf_str(&o.body),
			cases[i].method));
		if (cases[i].want)
			assert_has(gpc_buf_str(&o.body), cases[i].want);
		else
			assert_null(strstr(gpc_buf_str(&o.body),
				"content-length"));
		assert_null(strstr(gpc_buf_str(&o.body), "content-type"));
		assert_null(strstr(gpc_buf_str(&o.body), "expect"));
		assert_null(strstr(gpc_buf_str(&o.body), "accept"));
		clear(&o);
	}
}

/* n bytes from offset, in memory or in a file. */
static void upload(struct gpc_http *h, const char *bytes, int fd,
	uint64_t offset, uint64_t n, const char *path)
{
	char hex[GPC_SHA256_HEX];
	struct one o;

	prepare(&o, "PUT");
	o.x.body = (struct gpc_body){ .data = fd < 0 ? bytes + offset : NULL,
		.fd = fd, .offset = (int64_t)offset, .size = n };
	go(h, &o, path);
	if (o.r != 0)
		fail_msg("%s", o.err.msg);
	assert_int_equal(o.status, 200);
	gpc_sha256_hex(bytes + offset, n, hex);
	assert_has(gpc_buf_str(&o.body), hex);
	assert_int_equal(o.x.sent, n);
	assert_int_equal(o.x.received, o.body.len);
	assert_true(o.x.maybe_sent);
	if (n > 1 << 20)
		assert_has(gpc_buf_str(&o.body), "expect: 100-continue");
	else
		assert_null(strstr(gpc_buf_str(&o.body), "expect"));
	clear(&o);
}

TEST(uploads_memory_and_files)
{
	static const uint64_t sizes[] = {1, 1000, 65536, 300000, 1 << 20,
		3000001};
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	gpc_autostr *bytes = gpc_array(4 << 20, 1);
	gpc_autostr *path = gpc_path_join(bed.dir, "up");
	gpc_autofd fd = -1;
	struct gpc_error err = {0};

	for (size_t i = 0; i < 4 << 20; i++)
		bytes[i] = (char)(i * 31 + i / 253);
	assert_ok(gpc_write_file(path, bytes, 4 << 20, 0600, &err));
	assert_ok(gpc_open(path, O_RDONLY, 0, &fd, &err));
	for (size_t i = 0; i < COUNT(sizes); i++) {
		upload(h, bytes, -1, 7, sizes[i], "/echo");
		upload(h, bytes, fd, 11, sizes[i], "/echo");
	}
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
}

TEST(says_when_a_file_has_become_shorter)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	gpc_autostr *path = gpc_path_join(bed.dir, "short");
	gpc_autofd fd = -1;
	struct gpc_error err = {0};
	struct one o;

	assert_ok(gpc_write_file(path, "abc", 3, 0600, &err));
	assert_ok(gpc_open(path, O_RDONLY, 0, &fd, &err));
	prepare(&o, "PUT");
	o.x.body = (struct gpc_body){ .fd = fd, .size = 10 };
	go(h, &o, "/echo");
	assert_int_equal(o.r, -GPC_EPROTO);
	assert_has(o.err.msg, "3 of 10");
	clear(&o);
}

/* A refusal before the body: 100-continue saves sending it. */
TEST(asks_before_it_sends_much)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	gpc_autostr *bytes = gpc_array(8 << 20, 1);
	struct one o;

	prepare(&o, "PUT");
	o.x.body = (struct gpc_body){ .data = bytes, .fd = -1, .size = 8 << 20 };
	go(h, &o, "/echo/no-continue");
	assert_int_equal(o.r, 0);
	assert_int_equal(o.status, 403);
	assert_int_equal(o.x.sent, 0);
	clear(&o);
}

TEST(uses_connections_again)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	int before = number(h, "/connections");

	for (int i = 0; i < 20; i++)
		number(h, "/count/none");
	assert_int_equal(number(h, "/connections"), before);
}

TEST(reads_heads)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	struct one o;

	get(h, &o, "/do/head1/early");
	assert_int_equal(o.status, 200);
	assert_false(gpc_pairs_has(&o.headers, "x-early"));
	clear(&o);
	get(h, &o, "/do/head2/folded");
	assert_string_equal(gpc_pairs_get(&o.headers, "x-a"), "one  two");
	assert_string_equal(gpc_pairs_get(&o.headers, "x-b"), "");
	clear(&o);
	get(h, &o, "/do/head3/chunks");
	assert_string_equal(gpc_buf_str(&o.body), "hello world");
	assert_false(gpc_pairs_has(&o.headers, "x-trailer"));
	clear(&o);
	prepare(&o, "HEAD");
	go(h, &o, "/do/head4/200");
	assert_int_equal(o.status, 200);
	assert_int_equal(o.body.len, 0);
	assert_true(gpc_pairs_has(&o.headers, "date"));
	clear(&o);
	get(h, &o, "/do/head5/307:Location=http://127.0.0.1:1/x");
	assert_int_equal(o.r, 0);
	assert_int_equal(o.status, 307);
	assert_string_equal(gpc_pairs_get(&o.headers, "location"),
		"http://127.0.0.1:1/x");
	clear(&o);
}

TEST(names_each_failure)
{
	static const struct {
		const char *path;
		int code;
		const char *part;
		bool lasting;
	} cases[] = {
		{"/do/f1/close", GPC_ENET, "closed without a reply", false},
		{"/do/f2/reset", GPC_ENET, "reset", false},
		{"/do/f3/cut", GPC_ENET, "cut off", false},
		{"/do/f4/cutreset", GPC_ENET, "reset", false},
		{"/do/f5/cutchunk", GPC_ENET, "cut off", false},
		{"/do/f6/junk", GPC_EPROTO, "HTTP", true},
		{"/do/f7/many:257", GPC_EPROTO, "more than 256", false},
		{"/do/f8/long:60", GPC_EPROTO, "KiB of headers", false},
		{"/do/f9/control", GPC_EPROTO, "control byte", false},
		{"/do/f10/200:X-Refuse=1", GPC_EPROTO, "not this", false},
	};
	gpc_autoptr(gpc_http) *h = new_http(NULL);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct one o;

		get(h, &o, cases[i].path);
		if (o.r != -cases[i].code || !strstr(o.err.msg, cases[i].part))
			fail_msg("%s: %d: %s", cases[i].path, o.r, o.err.msg);
		assert_int_equal(o.err.code, cases[i].code);
		assert_true(o.x.maybe_sent);
		assert_int_equal(o.x.lasting, cases[i].lasting);
		clear(&o);
	}
}

TEST(takes_many_and_long_headers_up_to_its_limit)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	struct one o;

	get(h, &o, "/do/l1/many:255");
	assert_int_equal(o.r, 0);
	assert_int_equal(o.headers.n, 256);
	clear(&o);
	get(h, &o, "/do/l2/long:30");
	assert_int_equal(o.r, 0);
	clear(&o);
}

TEST(tells_connections_that_fail)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	struct gpc_error err = {0};
	struct one o;

	prepare(&o, "GET");
	o.x.url = "http://127.0.0.1:1/";
	assert_ok(gpc_http_start(h, &o.x, NULL, &err));
	run_all(h);
	assert_int_equal(o.r, -GPC_ENET);
	assert_has(o.err.msg, "refused");
	assert_true(o.err.hint[0] != '\0');
	assert_int_equal(o.err.sys, ECONNREFUSED);
	assert_false(o.x.maybe_sent);
	clear(&o);

	prepare(&o, "GET");
	o.x.url = "http://name.invalid/";
	assert_ok(gpc_http_start(h, &o.x, NULL, &err));
	run_all(h);
	assert_int_equal(o.r, -GPC_ENET);
	assert_has(o.err.msg, "cannot be resolved");
	assert_false(o.x.maybe_sent);
	clear(&o);
}

/* A socket whose queue is full answers nothing. */
TEST(limits_the_time_of_connecting)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	gpc_autostr *url = gpc_format("https://127.0.0.1:%d/",
		bed.ports[BED_HTTP]);
	struct gpc_error err = {0};
	struct one o;
	int64_t start = gpc_boot_ms();

	/* The server waits for a request, we for its part of the handshake. */
	prepare(&o, "GET");
	o.x.url = url;
	o.x.connect_ms = 200;
	assert_ok(gpc_http_start(h, &o.x, NULL, &err));
	run_all(h);
	assert_int_equal(o.r, -GPC_ETIMEOUT);
	assert_has(o.err.msg, "no connection within 200ms");
	assert_false(o.x.maybe_sent);
	assert_true(gpc_boot_ms() - start >= 200);
	clear(&o);
}

TEST(limits_silence_and_the_whole)
{
	static const struct {
		const char *path;
		int stall_ms, total_ms;
		const char *part;
	} cases[] = {
		{"/do/t1/hang", 200, 0, "no byte moved for 200ms"},
		{"/do/t2/stall", 200, 0, "no byte moved for 200ms"},
		{"/do/t3/hang", 0, 300, "not done within 300ms"},
		{"/do/t4/trickle", 5000, 300, "not done within 300ms"},
	};
	gpc_autoptr(gpc_http) *h = new_http(NULL);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct one o;

		prepare(&o, "GET");
		o.x.stall_ms = cases[i].stall_ms;
		o.x.total_ms = cases[i].total_ms;
		go(h, &o, cases[i].path);
		assert_int_equal(o.r, -GPC_ETIMEOUT);
		assert_has(o.err.msg, cases[i].part);
		assert_true(o.x.maybe_sent);
		clear(&o);
	}
}

TEST(stops_when_the_sink_does)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	struct one o;

	prepare(&o, "GET");
	o.stop_at = 1;
	go(h, &o, "/do/s1/bytes:100000000");
	assert_int_equal(o.r, -GPC_EIO);
	assert_string_equal(o.err.msg, "the disk is full");
	clear(&o);
}

/* libcurl sends again what a used connection lost, but not what goes once. */
TEST(does_not_send_twice_what_goes_once)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	struct one o;

	number(h, "/count/none");
	get(h, &o, "/do/twice/close,200");
	assert_int_equal(o.r, 0);
	assert_int_equal(number(h, "/count/twice"), 2);
	assert_int_equal(o.x.sends, 2);
	clear(&o);

	number(h, "/count/none");
	prepare(&o, "POST");
	o.x.once = true;
	go(h, &o, "/do/once/close,200");
	assert_int_equal(o.r, -GPC_ENET);
	assert_true(o.x.maybe_sent);
	assert_int_equal(number(h, "/count/once"), 1);
	clear(&o);
}

TEST(refuses_to_start_nonsense)
{
	static const char *const headers[] = {"x", ":y", "a b: c", "a: b\r\nc: d",
		"a: b\n", "a: \033", "a\r: b", "a: \x7f", "\xc3\xa4: b", ""};
	static const char *const urls[] = {"", "ftp://127.0.0.1/", "file:///etc",
		"127.0.0.1"};
	static const char *const methods[] = {"", "GET /", "G\r\nX", NULL};
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	struct gpc_error err = {0};
	struct one o;

	for (size_t i = 0; i < COUNT(headers); i++) {
		gpc_auto(gpc_strv) struct gpc_strv lines = {0};

		prepare(&o, "GET");
		gpc_strv_add(&lines, headers[i]);
		o.x.headers = &lines;
		o.x.url = "http://127.0.0.1:1/";
		assert_fails(gpc_http_start(h, &o.x, NULL, &err), GPC_EPROTO);
	}
	for (size_t i = 0; i < COUNT(urls); i++) {
		prepare(&o, "GET");
		o.x.url = urls[i];
		assert_fails(gpc_http_start(h, &o.x, NULL, &err), GPC_EPROTO);
	}
	for (size_t i = 0; i < COUNT(methods); i++) {
		prepare(&o, methods[i]);
		o.x.url = "http://127.0.0.1:1/";
		assert_fails(gpc_http_start(h, &o.x, NULL, &err), GPC_EPROTO);
	}
}

TEST(stops_without_a_word)
{
	gpc_autostr *url = url_of("/do/stop/hang");
	struct gpc_http *h = new_http(NULL);
	struct gpc_http_transfer *t = NULL;
	struct gpc_error err = {0};
	struct one a, b;
	int running;

	prepare(&a, "GET");
	prepare(&b, "GET");
	a.x.url = b.x.url = url;
	assert_ok(gpc_http_start(h, &a.x, &t, &err));
	assert_ok(gpc_http_start(h, &b.x, NULL, &err));
	assert_ok(gpc_http_run(h, 50, &running, &err));
	assert_int_equal(running, 2);
	gpc_http_stop(h, t);
	assert_ok(gpc_http_run(h, 0, &running, &err));
	assert_int_equal(running, 1);
	gpc_http_free(h);
	assert_int_equal(a.done + b.done, 0);
	clear(&a);
	clear(&b);
}

static void *wake_soon(void *arg)
{
	gpc_sleep_ms(100);
	gpc_http_wake(arg);
	return NULL;
}

TEST(is_woken)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	struct gpc_error err = {0};
	int64_t start = gpc_boot_ms();
	pthread_t thread;
	int running;

	assert_int_equal(pthread_create(&thread, NULL, wake_soon, h), 0);
	assert_ok(gpc_http_run(h, 60000, &running, &err));
	assert_int_equal(running, 0);
	assert_true(gpc_boot_ms() - start < 50000);
	pthread_join(thread, NULL);
}

TEST(goes_through_a_proxy)
{
	gpc_autostr *proxy = url_of("");
	gpc_autostr *tls = gpc_format("https://127.0.0.1:%d/echo/t",
		bed.ports[BED_GOOD]);
	gpc_autostr *ca = gpc_path_join(bed.dir, "ca.pem");
	gpc_autoptr(gpc_http) *h = new_http(ca);
	struct gpc_error err = {0};
	struct one o;
	int before = number(h, "/proxied");

	assert_int_equal(setenv("http_proxy", proxy, 1), 0);
	assert_int_equal(setenv("https_proxy", proxy, 1), 0);
	prepare(&o, "GET");
	o.x.url = "http://far.test/echo/a/../b";
	assert_ok(gpc_http_start(h, &o.x, NULL, &err));
	run_all(h);
	assert_int_equal(o.r, 0);
	assert_has(gpc_buf_str(&o.body), "GET /echo/a/../b\nhost: far.test\n");
	clear(&o);
	if (bed.ports[BED_GOOD]) {
		prepare(&o, "GET");
		o.x.url = tls;
		assert_ok(gpc_http_start(h, &o.x, NULL, &err));
		run_all(h);
		if (o.r != 0)
			fail_msg("%s", o.err.msg);
		assert_int_equal(o.status, 200);
		assert_false(gpc_pairs_has(&o.headers, "x-proxy"));
		clear(&o);
		before++;
	}
	/* Metadata services are never asked by a proxy. */
	prepare(&o, "GET");
	o.x.no_proxy = true;
	go(h, &o, "/echo/direct");
	assert_int_equal(o.r, 0);
	clear(&o);
	bed_clean_environment();
	assert_int_equal(number(h, "/proxied"), before + 1);
}

TEST(dials_what_it_is_told_to)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	gpc_autostr *to = gpc_format("127.0.0.1:%d", bed.ports[BED_HTTP]);
	struct gpc_error err = {0};
	struct one o;

	prepare(&o, "GET");
	o.x.url = "http://bucket.s3.test/echo";
	o.x.connect_to = to;
	assert_ok(gpc_http_start(h, &o.x, NULL, &err));
	run_all(h);
	assert_int_equal(o.r, 0);
	assert_has(gpc_buf_str(&o.body), "host: bucket.s3.test\n");
	clear(&o);
}

/* By which file or folder, to which port: what comes of it. */
static void check_tls(const char *ca, enum bed_port port, const char *part)
{
	gpc_autostr *path = ca ? gpc_path_join(bed.dir, ca) : NULL;
	gpc_autostr *to = gpc_format("127.0.0.1:%d", bed.ports[port]);
	gpc_autoptr(gpc_http) *h = new_http(path);
	struct gpc_error err = {0};
	struct one o;

	prepare(&o, "GET");
	o.x.url = "https://s3.test/echo";
	o.x.connect_to = to;
	assert_ok(gpc_http_start(h, &o.x, NULL, &err));
	run_all(h);
	if (!part) {
		if (o.r != 0)
			fail_msg("%s", o.err.msg);
		assert_has(gpc_buf_str(&o.body), "host: s3.test");
	} else {
		assert_true(o.r < 0);
		assert_has(o.err.msg, part);
		assert_true(o.err.hint[0] != '\0');
		assert_false(o.x.maybe_sent);
		assert_true(o.x.lasting);
	}
	clear(&o);
}

TEST(tells_certificates_apart)
{
	gpc_autostr *ca = NULL, *missing = NULL;

	if (!bed.ports[BED_EXPIRED])
		skip();
	ca = gpc_path_join(bed.dir, "ca.pem");
	missing = gpc_path_join(bed.dir, "missing.pem");
	check_tls("ca.pem", BED_GOOD, NULL);
	check_tls("ca2.pem", BED_GOOD, "authority that is not known");
	check_tls(NULL, BED_GOOD, "authority that is not known");
	check_tls("ca.pem", BED_OTHER_NAME, "another host name");
	check_tls("ca.pem", BED_EXPIRED, "has expired");
	check_tls("missing.pem", BED_GOOD, "missing.pem");
	assert_int_equal(setenv("CURL_CA_BUNDLE", ca, 1), 0);
	check_tls(NULL, BED_GOOD, NULL);
	assert_int_equal(setenv("SSL_CERT_FILE", missing, 1), 0);
	check_tls(NULL, BED_GOOD, "missing.pem");
	check_tls("ca.pem", BED_GOOD, NULL);
	bed_clean_environment();
}

TEST(finds_certificates)
{
	struct gpc_http_ca ca;

	setenv("GPUCLOUD_CA_FILE", "/y.pem", 1);
	gpc_http_ca_find("/x.pem", &ca);
	assert_string_equal(ca.file, "/x.pem");
	assert_string_equal(ca.from, "ca_file");
	assert_null(ca.folder);
	gpc_http_ca_clear(&ca);
	setenv("SSL_CERT_FILE", "/f", 1);
	gpc_http_ca_find(NULL, &ca);
	assert_string_equal(ca.file, "/y.pem");
	assert_string_equal(ca.from, "GPUCLOUD_CA_FILE");
	gpc_http_ca_clear(&ca);
	bed_clean_environment();
	setenv("SSL_CERT_DIR", "/d", 1);
	setenv("CURL_CA_BUNDLE", "/b", 1);
	gpc_http_ca_find(NULL, &ca);
	assert_string_equal(ca.folder, "/d");
	assert_null(ca.file);
	gpc_http_ca_clear(&ca);
	setenv("SSL_CERT_FILE", "/f", 1);
	setenv("SSL_CERT_DIR", "", 1);
	gpc_http_ca_find("", &ca);
	assert_string_equal(ca.file, "/f");
	assert_string_equal(ca.from, "SSL_CERT_FILE");
	assert_null(ca.folder);
	gpc_http_ca_clear(&ca);
	bed_clean_environment();
}

/* Nothing piles up while much goes through. */
static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static int count_bytes(void *arg, const void *data, size_t n,
	struct gpc_error *err)
{
	(void)arg;
	(void)data;
	(void)n;
	(void)err;
	return 0;
}

TEST(passes_a_gibibyte_through)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	uint64_t n = getenv("GPUCLOUD_TEST_VALGRIND") ? 1 << 24 : 1 << 30;
	gpc_autostr *path = gpc_format("/do/gib/bytes:%llu",
		(unsigned long long)n);
	struct one o;
	long before;

	get(h, &o, "/do/warm/bytes:100000000");
	clear(&o);
	before = peak_kib();
	prepare(&o, "GET");
	o.x.sink = count_bytes;
	go(h, &o, path);
	assert_int_equal(o.r, 0);
	assert_true(o.x.received == n);
	assert_true(peak_kib() - before < 20 << 10);
	clear(&o);
}

TEST(runs_many_at_once)
{
	gpc_autoptr(gpc_http) *h = new_http(NULL);
	gpc_autostr *url = url_of("/echo");
	struct gpc_error err = {0};
	struct one o[64];

	for (size_t i = 0; i < COUNT(o); i++) {
		prepare(&o[i], "GET");
		o[i].x.url = url;
		assert_ok(gpc_http_start(h, &o[i].x, NULL, &err));
	}
	run_all(h);
	for (size_t i = 0; i < COUNT(o); i++) {
		assert_int_equal(o[i].done, 1);
		assert_int_equal(o[i].r, 0);
		assert_int_equal(o[i].status, 200);
		clear(&o[i]);
	}
}

static int set_up(void **state)
{
	(void)state;
	bed_start(&bed, true);
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
		cmocka_unit_test(sends_only_what_it_was_told),
		cmocka_unit_test(sends_lengths),
		cmocka_unit_test(uploads_memory_and_files),
		cmocka_unit_test(says_when_a_file_has_become_shorter),
		cmocka_unit_test(asks_before_it_sends_much),
		cmocka_unit_test(uses_connections_again),
		cmocka_unit_test(reads_heads),
		cmocka_unit_test(names_each_failure),
		cmocka_unit_test(takes_many_and_long_headers_up_to_its_limit),
		cmocka_unit_test(tells_connections_that_fail),
		cmocka_unit_test(limits_the_time_of_connecting),
		cmocka_unit_test(limits_silence_and_the_whole),
		cmocka_unit_test(stops_when_the_sink_does),
		cmocka_unit_test(does_not_send_twice_what_goes_once),
		cmocka_unit_test(refuses_to_start_nonsense),
		cmocka_unit_test(stops_without_a_word),
		cmocka_unit_test(is_woken),
		cmocka_unit_test(goes_through_a_proxy),
		cmocka_unit_test(dials_what_it_is_told_to),
		cmocka_unit_test(tells_certificates_apart),
		cmocka_unit_test(finds_certificates),
		cmocka_unit_test(passes_a_gibibyte_through),
		cmocka_unit_test(runs_many_at_once),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
