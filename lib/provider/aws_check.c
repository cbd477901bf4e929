/* Each line asks for one thing and goes on whatever the answer is. A launch is tried as
 * it would be sent, with EC2's own DryRun, which proves permissions and no more. */
#include "provider/aws_check.h"

#include <string.h>

#include "base/time.h"
#include "provider/aws_launch.h"
#include "provider/aws_place.h"
#include "provider/aws_quota.h"
#include "provider/aws_regions.h"
#include "catalog/prices.h"
#include "provider/provider.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)
#define OLD_DAYS 400            /* prices that may well have changed */
#define FIRST_REGION "us-east-1"
#define REGIONS_MAX 16          /* each is asked some ten times */
#define TRIED_TYPE "t3.small"   /* sold everywhere */
#define PRICED_TYPE "g4dn.xlarge"

struct checking {
	struct gpc_aws *aws;
	const char *region;
	struct gpc_check_lines *lines;
	bool needs_profile;             /* the store is in a bucket */
	bool has_profile;
	char *image;
	struct gpc_aws_subnet subnet;    /* where machines would be; vpc "": nowhere */
};

static struct gpc_check_line *add(struct checking *c, const char *what)
{
	struct gpc_check_line *l = gpc_vec_push(c->lines);

	l->what = what;
	return l;
}

/* What this account may not ask for does not keep it from buying. */
static void judge(struct gpc_check_line *l, int r, const struct gpc_error *why)
{
	if (r == 0)
		return;
	l->state = r == -GPC_EAUTH ? GPC_LINE_WARNING : GPC_LINE_MISSING;
	l->why = *why;
}

static void check_profile(struct checking *c)
{
	struct gpc_check_line *l = add(c, "instance profile");
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	struct gpc_error why = {0};
	const char *role;
	int r;

	gpc_pairs_add(&p, "InstanceProfileName", GPC_AWS_PROFILE);
	r = gpc_aws_query(c->aws, "iam", &(struct gpc_aws_call){ .region = c->region,
		.action = "GetInstanceProfile", .params = &p, .repeatable = true },
		&xml, &why);
	role = gpc_xml_text(xml, "GetInstanceProfileResult/InstanceProfile/Roles/"
		"member/RoleName");
	if (r == 0 && *role) {
		c->has_profile = true;
		l->found = gpc_strdup(GPC_AWS_PROFILE);
		return;
	}
	if (r == 0 || r == -GPC_ENOTFOUND) {
		r = gpc_fail(&why, GPC_ECONFIG, r == 0 ? "instance profile "
			GPC_AWS_PROFILE " has no role" : "there is no instance "
			"profile " GPC_AWS_PROFILE ", which nodes reach the store "
			"by");
		gpc_hint(&why, "`gpucloud setup aws` makes it");
	}
	judge(l, r, &why);
	if (!c->needs_profile)
		l->state = GPC_LINE_WARNING;
}

static void check_image(struct checking *c)
{
	struct gpc_check_line *l = add(c, "image");
	struct gpc_error why = {0};
	int r = gpc_aws_image_published(c->aws, c->region, false, false, &c->image,
		&why);
	gpc_autostr *gpu = NULL;

	if (r == 0)
		r = gpc_aws_image_published(c->aws, c->region, false, true, &gpu,
			&why);
	judge(l, r, &why);
	/* Without it no job starts that does not name its own. */
	if (r == -GPC_EAUTH)
		l->state = GPC_LINE_MISSING;
	if (r == 0)
		l->found = gpc_format("%s with drivers, %s without", gpu, c->image);
}

static void check_network(struct checking *c)
{
	struct gpc_check_line *l = add(c, "network");
	struct gpc_error why = {0};
	int r = gpc_aws_place_find(c->aws, c->region, &c->subnet, &why);

	if (r == -GPC_ENOTFOUND)
		gpc_recode(&why, GPC_ECONFIG);
	judge(l, r, &why);
	if (r == -GPC_ECAPACITY)        /* there may be room later */
		l->state = GPC_LINE_WARNING;
	if (r < 0)
		return;
	l->found = c->subnet.own ? gpc_format("%.40s, by its tag", c->subnet.id) :
		gpc_str_printable(c->subnet.vpc, strlen(c->subnet.vpc));
}

static void add_tag(struct gpc_pairs *p, int n, const char *kind)
{
	gpc_autostr *start = gpc_format("TagSpecification.%d", n);
	gpc_autostr *type = gpc_format("%s.ResourceType", start);
	gpc_autostr *key = gpc_format("%s.Tag.1.Key", start);
	gpc_autostr *value = gpc_format("%s.Tag.1.Value", start);

	gpc_pairs_add(p, type, kind);
	gpc_pairs_add(p, key, "gpucloud-store");
	gpc_pairs_add(p, value, "check");
}

static void fill_launch(const struct checking *c, bool spot, struct gpc_pairs *p)
{
	gpc_pairs_add(p, "ImageId", c->image);
	gpc_pairs_add(p, "InstanceType", TRIED_TYPE);
	gpc_pairs_add(p, "MinCount", "1");
	gpc_pairs_add(p, "MaxCount", "1");
	gpc_pairs_add(p, "MetadataOptions.HttpTokens", "required");
	gpc_pairs_add(p, "InstanceInitiatedShutdownBehavior", "terminate");
	gpc_pairs_add(p, "DryRun", "true");
	if (c->has_profile)
		gpc_pairs_add(p, "IamInstanceProfile.Name", GPC_AWS_PROFILE);
	add_tag(p, 1, "instance");
	add_tag(p, 2, "volume");
	add_tag(p, 3, "network-interface");
	if (c->subnet.own)
		gpc_pairs_add(p, "SubnetId", c->subnet.id);
	if (!spot)
		return;
	add_tag(p, 4, "spot-instances-request");
	gpc_pairs_add(p, "InstanceMarketOptions.MarketType", "spot");
}

static void check_launch(struct checking *c, bool spot)
{
	struct gpc_check_line *l = add(c, spot ? "launch of spot" : "launch");
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	struct gpc_error why = {0};
	int r;

	if (!c->image) {
		l->state = GPC_LINE_WARNING;
		gpc_fail(&l->why, GPC_ECONFIG, "cannot be tried without an image");
		return;
	}
	fill_launch(c, spot, &p);
	r = gpc_aws_ec2(c->aws, &(struct gpc_aws_call){ .region = c->region,
		.action = "RunInstances", .params = &p, .repeatable = true }, &xml,
		&why);
	judge(l, r, &why);
	/* A job may do without the spot market. */
	if (r < 0)
		l->state = spot ? GPC_LINE_WARNING : GPC_LINE_MISSING;
	else
		l->found = gpc_strdup("permitted");
}

/* A job may do without being reached from outside. */
static void check_ports(struct checking *c)
{
	struct gpc_check_line *l = add(c, "ports and ssh");
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	struct gpc_error why = {0};
	int r;

	if (!c->subnet.vpc[0]) {
		l->state = GPC_LINE_WARNING;
		gpc_fail(&l->why, GPC_ECONFIG, "cannot be tried without a network");
		return;
	}
	gpc_pairs_add(&p, "VpcId", c->subnet.vpc);
	gpc_pairs_add(&p, "GroupName", "gpucloud-check");
	gpc_pairs_add(&p, "GroupDescription", "gpucloud: never made");
	gpc_pairs_add(&p, "DryRun", "true");
	add_tag(&p, 1, "security-group");
	r = gpc_aws_ec2(c->aws, &(struct gpc_aws_call){ .region = c->region,
		.action = "CreateSecurityGroup", .params = &p, .repeatable = true },
		&xml, &why);
	judge(l, r, &why);
	if (r < 0)
		l->state = GPC_LINE_WARNING;
	else
		l->found = gpc_strdup("permitted");
}

/* --- quotas ------------------------------------------------------------------ */

static const struct { const char *what, *type; } families[] = {
	{"quota of G", "g5.xlarge"},
	{"quota of P", "p4d.24xlarge"},
};

static void check_quota(struct checking *c, size_t i)
{
	struct gpc_check_line *l = add(c, families[i].what);
	struct gpc_error why = {0};
	double on_demand = 0, spot = 0;
	int r = gpc_aws_quota(c->aws, c->region,
		gpc_aws_limit(families[i].type, false), &on_demand, &why);

	if (r == 0)
		r = gpc_aws_quota(c->aws, c->region,
			gpc_aws_limit(families[i].type, true), &spot, &why);
	judge(l, r, &why);
	if (r < 0) {
		l->state = GPC_LINE_WARNING;
		return;
	}
	l->found = gpc_format("%.0f vCPUs on demand, %.0f spot", on_demand, spot);
	if (on_demand > 0 || spot > 0)
		return;
	l->state = GPC_LINE_WARNING;
	gpc_fail(&l->why, GPC_EQUOTA, "no machine of this family can be had in %s",
		c->region);
	gpc_hint(&l->why, "ask for more: aws service-quotas request-service-quota-"
		"increase --service-code ec2 --quota-code %s --desired-value 8",
		gpc_aws_limit(families[i].type, false));
}

static void check_prices(struct checking *c)
{
	struct gpc_check_line *l = add(c, "prices");
	struct gpc_money price;
	int64_t from_ms, days;

	if (!gpc_list_price("aws", c->region, PRICED_TYPE, &price, &from_ms)) {
		l->state = GPC_LINE_WARNING;
		gpc_fail(&l->why, GPC_ECONFIG, "no price in %s is known", c->region);
		gpc_hint(&l->why, "name another region in aws.regions");
		return;
	}
	days = (gpc_wall_ms() - from_ms) / DAY_MS;
	l->found = gpc_format("%lld days old", (long long)(days > 0 ? days : 0));
	if (days <= OLD_DAYS)
		return;
	l->state = GPC_LINE_WARNING;
	gpc_fail(&l->why, GPC_ECONFIG, "the prices that are built in may have "
		"changed");
	gpc_hint(&l->why, "take a newer gpucloud");
}

/* --- where --------------------------------------------------------------------- */

/* Those that are bought in. */
static int find_regions(struct gpc_provider *p, struct gpc_aws *aws,
	struct gpc_strv *ret, struct gpc_error *err)
{
	gpc_autostr *region = NULL;
	int r = gpc_aws_regions_read(p->ctx->aws_regions, ret, err);

	if (r == 0 && !ret->n)
		r = gpc_creds_region(aws->creds, &region, err);
	if (r == 0 && !ret->n)
		gpc_strv_add(ret, region ? region : FIRST_REGION);
	return r;
}

static void check_region(struct checking *c)
{
	check_image(c);
	check_network(c);
	check_launch(c, false);
	check_launch(c, true);
	check_ports(c);
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		check_quota(c, i);
	check_prices(c);
	free(c->image);
	c->image = NULL;
}

/* All of a region in one line: the worst of it, or what could be bought there. */
static void sum_up(const struct gpc_check_lines *all, const char *region,
	struct gpc_check_line *to)
{
	gpc_auto(gpc_buf) struct gpc_buf found = {0};

	to->what = "region";
	to->where = gpc_strdup(region);
	gpc_vec_each(l, all) {
		if (l->state > to->state) {
			to->state = l->state;
			to->why = l->why;
			(void)gpc_wrap(&to->why, -(int)l->why.code, "%s", l->what);
		}
		if (l->found && gpc_starts_with(l->what, "quota"))
			gpc_buf_addf(&found, "%s%s: %s", found.len ? "; " : "",
				l->what, l->found);
	}
	if (to->state != GPC_LINE_MISSING && found.len)
		to->found = gpc_strdup(gpc_buf_str(&found));
}

static void check_others(struct checking *c, const struct gpc_strv *regions)
{
	size_t n = regions->n < REGIONS_MAX ? regions->n : REGIONS_MAX;
	struct gpc_check_line *l;

	for (size_t i = 1; i < n; i++) {
		gpc_auto(gpc_check_lines) struct gpc_check_lines lines = {0};
		struct checking other = { .aws = c->aws, .region = regions->v[i],
			.lines = &lines, .has_profile = c->has_profile };

		check_region(&other);
		sum_up(&lines, regions->v[i], gpc_vec_push(c->lines));
	}
	if (n == regions->n)
		return;
	l = add(c, "more regions");
	l->state = GPC_LINE_WARNING;
	gpc_fail(&l->why, GPC_ECONFIG, "%zu of aws.regions were not looked at",
		regions->n - n);
	gpc_hint(&l->why, "name %d at most, or look at the others apart: "
		"GPUCLOUD_AWS_REGIONS=%s gpucloud check aws", REGIONS_MAX,
		regions->v[n]);
}

int gpc_aws_check(struct gpc_provider *p, struct gpc_aws *aws,
	const char *store_url, struct gpc_check_lines *ret, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv regions = {0};
	struct checking c = { .aws = aws, .lines = ret,
		.needs_profile = gpc_starts_with(store_url ? store_url : "",
			"s3://") };
	int r = find_regions(p, aws, &regions, err);

	if (r < 0)
		return r;
	c.region = regions.v[0];
	check_profile(&c);
	check_region(&c);
	check_others(&c, &regions);
	return 0;
}
