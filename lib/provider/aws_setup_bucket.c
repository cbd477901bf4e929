/* The bucket: nobody else's, encrypted, without uploads that nobody will end, with a
 * journal that is written once. What others have put into its policy and its lifecycle
 * stays as it is. */
#include "provider/aws_bucket.h"

#include <string.h>

#include "provider/aws_policy.h"

#define XMLNS " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

static const char *const names[] = {
	[GPC_AWS_ACCESS] = "publicAccessBlock",
	[GPC_AWS_ENCRYPTION] = "encryption",
	[GPC_AWS_UPLOADS] = "lifecycle",
	[GPC_AWS_ONCE] = "policy",
};

static int put(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *what, const char *body, struct gpc_error *err)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};

	return gpc_aws_bucket(aws, s, &(struct gpc_aws_bucket_call){ "PUT", what,
		body }, &reply, err);
}

static int drop(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *what, struct gpc_error *err)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	int r = gpc_aws_bucket(aws, s, &(struct gpc_aws_bucket_call){ "DELETE",
		what, NULL }, &reply, err);

	return r == -GPC_ENOTFOUND ? 0 : r;
}

/* --- the bucket itself ------------------------------------------------------- */

static int in_region(struct gpc_aws_setup *s, const char *region,
	struct gpc_error *err)
{
	if (s->address.region && !gpc_eq(s->address.region, region)) {
		gpc_autostr *shown = gpc_str_printable(region, strnlen(region, 40));
		int r = gpc_fail(err, GPC_ECONFIG, "bucket %s is in %s, not in %s",
			s->address.bucket, shown, s->address.region);

		gpc_hint(err, "say ?region=%s in the store's URL, or take another "
			"bucket", shown);
		return r;
	}
	if (gpc_aws_region_valid(region))
		gpc_set_str(&s->region, region);
	return 0;
}

int gpc_aws_bucket_find(struct gpc_aws *aws, struct gpc_aws_setup *s,
	bool *ret_there, struct gpc_error *err)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	const char *region;
	int r = gpc_aws_bucket(aws, s, &(struct gpc_aws_bucket_call){ .method =
		"HEAD" }, &reply, err);

	if (r < 0)
		return r;
	if (reply.status == 404) {
		*ret_there = false;
		return 0;
	}
	region = gpc_reply_header(&reply, "x-amz-bucket-region");
	if (reply.status == 403) {
		r = gpc_fail(err, GPC_EAUTH, "bucket %s is another account's, or "
			"these keys may not s3:ListBucket there",
			s->address.bucket);
		gpc_hint(err, "choose another name for the bucket, or let `gpucloud "
			"check aws` show whose keys are used");
		return r;
	}
	if (reply.status >= 300 && (!region || gpc_eq(region, s->region))) {
		r = gpc_fail(err, GPC_EPROTO, "reading bucket %s: S3 answered %d",
			s->address.bucket, reply.status);
		gpc_hint(err, "if it is not in %s, say its region by ?region= in the "
			"store's URL", s->region);
		return r;
	}
	*ret_there = true;
	return region ? in_region(s, region, err) : 0;
}

int gpc_aws_bucket_is_ours(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	bool *ret_ours, struct gpc_error *err)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *tag;
	int r = gpc_aws_bucket(aws, s, &(struct gpc_aws_bucket_call){ "GET",
		"tagging", NULL }, &reply, err);

	*ret_ours = false;
	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r == 0)
		r = gpc_xml_parse(gpc_buf_str(&reply.body), reply.body.len, &xml,
			err);
	tag = gpc_xml_get(xml, "TagSet/Tag");
	for (; tag; tag = gpc_xml_again(tag))
		*ret_ours |= gpc_eq(gpc_xml_text(tag, "Key"), GPC_AWS_SETUP_TAG);
	return r;
}

/* One that a call made whose answer was lost is there already. */
static int make_bucket(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	struct gpc_error *err)
{
	gpc_autostr *body = gpc_eq(s->region, "us-east-1") ? NULL :
		gpc_format("<CreateBucketConfiguration" XMLNS "><LocationConstraint>"
			"%s</LocationConstraint></CreateBucketConfiguration>",
			s->region);
	int r = put(aws, s, NULL, body, err);

	if (r < 0 && r != -GPC_ECONFLICT)
		return r;
	return put(aws, s, "tagging", "<Tagging" XMLNS "><TagSet><Tag><Key>"
		GPC_AWS_SETUP_TAG "</Key><Value>bucket</Value></Tag></TagSet>"
		"</Tagging>", err);
}

/* --- what it lets pass ------------------------------------------------------- */

static int read_xml(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *what, struct gpc_xml **ret_xml, struct gpc_error *err)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	int r = gpc_aws_bucket(aws, s, &(struct gpc_aws_bucket_call){ "GET", what,
		NULL }, &reply, err);

	return r < 0 ? r : gpc_xml_parse(gpc_buf_str(&reply.body),
		reply.body.len, ret_xml, err);
}

static bool is_closed(const struct gpc_xml *x)
{
	static const char *const all[] = { "BlockPublicAcls", "IgnorePublicAcls",
		"BlockPublicPolicy", "RestrictPublicBuckets" };
	bool closed = true;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		closed &= gpc_eq(gpc_xml_text(x, all[i]), "true");
	return closed;
}

static bool is_encrypted(const struct gpc_xml *x)
{
	return *gpc_xml_text(x, "Rule/ApplyServerSideEncryptionByDefault/"
		"SSEAlgorithm") != '\0';
}

/* The older form of a rule has its prefix beside, not in the filter. */
static const char *prefix_of(const struct gpc_xml *rule)
{
	const char *in = gpc_xml_text(rule, "Filter/Prefix");

	return *in ? in : gpc_xml_text(rule, "Prefix");
}

static const struct gpc_xml *our_rule(const struct gpc_aws_setup *s,
	const struct gpc_xml *x)
{
	const struct gpc_xml *rule = gpc_xml_get(x, "Rule");

	while (rule && !gpc_eq(gpc_xml_text(rule, "ID"), s->rule))
		rule = gpc_xml_again(rule);
	return rule;
}

static bool ends_uploads(const struct gpc_aws_setup *s, const struct gpc_xml *x)
{
	const struct gpc_xml *rule = our_rule(s, x);
	gpc_autostr *days = gpc_format("%d", GPC_AWS_UPLOAD_DAYS);

	return gpc_eq(gpc_xml_text(rule, "Status"), "Enabled") &&
		gpc_eq(prefix_of(rule), s->address.prefix) &&
		gpc_eq(gpc_xml_text(rule, "AbortIncompleteMultipartUpload/"
			"DaysAfterInitiation"), days);
}

static void write_xml(const struct gpc_xml *x, struct gpc_buf *to)
{
	gpc_buf_addf(to, "<%s>", x->name);
	if (!x->first)
		gpc_xml_add_text(to, x->text);
	for (const struct gpc_xml *c = x->first; c; c = c->next)
		write_xml(c, to);
	gpc_buf_addf(to, "</%s>", x->name);
}

/* All rules are put at once: those of others again, as they were. */
static int put_rules(struct gpc_aws *aws, const struct gpc_aws_setup *s, bool ours,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *old = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	const struct gpc_xml *rule;
	size_t n = 0;
	int r = read_xml(aws, s, "lifecycle", &old, err);

	if (r < 0 && r != -GPC_ENOTFOUND)
		return r;
	gpc_buf_adds(&b, "<LifecycleConfiguration" XMLNS ">");
	for (rule = gpc_xml_get(old, "Rule"); rule; rule = gpc_xml_again(rule)) {
		if (gpc_eq(gpc_xml_text(rule, "ID"), s->rule))
			continue;
		write_xml(rule, &b);
		n++;
	}
	if (ours) {
		gpc_buf_addf(&b, "<Rule><ID>%s</ID><Filter><Prefix>", s->rule);
		gpc_xml_add_text(&b, s->address.prefix);
		gpc_buf_addf(&b, "</Prefix></Filter><Status>Enabled</Status>"
			"<AbortIncompleteMultipartUpload><DaysAfterInitiation>%d"
			"</DaysAfterInitiation></AbortIncompleteMultipartUpload>"
			"</Rule>", GPC_AWS_UPLOAD_DAYS);
	}
	gpc_buf_adds(&b, "</LifecycleConfiguration>");
	if (!ours && !n)
		return drop(aws, s, "lifecycle", err);
	return put(aws, s, "lifecycle", gpc_buf_str(&b), err);
}

/* --- its policy -------------------------------------------------------------- */

static int read_policy(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	struct gpc_json **ret_policy, struct gpc_error *err)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	int r = gpc_aws_bucket(aws, s, &(struct gpc_aws_bucket_call){ "GET",
		"policy", NULL }, &reply, err);

	return r < 0 ? r : gpc_json_parse(gpc_buf_str(&reply.body),
		reply.body.len, ret_policy, err);
}

static int put_policy(struct gpc_aws *aws, const struct gpc_aws_setup *s, bool ours,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *old = NULL;
	gpc_autostr *text = NULL;
	struct gpc_json *all;
	const struct gpc_json *x;
	int r = read_policy(aws, s, &old, err);

	if (r < 0 && r != -GPC_ENOTFOUND)
		return r;
	if (!old)
		old = gpc_aws_policy();
	all = gpc_aws_policy_pick(old, s->own, true);
	x = ours ? gpc_json_first(gpc_json_get(s->bucket_policy, "Statement")) :
		NULL;
	for (; x; x = gpc_json_next(x))
		gpc_json_add(all, gpc_json_copy(x));
	if (!gpc_json_first(all)) {
		gpc_json_free(all);
		return drop(aws, s, "policy", err);
	}
	gpc_json_set(old, "Statement", all);
	text = gpc_json_print(old);
	return put(aws, s, "policy", text, err);
}

/* --- parts ------------------------------------------------------------------- */

static int look_at_policy(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_setup_state *ret_state, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *policy = NULL, *ours = NULL;
	int r = read_policy(aws, s, &policy, err);

	if (r < 0 && r != -GPC_ENOTFOUND)
		return r;
	ours = gpc_aws_policy_pick(policy, s->own, false);
	*ret_state = !gpc_json_first(ours) ? GPC_SETUP_MISSING :
		gpc_aws_policy_equal(ours, gpc_json_get(s->bucket_policy,
			"Statement")) ? GPC_SETUP_THERE : GPC_SETUP_DIFFERS;
	return 0;
}

int gpc_aws_bucket_look(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_aws_part part, enum gpc_setup_state *ret_state,
	char **ret_detail, struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *x = NULL;
	int r;

	if (part == GPC_AWS_ONCE)
		return look_at_policy(aws, s, ret_state, err);
	r = read_xml(aws, s, names[part], &x, err);
	if (r < 0 && r != -GPC_ENOTFOUND)
		return r;
	if (part == GPC_AWS_ACCESS)
		*ret_state = is_closed(x) ? GPC_SETUP_THERE : r < 0 ?
			GPC_SETUP_MISSING : GPC_SETUP_DIFFERS;
	else if (part == GPC_AWS_ENCRYPTION)
		*ret_state = is_encrypted(x) ? GPC_SETUP_THERE : GPC_SETUP_MISSING;
	else
		*ret_state = ends_uploads(s, x) ? GPC_SETUP_THERE :
			our_rule(s, x) ? GPC_SETUP_DIFFERS : GPC_SETUP_MISSING;
	if (*ret_state == GPC_SETUP_DIFFERS && part == GPC_AWS_ACCESS)
		gpc_set_str(ret_detail, "the bucket can be opened to everybody");
	return 0;
}

int gpc_aws_bucket_make(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_aws_part part, struct gpc_error *err)
{
	if (part == GPC_AWS_BUCKET)
		return make_bucket(aws, s, err);
	if (part == GPC_AWS_ACCESS)
		return put(aws, s, names[part], "<PublicAccessBlockConfiguration"
			XMLNS "><BlockPublicAcls>true</BlockPublicAcls>"
			"<IgnorePublicAcls>true</IgnorePublicAcls>"
			"<BlockPublicPolicy>true</BlockPublicPolicy>"
			"<RestrictPublicBuckets>true</RestrictPublicBuckets>"
			"</PublicAccessBlockConfiguration>", err);
	if (part == GPC_AWS_ENCRYPTION)
		return put(aws, s, names[part], "<ServerSideEncryption"
			"Configuration" XMLNS "><Rule><ApplyServerSideEncryption"
			"ByDefault><SSEAlgorithm>AES256</SSEAlgorithm></Apply"
			"ServerSideEncryptionByDefault></Rule></ServerSide"
			"EncryptionConfiguration>", err);
	return part == GPC_AWS_UPLOADS ? put_rules(aws, s, true, err) :
		put_policy(aws, s, true, err);
}

int gpc_aws_bucket_has(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_aws_part part, bool *ret_has, struct gpc_error *err)
{
	enum gpc_setup_state state = GPC_SETUP_MISSING;
	gpc_autostr *detail = NULL;
	int r = gpc_aws_bucket_look(aws, s, part, &state, &detail, err);

	*ret_has = r == 0 && state != GPC_SETUP_MISSING;
	return r;
}

int gpc_aws_bucket_unmake(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	enum gpc_aws_part part, struct gpc_error *err)
{
	if (part == GPC_AWS_ONCE)
		return put_policy(aws, s, false, err);
	return part == GPC_AWS_UPLOADS ? put_rules(aws, s, false, err) :
		drop(aws, s, NULL, err);
}
