/* What a job gets of EC2: one zone, all nodes or none, tags on every resource at
 * launch, no metadata without a token, an encrypted disk that goes with the machine,
 * and a machine that is gone when its system switches itself off. */
#include "provider/aws_params.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/encode.h"
#include "provider/aws_launch.h"
#include "provider/aws_side.h"

#define TOKEN_MAX 64             /* of RunInstances */
#define TOKEN_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789-"

/* Where the names go, and with which beginning. */
struct form { struct gpc_pairs *to; const char *prefix; };

static gpc_printf(3, 4) void add(const struct form *f, const char *value,
	const char *fmt, ...)
{
	gpc_autostr *name = NULL, *whole = NULL;
	va_list ap;

	va_start(ap, fmt);
	name = gpc_vformat(fmt, ap);
	va_end(ap);
	whole = gpc_format("%s%s", f->prefix, name);
	gpc_pairs_add(f->to, whole, value);
}

static void add_number(const struct form *f, int64_t value, const char *name)
{
	gpc_autostr *text = gpc_format("%lld", (long long)value);

	add(f, text, "%s", name);
}

char *gpc_aws_tag_value(const char *text)
{
	char *value = gpc_strdup(text);

	for (char *c = value; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("+-=_:/@", *c))
			*c = '_';
	return value;
}

static void add_tag_list(const char *kind, size_t i, const struct gpc_pairs *tags,
	const struct form *f)
{
	size_t k = 1;

	add(f, kind, "TagSpecification.%zu.ResourceType", i);
	gpc_vec_each(tag, tags) {
		gpc_autostr *value = gpc_aws_tag_value(tag->value);

		add(f, tag->key, "TagSpecification.%zu.Tag.%zu.Key", i, k);
		add(f, value, "TagSpecification.%zu.Tag.%zu.Value", i, k++);
	}
}

void gpc_aws_params_tag_list(const char *kind, const struct gpc_pairs *tags,
	struct gpc_pairs *to)
{
	add_tag_list(kind, 1, tags, &(struct form){ to, "" });
}

/* TagSpecification.i of one kind of resource. */
static void tag_kind(const struct gpc_launch *l, const char *kind, size_t i,
	const char *side, const struct form *f)
{
	gpc_auto(gpc_pairs) struct gpc_pairs tags = {0};

	gpc_pairs_copy(&tags, &l->tags);
	gpc_pairs_set(&tags, "Name", l->name);
	if (side)
		gpc_pairs_set(&tags, GPC_AWS_SIDE_TAG, side);
	add_tag_list(kind, i, &tags, f);
}

void gpc_aws_params_tags(const struct gpc_launch *l, const char *kind,
	struct gpc_pairs *to)
{
	tag_kind(l, kind, 1, l->name, &(struct form){ to, "" });
}

static void add_tags(const struct gpc_launch *l, const struct gpc_json *made,
	const struct form *f)
{
	static const char *const kinds[] = { "instance", "volume",
		"network-interface", "spot-instances-request" };
	bool spot = gpc_eq(l->offer.market, "spot");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) - !spot; i++)
		tag_kind(l, kinds[i], i + 1, gpc_json_get_str(made, "side"), f);
}

/* What was paid for before: EC2 takes it from there, or refuses. */
static void add_reservation(const struct gpc_launch *l, const struct form *f)
{
	const char *id = gpc_json_get_str(l->offer.rest, "reservation");

	if (!id)
		return;
	if (gpc_json_bool_or(gpc_json_get(l->offer.rest, "block"), false))
		add(f, "capacity-block", "InstanceMarketOptions.MarketType");
	add(f, id, "CapacityReservationSpecification.CapacityReservationTarget."
		"CapacityReservationId");
}

static void add_groups(const struct gpc_json *made, const char *start,
	const struct form *f)
{
	const struct gpc_json *x = gpc_json_first(gpc_json_get(made, "groups"));

	for (int i = 1; x; x = gpc_json_next(x), i++)
		add(f, gpc_json_str(x), "%sSecurityGroupId.%d", start, i);
}

/* A template says nothing of a subnet: its group does. */
static bool is_template(const struct form *f)
{
	return *f->prefix;
}

/* A public address may only be asked for where the card is the only one. */
static void add_card(const struct gpc_json *made, const struct gpc_json *card,
	int i, const struct form *f)
{
	gpc_autostr *start = gpc_format("NetworkInterface.%d.", i);
	gpc_autostr *index = gpc_format("%lld",
		(long long)gpc_json_get_int(card, "card", 0));
	gpc_autostr *device = gpc_format("%lld",
		(long long)gpc_json_get_int(card, "device", 0));
	bool only = i == 1 && !gpc_json_next(card);

	add(f, gpc_json_get_str(card, "type"), "%sInterfaceType", start);
	add(f, index, "%sNetworkCardIndex", start);
	add(f, device, "%sDeviceIndex", start);
	if (!is_template(f))
		add(f, gpc_json_get_str(made, "subnet"), "%sSubnetId", start);
	add(f, "true", "%sDeleteOnTermination", start);
	if (only)
		add(f, gpc_json_bool_or(gpc_json_get(made, "public"), false) ?
			"true" : "false", "%sAssociatePublicIpAddress", start);
	add_groups(made, start, f);
}

static void add_network(const struct gpc_json *made, const struct form *f)
{
	const struct gpc_json *cards = gpc_json_get(made, "cards");
	const char *cluster = gpc_json_get_str(made, "cluster");
	const char *subnet = gpc_json_get_str(made, "subnet");
	const struct gpc_json *x = gpc_json_first(cards);

	if (cluster)
		add(f, cluster, "Placement.GroupName");
	if (!x && subnet && !is_template(f))
		add(f, subnet, "SubnetId");
	if (!x)
		add_groups(made, "", f);
	for (int i = 1; x; x = gpc_json_next(x), i++)
		add_card(made, x, i, f);
}

static void add_market(const struct gpc_launch *l, const struct form *f)
{
	const char *most = gpc_json_get_str(l->rest, "max_hourly");

	if (!gpc_eq(l->offer.market, "spot"))
		return;
	add(f, "spot", "InstanceMarketOptions.MarketType");
	add(f, "one-time", "InstanceMarketOptions.SpotOptions.SpotInstanceType");
	add(f, "terminate", "InstanceMarketOptions.SpotOptions."
		"InstanceInterruptionBehavior");
	if (most)
		add(f, most, "InstanceMarketOptions.SpotOptions.MaxPrice");
}

static void add_disk(const struct gpc_json *made, const struct form *f)
{
	add(f, gpc_json_get_str(made, "root"), "BlockDeviceMapping.1.DeviceName");
	add_number(f, gpc_json_get_int(made, "disk_gib", GPC_AWS_DISK_LEAST_GIB),
		"BlockDeviceMapping.1.Ebs.VolumeSize");
	add(f, "gp3", "BlockDeviceMapping.1.Ebs.VolumeType");
	add(f, "true", "BlockDeviceMapping.1.Ebs.Encrypted");
	add(f, "true", "BlockDeviceMapping.1.Ebs.DeleteOnTermination");
}

int gpc_aws_params_machine(const struct gpc_launch *l, const char *prefix,
	struct gpc_pairs *to, struct gpc_error *err)
{
	const struct gpc_json *made = gpc_json_get(l->rest, GPC_AWS_REST);
	const char *data = gpc_json_get_str(made, "user_data");
	const struct form f = { to, prefix };
	gpc_auto(gpc_buf) struct gpc_buf encoded = {0};

	if (!made || !data || !gpc_json_get_str(made, "image") ||
		!gpc_json_get_str(made, "root"))
		return gpc_fail(err, GPC_ECONFIG, "the launch was not prepared");
	gpc_base64(&encoded, data, strlen(data));
	add(&f, gpc_json_get_str(made, "image"), "ImageId");
	add(&f, l->offer.instance_type, "InstanceType");
	add(&f, gpc_buf_str(&encoded), "UserData");
	add(&f, gpc_json_get_str(l->rest, "profile") ?
		gpc_json_get_str(l->rest, "profile") : GPC_AWS_PROFILE,
		"IamInstanceProfile.Name");
	add(&f, "terminate", "InstanceInitiatedShutdownBehavior");
	add(&f, "required", "MetadataOptions.HttpTokens");
	add(&f, "enabled", "MetadataOptions.HttpEndpoint");
	add(&f, "2", "MetadataOptions.HttpPutResponseHopLimit");
	add_market(l, &f);
	add_disk(made, &f);
	add_network(made, &f);
	add_reservation(l, &f);
	add_tags(l, made, &f);
	return 0;
}

int gpc_aws_params_launch(const struct gpc_launch *l, struct gpc_pairs *to,
	struct gpc_error *err)
{
	const struct form f = { to, "" };

	if (!l->token || !*l->token || strlen(l->token) > TOKEN_MAX ||
		strspn(l->token, TOKEN_CHARS) != strlen(l->token) || l->count < 1)
		return gpc_fail(err, GPC_ECONFIG, "bad token \"%s\" or count %d",
			l->token ? l->token : "", l->count);
	if (!l->offer.zone)
		return gpc_fail(err, GPC_ECONFIG, "the launch was not prepared");
	add_number(&f, l->count, "MinCount");
	add_number(&f, l->count, "MaxCount");
	add(&f, l->token, "ClientToken");
	add(&f, l->offer.zone, "Placement.AvailabilityZone");
	return gpc_aws_params_machine(l, "", to, err);
}
