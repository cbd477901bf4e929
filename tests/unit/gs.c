/* The parts of the gs store that need no server: where a bucket is, what replies mean
 * and what they hold. Expectations are those of the JSON API's reference, written by
 * hand. */
#include "test.h"

#include "base/str.h"
#include "store/gs_address.h"
#include "store/gs_reply.h"

static struct gpc_error err;

#define HOME "https://storage.googleapis.com"

TEST(addresses_become_urls)
{
	static const struct { const char *where, *key, *url, *upload; } cases[] = {
		{"bucket", "a/b", HOME "/storage/v1/b/bucket/o/a%2Fb",
			HOME "/upload/storage/v1/b/bucket/o?uploadType=media&"
			"name=a%2Fb"},
		{"bucket/x/", NULL, HOME "/storage/v1/b/bucket/o", NULL},
		{"my.bucket", "a b+c%", HOME "/storage/v1/b/my.bucket/o/a%20b%2Bc%25",
			NULL},
		{"bucket?endpoint=http://127.0.0.1:9000", "..",
			"http://127.0.0.1:9000/storage/v1/b/bucket/o/..", NULL},
		{"bucket?endpoint=http://127.0.0.1:9000/storage/v1/", "k",
			"http://127.0.0.1:9000/storage/v1/b/bucket/o/k",
			"http://127.0.0.1:9000/upload/storage/v1/b/bucket/o?"
			"uploadType=media&name=k"},
		{"bucket?endpoint=https://proxy.test/google", "k",
			"https://proxy.test/google/storage/v1/b/bucket/o/k", NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};
		gpc_auto(gpc_url) struct gpc_url u = {0};
		gpc_auto(gpc_buf) struct gpc_buf text = {0}, upload = {0};

		assert_ok(gpc_bucket_address_parse(&gpc_gs_form, cases[i].where,
			&a, &err));
		assert_ok(gpc_gs_address_url(&a, "", cases[i].key, &u, &err));
		gpc_url_format(&u, &text);
		assert_string_equal(gpc_buf_str(&text), cases[i].url);
		if (!cases[i].upload)
			continue;
		gpc_gs_upload_url(&a, "media", cases[i].key, &u);
		gpc_url_format(&u, &upload);
		assert_string_equal(gpc_buf_str(&upload), cases[i].upload);
	}
}

TEST(bad_addresses_are_refused)
{
	static const char *const cases[] = { "", "ab", "bucket?region=x",
		"bucket?addressing=path", "bucket?endpoint=host:1" };
	gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};

	for (size_t i = 0; i < COUNT(cases); i++)
		if (gpc_bucket_address_parse(&gpc_gs_form, cases[i], &a, &err) !=
			-GPC_ECONFIG)
			fail_msg("\"%s\" was taken", cases[i]);
}

#define ERROR(reason, message) "{\"error\":{\"code\":400,\"message\":\"" message \
	"\",\"errors\":[{\"message\":\"m\",\"domain\":\"global\"," \
	"\"reason\":\"" reason "\"}]}}"

TEST(replies_are_judged_by_their_reason)
{
	static const struct {
		int status;
		const char *body;
		bool of_bucket;
		enum gpc_net_verdict verdict;
		enum gpc_code code;
	} cases[] = {
		{200, "", false, GPC_NET_DONE, 0},
		{308, "", false, GPC_NET_DONE, 0},
		{404, ERROR("notFound", "No such object: b/k"), false,
			GPC_NET_FAILED, GPC_ENOTFOUND},
		{404, ERROR("notFound", "The specified bucket does not exist."),
			false, GPC_NET_FAILED, GPC_ECONFIG},
		{404, "No such object: b/k", false, GPC_NET_FAILED, GPC_ENOTFOUND},
		{404, "The specified bucket does not exist.", false,
			GPC_NET_FAILED, GPC_ECONFIG},
		{404, "", true, GPC_NET_FAILED, GPC_ECONFIG},
		{410, "", false, GPC_NET_FAILED, GPC_ENOTFOUND},
		{412, ERROR("conditionNotMet", "no"), false, GPC_NET_FAILED,
			GPC_ECONFLICT},
		{412, "no", false, GPC_NET_FAILED, GPC_ECONFLICT},
		{401, ERROR("authError", "Invalid Credentials"), false,
			GPC_NET_RENEW, GPC_EAUTH},
		{401, "<html>", false, GPC_NET_RENEW, GPC_EAUTH},
		{403, ERROR("forbidden", "x does not have storage.objects.get"),
			false, GPC_NET_FAILED, GPC_EAUTH},
		{403, ERROR("rateLimitExceeded", "slow"), false,
			GPC_NET_THROTTLED, GPC_ERATE},
		{403, ERROR("quotaExceeded", "over"), false, GPC_NET_FAILED,
			GPC_EQUOTA},
		{400, ERROR("invalid", "The CRC32C you specified did not match "
			"what we received."), false, GPC_NET_RETRY, GPC_ENET},
		{400, ERROR("invalid", "Bad name"), false, GPC_NET_FAILED,
			GPC_EPROTO},
		{429, "", false, GPC_NET_THROTTLED, GPC_ERATE},
		{500, "", false, GPC_NET_RETRY, GPC_ENET},
		{503, ERROR("backendError", "x"), false, GPC_NET_RETRY, GPC_ENET},
		{502, "<html>", false, GPC_NET_RETRY, GPC_ENET},
		{404, "<html>", true, GPC_NET_FAILED, GPC_ECONFIG},
		{404, "<html>", false, GPC_NET_FAILED, GPC_ECONFIG},
		{404, "{\"detail\": \"no\"}", false, GPC_NET_FAILED, GPC_ECONFIG},
		{403, "{\"error\":{\"status\":\"PERMISSION_DENIED\",\"message\":"
			"\"off\",\"details\":[{\"@type\":\"x\",\"reason\":"
			"\"SERVICE_DISABLED\"}]}}", false, GPC_NET_FAILED,
			GPC_EAUTH},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_reply) struct gpc_reply reply = {
			.status = cases[i].status };
		enum gpc_net_verdict v;

		gpc_buf_adds(&reply.body, cases[i].body);
		memset(&err, 0, sizeof(err));
		v = gpc_gs_judge(&reply, "reading a/b", "bucket",
			cases[i].of_bucket, &err);
		if (v != cases[i].verdict || err.code != cases[i].code)
			fail_msg("%d %s: verdict %d, code %d", cases[i].status,
				cases[i].body, v, err.code);
	}
	assert_has(err.hint, "enable the Cloud Storage API");
}

TEST(checksums_are_read_wherever_they_are)
{
	static const char *const headers[][2] = {
		{"crc32c=4waSgw==", NULL}, {"md5=x", "crc32c=4waSgw=="},
		{"crc32c=4waSgw==,md5=x", NULL}, {"md5=x, crc32c=4waSgw==", NULL},
	};
	gpc_autostr *text = gpc_gs_sum_text(0xe3069283);
	gpc_auto(gpc_reply) struct gpc_reply described = {0};
	uint64_t sum = 0;

	assert_string_equal(text, "4waSgw==");
	for (size_t i = 0; i < COUNT(headers); i++) {
		gpc_auto(gpc_reply) struct gpc_reply reply = {0};

		gpc_pairs_add(&reply.headers, "x-goog-hash", headers[i][0]);
		if (headers[i][1])
			gpc_pairs_add(&reply.headers, "x-goog-hash",
				headers[i][1]);
		sum = 0;
		assert_true(gpc_gs_told_sum(&reply, &sum));
		assert_int_equal(sum, 0xe3069283);
	}
	assert_false(gpc_gs_told_sum(&described, &sum));
	gpc_buf_adds(&described.body, "{\"crc32c\":\"4waSgw==\",\"size\":\"9\"}");
	sum = 0;
	assert_true(gpc_gs_told_sum(&described, &sum));
	assert_int_equal(sum, 0xe3069283);
}

TEST(sessions_tell_what_they_hold)
{
	uint64_t n = 7;

	assert_ok(gpc_gs_held(NULL, &n, &err));
	assert_int_equal(n, 0);
	assert_ok(gpc_gs_held("bytes=0-262143", &n, &err));
	assert_int_equal(n, 262144);
	assert_fails(gpc_gs_held("bytes=1-5", &n, &err), GPC_EPROTO);
	assert_fails(gpc_gs_held("0-5", &n, &err), GPC_EPROTO);
	assert_fails(gpc_gs_held("bytes=0-x", &n, &err), GPC_EPROTO);
}

static int collect(void *arg, const struct gpc_object *o)
{
	struct gpc_strv *v = arg;

	gpc_strv_addf(v, "%s %llu %lld", o->key, (unsigned long long)o->size,
		(long long)o->modified_ms);
	return v->n == 5;
}

static int read_page(const char *json, const char *after, struct gpc_strv *v,
	struct gpc_bucket_page *p)
{
	const struct gpc_bucket_listing l = { .prefix = "pre/", .skip = 4,
		.after = after, .fn = collect, .arg = v };

	return gpc_gs_read_page(json, strlen(json), &l, p, &err);
}

#define OBJECT(key) "{\"name\":\"" key "\",\"size\":\"3\"," \
	"\"updated\":\"2026-11-30T12:00:00.000Z\"}"

TEST(pages_give_their_objects)
{
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0}, empty = {0};
	gpc_auto(gpc_strv) struct gpc_strv v = {0};
	gpc_autostr *all = NULL;

	assert_ok(read_page("{\"kind\":\"storage#objects\",\"nextPageToken\":"
		"\"a+b/c=\",\"items\":[" OBJECT("pre/a+b") "," OBJECT("pre/") ","
		OBJECT("pre/c d") "," OBJECT("pre/../x") "," OBJECT("pre/z")
		"]}", "a+b", &v, &p));
	all = gpc_strv_join(&v, "\n");
	assert_string_equal(all, "c d 3 1796040000000\nz 3 1796040000000");
	assert_true(p.more);
	assert_string_equal(p.token, "a+b/c=");
	assert_string_equal(p.last, "pre/z");
	assert_ok(read_page("{\"kind\":\"storage#objects\"}", NULL, &v, &empty));
	assert_false(empty.more);
	assert_null(empty.last);
}

TEST(broken_pages_are_errors)
{
	static const char *const cases[] = { "", "[]", "{\"items\":[{}]}",
		"{\"items\":[{\"name\":\"pre/a\"}]}", "{\"items\":[",
		"{\"items\":[{\"name\":\"pre/a\",\"size\":\"-1\"}]}",
		"{\"items\":[{\"size\":\"1\"}]}", "<html>",
		/* these would look like a bucket with nothing in it */
		"{}", "{\"error\":{\"code\":500}}", "{\"items\":{}}",
		/* outside of the prefix, and shorter than it */
		"{\"items\":[" OBJECT("a") "]}", "{\"prefixes\":[\"b/\"]}" };

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0};
		gpc_auto(gpc_strv) struct gpc_strv v = {0};

		if (read_page(cases[i], NULL, &v, &p) != -GPC_EPROTO)
			fail_msg("%s was taken", cases[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_become_urls),
		cmocka_unit_test(bad_addresses_are_refused),
		cmocka_unit_test(replies_are_judged_by_their_reason),
		cmocka_unit_test(checksums_are_read_wherever_they_are),
		cmocka_unit_test(sessions_tell_what_they_hold),
		cmocka_unit_test(pages_give_their_objects),
		cmocka_unit_test(broken_pages_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
