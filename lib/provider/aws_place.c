/* Subnets with the tag "gpucloud" are used, else those of the default network. One
 * request answers for the whole region. EFA needs more of them, and only its jobs ask. */
#include "provider/aws_place.h"

#include <stdio.h>

#include "base/parse.h"
#include "base/str.h"
#include "provider/aws_side.h"

#define HINT_EFA "add an endpoint of type Gateway for S3 to the network (free of " \
	"charge), or tag a private subnet that reaches S3 with \"gpucloud\", or " \
	"set resources.network_tier: standard"
#define CARDS_MAX 64

struct found {
	struct gpc_aws_subnet best;             /* of the zone; id "": none with room */
	bool any, full;                 /* in the region; in the zone, but no room */
	const char *zone;               /* NULL: any */
	int count;
};

static bool is_tagged(const struct gpc_xml *item, const char *key)
{
	const struct gpc_xml *x = gpc_xml_get(item, "tagSet/item");

	for (; x; x = gpc_xml_again(x))
		if (gpc_eq(gpc_xml_text(x, "key"), key))
			return true;
	return false;
}

static bool is_true(const struct gpc_xml *item, const char *name)
{
	return gpc_eq(gpc_xml_text(item, name), "true");
}

/* Own ones first; of several the one with most room. */
static void consider(struct found *f, const struct gpc_xml *x)
{
	struct gpc_aws_subnet s = { .own = is_tagged(x, GPC_AWS_OWN_TAG),
		.public = is_true(x, "mapPublicIpOnLaunch") };

	if (!s.own && !is_true(x, "defaultForAz"))
		return;
	f->any = true;
	if (f->zone && !gpc_eq(gpc_xml_text(x, "availabilityZone"), f->zone))
		return;
	if (gpc_parse_i64(gpc_xml_text(x, "availableIpAddressCount"), 0,
		1 << 24, "availableIpAddressCount", &s.free, NULL) < 0)
		s.free = 0;
	if (s.free < f->count) {
		f->full = true;
		return;
	}
	if (f->best.id[0] && (f->best.own > s.own || (f->best.own == s.own &&
		f->best.free >= s.free)))
		return;
	snprintf(s.id, sizeof(s.id), "%s", gpc_xml_text(x, "subnetId"));
	snprintf(s.vpc, sizeof(s.vpc), "%s", gpc_xml_text(x, "vpcId"));
	f->best = s;
}

static int read_subnets(void *arg, const struct gpc_xml *page,
	struct gpc_error *err)
{
	const struct gpc_xml *x = gpc_xml_get(page, "subnetSet/item");

	(void)err;
	for (; x; x = gpc_xml_again(x))
		consider(arg, x);
	return 0;
}

static int find_subnet(struct gpc_aws *aws, const char *region, const char *zone,
	int count, struct gpc_aws_subnet *ret_s, struct gpc_error *err)
{
	struct found f = { .zone = zone, .count = count };
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	int r = gpc_aws_ec2_pages(aws, region, "DescribeSubnets", &p,
		read_subnets, &f, err);

	if (r < 0)
		return r;
	*ret_s = f.best;
	if (f.best.id[0])
		return 0;
	if (f.any)
		return gpc_fail(err, GPC_ECAPACITY, f.full ? "no subnet of %s has "
			"%d free addresses" : "%s has no subnet for its %d",
			zone ? zone : region, count);
	gpc_fail(err, GPC_ENOTFOUND, "%s has neither a default network nor a subnet "
		"with the tag " GPC_AWS_OWN_TAG, region);
	gpc_hint(err, "make one (aws ec2 create-default-vpc --region %s), or tag "
		"subnets of yours (aws ec2 create-tags --resources subnet-... "
		"--tags Key=" GPC_AWS_OWN_TAG ",Value=)", region);
	return -GPC_ENOTFOUND;
}

int gpc_aws_place_find(struct gpc_aws *aws, const char *region,
	struct gpc_aws_subnet *ret_s, struct gpc_error *err)
{
	return find_subnet(aws, region, NULL, 1, ret_s, err);
}

/* Those of the network that bear the tag; none: its default group. */
static int find_groups(struct gpc_aws *aws, const char *region,
	const char *vpc, struct gpc_strv *ids, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *x;
	int r;

	gpc_pairs_add(&p, "Filter.1.Name", "vpc-id");
	gpc_pairs_add(&p, "Filter.1.Value.1", vpc);
	gpc_pairs_add(&p, "Filter.2.Name", "tag-key");
	gpc_pairs_add(&p, "Filter.2.Value.1", GPC_AWS_OWN_TAG);
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = region,
		.action = "DescribeSecurityGroups", .params = &p,
		.repeatable = true }, &xml, err);
	for (x = gpc_xml_get(xml, "securityGroupInfo/item"); r == 0 && x;
		x = gpc_xml_again(x))
		gpc_strv_add(ids, gpc_xml_text(x, "groupId"));
	return r;
}

/* --- EFA ------------------------------------------------------------------------ */

static int number(const struct gpc_xml *xml, const char *path, int64_t *ret_n,
	struct gpc_error *err)
{
	return gpc_parse_i64(gpc_xml_text(xml, path), 1, CARDS_MAX, path, ret_n,
		err);
}

/* How many cards the type has, and how many of them may speak EFA. */
static int count_cards(struct gpc_aws *aws, const struct gpc_launch *l,
	int64_t *ret_cards, int64_t *ret_efa, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *x;
	int r;

	gpc_pairs_add(&p, "InstanceType.1", l->offer.instance_type);
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = l->offer.region,
		.action = "DescribeInstanceTypes", .params = &p,
		.repeatable = true }, &xml, err);
	x = gpc_xml_get(xml, "instanceTypeSet/item/networkInfo");
	if (r == 0)
		r = number(x, "maximumNetworkCards", ret_cards, err);
	if (r == 0)
		r = number(x, "efaInfo/maximumEfaInterfaces", ret_efa, err);
	return gpc_wrap(err, r, "network of %s", l->offer.instance_type);
}

static void add_card(struct gpc_json *list, int64_t card, const char *type)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_int(j, "card", card);
	gpc_json_set_int(j, "device", card ? 1 : 0);
	gpc_json_set_str(j, "type", type);
	gpc_json_add(list, j);
}

/* The first card carries the addresses; the others nothing but EFA. Where there are
 * more cards than EFA interfaces, the first one has none (p6-b300). */
static struct gpc_json *cards_json(int64_t cards, int64_t efa)
{
	struct gpc_json *list = gpc_json_array();
	bool plain = cards > efa && cards > 1;

	add_card(list, 0, plain ? "interface" : "efa");
	for (int64_t i = 1; i < (plain ? efa + 1 : efa) && i < cards; i++)
		add_card(list, i, "efa-only");
	return list;
}

/* Several interfaces get no public address, and the store has to be reached. */
static int check_way_out(struct gpc_aws *aws, const char *region,
	const struct gpc_aws_subnet *s, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autostr *service = gpc_format("com.amazonaws.%s.s3", region);
	int r;

	if (!s->public)
		return 0;
	gpc_pairs_add(&p, "Filter.1.Name", "vpc-id");
	gpc_pairs_add(&p, "Filter.1.Value.1", s->vpc);
	gpc_pairs_add(&p, "Filter.2.Name", "service-name");
	gpc_pairs_add(&p, "Filter.2.Value.1", service);
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = region,
		.action = "DescribeVpcEndpoints", .params = &p,
		.repeatable = true }, &xml, err);
	if (r < 0 || gpc_xml_get(xml, "vpcEndpointSet/item"))
		return r;
	gpc_fail(err, GPC_ECONFIG, "a machine with several network cards gets no "
		"public address, so that from subnet %s it would not reach its "
		"store", s->id);
	gpc_hint(err, HINT_EFA);
	return -GPC_ECONFIG;
}

static int add_efa(struct gpc_aws *aws, const struct gpc_launch *l,
	const struct gpc_aws_subnet *s, const char *name, struct gpc_strv *groups,
	struct gpc_json *to, struct gpc_error *err)
{
	int64_t cards = 0, efa = 0;
	gpc_autostr *group = NULL;
	int r = count_cards(aws, l, &cards, &efa, err);

	if (r == 0 && efa > 1)
		r = check_way_out(aws, l->offer.region, s, err);
	if (r == 0 && !groups->n)
		r = gpc_aws_side_group(aws, l, name, s->vpc, &group, err);
	if (r < 0)
		return r;
	if (group)
		gpc_strv_add(groups, group);
	gpc_json_set(to, "cards", cards_json(cards, efa));
	gpc_json_set_bool(to, "public", s->public);
	return 0;
}

/* --- all of it ------------------------------------------------------------------ */

int gpc_aws_place(struct gpc_aws *aws, const struct gpc_launch *l,
	const struct gpc_machine_type *t, struct gpc_json *to,
	struct gpc_error *err)
{
	const char *tier = gpc_json_get_str(l->rest, "network_tier");
	int64_t nodes = gpc_json_get_int(l->rest, "num_nodes", l->count);
	bool best = gpc_eq(tier, "best");
	bool efa = gpc_eq(t->rdma, "efa") && (best || (nodes > 1 && !tier));
	bool cluster = nodes > 1 && (best || efa);
	gpc_auto(gpc_strv) struct gpc_strv groups = {0};
	struct gpc_aws_subnet s;
	int r = find_subnet(aws, l->offer.region, l->offer.zone, l->count, &s,
		err);

	if (r == 0 && (s.own || efa))
		r = find_groups(aws, l->offer.region, s.vpc, &groups, err);
	if (r == 0 && efa)
		r = add_efa(aws, l, &s, l->name, &groups, to, err);
	if (r == 0 && cluster)
		r = gpc_aws_side_cluster(aws, l, l->name, err);
	if (r < 0)
		return r;
	if (s.own || efa)
		gpc_json_set_str(to, "subnet", s.id);
	if (groups.n)
		gpc_json_set(to, "groups", gpc_json_strings(&groups));
	if (cluster)
		gpc_json_set_str(to, "cluster", l->name);
	if (efa || cluster)
		gpc_json_set_str(to, "side", l->name);
	if (!s.public || gpc_json_next(gpc_json_first(gpc_json_get(to, "cards"))))
		gpc_json_set_bool(to, "private", true);
	return 0;
}
