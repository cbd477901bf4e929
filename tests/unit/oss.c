/* The parts of the oss store that need no server: where a bucket is, and what replies
 * mean. Expectations are those of the OSS API reference, written by hand. */
#include "test.h"

#include "base/encode.h"
#include "base/str.h"
#include "store/oss_address.h"
#include "store/oss_error.h"

static struct gpc_error err;

TEST(addresses_become_urls)
{
	static const struct { const char *where, *key, *url; } cases[] = {
		{"bucket", "a/b", "https://bucket.oss-cn-beijing.aliyuncs.com/a/b"},
		{"bucket", NULL, "https://bucket.oss-cn-beijing.aliyuncs.com/"},
		{"bucket/x//", "k", "https://bucket.oss-cn-beijing.aliyuncs.com/k"},
		{"bucket", "a b+c/../e",
			"https://bucket.oss-cn-beijing.aliyuncs.com/a%20b%2Bc/../e"},
		{"bucket?endpoint=oss-cn-beijing-internal.aliyuncs.com", "k",
			"https://bucket.oss-cn-beijing-internal.aliyuncs.com/k"},
		{"bucket?endpoint=http://127.0.0.1:9000", "k",
			"http://127.0.0.1:9000/bucket/k"},
		{"bucket?endpoint=http://127.0.0.1:9000", NULL,
			"http://127.0.0.1:9000/bucket"},
		{"bucket?endpoint=http://oss.test:9000&addressing=path", "k",
			"http://oss.test:9000/bucket/k"},
		{"bucket?endpoint=https://data.example.com&addressing=domain",
			"a/k", "https://data.example.com/a/k"},
		{"bucket?endpoint=https://data.example.com&addressing=domain",
			NULL, "https://data.example.com/"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};
		gpc_auto(gpc_url) struct gpc_url u = {0};
		gpc_auto(gpc_buf) struct gpc_buf text = {0};

		assert_ok(gpc_bucket_address_parse(&gpc_oss_form,
			cases[i].where, &a, &err));
		assert_ok(gpc_oss_address_url(&a, "cn-beijing", cases[i].key, &u,
			&err));
		gpc_url_format(&u, &text);
		assert_string_equal(gpc_buf_str(&text), cases[i].url);
	}
}

TEST(hosts_name_regions)
{
	static const char *const cases[][2] = {
		{"oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou"},
		{"oss-cn-hangzhou-internal.aliyuncs.com", "cn-hangzhou"},
		{"bucket.oss-ap-southeast-1.aliyuncs.com", "ap-southeast-1"},
		{"cn-beijing.oss.aliyuncs.com", "cn-beijing"},
		{"cn-beijing-internal.oss.aliyuncs.com", "cn-beijing"},
		{"oss-accelerate.aliyuncs.com", NULL},
		{"oss.aliyuncs.com", NULL}, {"aliyuncs.com", NULL},
		{"ecs.cn-hangzhou.aliyuncs.com", NULL},
		{"oss-cn-hangzhou.example.com", NULL}, {"127.0.0.1", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *region = gpc_oss_region_of(cases[i][0]);

		if (!gpc_eq(region, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], region ? region : "none");
	}
}

TEST(bad_addresses_are_refused)
{
	static const char *const cases[] = {
		"", "ab", "bucket?x=1", "bucket?endpoint=", "bucket?endpoint=a b",
		"bucket?endpoint=ftp://x", "bucket?addressing=dns",
		"bucket?endpoint=u:p@host",
	};
	gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};
	gpc_auto(gpc_url) struct gpc_url u = {0};

	for (size_t i = 0; i < COUNT(cases); i++)
		if (gpc_bucket_address_parse(&gpc_oss_form, cases[i], &a, &err)
			!= -GPC_ECONFIG)
			fail_msg("\"%s\" was taken", cases[i]);
	assert_ok(gpc_bucket_address_parse(&gpc_oss_form, "bucket", &a, &err));
	assert_fails(gpc_oss_address_url(&a, "x/../y", "k", &u, &err),
		GPC_ECONFIG);
}

#define ERROR(code, more) \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" code \
	"</Code><Message>told so</Message>" more "</Error>"

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
		{200, ERROR("InternalError", ""), GPC_NET_RETRY, GPC_ENET, NULL},
		{404, ERROR("NoSuchKey", ""), GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
		{404, ERROR("NoSuchBucket", ""), GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{409, ERROR("FileAlreadyExists", ""), GPC_NET_FAILED,
			GPC_ECONFLICT, NULL},
		{403, ERROR("AccessDenied", ""), GPC_NET_FAILED, GPC_EAUTH, NULL},
		{403, ERROR("AccessDenied",
			"<Endpoint>oss-cn-beijing.aliyuncs.com</Endpoint>"),
			GPC_NET_FAILED, GPC_EAUTH, "cn-beijing"},
		{403, ERROR("RequestTimeTooSkewed", ""), GPC_NET_SKEWED,
			GPC_EAUTH, NULL},
		{403, ERROR("SecurityTokenExpired", ""), GPC_NET_RENEW,
			GPC_EAUTH, NULL},
		{403, ERROR("SecondLevelDomainForbidden", ""), GPC_NET_FAILED,
			GPC_ECONFIG, NULL},
		{400, ERROR("PublicEndpointForbidden", ""), GPC_NET_FAILED,
			GPC_ECONFIG, NULL},
		{503, ERROR("DownloadTrafficRateLimitExceeded", ""),
			GPC_NET_THROTTLED, GPC_ERATE, NULL},
		{400, ERROR("InvalidDigest", ""), GPC_NET_RETRY, GPC_ENET, NULL},
		{400, "<Error><Code>InvalidArgument</Code><Message>Invalid signing "
			"region in Authorization header.</Message></Error>",
			GPC_NET_FAILED, GPC_ECONFIG, NULL},
		{400, ERROR("Unheard", ""), GPC_NET_FAILED, GPC_EPROTO, NULL},
		{502, "<html>oops", GPC_NET_RETRY, GPC_ENET, NULL},
		{404, "<html>no", GPC_NET_FAILED, GPC_ECONFIG, NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_reply) struct gpc_reply reply = {
			.status = cases[i].status };
		gpc_autostr *region = NULL;
		enum gpc_net_verdict v;

		gpc_buf_adds(&reply.body, cases[i].body);
		memset(&err, 0, sizeof(err));
		v = gpc_oss_judge(&reply, "reading a/b", "bucket", &region, &err);
		if (v != cases[i].verdict || err.code != cases[i].code)
			fail_msg("%d %s: verdict %d, code %d", cases[i].status,
				cases[i].body, v, err.code);
		assert_true(gpc_eq(region, cases[i].region));
		if (v != GPC_NET_DONE)
			assert_has(err.msg, "reading a/b in bucket bucket");
	}
}

/* The replies to HEAD have no body. */
TEST(errors_come_in_headers_too)
{
	static const char text[] = ERROR("NoSuchBucket", "");
	gpc_auto(gpc_reply) struct gpc_reply reply = { .status = 404 };
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *region = NULL;

	gpc_base64(&b, text, strlen(text));
	gpc_pairs_add(&reply.headers, "x-oss-err", gpc_buf_str(&b));
	(void)gpc_oss_judge(&reply, "looking", "bucket", &region, &err);
	assert_int_equal(err.code, GPC_ECONFIG);
	gpc_pairs_set(&reply.headers, "x-oss-err", "%%%");
	(void)gpc_oss_judge(&reply, "looking", "bucket", &region, &err);
	assert_int_equal(err.code, GPC_ENOTFOUND);
}

TEST(a_refusal_names_the_permission)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = { .status = 403 };
	gpc_autostr *region = NULL;

	gpc_buf_adds(&reply.body, ERROR("AccessDenied", "<AccessDeniedDetail>"
		"<AuthAction>oss:GetObject</AuthAction></AccessDeniedDetail>"));
	(void)gpc_oss_judge(&reply, "reading a", "bucket", &region, &err);
	assert_has(err.msg, "permission oss:GetObject");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_become_urls),
		cmocka_unit_test(hosts_name_regions),
		cmocka_unit_test(bad_addresses_are_refused),
		cmocka_unit_test(replies_are_judged_by_their_code),
		cmocka_unit_test(errors_come_in_headers_too),
		cmocka_unit_test(a_refusal_names_the_permission),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
