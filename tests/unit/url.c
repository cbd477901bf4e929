/* URLs taken apart and put together, good and hostile. */
#include "test.h"

#include "base/str.h"
#include "net/url.h"

TEST(takes_apart)
{
	static const struct {
		const char *text, *scheme, *host;
		int port;
		const char *path, *header, *again;      /* NULL: as text */
	} cases[] = {
		{"http://a", "http", "a", 80, "/", "a", "http://a/"},
		{"https://a/", "https", "a", 443, "/", "a", NULL},
		{"HTTPS://Bucket.S3.Example.COM/Key", "https",
			"bucket.s3.example.com", 443, "/Key",
			"bucket.s3.example.com",
			"https://bucket.s3.example.com/Key"},
		{"http://a:8080/x", "http", "a", 8080, "/x", "a:8080", NULL},
		{"http://a:80/x", "http", "a", 80, "/x", "a", "http://a/x"},
		{"http://a:443/x", "http", "a", 443, "/x", "a:443", NULL},
		{"https://a:0443", "https", "a", 443, "/", "a", "https://a/"},
		{"http://1a.b2/", "http", "1a.b2", 80, "/", "1a.b2", NULL},
		{"http://127.0.0.1:1/", "http", "127.0.0.1", 1, "/",
			"127.0.0.1:1", NULL},
		{"http://[::1]:65535/", "http", "::1", 65535, "/",
			"[::1]:65535", NULL},
		{"http://[FD00:EC2:0:0::254]/latest", "http", "fd00:ec2::254",
			80, "/latest", "[fd00:ec2::254]",
			"http://[fd00:ec2::254]/latest"},
		{"http://a//b/../c/./%7e%2F+;=@:", "http", "a", 80,
			"//b/../c/./%7e%2F+;=@:", "a", NULL},
		{"http://a_b-c.d./", "http", "a_b-c.d.", 80, "/", "a_b-c.d.",
			NULL},
		{"http://a?", "http", "a", 80, "/", "a", "http://a/"},
		{"http://a?&&", "http", "a", 80, "/", "a", "http://a/"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_url) struct gpc_url u = {0}, copy = {0};
		gpc_auto(gpc_buf) struct gpc_buf again = {0};
		gpc_autostr *host = NULL;
		struct gpc_error err = {0};

		assert_ok(gpc_url_parse(cases[i].text, &u, &err));
		assert_string_equal(u.scheme, cases[i].scheme);
		assert_string_equal(u.host, cases[i].host);
		assert_int_equal(u.port, cases[i].port);
		assert_string_equal(u.path, cases[i].path);
		host = gpc_url_host(&u);
		assert_string_equal(host, cases[i].header);
		gpc_url_copy(&copy, &u);
		gpc_url_format(&copy, &again);
		assert_string_equal(gpc_buf_str(&again), cases[i].again ?
			cases[i].again : cases[i].text);
	}
}

TEST(keeps_queries_decoded_and_in_order)
{
	static const struct {
		const char *query;
		size_t n;
		const char *name, *value;       /* of the last one */
		const char *again;
	} cases[] = {
		{"a=1", 1, "a", "1", "a=1"},
		{"acl", 1, "acl", NULL, "acl"},
		{"acl=", 1, "acl", "", "acl="},
		{"=x", 1, "", "x", "=x"},
		{"b=2&a=1&b=3", 3, "b", "3", "b=2&a=1&b=3"},
		{"&a=1&", 1, "a", "1", "a=1"},
		{"a=b=c", 1, "a", "b=c", "a=b%3Dc"},
		{"a%20b=c+d", 1, "a b", "c+d", "a%20b=c%2Bd"},
		{"k=%e4%b8%ad/*~", 1, "k", "\xe4\xb8\xad/*~",
			"k=%E4%B8%AD%2F%2A~"},
		{"a?b=c?d", 1, "a?b", "c?d", "a%3Fb=c%3Fd"},
		{"x=%26%3d%23", 1, "x", "&=#", "x=%26%3D%23"},
		{"x=%0d%0a", 1, "x", "\r\n", "x=%0D%0A"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *text = gpc_format("http://h/p?%s", cases[i].query);
		gpc_auto(gpc_url) struct gpc_url u = {0};
		gpc_auto(gpc_buf) struct gpc_buf again = {0};
		struct gpc_error err = {0};

		assert_ok(gpc_url_parse(text, &u, &err));
		assert_int_equal(u.query.n, cases[i].n);
		assert_string_equal(u.query.v[u.query.n - 1].key,
			cases[i].name);
		if (cases[i].value)
			assert_string_equal(u.query.v[u.query.n - 1].value,
				cases[i].value);
		else
			assert_null(u.query.v[u.query.n - 1].value);
		gpc_url_query(&u.query, &again);
		assert_string_equal(gpc_buf_str(&again), cases[i].again);
	}
}

TEST(refuses_what_may_be_read_in_two_ways)
{
	static const char *const bad[] = {
		"", "h", "/", "//h/", "http:", "http:/h", "http:h", "http://",
		"http:///x", "http://:80/", "http://?x", "ftp://h/", "file:///x",
		"javascript://h", "httpss://h", " http://h", "http ://h",
		"http://u@h/", "http://u:p@h/", "http://h@/", "http://h:p@h",
		"http://h/#f", "http://h#", "http://h/?a#b",
		"http://h /", "http://h/a b", "http://h/a\tb", "http://h/a\nb",
		"http://h/a\r\nHost: x", "http://h/\x7f", "http://h/\xc3\xa4",
		"http://\xc3\xa4/", "http://h\\x/", "http://h\\@x/",
		"http://h:/", "http://h:0/", "http://h:65536/", "http://h:+1/",
		"http://h:-1/", "http://h:8 0/", "http://h:80x/",
		"http://h:99999999999999999999/", "http://h:80:80/",
		"http://h%2ecom/", "http://h%00/", "http://-/../", "http://.h/",
		"http://h..h/", "http://./", "http://*/", "http://h,g/",
		"http://h;g/", "http://h'g/", "http://h&g/", "http://$h/",
		/* Addresses to some readers. */
		"http://2130706433/", "http://0x7f000001/", "http://127.1/",
		"http://0177.0.0.1/", "http://127.0.0.01/", "http://1.2.3.4./",
		"http://256.1.1.1/", "http://1.2.3.4.5/", "http://a.1/",
		"http://a.0x1/",
		"http://[::1/", "http://::1/", "http://[]/", "http://[::1]x/",
		"http://[::1]:/", "http://[1.2.3.4]/", "http://[fe80::1%25e]/",
		"http://[fe80::1%e]/", "http://[:::]/", "http://[g::]/",
		"http://[::1]@h/",
		"http://h/%", "http://h/%4", "http://h/%zz", "http://h/%00",
		"http://h/?%", "http://h/?a=%4", "http://h/?a=%00",
		"http://h/?%00=a",
	};
	struct gpc_error err = {0};
	struct gpc_url u = {0};

	for (size_t i = 0; i < COUNT(bad); i++) {
		if (gpc_url_parse(bad[i], &u, &err) != -GPC_EPROTO)
			fail_msg("not refused: %s", bad[i]);
		assert_int_equal(err.code, GPC_EPROTO);
		assert_null(u.host);
	}
	assert_fails(gpc_url_parse(NULL, &u, &err), GPC_EPROTO);
}

TEST(shows_no_secret_of_a_refused_url)
{
	struct gpc_error err = {0};
	struct gpc_url u;

	assert_fails(gpc_url_parse("https://me:hush@h/", &u, &err), GPC_EPROTO);
	assert_null(strstr(err.msg, "hush"));
	assert_fails(gpc_url_parse("https://h/a?X-Amz-Signature=hush%", &u,
		&err), GPC_EPROTO);
	assert_null(strstr(err.msg, "hush"));
	assert_has(err.msg, "https://h/a");
	assert_fails(gpc_url_parse("http://h/\033[2J", &u, &err), GPC_EPROTO);
	assert_null(strchr(err.msg, '\033'));
}

TEST(keeps_a_limit)
{
	gpc_autostr *text = gpc_array(GPC_URL_MAX_BYTES + 2, 1);
	struct gpc_error err = {0};
	struct gpc_url u = {0};

	memset(text, 'a', GPC_URL_MAX_BYTES + 1);
	memcpy(text, "http://h/", 9);
	assert_fails(gpc_url_parse(text, &u, &err), GPC_EPROTO);
	text[GPC_URL_MAX_BYTES] = '\0';
	assert_ok(gpc_url_parse(text, &u, &err));
	assert_int_equal(strlen(u.path), GPC_URL_MAX_BYTES - 8);
	gpc_url_clear(&u);
	memset(text + 9, '&', GPC_URL_MAX_BYTES - 9);
	text[9] = '?';
	text[GPC_URL_MAX_BYTES - 1] = 'z';
	assert_ok(gpc_url_parse(text, &u, &err));
	assert_int_equal(u.query.n, 1);
	gpc_url_clear(&u);
	gpc_url_clear(&u);
	gpc_url_clear(NULL);
}

TEST(knows_what_is_local)
{
	static const char *const local[] = {
		"http://127.0.0.1/", "http://127.9.9.9:8080/", "http://[::1]/",
		"http://localhost/", "http://LOCALHOST./", "http://x.localhost/",
		"http://169.254.169.254/latest/", "http://169.254.170.2/",
		"http://[fe80::1]/", "http://[febf::1]/",
		"http://[fd00:ec2::254]/", "http://[fd00:ec2::23]/",
		"http://100.100.100.200/", "http://metadata.google.internal/",
		"http://Metadata.Google.Internal./", "http://0.0.0.0/",
		"http://[::]/", "http://[::ffff:169.254.169.254]/",
		"http://[::ffff:7f00:1]/",
	};
	static const char *const far[] = {
		"http://128.0.0.1/", "http://169.253.1.1/", "http://[::2]/",
		"http://[fec0::1]/", "http://[fd00:ec3::1]/", "http://h/",
		"http://localhost.example.com/", "http://notlocalhost/",
		"http://100.100.100.201/", "http://10.0.0.1/",
		"http://xmetadata.google.internal/",
		"http://169.254.169.254.example.com/",
		"http://[::ffff:10.0.0.1]/",
	};
	struct gpc_error err = {0};

	for (size_t i = 0; i < COUNT(local) + COUNT(far); i++) {
		bool want = i < COUNT(local);
		const char *text = want ? local[i] : far[i - COUNT(local)];
		gpc_auto(gpc_url) struct gpc_url u = {0};

		assert_ok(gpc_url_parse(text, &u, &err));
		if (gpc_url_is_local(&u) != want)
			fail_msg("%s: local is %d", text, !want);
	}
}

/* What is formatted can be read, and is then the same. */
TEST(reads_back_what_it_formats)
{
	struct gpc_error err = {0};

	for (int c = 1; c < 256; c++) {
		gpc_auto(gpc_url) struct gpc_url u = {0}, back = {0};
		gpc_auto(gpc_buf) struct gpc_buf text = {0};
		char value[] = {'a', (char)c, 'z', '\0'};

		assert_ok(gpc_url_parse("https://h:9/p", &u, &err));
		gpc_pairs_add(&u.query, value, value);
		gpc_pairs_add(&u.query, "n", NULL);
		gpc_url_format(&u, &text);
		assert_ok(gpc_url_parse(gpc_buf_str(&text), &back, &err));
		assert_int_equal(back.query.n, 2);
		assert_string_equal(back.query.v[0].key, value);
		assert_string_equal(back.query.v[0].value, value);
		assert_null(back.query.v[1].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_apart),
		cmocka_unit_test(keeps_queries_decoded_and_in_order),
		cmocka_unit_test(refuses_what_may_be_read_in_two_ways),
		cmocka_unit_test(shows_no_secret_of_a_refused_url),
		cmocka_unit_test(keeps_a_limit),
		cmocka_unit_test(knows_what_is_local),
		cmocka_unit_test(reads_back_what_it_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
