/* Transfers against a server that does on command what servers should not do. */
#include "http_one.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/fd.h"
#include "base/time.h"
#include "dep/crypto.h"

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
		{"/do/f11/line:4000000", GPC_EPROTO, "line of headers", true},
		{"/do/f12/lengths:4", GPC_EPROTO, "two lengths", false},
		{"/do/f13/lengths:x", GPC_EPROTO, "HTTP", true},
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
		cmocka_unit_test(limits_silence_and_the_whole),
		cmocka_unit_test(stops_when_the_sink_does),
		cmocka_unit_test(does_not_send_twice_what_goes_once),
		cmocka_unit_test(refuses_to_start_nonsense),
		cmocka_unit_test(stops_without_a_word),
		cmocka_unit_test(is_woken),
		cmocka_unit_test(passes_a_gibibyte_through),
		cmocka_unit_test(runs_many_at_once),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
