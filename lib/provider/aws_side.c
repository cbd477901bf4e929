/* EC2 itself says whether something is still in use, so nothing here counts. */
#include "provider/aws_side.h"

#include "base/str.h"
#include "provider/aws_params.h"

#define TAG_STORE "gpucloud-store"
#define ALL_TRAFFIC "-1"

/* That it is there already is what was wanted. */
static int ask(struct gpc_aws *aws, const char *region, const char *action,
	const struct gpc_pairs *params, enum gpc_code fine,
	struct gpc_xml **ret_xml, struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = region,
		.action = action, .params = params, .repeatable = true },
		ret_xml, &why);

	if (r < 0 && why.code == fine)
		return 1;
	if (r < 0 && err)
		*err = why;
	return r;
}

int gpc_aws_side_cluster(struct gpc_aws *aws, const struct gpc_launch *l,
	const char *name, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	int r;

	gpc_pairs_add(&p, "GroupName", name);
	gpc_pairs_add(&p, "Strategy", "cluster");
	gpc_aws_params_tags(l, "placement-group", &p);
	r = ask(aws, l->offer.region, "CreatePlacementGroup", &p, GPC_ECONFLICT,
		&xml, err);
	return r < 0 ? r : 0;
}

/* In or out: EFA asks that a group names itself in both. */
static int let_pass(struct gpc_aws *aws, const char *region, const char *id,
	const char *action, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	int r;

	gpc_pairs_add(&p, "GroupId", id);
	gpc_pairs_add(&p, "IpPermissions.1.IpProtocol", ALL_TRAFFIC);
	gpc_pairs_add(&p, "IpPermissions.1.Groups.1.GroupId", id);
	r = ask(aws, region, action, &p, GPC_ECONFLICT, &xml, err);
	return r < 0 ? r : 0;
}

/* The first of a describe with one filter or two. */
static int find(struct gpc_aws *aws, const char *region, const char *name,
	const char *vpc, char **ret_id, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const char *id;
	int r;

	gpc_pairs_add(&p, "Filter.1.Name", "group-name");
	gpc_pairs_add(&p, "Filter.1.Value.1", name);
	gpc_pairs_add(&p, "Filter.2.Name", "vpc-id");
	gpc_pairs_add(&p, "Filter.2.Value.1", vpc);
	r = ask(aws, region, "DescribeSecurityGroups", &p, GPC_OK, &xml, err);
	if (r < 0)
		return r;
	id = gpc_xml_text(xml, "securityGroupInfo/item/groupId");
	if (!*id)
		return gpc_fail(err, GPC_ENET, "security group %s is not seen yet",
			name);
	*ret_id = gpc_strdup(id);
	return 0;
}

int gpc_aws_side_group(struct gpc_aws *aws, const struct gpc_launch *l,
	const char *name, const char *vpc, char **ret_id,
	struct gpc_error *err)
{
	const char *region = l->offer.region;
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autostr *id = NULL;
	int r;

	gpc_pairs_add(&p, "GroupName", name);
	gpc_pairs_add(&p, "GroupDescription",
		"machines of one job of gpucloud among themselves");
	gpc_pairs_add(&p, "VpcId", vpc);
	gpc_aws_params_tags(l, "security-group", &p);
	r = ask(aws, region, "CreateSecurityGroup", &p, GPC_ECONFLICT, &xml, err);
	if (r == 0)
		id = gpc_strdup(gpc_xml_text(xml, "groupId"));
	if (r > 0)
		r = find(aws, region, name, vpc, &id, err);
	if (r == 0)
		r = let_pass(aws, region, id, "AuthorizeSecurityGroupIngress",
			err);
	if (r == 0)
		r = let_pass(aws, region, id, "AuthorizeSecurityGroupEgress",
			err);
	if (r == 0)
		*ret_id = gpc_steal(&id);
	return r;
}

/* --- the end -------------------------------------------------------------------- */

struct kind {
	const char *describe, *items, *shown;   /* where it says what it is called */
	const char *end, *named;                /* and how it is named to end */
};
static const struct kind kinds[] = {
	{"DescribePlacementGroups", "placementGroupSet/item", "groupName",
		"DeletePlacementGroup", "GroupName"},
	{"DescribeSecurityGroups", "securityGroupInfo/item", "groupId",
		"DeleteSecurityGroup", "GroupId"},
};

static int end_one(struct gpc_aws *aws, const char *region,
	const struct kind *k, const char *what, size_t *n,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	int r;

	gpc_pairs_add(&p, k->named, what);
	/* In use: whoever ends its last machine ends it. */
	r = ask(aws, region, k->end, &p, GPC_ECONFLICT, &xml, err);
	if (r == 0 && n)
		++*n;
	return r < 0 && r != -GPC_ENOTFOUND ? r : 0;
}

static int end_kind(struct gpc_aws *aws, const char *region,
	const struct kind *k, const char *store_id, const char *name,
	size_t *n, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *x;
	int r;

	/* By tag, so that nothing of another store goes. */
	gpc_pairs_add(&p, "Filter.1.Name", "tag:" TAG_STORE);
	gpc_pairs_add(&p, "Filter.1.Value.1", store_id);
	gpc_pairs_add(&p, "Filter.2.Name", name ? "tag:" GPC_AWS_SIDE_TAG :
		"tag-key");
	gpc_pairs_add(&p, "Filter.2.Value.1", name ? name : GPC_AWS_SIDE_TAG);
	r = ask(aws, region, k->describe, &p, GPC_OK, &xml, err);
	for (x = gpc_xml_get(xml, k->items); r == 0 && x; x = gpc_xml_again(x))
		r = end_one(aws, region, k, gpc_xml_text(x, k->shown), n, err);
	return r;
}

int gpc_aws_side_end(struct gpc_aws *aws, const char *region,
	const char *store_id, const char *name, size_t *n,
	struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(kinds) / sizeof(*kinds); i++)
		r = end_kind(aws, region, &kinds[i], store_id, name, n, err);
	return r;
}
