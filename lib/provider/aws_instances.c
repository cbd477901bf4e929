/* States: pending and running are what a machine is, until EC2 says that it ends;
 * one that has stopped costs its disk, so that it is still there. */
#include "provider/aws_instances.h"

#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "net/endpoint_aws.h"
#include "provider/aws_failure.h"
#include "provider/aws_group.h"

#define TAG_EXPIRES "gpucloud-expires"
#define TAG_GROUP "aws:autoscaling:groupName"   /* of what Auto Scaling started */
#define PAGE "1000"
#define FREE_MS ((int64_t)3600 * 1000)
#define FILTER_MAX 200          /* values that a filter takes */

char *gpc_aws_node_id(const char *region, const char *instance)
{
	return gpc_format("%s/%s", region, instance);
}

bool gpc_aws_node_parts(const char *id, char **ret_region,
	const char **ret_instance)
{
	const char *slash = strchr(id, '/');
	gpc_autostr *region = slash ? gpc_strndup(id, (size_t)(slash - id)) : NULL;

	if (!region || !gpc_aws_region_valid(region) ||
		!gpc_starts_with(slash, "/i-"))
		return false;
	*ret_region = gpc_steal(&region);
	*ret_instance = slash + 1;
	return true;
}

static enum gpc_instance_state state_of(const char *name)
{
	if (gpc_eq(name, "terminated"))
		return GPC_INSTANCE_GONE;
	if (gpc_eq(name, "pending"))
		return GPC_INSTANCE_STARTING;
	return gpc_eq(name, "running") ? GPC_INSTANCE_RUNNING :
		GPC_INSTANCE_STOPPING;
}

static void read_tags(const struct gpc_xml *item, struct gpc_pairs *to)
{
	const struct gpc_xml *x = gpc_xml_get(item, "tagSet/item");

	for (; x; x = gpc_xml_again(x))
		gpc_pairs_set(to, gpc_xml_text(x, "key"), gpc_xml_text(x, "value"));
}

/* "User initiated (2026-11-30 21:45:20 GMT)": the state's last change, which is where
 * a machine that ends ceased to be paid for. Not all ends are told so. */
static int64_t changed_at(const char *reason)
{
	const char *open = strrchr(reason, '(');
	int64_t ms = 0;

	if (!open || strlen(open) != sizeof("(2026-11-30 21:45:20 GMT)") - 1 ||
		!gpc_eq(open + 20, " GMT)") || open[11] != ' ')
		return 0;
	gpc_autostr *text = gpc_format("%.10sT%.8sZ", open + 1, open + 12);

	return gpc_parse_rfc3339(text, &ms, NULL) == 0 ? ms : 0;
}

/* When it ended, and whether the spot market took it back in its first hour: that
 * hour is not charged. */
static void read_end(const struct gpc_xml *item, struct gpc_instance *x)
{
	if (x->state != GPC_INSTANCE_STOPPING && x->state != GPC_INSTANCE_GONE)
		return;
	x->ended_ms = changed_at(gpc_xml_text(item, "reason"));
	if (gpc_eq(gpc_xml_text(item, "stateReason/code"),
		"Server.SpotInstanceTermination"))
		x->machine_free_ms = FREE_MS;
}

bool gpc_aws_instance_is_grouped(const struct gpc_instance *x)
{
	return gpc_pairs_has(&x->tags, TAG_GROUP);
}

void gpc_aws_instance_times(const char *created, struct gpc_instance *x)
{
	int64_t expires_s = 0;

	if (gpc_parse_rfc3339(created, &x->created_ms, NULL) < 0)
		x->created_ms = 0;      /* not said */
	if (gpc_pairs_has(&x->tags, TAG_EXPIRES) &&
		gpc_parse_i64(gpc_pairs_get(&x->tags, TAG_EXPIRES), 0,
			INT64_MAX / 1000, TAG_EXPIRES, &expires_s, NULL) == 0)
		x->expires_ms = expires_s * 1000;
}

/* EC2 mostly begins the message with the code; what it means for a person is added. */
static char *reason(const char *code, const char *message)
{
	gpc_autostr *text = gpc_starts_with(message, code) ?
		gpc_strdup(message) : gpc_format("%s: %s", code, message);
	gpc_autostr *shown = gpc_str_printable(text, strnlen(text, 200));

	return gpc_eq(code, "Client.InternalError") ? gpc_format("%s (mostly the "
		"key that its disk is encrypted with may not be used)", shown) :
		gpc_steal(&shown);
}

int gpc_aws_instance_read(const struct gpc_xml *item, const char *region,
	struct gpc_instances *to, struct gpc_error *err)
{
	const char *id = gpc_xml_text(item, "instanceId");
	const char *address = gpc_xml_text(item, "privateIpAddress");
	const char *why = gpc_xml_text(item, "stateReason/message");
	const char *group;
	const char *code = gpc_xml_text(item, "stateReason/code");
	struct gpc_instance *x;

	if (!gpc_starts_with(id, "i-"))
		return gpc_fail(err, GPC_EPROTO, "an instance without an id");
	x = gpc_vec_push(to);
	x->id = gpc_aws_node_id(region, id);
	x->token = gpc_strdup(gpc_xml_text(item, "clientToken"));
	x->address = *address ? gpc_strdup(address) : NULL;
	x->state = state_of(gpc_xml_text(item, "instanceState/name"));
	read_tags(item, &x->tags);
	gpc_aws_instance_times(gpc_xml_text(item, "launchTime"), x);
	read_end(item, x);
	group = gpc_pairs_get(&x->tags, TAG_GROUP);
	if (group && gpc_aws_group_token(group))
		gpc_set_str(&x->token, gpc_aws_group_token(group));
	if (*why)
		x->why = reason(code, why);
	if (x->state == GPC_INSTANCE_GONE) {
		x->never_ran = gpc_aws_stillborn(code);
		x->unpaid = gpc_aws_never_ran(code, why);
	}
	return 0;
}

void gpc_aws_instances_unstarted(const struct gpc_xml *answer, const char *region,
	struct gpc_strv *to)
{
	const struct gpc_xml *x = gpc_xml_get(answer, "instancesSet/item");

	for (; x; x = gpc_xml_again(x)) {
		gpc_autostr *id = gpc_aws_node_id(region,
			gpc_xml_text(x, "instanceId"));

		if (gpc_eq(gpc_xml_text(x, "previousState/name"), "pending") &&
			!gpc_strv_has(to, id))
			gpc_strv_add(to, id);
	}
}

struct pages { const char *region; struct gpc_instances *to; };

static int read_page(void *arg, const struct gpc_xml *page, struct gpc_error *err)
{
	const struct pages *p = arg;
	const struct gpc_xml *group = gpc_xml_get(page, "reservationSet/item");
	int r = 0;

	for (; r == 0 && group; group = gpc_xml_again(group)) {
		const struct gpc_xml *x = gpc_xml_get(group, "instancesSet/item");

		for (; r == 0 && x; x = gpc_xml_again(x))
			r = gpc_aws_instance_read(x, p->region, p->to, err);
	}
	return r;
}

static int describe(struct gpc_aws *aws, const char *region,
	struct gpc_pairs *params, struct gpc_instances *to, struct gpc_error *err)
{
	struct pages p = { region, to };

	return gpc_aws_ec2_pages(aws, region, "DescribeInstances", params,
		read_page, &p, err);
}

int gpc_aws_instances_list(struct gpc_aws *aws, const char *region,
	const char *store_id, struct gpc_instances *to, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	gpc_pairs_add(&p, "Filter.1.Name", "tag:gpucloud-store");
	gpc_pairs_add(&p, "Filter.1.Value.1", store_id);
	gpc_pairs_add(&p, "MaxResults", PAGE);
	return describe(aws, region, &p, to, err);
}

int gpc_aws_instances_foreign(struct gpc_aws *aws, const char *region,
	const struct gpc_strv *ids, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	int r;

	gpc_pairs_add(&p, "Filter.1.Name", "instance-id");
	for (size_t i = 0; i < ids->n && i < FILTER_MAX; i++) {
		gpc_autostr *name = gpc_format("Filter.1.Value.%zu", i + 1);

		gpc_pairs_add(&p, name, strchr(ids->v[i], '/') + 1);
	}
	r = describe(aws, region, &p, &found, err);
	gpc_vec_each(x, &found) {
		if (r == 0 && x->state != GPC_INSTANCE_GONE)
			r = gpc_fail(err, GPC_ECONFLICT, "node %s belongs to "
				"another store", x->id);
	}
	return r;
}
