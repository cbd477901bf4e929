/* Signatures: every file of tests/vectors/{sigv4,acs3,oss4,gcs,jwt}, then what
 * vectors do not say: what is added, what is left alone, what is refused. */
#include "test.h"

#include <dirent.h>

#include "base/encode.h"
#include "base/fd.h"
#include "base/str.h"
#include "sign_case.h"

#define FOLDER GPC_TEST_SOURCE "/tests/vectors"

static char *read_text(const char *folder, const char *name)
{
	gpc_autostr *path = gpc_format(FOLDER "/%s/%s", folder, name);
	struct gpc_buf text = {0};
	struct gpc_error err = {0};
	char *s = NULL;

	assert_ok(gpc_read_file(path, 1 << 20, &text, &err));
	assert_ok(gpc_buf_finish(&text, &s, &err));
	return s;
}

static struct gpc_json *read_case(const char *folder, const char *name)
{
	gpc_autostr *text = read_text(folder, name);
	struct gpc_error err = {0};
	struct gpc_json *j = NULL;

	if (gpc_json_parse(text, strlen(text), &j, &err) < 0)
		fail_msg("%s/%s: %s", folder, name, err.msg);
	return j;
}

/* Names of the cases of a folder, sorted. */
static void list_cases(const char *folder, struct gpc_strv *names)
{
	gpc_autostr *path = gpc_format(FOLDER "/%s", folder);
	DIR *d = opendir(path);

	assert_non_null(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		if (gpc_ends_with(e->d_name, ".json"))
			gpc_strv_add(names, e->d_name);
	closedir(d);
	gpc_strv_sort(names);
}

/* Returns how many signatures were compared. */
static size_t check_mode(const char *folder, const char *name, bool in_url)
{
	gpc_autoptr(gpc_json) *j = read_case(folder, name);
	const char *want = gpc_json_get_str(j, in_url ? "url_signature"
		: "signature");
	const char *key = gpc_json_get_str(j, "key");
	gpc_autostr *pem = key ? read_text(folder, key) : NULL;
	gpc_auto(gpc_request) struct gpc_request r = {0};
	struct gpc_error err = {0};

	if (!want)
		return 0;
	if (sign_case(folder, j, pem, in_url, &r, &err) < 0)
		fail_msg("%s/%s: %s", folder, name, err.msg);
	if (!gpc_eq(sign_case_signature(&r), want))
		fail_msg("%s/%s, %s: %s, expected %s", folder, name,
			in_url ? "URL" : "header", sign_case_signature(&r), want);
	return 1;
}

static void check_folder(const char *folder, size_t at_least)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	size_t n = 0;

	list_cases(folder, &names);
	for (size_t i = 0; i < names.n; i++) {
		size_t before = n;

		n += check_mode(folder, names.v[i], false);
		n += check_mode(folder, names.v[i], true);
		if (n == before)
			fail_msg("%s/%s expects nothing", folder, names.v[i]);
	}
	assert_true(n >= at_least);
}

TEST(signs_as_aws_publishes) { check_folder("sigv4", 93); }
TEST(signs_as_alibaba_publishes) { check_folder("acs3", 3); }
TEST(signs_as_oss_publishes) { check_folder("oss4", 3); }
TEST(signs_as_google_publishes) { check_folder("gcs", 29); }

TEST(signs_tokens)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};

	list_cases("jwt", &names);
	assert_true(names.n >= 2);
	for (size_t i = 0; i < names.n; i++) {
		gpc_autoptr(gpc_json) *j = read_case("jwt", names.v[i]);
		gpc_autostr *pem = read_text("jwt", gpc_json_get_str(j, "key"));
		struct gpc_error err = {0};
		gpc_autostr *token = NULL;

		assert_ok(sign_case_jwt(j, pem, &token, &err));
		assert_string_equal(token, gpc_json_get_str(j, "expected"));
	}
}

/* --- beyond the vectors --- */
static const struct gpc_keys keys = {"AKID", "secret", NULL};
static const struct gpc_keys session = {"AKID", "secret", "to/ken+=="};

static struct gpc_sign_aws aws(bool s3)
{
	return (struct gpc_sign_aws){.keys = keys, .region = "eu-west-1",
		.service = s3 ? "s3" : "ec2", .now_ms = 1700000000123, .s3 = s3};
}

static void request(struct gpc_request *r, const char *method, const char *url)
{
	struct gpc_error err = {0};

	gpc_request_init(r, method);
	assert_ok(gpc_url_parse(url, &r->url, &err));
}

static void sign(struct gpc_request *r, const struct gpc_sign_aws *how)
{
	struct gpc_error err = {0};

	assert_ok(gpc_sign_aws(r, how, &err));
}

/* The signature of a GET. Owned. */
static char *aws_of(const char *url, bool s3)
{
	gpc_auto(gpc_request) struct gpc_request r = {0};
	struct gpc_sign_aws how = aws(s3);

	request(&r, "GET", url);
	sign(&r, &how);
	return gpc_strdup(sign_case_signature(&r));
}

TEST(adds_what_aws_expects)
{
	struct gpc_sign_aws how = aws(true);
	gpc_auto(gpc_request) struct gpc_request r = {0};
	const char *header;

	how.keys = session;
	request(&r, "PUT", "http://b.s3.amazonaws.com:8080/k");
	gpc_pairs_add(&r.headers, "user-agent", "x");
	gpc_pairs_add(&r.headers, "proxy-authorization", "x");
	gpc_pairs_add(&r.headers, "if-none-match", "*");
	r.body = (struct gpc_body){.data = "abc", .fd = -1, .size = 3};
	how.unsigned_payload = true;            /* not without TLS */
	sign(&r, &how);
	header = gpc_pairs_get(&r.headers, "authorization");
	assert_true(gpc_starts_with(header, "AWS4-HMAC-SHA256 Credential=AKID/"
		"20231114/eu-west-1/s3/aws4_request, SignedHeaders=host;"
		"if-none-match;x-amz-content-sha256;x-amz-date;"
		"x-amz-security-token, Signature="));
	assert_string_equal(gpc_pairs_get(&r.headers, "x-amz-date"),
		"20231114T221320Z");
	assert_string_equal(gpc_pairs_get(&r.headers, "x-amz-security-token"),
		"to/ken+==");
	assert_string_equal(gpc_pairs_get(&r.headers, "x-amz-content-sha256"),
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_null(strstr(header, "secret,"));
}

TEST(leaves_the_body_unsigned_over_tls)
{
	struct gpc_sign_aws how = aws(true);
	gpc_auto(gpc_request) struct gpc_request r = {0};

	request(&r, "PUT", "https://b.s3.amazonaws.com/k");
	/* nobody reads it */
	r.body = (struct gpc_body){.fd = -1, .size = 1 << 30};
	how.unsigned_payload = true;
	sign(&r, &how);
	assert_string_equal(gpc_pairs_get(&r.headers, "x-amz-content-sha256"),
		"UNSIGNED-PAYLOAD");
	assert_string_equal(r.body_sha256, "");
}

TEST(takes_the_hash_that_is_there)
{
	struct gpc_sign_aws how = aws(true);
	gpc_auto(gpc_request) struct gpc_request r = {0};
	const char *hash = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

	request(&r, "PUT", "https://b.s3.amazonaws.com/k");
	gpc_pairs_add(&r.headers, "x-amz-content-sha256", hash);
	r.body = (struct gpc_body){.fd = -1, .size = 10};
	sign(&r, &how);
	assert_string_equal(gpc_pairs_get(&r.headers, "x-amz-content-sha256"),
		hash);
	assert_int_equal(r.headers.n, 3);
}

/* What is the same to a service signs the same, and what is not does not. */
TEST(knows_which_paths_are_the_same)
{
	static const struct { const char *a, *b; bool s3, same; } cases[] = {
		{"/a", "//a", false, true}, {"/a", "//a", true, false},
		{"/a/", "/a/.", false, false}, {"/b", "/a/../b", false, true},
		{"/b", "/a/../b", true, false}, {"/", "", false, true},
		{"/", "", true, true}, {"/a/", "/a", false, false},
		{"/a//b", "/a/b", true, false}, {"/a//b", "/a/b", false, true},
		{"/..", "/", false, true}, {"/../../a/", "/a/", false, true},
		{"/a%20b", "/a%2520b", false, false},
		{"/a%2Fb", "/a/b", false, false},
		{"/a%2Fb", "/a/b", true, false}, {"/...", "/", false, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *a = gpc_format("https://h%s", cases[i].a);
		gpc_autostr *b = gpc_format("https://h%s", cases[i].b);
		gpc_autostr *x = aws_of(a, cases[i].s3);
		gpc_autostr *y = aws_of(b, cases[i].s3);

		if (gpc_eq(x, y) != cases[i].same)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
	}
}

TEST(knows_which_queries_are_the_same)
{
	static const struct { const char *a, *b; bool same; } cases[] = {
		{"?a=1&b=2", "?b=2&a=1", true}, {"?a", "?a=", true},
		{"?a=1&a=2", "?a=2&a=1", true}, {"?a=%7e", "?a=~", true},
		{"?a=%2f", "?a=/", true}, {"?a=+", "?a=%2B", true},
		{"?a=+", "?a=%20", false}, {"?a=*", "?a=%2A", true},
		{"?A=1", "?a=1", false}, {"", "?", true}, {"", "?a", false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *a = gpc_format("https://h/%s", cases[i].a);
		gpc_autostr *b = gpc_format("https://h/%s", cases[i].b);
		gpc_autostr *x = aws_of(a, true), *y = aws_of(b, true);

		if (gpc_eq(x, y) != cases[i].same)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
	}
}

TEST(names_a_header_once)
{
	struct gpc_sign_aws how = aws(false);
	gpc_auto(gpc_request) struct gpc_request r = {0}, same = {0};

	request(&r, "GET", "https://h/");
	gpc_pairs_add(&r.headers, "x-b", "  2\t\t3 ");
	gpc_pairs_add(&r.headers, "x-a", "1");
	gpc_pairs_add(&r.headers, "x-b", "1");
	request(&same, "GET", "https://H:443/");
	gpc_pairs_add(&same.headers, "x-a", "1");
	gpc_pairs_add(&same.headers, "x-b", "2 3,1");
	sign(&r, &how);
	sign(&same, &how);
	assert_has(gpc_pairs_get(&r.headers, "authorization"),
		"SignedHeaders=host;x-a;x-amz-date;x-b,");
}

/* Pure: the same again, and not a byte of what is given changes. */
TEST(depends_on_nothing_else)
{
	gpc_auto(gpc_request) struct gpc_request first = {0};
	struct gpc_sign_aws how = aws(true);

	request(&first, "GET", "https://h/a?b=c");
	for (int i = 0; i < 3; i++) {
		gpc_auto(gpc_request) struct gpc_request copy = {0};
		gpc_autostr *again = aws_of("https://h/a?b=c", true);

		gpc_request_init(&copy, "GET");
		gpc_request_copy(&copy, &first);
		sign(&copy, &how);
		assert_string_equal(sign_case_signature(&copy), again);
		assert_int_equal(first.headers.n, 0);
	}
	/* milliseconds are nobody's business */
	{
		gpc_auto(gpc_request) struct gpc_request copy = {0};
		gpc_autostr *again = aws_of("https://h/a?b=c", true);

		gpc_request_init(&copy, "GET");
		gpc_request_copy(&copy, &first);
		how.now_ms += 800;
		sign(&copy, &how);
		assert_string_equal(sign_case_signature(&copy), again);
	}
}

TEST(puts_all_into_the_url)
{
	struct gpc_sign_aws how = aws(true);
	gpc_auto(gpc_request) struct gpc_request r = {0};
	gpc_auto(gpc_buf) struct gpc_buf url = {0};
	struct gpc_error err = {0};

	how.keys = session;
	request(&r, "GET", "https://b.s3.amazonaws.com/k%20y?versionId=a%2Fb");
	assert_ok(gpc_presign_aws(&r, &how, 604800, &err));
	gpc_url_format(&r.url, &url);
	assert_int_equal(r.headers.n, 0);
	assert_true(gpc_starts_with(gpc_buf_str(&url),
		"https://b.s3.amazonaws.com/k%20y?versionId=a%2Fb"
		"&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F"
		"20231114%2Feu-west-1%2Fs3%2Faws4_request"
		"&X-Amz-Date=20231114T221320Z&X-Amz-Expires=604800"
		"&X-Amz-SignedHeaders=host"
		"&X-Amz-Security-Token=to%2Fken%2B%3D%3D&X-Amz-Signature="));
}

TEST(adds_what_alibaba_expects)
{
	gpc_auto(gpc_request) struct gpc_request r = {0};
	struct gpc_error err = {0};

	request(&r, "POST", "https://ecs.cn-hangzhou.aliyuncs.com/");
	gpc_pairs_add(&r.headers, "accept", "application/json");
	gpc_pairs_add(&r.headers, "x-acs-action", "DescribeRegions");
	assert_ok(gpc_sign_acs(&r, &(struct gpc_sign_acs){.keys = session,
		.now_ms = 1700000000999, .nonce = "n1"}, &err));
	assert_string_equal(gpc_pairs_get(&r.headers, "x-acs-date"),
		"2023-11-14T22:13:20Z");
	assert_true(gpc_starts_with(gpc_pairs_get(&r.headers, "authorization"),
		"ACS3-HMAC-SHA256 Credential=AKID,SignedHeaders=host;x-acs-action;"
		"x-acs-content-sha256;x-acs-date;x-acs-security-token;"
		"x-acs-signature-nonce,Signature="));
}

TEST(names_bucket_and_key_whatever_the_host)
{
	static const char *const urls[] = {
		"https://b.oss-cn-hangzhou.aliyuncs.com/a%20b/",
		"https://mine.example.com/a%20b/",
		"http://127.0.0.1:8080/b/a%20b/",
	};
	gpc_autostr *first = NULL;

	for (size_t i = 0; i < COUNT(urls); i++) {
		gpc_auto(gpc_request) struct gpc_request r = {0};
		struct gpc_error err = {0};

		request(&r, "GET", urls[i]);
		assert_ok(gpc_sign_oss(&r, &(struct gpc_sign_oss){.keys = keys,
			.region = "cn-hangzhou", .bucket = "b", .key = "a b/",
			.now_ms = 1700000000000}, &err));
		if (first)
			assert_string_equal(first, sign_case_signature(&r));
		gpc_set_str(&first, sign_case_signature(&r));
	}
}

/* --- what is refused --- */
TEST(refuses_keys_that_cannot_be)
{
	static const struct gpc_keys bad[] = {
		{NULL, "s", NULL}, {"", "s", NULL}, {"a", NULL, NULL},
		{"a", "", NULL}, {"a\r\nx: y", "s", NULL}, {"a/b", "s", NULL},
		{"a", "s", "t\nx: y"}, {"a b", "s", NULL}, {"\xc3\xa4", "s", NULL},
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		gpc_auto(gpc_request) struct gpc_request r = {0};
		struct gpc_sign_aws how = aws(true);
		struct gpc_error err = {0};

		how.keys = bad[i];
		request(&r, "GET", "https://h/");
		assert_fails(gpc_sign_aws(&r, &how, &err), GPC_EAUTH);
		assert_fails(gpc_presign_aws(&r, &how, 60, &err), GPC_EAUTH);
		assert_fails(gpc_sign_acs(&r, &(struct gpc_sign_acs){
			.keys = bad[i], .nonce = "n"}, &err), GPC_EAUTH);
		assert_fails(gpc_sign_oss(&r, &(struct gpc_sign_oss){
			.keys = bad[i], .region = "r"}, &err), GPC_EAUTH);
		assert_int_equal(r.headers.n + r.url.query.n, 0);
	}
}

TEST(refuses_scopes_that_cannot_be)
{
	static const char *const bad[] = {NULL, "", "a/b", "a b", "a\n", "a,b"};

	for (size_t i = 0; i < COUNT(bad); i++) {
		gpc_auto(gpc_request) struct gpc_request r = {0};
		struct gpc_sign_aws how = aws(true);
		struct gpc_error err = {0};

		request(&r, "GET", "https://h/");
		how.region = bad[i];
		assert_fails(gpc_sign_aws(&r, &how, &err), GPC_ECONFIG);
		how = aws(true);
		how.service = bad[i];
		assert_fails(gpc_sign_aws(&r, &how, &err), GPC_ECONFIG);
		assert_fails(gpc_sign_oss(&r, &(struct gpc_sign_oss){
			.keys = keys, .region = bad[i]}, &err), GPC_ECONFIG);
		assert_fails(gpc_sign_acs(&r, &(struct gpc_sign_acs){
			.keys = keys, .nonce = bad[i]}, &err), GPC_ECONFIG);
		assert_fails(gpc_presign_gcs(&r, &(struct gpc_sign_gcs){
			.key_pem = "x", .email = bad[i]}, 60, &err), GPC_ECONFIG);
	}
}

TEST(limits_how_long)
{
	static const int bad[] = {-1, 0, 604801, INT32_MAX};
	gpc_autostr *token = NULL;

	for (size_t i = 0; i < COUNT(bad); i++) {
		gpc_auto(gpc_request) struct gpc_request r = {0};
		struct gpc_sign_aws how = aws(true);
		struct gpc_error err = {0};

		request(&r, "GET", "https://h/");
		assert_fails(gpc_presign_aws(&r, &how, bad[i], &err),
			GPC_EUSAGE);
		assert_fails(gpc_presign_oss(&r, &(struct gpc_sign_oss){
			.keys = keys, .region = "r"}, bad[i], &err), GPC_EUSAGE);
		assert_fails(gpc_presign_gcs(&r, &(struct gpc_sign_gcs){
			.key_pem = "x", .email = "a@b"}, bad[i], &err),
			GPC_EUSAGE);
		assert_fails(gpc_sign_jwt(&(struct gpc_jwt){.key_pem = "x",
			.lifetime_s = bad[i]}, &token, &err), GPC_EUSAGE);
	}
}

TEST(says_that_a_body_or_a_key_cannot_be_read)
{
	gpc_auto(gpc_request) struct gpc_request r = {0};
	struct gpc_sign_aws how = aws(true);
	struct gpc_error err = {0};
	gpc_autostr *token = NULL;

	request(&r, "PUT", "https://h/");
	r.body = (struct gpc_body){.fd = -1, .size = 10};
	assert_fails(gpc_sign_aws(&r, &how, &err), GPC_EIO);
	assert_fails(gpc_sign_jwt(&(struct gpc_jwt){.key_pem = "x",
		.lifetime_s = 60}, &token, &err), GPC_ECONFIG);
	assert_fails(gpc_sign_jwt(&(struct gpc_jwt){.lifetime_s = 60}, &token,
		&err), GPC_EAUTH);
	assert_null(token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs_as_aws_publishes),
		cmocka_unit_test(signs_as_alibaba_publishes),
		cmocka_unit_test(signs_as_oss_publishes),
		cmocka_unit_test(signs_as_google_publishes),
		cmocka_unit_test(signs_tokens),
		cmocka_unit_test(adds_what_aws_expects),
		cmocka_unit_test(leaves_the_body_unsigned_over_tls),
		cmocka_unit_test(takes_the_hash_that_is_there),
		cmocka_unit_test(knows_which_paths_are_the_same),
		cmocka_unit_test(knows_which_queries_are_the_same),
		cmocka_unit_test(names_a_header_once),
		cmocka_unit_test(depends_on_nothing_else),
		cmocka_unit_test(puts_all_into_the_url),
		cmocka_unit_test(adds_what_alibaba_expects),
		cmocka_unit_test(names_bucket_and_key_whatever_the_host),
		cmocka_unit_test(refuses_keys_that_cannot_be),
		cmocka_unit_test(refuses_scopes_that_cannot_be),
		cmocka_unit_test(limits_how_long),
		cmocka_unit_test(says_that_a_body_or_a_key_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
