/* One group for a job: one type in one zone, at most one machine, and no second one at
 * a mere recommendation to move (CapacityRebalance): two machines would be paid, and
 * the notice of two minutes is enough to save. Auto Scaling knows no tokens, so that
 * the name, made of ours, is what makes a repeat harmless. */
#include "provider/aws_group.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "net/endpoint_aws.h"
#include "provider/aws_failure.h"
#include "provider/aws_instances.h"
#include "provider/aws_launch.h"
#include "provider/aws_params.h"

#define SERVICE "auto_scaling"
#define PREFIX "gpucloud-"
#define ACTION "gpucloud-end"           /* the name of the scheduled action */
#define TAG_STORE "gpucloud-store"
#define PAGES_MAX 100

char *gpc_aws_group_id(const struct gpc_launch *l)
{
	return gpc_format("%s/" PREFIX "%s", l->offer.region, l->token);
}

const char *gpc_aws_group_token(const char *name)
{
	return gpc_starts_with(name, PREFIX) && name[strlen(PREFIX)] ?
		name + strlen(PREFIX) : NULL;
}

bool gpc_aws_group_parts(const char *id, char **ret_region,
	const char **ret_name)
{
	const char *slash = strchr(id, '/');
	gpc_autostr *region = slash ? gpc_strndup(id, (size_t)(slash - id)) : NULL;

	if (!region || !gpc_aws_region_valid(region) ||
		!gpc_aws_group_token(slash + 1))
		return false;
	*ret_region = gpc_steal(&region);
	*ret_name = slash + 1;
	return true;
}

/* ret_xml may be NULL. */
static int ask(struct gpc_aws *aws, const char *region, const char *action,
	const struct gpc_pairs *params, struct gpc_xml **ret_xml,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *xml = NULL;
	int r = gpc_aws_query(aws, SERVICE, &(struct gpc_aws_call){
		.region = region, .action = action, .params = params,
		.repeatable = true }, &xml, err);

	if (r == 0 && ret_xml)
		*ret_xml = gpc_steal(&xml);
	return r;
}

/* --- keep --------------------------------------------------------------------- */

static int make_template(struct gpc_aws *aws, const struct gpc_launch *l,
	const char *name, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	int r;

	gpc_pairs_add(&p, "LaunchTemplateName", name);
	gpc_pairs_add(&p, "ClientToken", l->token);
	gpc_aws_params_tag_list("launch-template", &l->tags, &p);
	r = gpc_aws_params_machine(l, "LaunchTemplateData.", &p, err);
	if (r == 0)
		r = gpc_aws_ec2(aws, &(struct gpc_aws_call){
			.region = l->offer.region, .params = &p,
			.action = "CreateLaunchTemplate", .repeatable = true },
			&xml, err);
	return r == -GPC_ECONFLICT ? 0 : r;
}

static void add_group_tags(const struct gpc_launch *l, const char *group,
	struct gpc_pairs *to)
{
	size_t k = 1;

	gpc_vec_each(tag, &l->tags) {
		gpc_autostr *start = gpc_format("Tags.member.%zu.", k++);
		gpc_autostr *value = gpc_aws_tag_value(tag->value);
		const struct { const char *name, *value; } parts[] = {
			{"Key", tag->key}, {"Value", value},
			{"PropagateAtLaunch", "false"}, /* the template has them */
			{"ResourceId", group}, {"ResourceType", "auto-scaling-group"},
		};

		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			gpc_autostr *name = gpc_format("%s%s", start,
				parts[i].name);

			gpc_pairs_add(to, name, parts[i].value);
		}
	}
}

static int make_group(struct gpc_aws *aws, const struct gpc_launch *l,
	const char *name, struct gpc_error *err)
{
	const char *subnet = gpc_json_get_str(gpc_json_get(l->rest, GPC_AWS_REST),
		"subnet");
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	int r;

	gpc_pairs_add(&p, "AutoScalingGroupName", name);
	gpc_pairs_add(&p, "LaunchTemplate.LaunchTemplateName", name);
	gpc_pairs_add(&p, "LaunchTemplate.Version", "1");
	gpc_pairs_add(&p, "MinSize", "0");
	gpc_pairs_add(&p, "MaxSize", "1");
	gpc_pairs_add(&p, "DesiredCapacity", "0");
	if (subnet)
		gpc_pairs_add(&p, "VPCZoneIdentifier", subnet);
	else
		gpc_pairs_add(&p, "AvailabilityZones.member.1", l->offer.zone);
	gpc_pairs_add(&p, "CapacityRebalance", "false");
	add_group_tags(l, name, &p);
	r = ask(aws, l->offer.region, "CreateAutoScalingGroup", &p, NULL, err);
	return r == -GPC_ECONFLICT ? 0 : r;
}

static int put_end(struct gpc_aws *aws, const struct gpc_launch *l,
	const char *name, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	char at[GPC_RFC3339_SIZE];

	gpc_pairs_add(&p, "AutoScalingGroupName", name);
	gpc_pairs_add(&p, "ScheduledActionName", ACTION);
	gpc_pairs_add(&p, "StartTime", gpc_format_rfc3339(l->expires_ms, at));
	gpc_pairs_add(&p, "MinSize", "0");
	gpc_pairs_add(&p, "MaxSize", "0");
	gpc_pairs_add(&p, "DesiredCapacity", "0");
	return ask(aws, l->offer.region, "PutScheduledUpdateGroupAction", &p, NULL,
		err);
}

/* The lifetime that AWS itself enforces, as AWS has it. */
static int read_end_back(struct gpc_aws *aws, const struct gpc_launch *l,
	const char *name, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *x;
	int64_t at_ms = 0;
	int r;

	gpc_pairs_add(&p, "AutoScalingGroupName", name);
	gpc_pairs_add(&p, "ScheduledActionNames.member.1", ACTION);
	r = ask(aws, l->offer.region, "DescribeScheduledActions", &p, &xml, err);
	if (r < 0)
		return r;
	x = gpc_xml_get(xml, "DescribeScheduledActionsResult/"
		"ScheduledUpdateGroupActions/member");
	if (!x || !gpc_eq(gpc_xml_text(x, "MaxSize"), "0") ||
		!gpc_eq(gpc_xml_text(x, "DesiredCapacity"), "0") ||
		gpc_parse_rfc3339(gpc_xml_text(x, "StartTime"), &at_ms, NULL) < 0 ||
		at_ms > l->expires_ms)
		return gpc_fail(err, GPC_EPROTO, "group %s in %s: the end of its "
			"lifetime cannot be read back", name, l->offer.region);
	return 0;
}

static int set_size(struct gpc_aws *aws, const char *region, const char *name,
	int size, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	gpc_pairs_add(&p, "AutoScalingGroupName", name);
	gpc_pairs_add(&p, "MinSize", "0");
	gpc_pairs_setf(&p, "MaxSize", "%d", size);
	gpc_pairs_setf(&p, "DesiredCapacity", "%d", size);
	return ask(aws, region, "UpdateAutoScalingGroup", &p, NULL, err);
}

int gpc_aws_group_keep(struct gpc_aws *aws, const struct gpc_launch *l,
	struct gpc_error *err)
{
	gpc_autostr *name = gpc_format(PREFIX "%s", l->token);
	int r;

	if (l->count != 1 || !l->offer.zone || l->expires_ms <= 0)
		return gpc_fail(err, GPC_ECONFIG, "a group has one node, one zone "
			"and a lifetime");
	r = make_template(aws, l, name, err);
	if (r == 0)
		r = make_group(aws, l, name, err);
	if (r == 0)
		r = put_end(aws, l, name, err);
	if (r == 0)
		r = read_end_back(aws, l, name, err);
	if (r == 0)
		r = set_size(aws, l->offer.region, name, 1, err);
	/* Made a moment ago, and not seen everywhere yet: the same again, later. */
	return r == -GPC_ENOTFOUND ? gpc_recode(err, GPC_ENET) : r;
}

/* --- what there is -------------------------------------------------------------- */

static void read_tags(const struct gpc_xml *x, const char *path, const char *key,
	const char *value, struct gpc_pairs *to)
{
	for (x = gpc_xml_get(x, path); x; x = gpc_xml_again(x))
		gpc_pairs_set(to, gpc_xml_text(x, key), gpc_xml_text(x, value));
}

static struct gpc_instance *add_group(struct gpc_instances *to,
	const char *region, const char *name)
{
	struct gpc_instance *g = gpc_vec_push(to);

	g->id = gpc_format("%s/%s", region, name);
	g->token = gpc_strdup(gpc_aws_group_token(name));
	g->group = true;
	return g;
}

/* "Could not launch Spot Instances. InsufficientInstanceCapacity - There is…": the
 * first word that the table of codes knows; anything else may be better elsewhere. */
static enum gpc_code class_of(const char *text)
{
	struct gpc_str rest = gpc_str_of(text), part;

	while (gpc_str_split(&rest, ' ', &part)) {
		gpc_autostr *word = gpc_strndup(part.ptr, part.len);
		struct gpc_aws_failure f;

		word[strcspn(word, ",:;")] = '\0';
		if (*word && gpc_aws_failure_known(word)) {
			f = gpc_aws_failure_of(word, text, 400);
			return f.code ? f.code : GPC_ECAPACITY;
		}
	}
	return GPC_ECAPACITY;
}

/* Why a group has no machine: its newest activity, if that failed. */
static int read_failure(struct gpc_aws *aws, const char *region,
	const char *name, struct gpc_instance *g, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *x;
	const char *text;
	int r;

	gpc_pairs_add(&p, "AutoScalingGroupName", name);
	gpc_pairs_add(&p, "MaxRecords", "1");
	r = ask(aws, region, "DescribeScalingActivities", &p, &xml, err);
	x = gpc_xml_get(xml, "DescribeScalingActivitiesResult/Activities/member");
	if (r < 0 || !gpc_eq(gpc_xml_text(x, "StatusCode"), "Failed"))
		return r;
	text = gpc_xml_text(x, "StatusMessage");
	g->why = gpc_str_printable(text, strnlen(text, 400));
	g->why_code = class_of(text);
	return 0;
}

static int read_group(struct gpc_aws *aws, const struct gpc_xml *x,
	const char *region, struct gpc_instances *to, struct gpc_error *err)
{
	const char *name = gpc_xml_text(x, "AutoScalingGroupName");
	bool starts = !gpc_eq(gpc_xml_text(x, "DesiredCapacity"), "0") &&
		!*gpc_xml_text(x, "Status");
	bool empty = !gpc_xml_get(x, "Instances/member");
	struct gpc_instance *g;

	if (!gpc_aws_group_token(name))
		return 0;
	g = add_group(to, region, name);
	g->state = !starts ? GPC_INSTANCE_STOPPING : empty ?
		GPC_INSTANCE_STARTING : GPC_INSTANCE_RUNNING;
	read_tags(x, "Tags/member", "Key", "Value", &g->tags);
	gpc_aws_instance_times(gpc_xml_text(x, "CreatedTime"), g);
	return starts && empty ? read_failure(aws, region, name, g, err) : 0;
}

static int list_groups(struct gpc_aws *aws, const char *region,
	const char *store_id, struct gpc_instances *to, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	gpc_pairs_add(&p, "Filters.member.1.Name", "tag:" TAG_STORE);
	gpc_pairs_add(&p, "Filters.member.1.Values.member.1", store_id);
	gpc_pairs_add(&p, "MaxRecords", "100");
	for (int n = 0; n < PAGES_MAX; n++) {
		gpc_autoptr(gpc_xml) *xml = NULL;
		const struct gpc_xml *page, *x;
		int r = ask(aws, region, "DescribeAutoScalingGroups", &p, &xml,
			err);

		page = gpc_xml_get(xml, "DescribeAutoScalingGroupsResult");
		x = gpc_xml_get(page, "AutoScalingGroups/member");
		for (; r == 0 && x; x = gpc_xml_again(x))
			r = read_group(aws, x, region, to, err);
		if (r < 0 || !*gpc_xml_text(page, "NextToken"))
			return r;
		gpc_pairs_set(&p, "NextToken", gpc_xml_text(page, "NextToken"));
	}
	return gpc_fail(err, GPC_EPROTO, "the groups in %s have no end", region);
}

static bool has_id(const struct gpc_instances *in, const char *id)
{
	gpc_vec_each(x, in)
		if (gpc_eq(x->id, id))
			return true;
	return false;
}

struct templates { const char *region; struct gpc_instances *to; };

static int read_templates(void *arg, const struct gpc_xml *page,
	struct gpc_error *err)
{
	const struct templates *t = arg;
	const struct gpc_xml *x = gpc_xml_get(page, "launchTemplates/item");

	(void)err;
	for (; x; x = gpc_xml_again(x)) {
		const char *name = gpc_xml_text(x, "launchTemplateName");
		gpc_autostr *id = gpc_format("%s/%s", t->region, name);
		struct gpc_instance *g;

		if (!gpc_aws_group_token(name) || has_id(t->to, id))
			continue;
		g = add_group(t->to, t->region, name);
		g->state = GPC_INSTANCE_STOPPING;
		read_tags(x, "tagSet/item", "key", "value", &g->tags);
		gpc_aws_instance_times(gpc_xml_text(x, "createTime"), g);
	}
	return 0;
}

int gpc_aws_groups_list(struct gpc_aws *aws, const char *region,
	const char *store_id, bool thorough, struct gpc_instances *to,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	struct templates t = { region, to };
	size_t before = to->n;
	int r = list_groups(aws, region, store_id, to, err);

	if (r == 0 && to->n > before && !thorough)
		return 0;
	gpc_pairs_add(&p, "Filter.1.Name", "tag:" TAG_STORE);
	gpc_pairs_add(&p, "Filter.1.Value.1", store_id);
	return r < 0 ? r : gpc_aws_ec2_pages(aws, region,
		"DescribeLaunchTemplates", &p, read_templates, &t, err);
}

/* --- end ------------------------------------------------------------------------ */

static int describe_one(struct gpc_aws *aws, const char *region,
	const char *name, struct gpc_xml **ret_xml,
	const struct gpc_xml **ret_group, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	int r;

	gpc_pairs_add(&p, "AutoScalingGroupNames.member.1", name);
	r = ask(aws, region, "DescribeAutoScalingGroups", &p, ret_xml, err);
	*ret_group = r < 0 ? NULL : gpc_xml_get(*ret_xml,
		"DescribeAutoScalingGroupsResult/AutoScalingGroups/member");
	return r;
}

/* Just now doing something else, it is set to 0 at least, where it starts nothing more;
 * a later call deletes it. */
static int delete_group(struct gpc_aws *aws, const char *region,
	const char *name, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	int r;

	gpc_pairs_add(&p, "AutoScalingGroupName", name);
	gpc_pairs_add(&p, "ForceDelete", "true");
	r = ask(aws, region, "DeleteAutoScalingGroup", &p, NULL, err);
	if (r == -GPC_ERATE)
		r = set_size(aws, region, name, 0, err);
	return r == -GPC_ENOTFOUND ? 0 : r;
}

static int end_group(struct gpc_aws *aws, const char *region, const char *name,
	const char *store_id, struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_auto(gpc_pairs) struct gpc_pairs tags = {0};
	const struct gpc_xml *x = NULL;
	int r = describe_one(aws, region, name, &xml, &x, err);

	if (r < 0 || !x)
		return r;
	read_tags(x, "Tags/member", "Key", "Value", &tags);
	if (!gpc_eq(gpc_pairs_get(&tags, TAG_STORE), store_id))
		return gpc_fail(err, GPC_ECONFLICT, "group %s belongs to another "
			"store", name);
	return *gpc_xml_text(x, "Status") ? 0 :
		delete_group(aws, region, name, err);
}

static int end_template(struct gpc_aws *aws, const char *region,
	const char *name, const char *store_id, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0}, one = {0};
	gpc_autoptr(gpc_xml) *xml = NULL, *done = NULL;
	const struct gpc_xml *x;
	int r;

	gpc_pairs_add(&p, "Filter.1.Name", "launch-template-name");
	gpc_pairs_add(&p, "Filter.1.Value.1", name);
	gpc_pairs_add(&p, "Filter.2.Name", "tag:" TAG_STORE);
	gpc_pairs_add(&p, "Filter.2.Value.1", store_id);
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = region,
		.action = "DescribeLaunchTemplates", .params = &p,
		.repeatable = true }, &xml, err);
	x = gpc_xml_get(xml, "launchTemplates/item");
	if (r < 0 || !x)
		return r;
	gpc_pairs_add(&one, "LaunchTemplateId",
		gpc_xml_text(x, "launchTemplateId"));
	return gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = region,
		.action = "DeleteLaunchTemplate", .params = &one }, &done, err);
}

/* The group last: a node that calls this does not outlive it by much. */
int gpc_aws_group_end(struct gpc_aws *aws, const char *region, const char *name,
	const char *store_id, struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = end_template(aws, region, name, store_id, &why);
	int s = end_group(aws, region, name, store_id, err);

	if (s == 0 && r < 0 && err)
		*err = why;
	return s < 0 ? s : r;
}

int gpc_aws_group_leave(struct gpc_aws *aws, const char *region,
	const char *name, const char *instance, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *x = NULL;
	const char *wanted;
	int r = describe_one(aws, region, name, &xml, &x, err);

	if (r < 0)
		return r;
	wanted = gpc_xml_text(x, "DesiredCapacity");
	gpc_pairs_add(&p, "InstanceId", instance);
	gpc_pairs_add(&p, "ShouldDecrementDesiredCapacity",
		gpc_eq(wanted, "0") || gpc_eq(wanted, "1") ? "false" : "true");
	return ask(aws, region, "TerminateInstanceInAutoScalingGroup", &p, NULL,
		err);
}
