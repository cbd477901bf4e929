/* The documents of `setup aws`. Each permission is one that a request of ours needs;
 * what the store's prefix or the tags of nodes can limit is limited by them. */
#include "provider/aws_setup.h"

#include <string.h>

#include "base/cidr.h"
#include "dep/crypto.h"
#include "provider/aws_launch.h"
#include "provider/aws_policy.h"
#include "store/split.h"

#define BUCKET_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-."
#define TAG_STORE "gpucloud-store"

bool gpc_aws_setup_names_account(const struct gpc_setup_wish *wish)
{
	return wish->supervisor || (wish->sources && wish->sources->n);
}

static char *arn(const struct gpc_aws_setup *s, const char *rest)
{
	return gpc_format("arn:%s:%s", s->partition->id, rest);
}

char *gpc_aws_setup_role_arn(const struct gpc_aws_setup *s, const char *role)
{
	gpc_autostr *rest = gpc_format("iam::%s:role/%s", s->account, role);

	return arn(s, rest);
}

/* "ec2.amazonaws.com"; in China principals have that of the hosts there. */
static char *principal(const struct gpc_aws_setup *s, const char *service)
{
	return gpc_format("%s.amazonaws.com%s", service,
		gpc_eq(s->partition->id, "aws-cn") ? ".cn" : "");
}

/* --- what is asked for ------------------------------------------------------- */

static int check_bucket(const char *name, struct gpc_error *err)
{
	size_t n = strlen(name);
	int r;

	if (n >= 3 && n <= 63 && strspn(name, BUCKET_CHARS) == n &&
		!strchr("-.", name[0]) && !strchr("-.", name[n - 1]) &&
		!strstr(name, "..") && strspn(name, "0123456789.") != n)
		return 0;
	gpc_autostr *shown = gpc_str_printable(name, n < 80 ? n : 80);
	r = gpc_fail(err, GPC_ECONFIG, "\"%s\" is no name for a bucket", shown);
	gpc_hint(err, "3 to 63 small letters, digits, - and ., beginning and "
		"ending in a letter or digit; the whole world's must differ");
	return r;
}

static int find_bucket(struct gpc_aws_setup *s, const char *url,
	struct gpc_error *err)
{
	int r;

	if (gpc_starts_with(url, "s3://") && gpc_store_is_split(url))
		return gpc_fail(err, GPC_ECONFIG, "%s keeps its journal elsewhere, "
			"and setup makes buckets that keep it themselves: leave "
			"journal= out", url);
	if (gpc_starts_with(url, "s3://")) {
		r = gpc_bucket_address_parse(&gpc_s3_form, url + 5, &s->address,
			err);
		return r < 0 ? r : check_bucket(s->address.bucket, err);
	}
	r = gpc_fail(err, GPC_ECONFIG, "machines of EC2 need a store in a bucket of "
		"S3, and this one is %s", url);
	gpc_hint(err, "name one by --store s3://BUCKET/PREFIX; `gpucloud config set "
		"store s3://BUCKET/PREFIX` makes it the usual one");
	return r;
}

/* Networks that only their owners see never reach AWS. */
static bool is_private(const char *cidr)
{
	unsigned a = 0, b = 0;
	struct gpc_str rest = gpc_str_of(cidr), part;
	unsigned *const parts[] = { &a, &b };

	if (gpc_cidr_is_v6(cidr))
		return false;
	for (size_t i = 0; i < 2 && gpc_str_split(&rest, '.', &part); i++)
		for (size_t k = 0; k < part.len; k++)
			*parts[i] = *parts[i] * 10 + (unsigned)(part.ptr[k] - '0');
	return a == 10 || a == 127 || (a == 172 && b >> 4 == 1) ||
		(a == 192 && b == 168);
}

static int check_source(const char *text, struct gpc_error *err)
{
	char cidr[GPC_CIDR_SIZE];
	int r = gpc_cidr_parse(text, cidr, err);

	if (r < 0)
		return gpc_wrap(err, gpc_recode(err, GPC_ECONFIG), "--source-ip");
	if (is_private(cidr))
		return gpc_fail(err, GPC_ECONFIG, "--source-ip: AWS never sees "
			"addresses of private networks such as %s: name the public "
			"ones that you come from", cidr);
	return 0;
}

/* --- the bucket's policy ----------------------------------------------------- */

/* Of the keys of the store that fit a pattern. */
static char *keys_arn(const struct gpc_aws_setup *s, const char *pattern)
{
	gpc_autostr *prefix = gpc_aws_policy_literal(s->address.prefix);
	gpc_autostr *rest = gpc_format("s3:::%s/%s%s", s->address.bucket, prefix,
		pattern);

	return arn(s, rest);
}

static char *bucket_arn(const struct gpc_aws_setup *s)
{
	gpc_autostr *rest = gpc_format("s3:::%s", s->address.bucket);

	return arn(s, rest);
}

/* A `*` of a policy also stands for slashes, and an artifact may lie in a folder called
 * checkpoints: so a job's id is spelled by its end, "-" and six characters, with the
 * number of a group's member. */
static struct gpc_json *once_arns(const struct gpc_aws_setup *s)
{
	static const char *const members[] = { "", ".?", ".??", ".???", ".????" };
	static const char *const names[] = { "events/????????.json",
		"checkpoints/*-*-*.json" };
	struct gpc_json *all = gpc_json_array();

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
			gpc_autostr *part = gpc_format("jobs/*-??????%s/%s",
				members[i], names[k]);
			gpc_autostr *where = keys_arn(s, part);

			gpc_json_add(all, gpc_json_string(where));
		}
	return all;
}

/* A journal's event and a checkpoint's manifest are made once, whoever writes and
 * however wrong that one is. Parts of an upload know no condition: what ends it does. */
static void demand_once(struct gpc_aws_setup *s)
{
	gpc_autostr *sid = gpc_format("%sOnce", s->own);
	struct gpc_json *when = gpc_json_object();

	gpc_aws_condition(when, "Null", "s3:if-none-match",
		gpc_json_string("true"));
	gpc_aws_condition(when, "Bool", "s3:ObjectCreationOperation",
		gpc_json_string("true"));
	gpc_aws_policy_add(s->bucket_policy, &(struct gpc_aws_statement){
		.sid = sid, .deny = true, .principal = gpc_json_string("*"),
		.actions = gpc_aws_texts("s3:PutObject", NULL),
		.resources = once_arns(s), .condition = when });
}

/* Nodes come from AWS's own addresses, and through an endpoint of a VPC from none at
 * all; their keys are good on them alone. */
static struct gpc_json *from_elsewhere(const struct gpc_aws_setup *s,
	const struct gpc_strv *sources)
{
	gpc_autostr *node = gpc_aws_setup_role_arn(s, GPC_AWS_PROFILE);
	gpc_autostr *supervisor = gpc_aws_setup_role_arn(s, GPC_AWS_SUPERVISOR);
	struct gpc_json *when = gpc_json_object();

	gpc_aws_condition(when, "NotIpAddress", "aws:SourceIp",
		gpc_json_strings(sources));
	gpc_aws_condition(when, "Bool", "aws:ViaAWSService",
		gpc_json_string("false"));
	gpc_aws_condition(when, "ArnNotEquals", "aws:PrincipalArn",
		gpc_aws_texts(node, supervisor, NULL));
	return when;
}

/* Names are listed by their prefix alone, so that whoever administers the bucket is not
 * locked out of it. */
static void demand_source(struct gpc_aws_setup *s, const struct gpc_strv *sources)
{
	gpc_autostr *keys = keys_arn(s, "*"), *bucket = bucket_arn(s);
	gpc_autostr *prefix = gpc_aws_policy_literal(s->address.prefix);
	gpc_autostr *below = gpc_format("%s*", prefix);
	gpc_autostr *sid = gpc_format("%sSource", s->own);
	gpc_autostr *sid_list = gpc_format("%sNames", s->own);
	struct gpc_json *when = from_elsewhere(s, sources);

	gpc_aws_policy_add(s->bucket_policy, &(struct gpc_aws_statement){
		.sid = sid, .deny = true, .principal = gpc_json_string("*"),
		.actions = gpc_aws_texts("s3:GetObject", "s3:PutObject",
			"s3:DeleteObject", NULL),
		.resources = gpc_aws_texts(keys, NULL), .condition = when });
	when = from_elsewhere(s, sources);
	gpc_aws_condition(when, "StringLike", "s3:prefix",
		gpc_aws_texts(below, NULL));
	gpc_aws_policy_add(s->bucket_policy, &(struct gpc_aws_statement){
		.sid = sid_list, .deny = true, .principal = gpc_json_string("*"),
		.actions = gpc_aws_texts("s3:ListBucket", NULL),
		.resources = gpc_aws_texts(bucket, NULL), .condition = when });
}

/* --- the roles --------------------------------------------------------------- */

/* "…IfExists": where no prefix is asked for, S3 looks whether one may list to tell
 * "not there" from "denied", and a journal is read by what is not there yet. Names
 * beside the prefix can be listed, then; no object can be read. */
static void allow_store(const struct gpc_aws_setup *s, struct gpc_json *policy)
{
	gpc_autostr *keys = keys_arn(s, "*"), *bucket = bucket_arn(s);
	gpc_autostr *prefix = gpc_aws_policy_literal(s->address.prefix);
	gpc_autostr *below = gpc_format("%s*", prefix);
	struct gpc_json *when = NULL;

	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Objects",
		.actions = gpc_aws_texts("s3:GetObject", "s3:PutObject",
			"s3:DeleteObject", "s3:AbortMultipartUpload",
			"s3:ListMultipartUploadParts", NULL),
		.resources = gpc_aws_texts(keys, NULL) });
	if (*prefix) {
		when = gpc_json_object();
		gpc_aws_condition(when, "StringLikeIfExists", "s3:prefix",
			gpc_aws_texts(below, NULL));
	}
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "List",
		.actions = gpc_aws_texts("s3:ListBucket",
			"s3:ListBucketMultipartUploads", NULL),
		.resources = gpc_aws_texts(bucket, NULL), .condition = when });
}

static char *ec2_arn(const struct gpc_aws_setup *s, const char *account,
	const char *what)
{
	gpc_autostr *rest = gpc_format("ec2:*:%s:%s", account, what);

	return arn(s, rest);
}

static void allow_looking(struct gpc_json *policy)
{
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Look",
		.actions = gpc_aws_texts("ec2:Describe*", "ec2:GetConsoleOutput",
			"ec2:GetSpotPlacementScores", "pricing:GetProducts",
			"servicequotas:GetServiceQuota",
			"servicequotas:GetAWSDefaultServiceQuota", NULL),
		.resources = gpc_aws_texts("*", NULL) });
}

static void allow_images(const struct gpc_aws_setup *s, struct gpc_json *policy)
{
	gpc_autostr *parameters = arn(s, "ssm:*::parameter/aws/service/*");

	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Images", .actions = gpc_aws_texts("ssm:GetParameter", NULL),
		.resources = gpc_aws_texts(parameters, NULL) });
}

static struct gpc_json *tagged(const char *where)
{
	gpc_autostr *key = gpc_format("aws:%s/" TAG_STORE, where);
	struct gpc_json *when = gpc_json_object();

	gpc_aws_condition(when, "Null", key, gpc_json_string("false"));
	return when;
}

/* What a launch makes must bear our tag and keep its metadata behind tokens; what it
 * only uses has nothing of ours to go by. */
static void allow_buying(const struct gpc_aws_setup *s, struct gpc_json *policy)
{
	gpc_autostr *instance = ec2_arn(s, s->account, "instance/*");
	gpc_autostr *volume = ec2_arn(s, s->account, "volume/*");
	gpc_autostr *card = ec2_arn(s, s->account, "network-interface/*");
	gpc_autostr *spot = ec2_arn(s, s->account, "spot-instances-request/*");
	gpc_autostr *image = ec2_arn(s, "", "image/*");
	gpc_autostr *subnet = ec2_arn(s, s->account, "subnet/*");
	gpc_autostr *group = ec2_arn(s, s->account, "security-group/*");
	gpc_autostr *place = ec2_arn(s, s->account, "placement-group/*");
	gpc_autostr *reserved = ec2_arn(s, s->account, "capacity-reservation/*");
	struct gpc_json *when = tagged("RequestTag");

	gpc_aws_condition(when, "StringEqualsIfExists", "ec2:MetadataHttpTokens",
		gpc_json_string("required"));
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Buy", .actions = gpc_aws_texts("ec2:RunInstances", NULL),
		.resources = gpc_aws_texts(instance, volume, card, spot, NULL),
		.condition = when });
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "BuyWith", .actions = gpc_aws_texts("ec2:RunInstances", NULL),
		.resources = gpc_aws_texts(image, subnet, group, place, reserved,
			NULL) });
}

static void allow_tagging_and_ending(const struct gpc_aws_setup *s,
	struct gpc_json *policy)
{
	gpc_autostr *any = ec2_arn(s, s->account, "*/*");
	gpc_autostr *instance = ec2_arn(s, s->account, "instance/*");
	gpc_autostr *group = ec2_arn(s, s->account, "security-group/*");
	struct gpc_json *when = gpc_json_object();

	gpc_aws_condition(when, "StringEquals", "ec2:CreateAction",
		gpc_aws_texts("RunInstances", "CreateSecurityGroup",
			"CreatePlacementGroup", "CreateLaunchTemplate", NULL));
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Tag", .actions = gpc_aws_texts("ec2:CreateTags", NULL),
		.resources = gpc_aws_texts(any, NULL), .condition = when });
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "End", .actions = gpc_aws_texts("ec2:TerminateInstances", NULL),
		.resources = gpc_aws_texts(instance, NULL),
		.condition = tagged("ResourceTag") });
	/* Also the way from outside to a job's machines goes after the last one. */
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "CloseWay",
		.actions = gpc_aws_texts("ec2:DeleteSecurityGroup", NULL),
		.resources = gpc_aws_texts(group, NULL),
		.condition = tagged("ResourceTag") });
}

/* What several machines with EFA stand in: a group of their own, whose traffic among
 * themselves is open, and a cluster. */
static void allow_clusters(const struct gpc_aws_setup *s, struct gpc_json *policy)
{
	gpc_autostr *group = ec2_arn(s, s->account, "security-group/*");
	gpc_autostr *place = ec2_arn(s, s->account, "placement-group/*");
	gpc_autostr *vpc = ec2_arn(s, s->account, "vpc/*");

	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Cluster", .actions = gpc_aws_texts("ec2:CreatePlacementGroup",
			"ec2:CreateSecurityGroup", NULL),
		.resources = gpc_aws_texts(place, group, NULL),
		.condition = tagged("RequestTag") });
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "ClusterIn",
		.actions = gpc_aws_texts("ec2:CreateSecurityGroup", NULL),
		.resources = gpc_aws_texts(vpc, NULL) });
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "ClusterRules", .actions = gpc_aws_texts(
			"ec2:AuthorizeSecurityGroupIngress",
			"ec2:AuthorizeSecurityGroupEgress",
			"ec2:DeletePlacementGroup", NULL),
		.resources = gpc_aws_texts(group, place, NULL),
		.condition = tagged("ResourceTag") });
}

/* A job with ports: its group is made and gets its rules as those of clusters do, and is
 * attached beside groups that may be anybody's to a card of a machine of ours. The
 * machine is named, too: AWS may ask for it where the card is attached to one. */
static void allow_ports(const struct gpc_aws_setup *s, struct gpc_json *policy)
{
	gpc_autostr *card = ec2_arn(s, s->account, "network-interface/*");
	gpc_autostr *instance = ec2_arn(s, s->account, "instance/*");
	gpc_autostr *group = ec2_arn(s, s->account, "security-group/*");

	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Ports", .actions = gpc_aws_texts(
			"ec2:ModifyNetworkInterfaceAttribute", NULL),
		.resources = gpc_aws_texts(card, instance, NULL),
		.condition = tagged("ResourceTag") });
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "PortsBy", .actions = gpc_aws_texts(
			"ec2:ModifyNetworkInterfaceAttribute", NULL),
		.resources = gpc_aws_texts(group, NULL) });
}

/* recovery.by: cloud. A node ends its own group, or another machine would follow it;
 * that it is its own cannot be said here, only that it is one of ours. */
static void allow_groups(struct gpc_json *policy)
{
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "GroupsLook", .actions = gpc_aws_texts("ec2:DescribeInstances",
			"ec2:DescribeLaunchTemplates",
			"autoscaling:DescribeAutoScalingGroups",
			"autoscaling:DescribeScalingActivities",
			"autoscaling:DescribeScheduledActions", NULL),
		.resources = gpc_aws_texts("*", NULL) });
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "GroupsEnd", .actions = gpc_aws_texts(
			"ec2:DeleteLaunchTemplate",
			"autoscaling:UpdateAutoScalingGroup",
			"autoscaling:DeleteAutoScalingGroup",
			"autoscaling:TerminateInstanceInAutoScalingGroup", NULL),
		.resources = gpc_aws_texts("*", NULL),
		.condition = tagged("ResourceTag") });
}

/* Who makes a group must be allowed what its template launches, and the template. */
static void allow_making_groups(const struct gpc_aws_setup *s,
	struct gpc_json *policy)
{
	gpc_autostr *template = ec2_arn(s, s->account, "launch-template/*");
	struct gpc_json *when = gpc_json_object();

	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "GroupsBuy", .actions = gpc_aws_texts("ec2:RunInstances", NULL),
		.resources = gpc_aws_texts(template, NULL) });
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "GroupsMake", .actions = gpc_aws_texts(
			"ec2:CreateLaunchTemplate",
			"autoscaling:CreateAutoScalingGroup",
			"autoscaling:CreateOrUpdateTags", NULL),
		.resources = gpc_aws_texts("*", NULL),
		.condition = tagged("RequestTag") });
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "GroupsSet", .actions = gpc_aws_texts(
			"autoscaling:PutScheduledUpdateGroupAction", NULL),
		.resources = gpc_aws_texts("*", NULL),
		.condition = tagged("ResourceTag") });
	gpc_aws_condition(when, "StringEquals", "iam:AWSServiceName",
		gpc_json_string("autoscaling.amazonaws.com"));
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "GroupsRole",
		.actions = gpc_aws_texts("iam:CreateServiceLinkedRole", NULL),
		.resources = gpc_aws_texts("*", NULL), .condition = when });
}

static void allow_passing(const struct gpc_aws_setup *s, struct gpc_json *policy)
{
	gpc_autostr *node = gpc_aws_setup_role_arn(s, GPC_AWS_PROFILE);
	gpc_autostr *ec2 = principal(s, "ec2");
	struct gpc_json *when = gpc_json_object(), *spot = gpc_json_object();

	gpc_aws_condition(when, "StringEquals", "iam:PassedToService",
		gpc_json_string(ec2));
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Role", .actions = gpc_aws_texts("iam:PassRole", NULL),
		.resources = gpc_aws_texts(node, NULL), .condition = when });
	gpc_aws_condition(spot, "StringEquals", "iam:AWSServiceName",
		gpc_json_string("spot.amazonaws.com"));
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "SpotRole",
		.actions = gpc_aws_texts("iam:CreateServiceLinkedRole", NULL),
		.resources = gpc_aws_texts("*", NULL), .condition = spot });
}

/* Figures have no ARN: the namespace is what limits it (aws.md section 8). */
static void allow_figures(const char *namespace, struct gpc_json *policy)
{
	struct gpc_json *when = gpc_json_object();

	gpc_aws_condition(when, "StringEquals", "cloudwatch:namespace",
		gpc_json_string(namespace));
	gpc_aws_policy_add(policy, &(struct gpc_aws_statement){
		.sid = "Figures",
		.actions = gpc_aws_texts("cloudwatch:PutMetricData", NULL),
		.resources = gpc_aws_texts("*", NULL), .condition = when });
}

static void add_roles(struct gpc_aws_setup *s, const struct gpc_setup_wish *wish)
{
	struct gpc_json *policy = gpc_aws_policy();

	allow_store(s, policy);
	if (wish->figures)
		allow_figures(wish->figures, policy);
	if (wish->groups)
		allow_groups(policy);
	s->roles[s->n_roles++] = (struct gpc_aws_role){ GPC_AWS_PROFILE,
		"that nodes run with", policy };
	if (!wish->supervisor)
		return;
	policy = gpc_aws_policy();
	allow_store(s, policy);
	allow_looking(policy);
	allow_images(s, policy);
	allow_buying(s, policy);
	allow_tagging_and_ending(s, policy);
	allow_clusters(s, policy);
	allow_ports(s, policy);
	allow_passing(s, policy);
	if (wish->groups) {
		allow_groups(policy);
		allow_making_groups(s, policy);
	}
	s->roles[s->n_roles++] = (struct gpc_aws_role){ GPC_AWS_SUPERVISOR,
		"that a supervisor on a machine of EC2 runs with", policy };
}

static struct gpc_json *trust_of(const struct gpc_aws_setup *s)
{
	gpc_autostr *ec2 = principal(s, "ec2");
	struct gpc_json *trust = gpc_aws_policy(), *who = gpc_json_object();

	gpc_json_set_str(who, "Service", ec2);
	gpc_aws_policy_add(trust, &(struct gpc_aws_statement){
		.sid = "Machines", .principal = who,
		.actions = gpc_aws_texts("sts:AssumeRole", NULL) });
	return trust;
}

/* --- together ---------------------------------------------------------------- */

static void choose_names(struct gpc_aws_setup *s)
{
	gpc_autostr *all = gpc_format("%s/%s", s->address.bucket, s->address.prefix);
	char hex[GPC_SHA256_HEX];

	gpc_sha256_hex(all, strlen(all), hex);
	memcpy(s->mark, hex, 8);
	s->own = gpc_format("Gpucloud%s", s->mark);
	s->rule = gpc_format("gpucloud-uploads-%s", s->mark);
	s->policy_name = gpc_format("gpucloud-store-%s", s->mark);
}

static int check_wish(const struct gpc_setup_wish *wish, const char *account,
	struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; wish->sources && i < wish->sources->n && r == 0; i++)
		r = check_source(wish->sources->v[i], err);
	if (r == 0 && !account && gpc_aws_setup_names_account(wish))
		r = gpc_fail(err, GPC_EUSAGE, "the number of the account is needed");
	return r;
}

int gpc_aws_setup_init(struct gpc_aws_setup *s, const struct gpc_setup_wish *wish,
	const char *region, const char *account, struct gpc_error *err)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup made = {0};
	int r = check_wish(wish, account, err);

	if (r == 0)
		r = find_bucket(&made, wish->store_url, err);
	if (r < 0)
		return r;
	made.region = gpc_strdup(made.address.region ? made.address.region :
		region);
	made.account = gpc_strdup(account);
	made.partition = gpc_aws_partition_of(made.region);
	choose_names(&made);
	made.trust = trust_of(&made);
	made.bucket_policy = gpc_aws_policy();
	demand_once(&made);
	if (wish->sources && wish->sources->n)
		demand_source(&made, wish->sources);
	add_roles(&made, wish);
	*s = made;
	made = (struct gpc_aws_setup){0};
	return 0;
}

void gpc_aws_setup_clear(struct gpc_aws_setup *s)
{
	gpc_bucket_address_clear(&s->address);
	free(s->region);
	free(s->account);
	free(s->own);
	free(s->rule);
	free(s->policy_name);
	gpc_json_free(s->trust);
	gpc_json_free(s->bucket_policy);
	for (size_t i = 0; i < s->n_roles; i++)
		gpc_json_free(s->roles[i].policy);
	*s = (struct gpc_aws_setup){0};
}
