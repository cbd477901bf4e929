/* How a server is reached, or is not: connections that fail or take long, proxies,
 * other addresses, certificates. */
#include "http_one.h"

#include "base/time.h"
#include "dep/http_parts.h"

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

/* What a proxy says before there is a connection is not the service's word. */
TEST(tells_proxies_that_refuse)
{
	static const struct {
		const char *url, *said, *hint;
		bool lasting;
	} cases[] = {
		{"https://407.closed/", "answers 407", "USER:PASSWORD", true},
		{"https://403.closed/", "answers 403", "no_proxy", true},
		{"https://503.closed/", "answers 503", "no_proxy", false},
	};
	gpc_autostr *proxy = url_of("");
	gpc_autoptr(gpc_http) *h = new_http(NULL);

	assert_int_equal(setenv("https_proxy", proxy, 1), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_error err = {0};
		struct one o;

		prepare(&o, "GET");
		o.x.url = cases[i].url;
		assert_ok(gpc_http_start(h, &o.x, NULL, &err));
		run_all(h);
		assert_int_equal(o.r, -GPC_ENET);
		assert_has(o.err.msg, cases[i].said);
		assert_has(o.err.hint, cases[i].hint);
		assert_false(o.x.maybe_sent);
		assert_int_equal(o.x.lasting, cases[i].lasting);
		clear(&o);
	}
	bed_clean_environment();
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
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_connections_that_fail),
		cmocka_unit_test(limits_the_time_of_connecting),
		cmocka_unit_test(goes_through_a_proxy),
		cmocka_unit_test(tells_proxies_that_refuse),
		cmocka_unit_test(dials_what_it_is_told_to),
		cmocka_unit_test(tells_certificates_apart),
		cmocka_unit_test(finds_certificates),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
