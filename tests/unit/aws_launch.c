/* What RunInstances is sent, and what a machine begins with. */
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/encode.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "dep/json.h"
#include "provider/aws_boot.h"
#include "provider/aws_group.h"
#include "provider/aws_params.h"
#include "provider/aws_quota.h"

static struct gpc_error err;

static void fill(struct gpc_launch *l)
{
	struct gpc_json *bundle = gpc_json_object(), *aws = gpc_json_object();

	*l = (struct gpc_launch){ .v = 1, .token = gpc_strdup("11-aa"),
		.job = gpc_strdup("train-abcdef"),
		.name = gpc_strdup("gpucloud-train-abcdef-1"), .attempt = 1,
		.count = 2, .provider = gpc_strdup("aws"),
		.store_url = gpc_strdup("s3://bucket/p"),
		.expires_ms = 1800000000000,
		.rest = gpc_json_object() };
	l->offer.region = gpc_strdup("us-east-1");
	l->offer.zone = gpc_strdup("us-east-1b");
	l->offer.instance_type = gpc_strdup("g5.xlarge");
	l->offer.market = gpc_strdup("spot");
	gpc_pairs_set(&l->tags, "gpucloud-store", "store-one");
	gpc_pairs_set(&l->tags, "gpucloud-job", "sweep-abcdef.3");
	gpc_json_set_str(bundle, "url", "https://b.s3.us-east-1.amazonaws.com/x");
	gpc_json_set_str(bundle, "region", "us-east-1");
	gpc_json_set_str(bundle, "sha256", "00ff");
	gpc_json_set(l->rest, "bundle", bundle);
	gpc_json_set_int(l->rest, "life_s", 7200);
	gpc_json_set_str(aws, "image", "ami-0123456789abcdef0");
	gpc_json_set_str(aws, "root", "/dev/sda1");
	gpc_json_set_int(aws, "disk_gib", 120);
	gpc_json_set_str(aws, "user_data", "text");
	gpc_json_set(l->rest, "aws", aws);
}

TEST(a_launch_as_parameters)
{
	static const struct { const char *key, *value; } wanted[] = {
		{"ImageId", "ami-0123456789abcdef0"}, {"InstanceType", "g5.xlarge"},
		{"MinCount", "2"}, {"MaxCount", "2"}, {"ClientToken", "11-aa"},
		{"Placement.AvailabilityZone", "us-east-1b"},
		{"InstanceInitiatedShutdownBehavior", "terminate"},
		{"MetadataOptions.HttpTokens", "required"},
		{"BlockDeviceMapping.1.DeviceName", "/dev/sda1"},
		{"BlockDeviceMapping.1.Ebs.VolumeSize", "120"},
		{"BlockDeviceMapping.1.Ebs.VolumeType", "gp3"},
		{"BlockDeviceMapping.1.Ebs.Encrypted", "true"},
		{"BlockDeviceMapping.1.Ebs.DeleteOnTermination", "true"},
		{"InstanceMarketOptions.MarketType", "spot"},
		{"InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time"},
		{"InstanceMarketOptions.SpotOptions.MaxPrice", "0.9"},
		{"TagSpecification.1.ResourceType", "instance"},
		{"TagSpecification.1.Tag.2.Value", "sweep-abcdef_3"},
		{"TagSpecification.4.ResourceType", "spot-instances-request"},
		{"TagSpecification.4.Tag.1.Key", "gpucloud-store"},
		{"UserData", "dGV4dA=="},
	};
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	fill(&l);
	gpc_json_set_str(l.rest, "max_hourly", "0.9");
	assert_ok(gpc_aws_params_launch(&l, &p, &err));
	for (size_t i = 0; i < COUNT(wanted); i++) {
		const char *value = gpc_pairs_get(&p, wanted[i].key);

		if (!gpc_eq(value, wanted[i].value))
			fail_msg("%s is %s", wanted[i].key, value ? value : "-");
	}
}

TEST(a_machine_may_have_a_profile_of_its_own)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0}, own = {0};

	fill(&l);
	assert_ok(gpc_aws_params_launch(&l, &p, &err));
	assert_string_equal(gpc_pairs_get(&p, "IamInstanceProfile.Name"),
		"gpucloud-node");
	gpc_json_set_str(l.rest, "profile", "gpucloud-supervisor");
	assert_ok(gpc_aws_params_launch(&l, &own, &err));
	assert_string_equal(gpc_pairs_get(&own, "IamInstanceProfile.Name"),
		"gpucloud-supervisor");
}

TEST(a_launch_template_has_the_same_names)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0}, t = {0};

	fill(&l);
	assert_ok(gpc_aws_params_launch(&l, &p, &err));
	assert_ok(gpc_aws_params_machine(&l, "LaunchTemplateData.", &t, &err));
	assert_int_equal(p.n, t.n + 4); /* MinCount, MaxCount, token and zone */
	gpc_vec_each(x, &t) {
		const char *name = x->key + strlen("LaunchTemplateData.");

		assert_true(gpc_starts_with(x->key, "LaunchTemplateData."));
		assert_string_equal(gpc_pairs_get(&p, name), x->value);
	}
}

TEST(a_group_is_named_by_its_token)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_autostr *id = NULL, *region = NULL, *data = NULL;
	const char *name = NULL;
	static const char *const others[] = { "us-east-1/i-0123456789abcdef0",
		"us-east-1/gpucloud-", "us-east-1/other-11-aa", "gpucloud-11-aa",
		"US/../gpucloud-11-aa", "" };

	fill(&l);
	id = gpc_aws_group_id(&l);
	assert_string_equal(id, "us-east-1/gpucloud-11-aa");
	assert_true(gpc_aws_group_parts(id, &region, &name));
	assert_string_equal(region, "us-east-1");
	assert_string_equal(name, "gpucloud-11-aa");
	assert_string_equal(gpc_aws_group_token(name), "11-aa");
	for (size_t i = 0; i < COUNT(others); i++) {
		gpc_autostr *r = NULL;

		assert_false(gpc_aws_group_parts(others[i], &r, &name));
		assert_null(r);
	}
	/* Its machines know it. */
	gpc_json_set_str(l.rest, GPC_LAUNCH_GROUP, id);
	assert_ok(gpc_aws_user_data(&l, &data, &err));
	assert_true(strlen(data) < GPC_AWS_USER_DATA_MAX);
}

static void check_params(const struct gpc_launch *l, const char *const *wanted,
	size_t n)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	assert_ok(gpc_aws_params_launch(l, &p, &err));
	for (size_t i = 0; i < n; i += 2) {
		const char *value = gpc_pairs_get(&p, wanted[i]);

		if (!gpc_eq(value, wanted[i + 1]))
			fail_msg("%s is %s", wanted[i], value ? value : "-");
	}
}

static void set_made(struct gpc_launch *l, const char *text)
{
	struct gpc_json *made = (struct gpc_json *)gpc_json_get(l->rest, "aws");
	gpc_autoptr(gpc_json) *more = NULL;

	assert_ok(gpc_json_parse(text, strlen(text), &more, &err));
	for (const struct gpc_json *x = gpc_json_first(more); x;
		x = gpc_json_next(x))
		gpc_json_set(made, gpc_json_key(x), gpc_json_copy(x));
}

/* The default network needs no word; one's own is named. */
TEST(a_network_of_ones_own)
{
	static const char *const wanted[] = {
		"SubnetId", "subnet-1", "SecurityGroupId.1", "sg-1",
		"SecurityGroupId.2", "sg-2", "NetworkInterface.1.SubnetId", NULL,
		"Placement.GroupName", NULL,
	};
	static const char *const nothing[] = { "SubnetId", NULL,
		"SecurityGroupId.1", NULL };
	gpc_auto(gpc_launch) struct gpc_launch l;

	fill(&l);
	check_params(&l, nothing, COUNT(nothing));
	set_made(&l, "{\"subnet\":\"subnet-1\",\"groups\":[\"sg-1\",\"sg-2\"]}");
	check_params(&l, wanted, COUNT(wanted));
}

#define N(i, name) "NetworkInterface." #i "." name
TEST(cards_of_efa)
{
	static const char *const one[] = {
		N(1, "InterfaceType"), "efa", N(1, "NetworkCardIndex"), "0",
		N(1, "DeviceIndex"), "0", N(1, "SubnetId"), "subnet-1",
		N(1, "SecurityGroupId.1"), "sg-1",
		N(1, "DeleteOnTermination"), "true",
		N(1, "AssociatePublicIpAddress"), "true",
		"SubnetId", NULL, "SecurityGroupId.1", NULL,
		"Placement.GroupName", "g", "TagSpecification.1.Tag.4.Key",
		"gpucloud-side", "TagSpecification.1.Tag.4.Value", "g",
	};
	static const char *const two[] = {
		N(1, "InterfaceType"), "efa", N(2, "InterfaceType"), "efa-only",
		N(2, "NetworkCardIndex"), "1", N(2, "DeviceIndex"), "1",
		N(2, "SubnetId"), "subnet-1", N(2, "SecurityGroupId.1"), "sg-1",
		N(1, "AssociatePublicIpAddress"), NULL,
		N(2, "AssociatePublicIpAddress"), NULL,
	};
	gpc_auto(gpc_launch) struct gpc_launch l;

	fill(&l);
	set_made(&l, "{\"subnet\":\"subnet-1\",\"groups\":[\"sg-1\"],\"public\":true,"
		"\"cluster\":\"g\",\"side\":\"g\",\"cards\":["
		"{\"card\":0,\"device\":0,\"type\":\"efa\"}]}");
	check_params(&l, one, COUNT(one));
	set_made(&l, "{\"cards\":[{\"card\":0,\"device\":0,\"type\":\"efa\"},"
		"{\"card\":1,\"device\":1,\"type\":\"efa-only\"}]}");
	check_params(&l, two, COUNT(two));
}

TEST(what_is_reserved_is_named)
{
#define TARGET "CapacityReservationSpecification.CapacityReservationTarget." \
	"CapacityReservationId"
	static const char *const plain[] = { TARGET, "cr-1",
		"InstanceMarketOptions.MarketType", NULL };
	static const char *const block[] = { TARGET, "cr-1",
		"InstanceMarketOptions.MarketType", "capacity-block" };
	gpc_auto(gpc_launch) struct gpc_launch l;

	fill(&l);
	gpc_set_str(&l.offer.market, "reserved");
	l.offer.rest = gpc_json_object();
	gpc_json_set_str(l.offer.rest, "reservation", "cr-1");
	check_params(&l, plain, COUNT(plain));
	gpc_json_set_bool(l.offer.rest, "block", true);
	check_params(&l, block, COUNT(block));
}

TEST(each_type_has_its_limit)
{
	static const struct { const char *type, *on_demand, *spot; } rows[] = {
		{"p4d.24xlarge", "L-417A185B", "L-7212CCBC"},
		{"p5.48xlarge", "L-417A185B", "L-C4BD4855"},
		{"p6-b200.48xlarge", "L-417A185B", NULL},
		{"g5.xlarge", "L-DB2E81BA", "L-3819A6DF"},
		{"gr6.4xlarge", "L-DB2E81BA", "L-3819A6DF"},
		{"t3.small", "L-1216C47A", "L-34B43A08"},
		{"m7i.large", "L-1216C47A", "L-34B43A08"},
		{"trn1.2xlarge", "L-2C3B7624", "L-6B0D517C"},
		{"inf2.xlarge", "L-1945791B", "L-B5D1601B"},
		{"u-6tb1.metal", NULL, NULL}, {"", NULL, NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (!gpc_eq(gpc_aws_limit(rows[i].type, false), rows[i].on_demand)
			|| !gpc_eq(gpc_aws_limit(rows[i].type, true), rows[i].spot))
			fail_msg("%s", rows[i].type);
}

TEST(on_demand_has_no_word_of_the_spot_market)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	fill(&l);
	gpc_set_str(&l.offer.market, "on-demand");
	assert_ok(gpc_aws_params_launch(&l, &p, &err));
	gpc_vec_each(x, &p) {
		assert_null(strstr(x->key, "Spot"));
		assert_null(strstr(x->value, "spot"));
	}
}

/* --- user data --------------------------------------------------------------- */

static char *user_data(struct gpc_launch *l)
{
	char *text = NULL;

	assert_ok(gpc_aws_user_data(l, &text, &err));
	return text;
}

/* The part that begins with a line; owned. */
static char *part(const char *text, const char *type)
{
	gpc_autostr *head = gpc_format("Content-Type: %s\n\n", type);
	const char *start = strstr(text, head), *end;

	assert_non_null(start);
	start += strlen(head);
	end = strstr(start, "\n--==");
	assert_non_null(end);
	return gpc_strndup(start, (size_t)(end - start) + 1);
}

static void check_by(const char *shell, const char *text)
{
	gpc_autostr *dir = scratch();
	gpc_autostr *path = gpc_format("%s/text", dir);
	gpc_autostr *command = gpc_format("%s %s", shell, path);

	assert_ok(gpc_write_file(path, text, strlen(text), 0600, &err));
	assert_int_equal(system(command), 0);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(user_data_is_what_shells_and_python_read)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_autostr *text = NULL, *again = NULL, *hook = NULL, *script = NULL;
	gpc_autostr *python = NULL;
	const char *start;

	fill(&l);
	text = user_data(&l);
	again = user_data(&l);
	assert_string_equal(text, again);
	assert_true(strlen(text) < 10000);
	assert_true(gpc_starts_with(text, "MIME-Version: 1.0\n"));
	hook = part(text, "text/cloud-boothook");
	script = part(text, "text/x-shellscript");
	assert_true(gpc_starts_with(hook, "#cloud-boothook\n#!/bin/sh\n"));
	assert_non_null(strstr(hook, "left=7200\n"));
	assert_non_null(strstr(hook, "1800000000 - $(date"));
	assert_true(gpc_starts_with(script, "#!/bin/sh\n"));
	check_by("sh -n", hook);
	check_by("sh -n", script);
	start = strstr(script, "<<'PYTHON'\n");
	assert_non_null(start);
	start += strlen("<<'PYTHON'\n");
	python = gpc_strndup(start, (size_t)(strstr(start, "\nPYTHON\n") - start));
	check_by("python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())'",
		python);
}

TEST(user_data_grants_nothing)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_autostr *text = NULL;

	setenv("AWS_SECRET_ACCESS_KEY", "never/in/user/data", 1);
	fill(&l);
	text = user_data(&l);
	assert_null(strstr(text, "never/in/user/data"));
	unsetenv("AWS_SECRET_ACCESS_KEY");
}

TEST(user_data_that_is_too_long_is_refused)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	char *text = NULL;

	fill(&l);
	for (int i = 0; i < 200; i++)
		gpc_strv_addf(&l.buckets, "s3://a-bucket-with-a-long-name-%d/and/a/"
			"prefix/that/goes/on", i);
	assert_fails(gpc_aws_user_data(&l, &text, &err), GPC_ECONFIG);
	assert_has(err.msg, "16384");
	assert_has(err.hint, "fewer buckets");
	assert_null(text);
}

/* --- launch templates ------------------------------------------------------ */

TEST(a_launch_template_names_no_subnet)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0}, t = {0};

	fill(&l);
	set_made(&l, "{\"subnet\":\"subnet-1\"}");
	assert_ok(gpc_aws_params_launch(&l, &p, &err));
	assert_string_equal(gpc_pairs_get(&p, "SubnetId"), "subnet-1");
	assert_ok(gpc_aws_params_machine(&l, "LaunchTemplateData.", &t, &err));
	gpc_vec_each(x, &t)
		assert_null(strstr(x->key, "Subnet"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_as_parameters),
		cmocka_unit_test(a_machine_may_have_a_profile_of_its_own),
		cmocka_unit_test(a_launch_template_has_the_same_names),
		cmocka_unit_test(a_launch_template_names_no_subnet),
		cmocka_unit_test(a_group_is_named_by_its_token),
		cmocka_unit_test(a_network_of_ones_own),
		cmocka_unit_test(cards_of_efa),
		cmocka_unit_test(what_is_reserved_is_named),
		cmocka_unit_test(each_type_has_its_limit),
		cmocka_unit_test(on_demand_has_no_word_of_the_spot_market),
		cmocka_unit_test(user_data_is_what_shells_and_python_read),
		cmocka_unit_test(user_data_grants_nothing),
		cmocka_unit_test(user_data_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
