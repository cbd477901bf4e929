/* The description as CloudFormation has it (template version 2010-09-09): the same
 * documents, the names of properties instead of calls. A stack that goes leaves the
 * bucket where it is. */
#include "provider/aws_setup.h"
#include "provider/aws_policy.h"

static struct gpc_json *ref(const char *name)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "Ref", name);
	return j;
}

/* Takes value. */
static struct gpc_json *list(struct gpc_json *value)
{
	struct gpc_json *a = gpc_json_array();

	gpc_json_add(a, value);
	return a;
}

static struct gpc_json *tags(const char *value)
{
	struct gpc_json *tag = gpc_json_object();

	gpc_json_set_str(tag, "Key", GPC_AWS_SETUP_TAG);
	gpc_json_set_str(tag, "Value", value);
	return list(tag);
}

/* Takes properties. */
static struct gpc_json *add(struct gpc_json *resources, const char *name,
	const char *type, struct gpc_json *properties)
{
	struct gpc_json *r = gpc_json_object();

	gpc_json_set_str(r, "Type", type);
	gpc_json_set(r, "Properties", properties);
	gpc_json_set(resources, name, r);
	return r;
}

static struct gpc_json *encryption(void)
{
	struct gpc_json *how = gpc_json_object(), *by = gpc_json_object();
	struct gpc_json *all = gpc_json_object();

	gpc_json_set_str(how, "SSEAlgorithm", "AES256");
	gpc_json_set(by, "ServerSideEncryptionByDefault", how);
	gpc_json_set(all, "ServerSideEncryptionConfiguration", list(by));
	return all;
}

static struct gpc_json *lifecycle(const struct gpc_aws_setup *s)
{
	struct gpc_json *rule = gpc_json_object(), *all = gpc_json_object();
	struct gpc_json *uploads = gpc_json_object();

	gpc_json_set_int(uploads, "DaysAfterInitiation", GPC_AWS_UPLOAD_DAYS);
	gpc_json_set_str(rule, "Id", s->rule);
	gpc_json_set_str(rule, "Status", "Enabled");
	gpc_json_set_str(rule, "Prefix", s->address.prefix);
	gpc_json_set(rule, "AbortIncompleteMultipartUpload", uploads);
	gpc_json_set(all, "Rules", list(rule));
	return all;
}

static struct gpc_json *access_block(void)
{
	struct gpc_json *block = gpc_json_object();

	gpc_json_set_bool(block, "BlockPublicAcls", true);
	gpc_json_set_bool(block, "IgnorePublicAcls", true);
	gpc_json_set_bool(block, "BlockPublicPolicy", true);
	gpc_json_set_bool(block, "RestrictPublicBuckets", true);
	return block;
}

static void add_bucket(const struct gpc_aws_setup *s, struct gpc_json *resources)
{
	struct gpc_json *p = gpc_json_object(), *policy = gpc_json_object();
	struct gpc_json *bucket;

	gpc_json_set_str(p, "BucketName", s->address.bucket);
	gpc_json_set(p, "PublicAccessBlockConfiguration", access_block());
	gpc_json_set(p, "BucketEncryption", encryption());
	gpc_json_set(p, "LifecycleConfiguration", lifecycle(s));
	gpc_json_set(p, "Tags", tags("bucket"));
	bucket = add(resources, "StoreBucket", "AWS::S3::Bucket", p);
	gpc_json_set_str(bucket, "DeletionPolicy", "Retain");
	gpc_json_set_str(bucket, "UpdateReplacePolicy", "Retain");
	gpc_json_set(policy, "Bucket", ref("StoreBucket"));
	gpc_json_set(policy, "PolicyDocument", gpc_json_copy(s->bucket_policy));
	add(resources, "StoreBucketPolicy", "AWS::S3::BucketPolicy", policy);
}

static void add_role(const struct gpc_aws_setup *s, const struct gpc_aws_role *r,
	const char *name, struct gpc_json *resources)
{
	gpc_autostr *profile = gpc_format("%sProfile", name);
	struct gpc_json *p = gpc_json_object(), *inline_one = gpc_json_object();
	struct gpc_json *i = gpc_json_object();

	gpc_json_set_str(inline_one, "PolicyName", s->policy_name);
	gpc_json_set(inline_one, "PolicyDocument", gpc_json_copy(r->policy));
	gpc_json_set_str(p, "RoleName", r->name);
	gpc_json_set(p, "AssumeRolePolicyDocument", gpc_json_copy(s->trust));
	gpc_json_set(p, "Policies", list(inline_one));
	gpc_json_set(p, "Tags", tags(r->name));
	add(resources, name, "AWS::IAM::Role", p);
	gpc_json_set_str(i, "InstanceProfileName", r->name);
	gpc_json_set(i, "Roles", list(ref(name)));
	add(resources, profile, "AWS::IAM::InstanceProfile", i);
}

char *gpc_aws_setup_template(const struct gpc_aws_setup *s)
{
	static const char *const names[] = { "NodeRole", "SupervisorRole" };
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	struct gpc_json *resources = gpc_json_object();
	gpc_autostr *text = gpc_format("What gpucloud needs of this account for its "
		"store s3://%s/%s", s->address.bucket, s->address.prefix);

	gpc_json_set_str(j, "AWSTemplateFormatVersion", "2010-09-09");
	gpc_json_set_str(j, "Description", text);
	add_bucket(s, resources);
	for (size_t i = 0; i < s->n_roles; i++)
		add_role(s, &s->roles[i], names[i], resources);
	gpc_json_set(j, "Resources", resources);
	return gpc_json_print_pretty(j);
}
