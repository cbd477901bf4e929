/* Hosts of AWS's services, region by region. */
#include "test.h"

#include "net/endpoint_aws.h"

static const struct {
	const char *service, *region;
	bool fips, dual;
	const char *url;
} places[] = {
	{"sts", "us-east-1", 0, 0, "https://sts.us-east-1.amazonaws.com"},
	{"sts", "cn-north-1", 0, 0, "https://sts.cn-north-1.amazonaws.com.cn"},
	{"sts", "eu-west-1", 0, 1, "https://sts.eu-west-1.api.aws"},
	{"sts", "us-east-1", 1, 0, "https://sts-fips.us-east-1.amazonaws.com"},
	{"sts", "us-gov-west-1", 1, 0,
		"https://sts.us-gov-west-1.amazonaws.com"},
	{"sts", "us-iso-east-1", 0, 0, "https://sts.us-iso-east-1.c2s.ic.gov"},
	{"sts", "us-isob-east-1", 0, 0,
		"https://sts.us-isob-east-1.sc2s.sgov.gov"},
	{"sts", "eusc-de-east-1", 0, 0,
		"https://sts.eusc-de-east-1.amazonaws.eu"},
	{"sts", "xy-new-9", 0, 0, "https://sts.xy-new-9.amazonaws.com"},
	{"s3", "us-east-1", 0, 0, "https://s3.us-east-1.amazonaws.com"},
	{"s3", "us-east-1", 0, 1,
		"https://s3.dualstack.us-east-1.amazonaws.com"},
	{"s3", "us-east-1", 1, 0, "https://s3-fips.us-east-1.amazonaws.com"},
	{"s3", "us-east-1", 1, 1,
		"https://s3-fips.dualstack.us-east-1.amazonaws.com"},
	{"s3", "cn-north-1", 0, 1,
		"https://s3.dualstack.cn-north-1.amazonaws.com.cn"},
	{"ec2", "cn-north-1", 0, 1,
		"https://ec2.cn-north-1.api.amazonwebservices.com.cn"},
	{"sso", "eu-west-1", 0, 0,
		"https://portal.sso.eu-west-1.amazonaws.com"},
	{"sso_oidc", "eu-west-1", 0, 0, "https://oidc.eu-west-1.amazonaws.com"},
	{"pricing", "eu-west-1", 0, 0,
		"https://api.pricing.us-east-1.amazonaws.com"},
	{"pricing", "cn-north-1", 0, 0,
		"https://api.pricing.cn-northwest-1.amazonaws.com.cn"},
	{"sagemaker", "us-east-1", 1, 0,
		"https://api-fips.sagemaker.us-east-1.amazonaws.com"},
	{"sagemaker_runtime", "us-east-1", 0, 0,
		"https://runtime.sagemaker.us-east-1.amazonaws.com"},
	{"iam", "eu-west-1", 0, 0, "https://iam.amazonaws.com"},
	{"iam", "cn-northwest-1", 0, 0,
		"https://iam.cn-north-1.amazonaws.com.cn"},
	{"iam", "us-gov-east-1", 0, 0, "https://iam.us-gov.amazonaws.com"},
	{"iam", "us-iso-west-1", 0, 0, "https://iam.us-iso-east-1.c2s.ic.gov"},
	{"savingsplans", "eu-west-1", 0, 0,
		"https://savingsplans.amazonaws.com"},
	{"sts", "us east 1", 0, 0, NULL},
	{"sts", "evil.example/", 0, 0, NULL},
	{"sts", "-a", 0, 0, NULL},
	{"sts", "", 0, 0, NULL},
	{"sts", NULL, 0, 0, NULL},
	{"nosuch", "us-east-1", 0, 0, NULL},
	{"s3", "cn-north-1", 1, 0, NULL},
	{"sts", "us-iso-east-1", 0, 1, NULL},
};

TEST(test_places)
{
	for (size_t i = 0; i < COUNT(places); i++) {
		const struct gpc_aws_place place = {places[i].service,
			places[i].region, places[i].fips, places[i].dual};
		struct gpc_error err = {0};
		gpc_autostr *url = NULL;

		if (!places[i].url) {
			assert_fails(gpc_aws_endpoint(&place, &url, &err),
				GPC_ECONFIG);
			assert_null(url);
			continue;
		}
		assert_ok(gpc_aws_endpoint(&place, &url, &err));
		assert_string_equal(url, places[i].url);
	}
}

TEST(test_partitions)
{
	assert_string_equal(gpc_aws_partition_of("us-gov-east-1")->id,
		"aws-us-gov");
	assert_string_equal(gpc_aws_partition_of(NULL)->id, "aws");
	assert_string_equal(gpc_aws_partition_of_arn(
		"arn:aws-cn:iam::1:role/x")->first, "cn-north-1");
	assert_string_equal(gpc_aws_partition_of_arn("arn:aws:iam::1:role/x")
		->id, "aws");
	assert_null(gpc_aws_partition_of_arn("arn:aws-x:iam::1:role/x"));
	assert_null(gpc_aws_partition_of_arn("role/x"));
	assert_string_equal(gpc_aws_signing_name("pricing"), "pricing");
	assert_string_equal(gpc_aws_signing_name("sagemaker_runtime"),
		"sagemaker");
	assert_string_equal(gpc_aws_signing_region("cost_explorer",
		"eu-west-1"), "us-east-1");
	assert_string_equal(gpc_aws_signing_region("iam", "us-gov-east-1"),
		"us-gov-west-1");
	assert_string_equal(gpc_aws_signing_region("ec2", "eu-west-1"),
		"eu-west-1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_partitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
