/* Requests as values, hashes of what they send, dates of headers. */
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "net/request.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

TEST(copies_all_of_a_request)
{
	gpc_auto(gpc_request) struct gpc_request a, b;
	struct gpc_error err = {0};

	gpc_request_init(&a, "PUT");
	gpc_request_init(&b, "GET");
	assert_int_equal(a.body.fd, -1);
	assert_ok(gpc_url_parse("https://h/p?q=1", &a.url, &err));
	gpc_pairs_add(&a.headers, "x-a", "1");
	gpc_pairs_add(&a.headers, "x-a", "2");
	a.body = (struct gpc_body){ .data = "abc", .fd = -1, .size = 3 };
	assert_ok(gpc_request_hash(&a, &err));
	gpc_pairs_add(&b.headers, "old", "gone");
	gpc_request_copy(&b, &a);
	gpc_request_copy(&b, &b);
	gpc_request_clear(&a);
	gpc_request_clear(&a);
	assert_string_equal(b.method, "PUT");
	assert_string_equal(b.url.host, "h");
	assert_string_equal(gpc_pairs_get(&b.url.query, "q"), "1");
	assert_int_equal(b.headers.n, 2);
	assert_string_equal(b.headers.v[1].value, "2");
	assert_string_equal(b.body.data, "abc");
	assert_string_equal(b.body_sha256, ABC);
}

TEST(hashes_memory_and_files)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "f");
	gpc_auto(gpc_request) struct gpc_request r;
	gpc_autofd fd = -1;
	struct gpc_error err = {0};

	gpc_request_init(&r, "PUT");
	assert_ok(gpc_request_hash(&r, &err));
	assert_string_equal(r.body_sha256, EMPTY);
	assert_ok(gpc_write_file(path, "xxabcyy", 7, 0600, &err));
	assert_ok(gpc_open(path, O_RDONLY, 0, &fd, &err));
	r.body = (struct gpc_body){ .fd = fd, .offset = 2, .size = 3 };
	/* What is there stays. */
	assert_ok(gpc_request_hash(&r, &err));
	assert_string_equal(r.body_sha256, EMPTY);
	r.body_sha256[0] = '\0';
	assert_ok(gpc_request_hash(&r, &err));
	assert_string_equal(r.body_sha256, ABC);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);

	r.body_sha256[0] = '\0';
	r.body.size = 6;
	assert_fails(gpc_request_hash(&r, &err), GPC_EPROTO);
	assert_has(err.msg, "5 of 6");
	assert_string_equal(r.body_sha256, "");
	r.body.fd = 9999;
	assert_fails(gpc_request_hash(&r, &err), GPC_EIO);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(hashes_a_file_of_many_pieces)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "f");
	gpc_autostr *bytes = gpc_array(1 << 20, 1);
	gpc_auto(gpc_request) struct gpc_request file, memory;
	gpc_autofd fd = -1;
	struct gpc_error err = {0};

	for (size_t i = 0; i < 1 << 20; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	assert_ok(gpc_write_file(path, bytes, 1 << 20, 0600, &err));
	assert_ok(gpc_open(path, O_RDONLY, 0, &fd, &err));
	gpc_request_init(&file, "PUT");
	gpc_request_init(&memory, "PUT");
	file.body = (struct gpc_body){ .fd = fd, .offset = 5,
		.size = (1 << 20) - 7 };
	memory.body = (struct gpc_body){ .data = bytes + 5, .fd = -1,
		.size = (1 << 20) - 7 };
	assert_ok(gpc_request_hash(&file, &err));
	assert_ok(gpc_request_hash(&memory, &err));
	assert_string_equal(file.body_sha256, memory.body_sha256);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(makes_forms)
{
	gpc_auto(gpc_request) struct gpc_request r;
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	gpc_auto(gpc_buf) struct gpc_buf keep = {0};

	gpc_request_init(&r, "POST");
	gpc_pairs_add(&form, "Action", "A B");
	gpc_pairs_add(&form, "Value.1", "a&b=c+d\n");
	gpc_pairs_add(&r.headers, "content-type", "text/plain");
	gpc_request_form(&r, &form, &keep);
	assert_string_equal(r.body.data, "Action=A%20B&Value.1=a%26b%3Dc%2Bd%0A");
	assert_int_equal(r.body.size, strlen(r.body.data));
	assert_int_equal(r.headers.n, 1);
	assert_string_equal(gpc_pairs_get(&r.headers, "content-type"),
		"application/x-www-form-urlencoded; charset=utf-8");
	gpc_pairs_clear(&form);
	gpc_request_form(&r, &form, &keep);
	assert_int_equal(r.body.size, 0);
}

TEST(reads_dates)
{
	static const struct { const char *text; int64_t s; } cases[] = {
		{"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
		{"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
		{"Sun Nov  6 08:49:37 1994", 784111777},
		{"Sun Nov 16 08:49:37 1994", 784111777 + 864000},
		{"Xyz, 06 Nov 1994 08:49:37 GMT", 784111777},
		{"Thu, 01 Jan 1970 00:00:01 GMT", 1},
		{"Mon, 29 Feb 2016 12:00:00 GMT", 1456747200},
		{"Sat, 31 Dec 2016 23:59:60 GMT", 1483228799},
		{"Friday, 01-Jan-27 00:00:00 GMT", 1798761600},
		{NULL, 0}, {"", 0}, {"0", 0}, {"-1", 0}, {"120", 0},
		{"Sun, 06 Nov 1994 08:49:37", 0},
		{"Sun, 06 Nov 1994 08:49:37 UTC", 0},
		{"Sun, 06 Nov 1994 08:49:37 GMT ", 0},
		{"Sun, 06 Nov 1994 08:49:37 GMTx", 0},
		{"Sun, 06 nov 1994 08:49:37 GMT", 0},
		{"Sun, 31 Feb 1994 08:49:37 GMT", 0},
		{"Sun, 06 Nov 1994 24:49:37 GMT", 0},
		{"Sun, 06 Nov 1994 08:60:37 GMT", 0},
		{"Sun, 00 Nov 1994 08:49:37 GMT", 0},
		{"Sun, 06 Nov 1994 0a:49:37 GMT", 0},
		{"Sun,06 Nov 1994 08:49:37 GMT", 0},
		{"1994-11-06T08:49:37Z", 0},
		{"Sun, 06 Nov 1969 08:49:37 GMT", 0},
		{"Sun, 06 NovNovNov", 0}, {"*, dd MMM yyyy hh:mm:ss GMT", 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		if (gpc_http_date_ms(cases[i].text) != cases[i].s * 1000)
			fail_msg("\"%s\" gives %lld", cases[i].text,
				(long long)gpc_http_date_ms(cases[i].text));
}

TEST(clears_replies)
{
	struct gpc_reply r = { .status = 200, .body.max = 77 };

	gpc_pairs_add(&r.headers, "etag", "x");
	gpc_pairs_add(&r.headers, "etag", "y");
	gpc_buf_adds(&r.body, "b");
	assert_string_equal(gpc_reply_header(&r, "etag"), "x");
	assert_null(gpc_reply_header(&r, "ETag"));
	gpc_reply_clear(&r);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.headers.n, 0);
	assert_int_equal(r.body.max, 77);
	gpc_reply_clear(NULL);
	gpc_request_clear(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_all_of_a_request),
		cmocka_unit_test(hashes_memory_and_files),
		cmocka_unit_test(hashes_a_file_of_many_pieces),
		cmocka_unit_test(makes_forms),
		cmocka_unit_test(reads_dates),
		cmocka_unit_test(clears_replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
