/* The documents of `setup aws`: what they permit, word for word, in each partition; and
 * that a template says the same. */
#include "test.h"

#include "provider/aws_policy.h"
#include "provider/aws_setup.h"

#define STORE "s3://a-bucket/team/a"
#define ACCOUNT "123456789012"

static void make(struct gpc_aws_setup *s, const char *url, const char *region,
	bool supervisor, const struct gpc_strv *sources)
{
	const struct gpc_setup_wish wish = { .store_url = url,
		.supervisor = supervisor, .sources = sources };
	struct gpc_error err = {0};

	assert_int_equal(gpc_aws_setup_init(s, &wish, region, ACCOUNT, &err), 0);
}

static const struct gpc_json *statement(const struct gpc_json *policy,
	const char *sid)
{
	const struct gpc_json *s = gpc_json_first(gpc_json_get(policy, "Statement"));

	while (s && !gpc_ends_with(gpc_json_get_str(s, "Sid"), sid))
		s = gpc_json_next(s);
	return s;
}

static void is_json(const struct gpc_json *j, const char *want)
{
	gpc_autostr *text = gpc_json_print(j);

	assert_string_equal(text, want);
}

TEST(test_a_node_reaches_the_prefix_alone)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};

	make(&s, STORE, "us-east-1", false, NULL);
	assert_int_equal(s.n_roles, 1);
	assert_string_equal(s.roles[0].name, "gpucloud-node");
	is_json(s.roles[0].policy, "{\"Version\":\"2012-10-17\",\"Statement\":["
		"{\"Sid\":\"Objects\",\"Effect\":\"Allow\",\"Action\":["
		"\"s3:GetObject\",\"s3:PutObject\",\"s3:DeleteObject\","
		"\"s3:AbortMultipartUpload\",\"s3:ListMultipartUploadParts\"],"
		"\"Resource\":[\"arn:aws:s3:::a-bucket/team/a/*\"]},"
		"{\"Sid\":\"List\",\"Effect\":\"Allow\",\"Action\":["
		"\"s3:ListBucket\",\"s3:ListBucketMultipartUploads\"],"
		"\"Resource\":[\"arn:aws:s3:::a-bucket\"],\"Condition\":"
		"{\"StringLikeIfExists\":{\"s3:prefix\":[\"team/a/*\"]}}}]}");
	is_json(s.trust, "{\"Version\":\"2012-10-17\",\"Statement\":["
		"{\"Sid\":\"Machines\",\"Effect\":\"Allow\",\"Principal\":"
		"{\"Service\":\"ec2.amazonaws.com\"},\"Action\":"
		"[\"sts:AssumeRole\"]}]}");
}

/* Only where metrics are asked for, and only in that namespace. */
TEST(test_nodes_put_metrics)
{
	const struct gpc_setup_wish wish = { .store_url = STORE,
		.figures = "team/training" };
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0}, none = {0};
	struct gpc_error err = {0};

	make(&none, STORE, "us-east-1", false, NULL);
	assert_null(statement(none.roles[0].policy, "Figures"));
	assert_int_equal(gpc_aws_setup_init(&s, &wish, "us-east-1", ACCOUNT, &err),
		0);
	is_json(statement(s.roles[0].policy, "Figures"), "{\"Sid\":\"Figures\","
		"\"Effect\":\"Allow\",\"Action\":[\"cloudwatch:PutMetricData\"],"
		"\"Resource\":[\"*\"],\"Condition\":{\"StringEquals\":"
		"{\"cloudwatch:namespace\":\"team/training\"}}}");
}

TEST(test_a_whole_bucket)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};

	make(&s, "s3://a-bucket", "us-east-1", false, NULL);
	is_json(gpc_json_get(statement(s.roles[0].policy, "Objects"), "Resource"),
		"[\"arn:aws:s3:::a-bucket/*\"]");
	assert_null(gpc_json_get(statement(s.roles[0].policy, "List"),
		"Condition"));
}

/* A name that holds what is a wildcard or a variable in a policy is only itself. */
TEST(test_names_do_not_widen)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};

	make(&s, "s3://a-bucket/a*b/$c\"d", "us-east-1", false, NULL);
	is_json(gpc_json_get(statement(s.roles[0].policy, "Objects"), "Resource"),
		"[\"arn:aws:s3:::a-bucket/a${*}b/${$}c\\\"d/*\"]");
}

TEST(test_partitions)
{
	static const struct { const char *region, *arn, *ec2; } rows[] = {
		{"eu-west-1", "arn:aws:", "ec2.amazonaws.com"},
		{"cn-north-1", "arn:aws-cn:", "ec2.amazonaws.com.cn"},
		{"us-gov-west-1", "arn:aws-us-gov:", "ec2.amazonaws.com"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
		gpc_autostr *text = NULL;

		make(&s, STORE, rows[i].region, true, NULL);
		text = gpc_json_print(s.roles[1].policy);
		for (const char *at = text; (at = strstr(at, "arn:")); at++)
			assert_true(gpc_starts_with(at, rows[i].arn));
		assert_string_equal(gpc_json_get_str(gpc_json_get(statement(s.trust,
			"Machines"), "Principal"), "Service"), rows[i].ec2);
		is_json(gpc_json_get(gpc_json_get(statement(s.roles[1].policy,
			"Role"), "Condition"), "StringEquals"), gpc_eq(rows[i].ec2,
			"ec2.amazonaws.com") ?
			"{\"iam:PassedToService\":\"ec2.amazonaws.com\"}" :
			"{\"iam:PassedToService\":\"ec2.amazonaws.com.cn\"}");
	}
}

/* It passes on the role of nodes and no other, buys what bears our tag, and ends that. */
TEST(test_a_supervisor)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
	const struct gpc_json *p;

	make(&s, STORE, "us-east-1", true, NULL);
	assert_int_equal(s.n_roles, 2);
	p = s.roles[1].policy;
	is_json(gpc_json_get(statement(p, "Role"), "Resource"),
		"[\"arn:aws:iam::123456789012:role/gpucloud-node\"]");
	is_json(gpc_json_get(statement(p, "Buy"), "Condition"),
		"{\"Null\":{\"aws:RequestTag/gpucloud-store\":\"false\"},"
		"\"StringEqualsIfExists\":{\"ec2:MetadataHttpTokens\":"
		"\"required\"}}");
	is_json(gpc_json_get(statement(p, "End"), "Condition"),
		"{\"Null\":{\"aws:ResourceTag/gpucloud-store\":\"false\"}}");
	is_json(gpc_json_get(statement(p, "CloseWay"), "Condition"),
		"{\"Null\":{\"aws:ResourceTag/gpucloud-store\":\"false\"}}");
	is_json(gpc_json_get(statement(p, "Ports"), "Condition"),
		"{\"Null\":{\"aws:ResourceTag/gpucloud-store\":\"false\"}}");
	is_json(gpc_json_get(statement(p, "Ports"), "Resource"),
		"[\"arn:aws:ec2:*:123456789012:network-interface/*\","
		"\"arn:aws:ec2:*:123456789012:instance/*\"]");
	is_json(gpc_json_get(statement(p, "PortsBy"), "Resource"),
		"[\"arn:aws:ec2:*:123456789012:security-group/*\"]");
	is_json(gpc_json_get(statement(p, "Objects"), "Resource"),
		"[\"arn:aws:s3:::a-bucket/team/a/*\"]");
}

/* A node ends groups, and only who buys makes them; without the wish neither. */
TEST(test_groups)
{
	const struct gpc_setup_wish wish = { .store_url = STORE, .groups = true,
		.supervisor = true };
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0}, none = {0};
	struct gpc_error err = {0};

	make(&none, STORE, "us-east-1", true, NULL);
	assert_null(statement(none.roles[0].policy, "GroupsEnd"));
	assert_null(statement(none.roles[1].policy, "GroupsMake"));
	assert_int_equal(gpc_aws_setup_init(&s, &wish, "us-east-1", ACCOUNT, &err),
		0);
	is_json(gpc_json_get(statement(s.roles[0].policy, "GroupsEnd"),
		"Condition"),
		"{\"Null\":{\"aws:ResourceTag/gpucloud-store\":\"false\"}}");
	assert_null(statement(s.roles[0].policy, "GroupsMake"));
	is_json(gpc_json_get(statement(s.roles[1].policy, "GroupsBuy"),
		"Resource"),
		"[\"arn:aws:ec2:*:123456789012:launch-template/*\"]");
	is_json(gpc_json_get(statement(s.roles[1].policy, "GroupsMake"),
		"Condition"),
		"{\"Null\":{\"aws:RequestTag/gpucloud-store\":\"false\"}}");
}

TEST(test_the_bucket_demands)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
	gpc_auto(gpc_strv) struct gpc_strv sources = {0};
	const struct gpc_json *once, *source;

	gpc_strv_add(&sources, "203.0.113.0/24");
	gpc_strv_add(&sources, "2001:db8::/32");
	make(&s, STORE, "us-east-1", false, &sources);
	once = statement(s.bucket_policy, "Once");
	assert_string_equal(gpc_json_get_str(once, "Effect"), "Deny");
	is_json(gpc_json_get(once, "Condition"), "{\"Null\":{\"s3:if-none-match\":"
		"\"true\"},\"Bool\":{\"s3:ObjectCreationOperation\":\"true\"}}");
	assert_string_equal(gpc_json_str(gpc_json_first(gpc_json_get(once,
		"Resource"))), "arn:aws:s3:::a-bucket/team/a/jobs/*-??????" "/events/"
		"????????.json");
	source = statement(s.bucket_policy, "Source");
	is_json(gpc_json_get(gpc_json_get(source, "Condition"), "NotIpAddress"),
		"{\"aws:SourceIp\":[\"203.0.113.0/24\",\"2001:db8::/32\"]}");
	is_json(gpc_json_get(gpc_json_get(source, "Condition"), "ArnNotEquals"),
		"{\"aws:PrincipalArn\":["
		"\"arn:aws:iam::123456789012:role/gpucloud-node\","
		"\"arn:aws:iam::123456789012:role/gpucloud-supervisor\"]}");
}

/* Two stores in one bucket do not take each other's entries for theirs. */
TEST(test_stores_have_names_of_their_own)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup a = {0}, b = {0};

	make(&a, "s3://a-bucket/a", "us-east-1", false, NULL);
	make(&b, "s3://a-bucket/b", "us-east-1", false, NULL);
	assert_string_not_equal(a.rule, b.rule);
	assert_string_not_equal(a.own, b.own);
	assert_string_not_equal(a.policy_name, b.policy_name);
}

TEST(test_bad_wishes)
{
	static const struct { const char *url, *source, *says; } rows[] = {
		{"file:///srv/x", NULL, "need a store in a bucket"},
		{"s3://Bucket/x", NULL, "no name for a bucket"},
		{"s3://ab", NULL, "not the name of a bucket"},
		{"s3://10.0.0.1/x", NULL, "no name for a bucket"},
		{"s3://a..b/x", NULL, "no name for a bucket"},
		{"s3://a-bucket/x?journal=/srv/j", NULL, "journal elsewhere"},
		{STORE, "203.0.113.0/33", "no address and no network"},
		{STORE, "example.org", "no address and no network"},
		{STORE, "192.168.1.0/24", "never sees"},
		{STORE, "172.20.0.0/16", "never sees"},
		{STORE, "", "no address and no network"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
		gpc_auto(gpc_strv) struct gpc_strv sources = {0};
		const struct gpc_setup_wish wish = { .store_url = rows[i].url,
			.sources = &sources };
		struct gpc_error err = {0};

		if (rows[i].source)
			gpc_strv_add(&sources, rows[i].source);
		assert_int_equal(gpc_aws_setup_init(&s, &wish, "us-east-1", ACCOUNT,
			&err), -GPC_ECONFIG);
		if (!strstr(err.msg, rows[i].says))
			fail_msg("%s: %s", rows[i].says, err.msg);
	}
}

static bool same(const char *a, const char *b)
{
	gpc_autoptr(gpc_json) *x = NULL, *y = NULL;

	assert_int_equal(gpc_json_parse(a, strlen(a), &x, NULL), 0);
	assert_int_equal(gpc_json_parse(b, strlen(b), &y, NULL), 0);
	assert_int_equal(gpc_aws_policy_equal(x, y), gpc_aws_policy_equal(y, x));
	return gpc_aws_policy_equal(x, y);
}

TEST(test_documents_that_mean_the_same)
{
	assert_true(same("{\"a\":1,\"b\":[\"x\"]}", "{\"b\":\"x\",\"a\":1}"));
	assert_true(same("[\"x\",\"y\"]", "[\"y\",\"x\"]"));
	assert_true(same("[{\"a\":\"true\"}]", "{\"a\":true}"));
	assert_false(same("[\"x\",\"y\"]", "[\"x\"]"));
	assert_false(same("[\"x\",\"y\"]", "[\"x\",\"z\"]"));
	assert_false(same("{\"a\":1}", "{\"a\":1,\"b\":2}"));
	assert_false(same("{\"a\":1}", "{\"b\":1}"));
	assert_false(same("{\"a\":{\"b\":\"x\"}}", "{\"a\":\"x\"}"));
	assert_false(same("\"x\"", "\"X\""));
}

/* Of a statement that has no list around it as well. */
TEST(test_others_statements_are_told_apart)
{
	static const char *const text = "{\"Statement\":{\"Sid\":\"Mine\"}}";
	gpc_autoptr(gpc_json) *p = NULL, *ours = NULL, *others = NULL;

	assert_int_equal(gpc_json_parse(text, strlen(text), &p, NULL), 0);
	ours = gpc_aws_policy_pick(p, "Gpucloud", false);
	others = gpc_aws_policy_pick(p, "Gpucloud", true);
	is_json(ours, "[]");
	is_json(others, "[{\"Sid\":\"Mine\"}]");
}

static const struct gpc_json *properties(const struct gpc_json *template,
	const char *name)
{
	return gpc_json_get(gpc_json_get(gpc_json_get(template, "Resources"), name),
		"Properties");
}

static void is_same(const struct gpc_json *a, const struct gpc_json *b)
{
	gpc_autostr *x = gpc_json_print(a), *y = gpc_json_print(b);

	assert_string_equal(x, y);
}

TEST(test_the_template_has_the_same_documents)
{
	static const char *const names[] = { "NodeRole", "SupervisorRole" };
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
	gpc_autoptr(gpc_json) *t = NULL;
	gpc_autostr *text = NULL;

	make(&s, STORE, "us-east-1", true, NULL);
	text = gpc_aws_setup_template(&s);
	assert_int_equal(gpc_json_parse(text, strlen(text), &t, NULL), 0);
	is_same(gpc_json_get(properties(t, "StoreBucketPolicy"), "PolicyDocument"),
		s.bucket_policy);
	for (size_t i = 0; i < 2; i++) {
		const struct gpc_json *p = properties(t, names[i]);
		const struct gpc_json *one = gpc_json_first(gpc_json_get(p,
			"Policies"));

		assert_string_equal(gpc_json_get_str(p, "RoleName"),
			s.roles[i].name);
		is_same(gpc_json_get(p, "AssumeRolePolicyDocument"), s.trust);
		assert_string_equal(gpc_json_get_str(one, "PolicyName"),
			s.policy_name);
		is_same(gpc_json_get(one, "PolicyDocument"), s.roles[i].policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_node_reaches_the_prefix_alone),
		cmocka_unit_test(test_nodes_put_metrics),
		cmocka_unit_test(test_a_whole_bucket),
		cmocka_unit_test(test_names_do_not_widen),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_a_supervisor),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_the_bucket_demands),
		cmocka_unit_test(test_stores_have_names_of_their_own),
		cmocka_unit_test(test_bad_wishes),
		cmocka_unit_test(test_documents_that_mean_the_same),
		cmocka_unit_test(test_others_statements_are_told_apart),
		cmocka_unit_test(test_the_template_has_the_same_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
