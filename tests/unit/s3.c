/* The parts of the s3 store that need no server: where a bucket is, what replies
 * mean, what pages of lists hold. Expectations are those of the S3 REST API
 * (2006-03-01), written by hand. */
#include "test.h"

#include "base/str.h"
#include "store/bucket_list.h"
#include "store/s3_address.h"
#include "store/s3_error.h"

static struct gpc_error err;

/* --- addresses ------------------------------------------------------------ */

TEST(addresses_become_urls)
{
	static const struct { const char *where, *key, *url; } cases[] = {
		{"bucket", "a/b", "https://bucket.s3.eu-west-1.amazonaws.com/a/b"},
		{"bucket", NULL, "https://bucket.s3.eu-west-1.amazonaws.com/"},
		{"bucket/x/y//", "k", "https://bucket.s3.eu-west-1.amazonaws.com/k"},
		{"my.bucket", "k", "https://s3.eu-west-1.amazonaws.com/my.bucket/k"},
		{"My_Bucket", "k", "https://s3.eu-west-1.amazonaws.com/My_Bucket/k"},
		{"my.bucket", NULL, "https://s3.eu-west-1.amazonaws.com/my.bucket"},
		{"bucket?addressing=path", "k",
			"https://s3.eu-west-1.amazonaws.com/bucket/k"},
		{"bucket", "a b+c%d/../e",
			"https://bucket.s3.eu-west-1.amazonaws.com/a%20b%2Bc%25d/../e"},
		{"bucket", "\xc3\xa9",
			"https://bucket.s3.eu-west-1.amazonaws.com/%C3%A9"},
		{"bucket?endpoint=http://127.0.0.1:9000", "k",
			"http://127.0.0.1:9000/bucket/k"},
		{"bucket?endpoint=http%3A%2F%2Fs3.test%3A9000%2F", "k",
			"http://s3.test:9000/bucket/k"},
		{"bucket?endpoint=https://s3.test/base/", "k",
			"https://s3.test/base/bucket/k"},
		{"bucket?endpoint=http://s3.test:9000&addressing=virtual", "k",
			"http://bucket.s3.test:9000/k"},
		{"bucket?region=eu-west-1", "k",
			"https://bucket.s3.eu-west-1.amazonaws.com/k"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};
		gpc_auto(gpc_url) struct gpc_url u = {0};
		gpc_auto(gpc_buf) struct gpc_buf text = {0};

		assert_ok(gpc_bucket_address_parse(&gpc_s3_form, cases[i].where, &a, &err));
		assert_ok(gpc_s3_address_url(&a, "eu-west-1", cases[i].key, &u,
			&err));
		gpc_url_format(&u, &text);
		assert_string_equal(gpc_buf_str(&text), cases[i].url);
	}
}

TEST(china_has_a_suffix_of_its_own)
{
	gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};
	gpc_auto(gpc_url) struct gpc_url u = {0};

	assert_ok(gpc_bucket_address_parse(&gpc_s3_form, "bucket", &a, &err));
	assert_ok(gpc_s3_address_url(&a, "cn-north-1", "k", &u, &err));
	assert_string_equal(u.host, "bucket.s3.cn-north-1.amazonaws.com.cn");
}

TEST(prefixes_end_in_one_slash)
{
	static const char *const cases[][2] = {
		{"bucket", ""}, {"bucket/", ""}, {"bucket/a", "a/"},
		{"bucket/a/", "a/"}, {"bucket//a/b///", "a/b/"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};

		assert_ok(gpc_bucket_address_parse(&gpc_s3_form, cases[i][0], &a, &err));
		assert_string_equal(a.prefix, cases[i][1]);
	}
}

TEST(bad_addresses_are_refused)
{
	static const char *const cases[] = {
		"", "/", "ab", "/bucket", ".bucket", "bu cket", "bucket\n",
		"b\xc3\xbcket", "user@bucket", "bucket?x=1",
		"bucket?endpoint", "bucket?endpoint=", "bucket?endpoint=ftp://x",
		"bucket?endpoint=s3.test", "bucket?addressing=dns",
		"bucket?region=", "bucket?endpoint=http://u:p@s3.test",
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};
		int r = gpc_bucket_address_parse(&gpc_s3_form, cases[i], &a, &err);

		if (r != -GPC_ECONFIG)
			fail_msg("\"%s\" gave %d", cases[i], r);
		assert_null(strstr(err.msg, ":p@"));
	}
}

/* --- replies -------------------------------------------------------------- */

#define ERROR(code, more) \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" code \
	"</Code><Message>told so</Message>" more "</Error>"

#define PAGE "\n<!DOCTYPE html>\n<html><h1>Not here</h1></html>"

TEST(replies_are_judged_by_their_code)
{
	static const struct {
		int status;
		const char *body;
		enum gpc_net_verdict verdict;
		enum gpc_code code;
		const char *region;
	} cases[] = {
		{200, "", GPC_NET_DONE, 0, NULL},
		{206, "bytes", GPC_NET_DONE, 0, NULL},
		{204, "", GPC_NET_DONE, 0, NULL},
		{200, "<CompleteMultipartUploadResult/>", GPC_NET_DONE, 0, NULL},
		{200, ERROR("InternalError", ""), GPC_NET_RETRY, GPC_ENET, NULL},
		{200, ERROR("Odd", ""), GPC_NET_RETRY, GPC_ENET, NULL},
		{404, ERROR("NoSuchKey", ""), GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
		{404, "", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
		{404, ERROR("NoSuchBucket", ""), GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{412, ERROR("PreconditionFailed", ""), GPC_NET_FAILED,
			GPC_ECONFLICT, NULL},
		{409, ERROR("ConditionalRequestConflict", ""), GPC_NET_RETRY,
			GPC_ENET, NULL},
		{501, ERROR("NotImplemented", ""), GPC_NET_FAILED,
			GPC_EUNSUPPORTED, NULL},
		{403, ERROR("AccessDenied", ""), GPC_NET_FAILED, GPC_EAUTH, NULL},
		{403, "", GPC_NET_FAILED, GPC_EAUTH, NULL},
		{403, ERROR("RequestTimeTooSkewed", ""), GPC_NET_SKEWED,
			GPC_EAUTH, NULL},
		{400, ERROR("ExpiredToken", ""), GPC_NET_RENEW, GPC_EAUTH, NULL},
		{400, ERROR("RequestTimeout", ""), GPC_NET_RETRY, GPC_ETIMEOUT,
			NULL},
		{400, ERROR("Unheard", ""), GPC_NET_FAILED, GPC_EPROTO, NULL},
		{503, ERROR("SlowDown", ""), GPC_NET_THROTTLED, GPC_ERATE, NULL},
		{500, "<html>oops", GPC_NET_RETRY, GPC_ENET, NULL},
		/* no object store answers so */
		{404, PAGE, GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{403, PAGE, GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{405, "<HTML>no", GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{501, PAGE, GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{200, PAGE, GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{401, PAGE, GPC_NET_RENEW, GPC_EAUTH, NULL},
		{503, PAGE, GPC_NET_THROTTLED, GPC_ERATE, NULL},
		{404, "{\"detail\": \"Not Found\"}", GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{301, ERROR("PermanentRedirect", "<Region>eu-west-2</Region>"),
			GPC_NET_FAILED, GPC_ECONFIG, "eu-west-2"},
		{400, ERROR("AuthorizationHeaderMalformed",
			"<Region>ap-south-1</Region>"), GPC_NET_FAILED, GPC_ECONFIG,
			"ap-south-1"},
		{307, ERROR("TemporaryRedirect", ""), GPC_NET_FAILED, GPC_ECONFIG,
			NULL},
		{400, ERROR("IllegalLocationConstraintException", ""),
			GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{400, "", GPC_NET_FAILED, GPC_EPROTO, NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_reply) struct gpc_reply reply = {
			.status = cases[i].status };
		gpc_autostr *region = NULL;
		enum gpc_net_verdict v;

		gpc_buf_adds(&reply.body, cases[i].body);
		memset(&err, 0, sizeof(err));
		v = gpc_s3_judge(&reply, "reading a/b", "bucket", &region, &err);
		if (v != cases[i].verdict || err.code != cases[i].code)
			fail_msg("%d %s: verdict %d, code %d", cases[i].status,
				cases[i].body, v, err.code);
		assert_true(gpc_eq(region, cases[i].region));
		if (v == GPC_NET_DONE)
			continue;
		assert_non_null(strstr(err.msg, "reading a/b in bucket bucket"));
		if (v == GPC_NET_FAILED && strstr(err.msg, "as no object store does"))
			assert_has(err.hint, "check the endpoint");
	}
}

/* The answer to HEAD has no body; one of a store's own has the request's id. */
TEST(a_head_of_no_object_store_is_known_by_its_type)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = { .status = 404 };
	gpc_autostr *region = NULL;

	gpc_pairs_add(&reply.headers, "content-type", "text/html; charset=UTF-8");
	(void)gpc_s3_judge(&reply, "looking", "bucket", &region, &err);
	assert_int_equal(err.code, GPC_ECONFIG);
	gpc_pairs_add(&reply.headers, "x-amz-request-id", "1");
	(void)gpc_s3_judge(&reply, "looking", "bucket", &region, &err);
	assert_int_equal(err.code, GPC_ENOTFOUND);
	reply.status = 200;             /* an object that is a page */
	assert_int_equal(gpc_s3_judge(&reply, "looking", "bucket", &region, &err),
		GPC_NET_DONE);
}

TEST(a_header_names_the_region_too)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = { .status = 301 };
	gpc_autostr *region = NULL;

	gpc_pairs_add(&reply.headers, "x-amz-bucket-region", "eu-north-1");
	(void)gpc_s3_judge(&reply, "looking", "bucket", &region, &err);
	assert_string_equal(region, "eu-north-1");
}

TEST(messages_of_servers_are_made_printable)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = { .status = 400 };
	gpc_autostr *region = NULL;

	gpc_buf_adds(&reply.body, "<Error><Code>Bad</Code><Message>a&#27;[2Jb"
		"</Message></Error>");
	(void)gpc_s3_judge(&reply, "looking", "bucket", &region, &err);
	assert_null(strchr(err.msg, 27));
}

/* --- pages ------------------------------------------------------------------ */

static int collect(void *arg, const struct gpc_object *o)
{
	struct gpc_strv *v = arg;

	gpc_strv_addf(v, "%s %llu %lld", o->key, (unsigned long long)o->size,
		(long long)o->modified_ms);
	return v->n == 5;
}

static int read_page(const char *xml, size_t skip, struct gpc_strv *v,
	struct gpc_bucket_page *p)
{
	const struct gpc_bucket_listing l = { .prefix = skip ? "pre/" : "",
		.skip = skip, .now_ms = 7, .fn = collect, .arg = v };

	return gpc_bucket_read_xml(xml, strlen(xml), &l, p, &err);
}

#define OBJECT(key) "<Contents><Key>" key "</Key><LastModified>" \
	"2026-11-30T12:00:00.000Z</LastModified><Size>3</Size></Contents>"

#define WHOLE "<IsTruncated>false</IsTruncated>"

TEST(pages_give_their_objects)
{
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0};
	gpc_auto(gpc_strv) struct gpc_strv v = {0};
	gpc_autostr *all = NULL;

	assert_ok(read_page("<ListBucketResult xmlns=\"http://s3.amazonaws.com/"
		"doc/2006-03-01/\"><IsTruncated>true</IsTruncated>"
		"<NextContinuationToken>a+b/c%2F=</NextContinuationToken>"
		"<EncodingType>url</EncodingType>"
		OBJECT("pre/a%2Bb") OBJECT("pre/c+d") OBJECT("pre/")
		OBJECT("pre/e%2F%2Ff") OBJECT("pre/..%2Fg") OBJECT("pre/z")
		"</ListBucketResult>", 4, &v, &p));
	all = gpc_strv_join(&v, "\n");
	assert_string_equal(all, "a+b 3 1796040000000\nc d 3 1796040000000\n"
		"z 3 1796040000000");
	assert_true(p.more);
	assert_string_equal(p.token, "a+b/c%2F=");
	assert_false(p.stopped);
}

TEST(plain_keys_are_taken_as_they_are)
{
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0};
	gpc_auto(gpc_strv) struct gpc_strv v = {0};

	assert_ok(read_page("<ListBucketResult>" WHOLE OBJECT("a+b%41")
		"</ListBucketResult>", 0, &v, &p));
	assert_int_equal(v.n, 1);
	assert_true(gpc_starts_with(v.v[0], "a+b%41 3"));
	assert_false(p.more);
}

TEST(broken_pages_are_errors)
{
	static const char *const cases[] = {
		"", "<Error/>", "<ListBucketResult>",
		"<ListBucketResult>" WHOLE "<Contents><Key>pre/a</Key></Contents></"
			"ListBucketResult>",
		"<ListBucketResult>" WHOLE "<Contents><Key>pre/a</Key><Size>-1</Size>"
			"</Contents></ListBucketResult>",
		"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
		"<ListBucketResult>" WHOLE "<EncodingType>url</EncodingType>"
			OBJECT("pre/a%zz") "</ListBucketResult>",
		/* these would look like a bucket with nothing in it */
		"<ListBucketResult/>", "<ListBucketResult><IsTruncated>maybe"
			"</IsTruncated></ListBucketResult>",
		/* outside of the prefix, and shorter than it */
		"<ListBucketResult>" WHOLE OBJECT("a") "</ListBucketResult>",
		"<ListBucketResult>" WHOLE "<CommonPrefixes><Prefix>b/</Prefix>"
			"</CommonPrefixes></ListBucketResult>",
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0};
		gpc_auto(gpc_strv) struct gpc_strv v = {0};

		if (read_page(cases[i], 4, &v, &p) != -GPC_EPROTO)
			fail_msg("%s was taken", cases[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_become_urls),
		cmocka_unit_test(china_has_a_suffix_of_its_own),
		cmocka_unit_test(prefixes_end_in_one_slash),
		cmocka_unit_test(bad_addresses_are_refused),
		cmocka_unit_test(replies_are_judged_by_their_code),
		cmocka_unit_test(a_head_of_no_object_store_is_known_by_its_type),
		cmocka_unit_test(a_header_names_the_region_too),
		cmocka_unit_test(messages_of_servers_are_made_printable),
		cmocka_unit_test(pages_give_their_objects),
		cmocka_unit_test(plain_keys_are_taken_as_they_are),
		cmocka_unit_test(broken_pages_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
