/* Types and on-demand prices are in the catalog; zones and spot prices are asked. */
#include "provider/aws_offers.h"

#include <stdio.h>

#include "base/str.h"
#include "base/time.h"
#include "provider/aws_launch.h"
#include "provider/aws_quota.h"
#include "provider/aws_reserved.h"
#include "catalog/prices.h"
#include "provider/aws_tariff.h"
#include "provider/offer_fit.h"

#define GIB ((uint64_t)1 << 30)
#define LIVE "DescribeSpotPriceHistory"
#define USUAL ((uint64_t)2 << 30)       /* memory that programs need at least */

void gpc_aws_offer_fill(const struct gpc_machine_type *t, const char *region,
	const char *market, struct gpc_offer *o)
{
	const char *limit = gpc_aws_limit(t->name, gpc_eq(market, "spot"));

	*o = (struct gpc_offer){
		.provider = gpc_strdup("aws"), .region = gpc_strdup(region),
		.instance_type = gpc_strdup(t->name),
		.market = gpc_strdup(market),
		.gpu = t->gpu[0] ? gpc_strdup(t->gpu) : NULL, .gpus = t->gpus,
		.gpu_memory_gb = t->gpu_memory_gb, .cpus = t->cpus,
		.memory_bytes = t->memory_bytes, .rest = gpc_json_object(),
	};
	gpc_json_set_str(o->rest, GPC_OFFER_ARCH, gpc_arch_names[t->arch]);
	gpc_json_set_str(o->rest, GPC_OFFER_INTERCONNECT, t->interconnect);
	gpc_json_set_str(o->rest, GPC_OFFER_RDMA, t->rdma);
	if (t->network_gbps > 0)
		gpc_json_set(o->rest, GPC_OFFER_NETWORK,
			gpc_json_number(t->network_gbps));
	if (limit)
		gpc_json_set_str(o->rest, "limit", limit);
}

/* The programs of a job are mostly for the machine that it is submitted from, so that
 * another architecture is only for who names what has no other. */
static char *arch_misfit(const struct gpc_ask *ask, const struct gpc_machine_type *t)
{
	const char *name = gpc_arch_names[t->arch];

	if (t->arch == gpc_arch_self())
		return NULL;
	if (!ask->instance_type && !ask->gpus.n && !ask->only_archs)
		return gpc_format("%s is %s, and this machine is not: name the type to "
			"get it", t->name, name);
	if (ask->archs & GPC_ARCH_BIT(t->arch))
		return NULL;
	return gpc_format("%s is %s, for which there is no bundle here: make one by "
		"`sh examples/bundle.sh %s FILE`, or by `gpucloud agent --bundle "
		"FILE` on such a machine, and take it up by `gpucloud agent "
		"--add-bundle FILE`", t->name, name, name);
}

char *gpc_aws_offer_misfit(const struct gpc_ask *ask,
	const struct gpc_machine_type *t, const struct gpc_offer *o)
{
	char *why = gpc_offer_misfit(ask, o, true);

	return why ? why : arch_misfit(ask, t);
}

void gpc_aws_offer_charge(const struct gpc_ask *ask, struct gpc_offer *o)
{
	gpc_aws_tariff(o->region, o->price, ask->disk_bytes ?
		(int64_t)((ask->disk_bytes + GIB - 1) / GIB) :
		GPC_AWS_DISK_LEAST_GIB, true, &o->tariff);
}

static const char *market_of(const struct gpc_ask *ask)
{
	return ask->spot ? "spot" : "on-demand";
}

/* The built-in offers of a region; those that fit are still without a zone. */
static void built_in(const char *region, const struct gpc_ask *ask,
	struct gpc_offers *to, size_t *ret_fitting)
{
	struct gpc_machine_type t;

	for (size_t i = 0; gpc_machine_type_at(i, &t); i++) {
		struct gpc_offer o;

		if (!gpc_eq(t.provider, "aws"))
			continue;
		gpc_aws_offer_fill(&t, region, market_of(ask), &o);
		/* Of a spot machine only until its own price is asked for. */
		if (!gpc_list_price("aws", region, t.name, &o.price, &o.price_ms)) {
			gpc_offer_clear(&o);
			continue;
		}
		o.price_source = gpc_strdup("built in");
		o.why_not = gpc_aws_offer_misfit(ask, &t, &o);
		/* The cheapest machine must not be one that most jobs die on. */
		if (!o.why_not && t.memory_bytes < USUAL && !ask->memory_bytes &&
			!ask->instance_type)
			o.why_not = gpc_format("%s has little memory: ask for "
				"memory, or for this type, to get it", t.name);
		*ret_fitting += !o.why_not;
		*gpc_vec_push(to) = o;
	}
}

/* --- what is there now ------------------------------------------------------ */

struct found { char type[32], zone[32]; struct gpc_money price; int64_t at_ms; };
struct finds { struct found *v; size_t n, cap; };

typedef int take_fn(const struct gpc_xml *item, struct found *f,
	struct gpc_error *err);

static int take_place(const struct gpc_xml *item, struct found *f,
	struct gpc_error *err)
{
	(void)err;
	snprintf(f->zone, sizeof(f->zone), "%s", gpc_xml_text(item, "location"));
	return 0;
}

static int take_price(const struct gpc_xml *item, struct found *f,
	struct gpc_error *err)
{
	int r = gpc_money_parse(gpc_xml_text(item, "spotPrice"), "USD",
		"spotPrice", &f->price, err);

	snprintf(f->zone, sizeof(f->zone), "%s",
		gpc_xml_text(item, "availabilityZone"));
	f->at_ms = gpc_wall_ms();
	return r;
}

struct pages { const char *items; take_fn *take; struct finds *to; };

/* Items that have an instanceType. */
static int read_page(void *arg, const struct gpc_xml *page, struct gpc_error *err)
{
	const struct pages *p = arg;
	const struct gpc_xml *x = gpc_xml_get(page, p->items);
	int r = 0;

	for (; r == 0 && x; x = gpc_xml_again(x)) {
		struct found *f = gpc_vec_push(p->to);

		snprintf(f->type, sizeof(f->type), "%s",
			gpc_xml_text(x, "instanceType"));
		r = p->take(x, f, err);
	}
	return r;
}

/* The types of a region that fit, as LIST.1, LIST.2... */
static void add_types(const struct gpc_offers *offers, const char *region,
	const char *list, struct gpc_pairs *to)
{
	size_t n = 0;

	gpc_vec_each(o, offers) {
		gpc_autostr *name = gpc_format("%s.%zu", list, n + 1);

		if (o->why_not || !gpc_eq(o->region, region))
			continue;
		gpc_pairs_add(to, name, o->instance_type);
		n++;
	}
}

static int ask_places(struct gpc_aws *aws, const char *region,
	const struct gpc_offers *fitting, struct finds *to, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	gpc_pairs_add(&p, "LocationType", "availability-zone");
	gpc_pairs_add(&p, "Filter.1.Name", "instance-type");
	add_types(fitting, region, "Filter.1.Value", &p);
	return gpc_aws_ec2_pages(aws, region, "DescribeInstanceTypeOfferings", &p,
		read_page, &(struct pages){ "instanceTypeOfferingSet/item",
		take_place, to }, err);
}

static int ask_prices(struct gpc_aws *aws, const char *region,
	const struct gpc_offers *fitting, struct finds *to, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	char now[GPC_RFC3339_SIZE];

	gpc_pairs_add(&p, "ProductDescription.1", "Linux/UNIX");
	gpc_pairs_add(&p, "StartTime", gpc_format_rfc3339(gpc_wall_ms(), now));
	add_types(fitting, region, "InstanceType", &p);
	return gpc_aws_ec2_pages(aws, region, LIVE, &p, read_page,
		&(struct pages){ "spotPriceHistorySet/item", take_price, to }, err);
}

static const struct found *find(const struct finds *in, const struct found *like)
{
	gpc_vec_each(f, in)
		if (gpc_eq(f->type, like->type) && gpc_eq(f->zone, like->zone))
			return f;
	return NULL;
}

/* An offer for each zone that has the type; wants is one without. */
static size_t spread(const struct gpc_offer *wants, const struct gpc_ask *ask,
	const struct finds *places, const struct finds *prices,
	struct gpc_offers *to)
{
	size_t n = 0;
	struct gpc_machine_type t;

	gpc_vec_each(f, places) {
		const struct found *price = find(prices, f);
		struct gpc_offer *o;

		if (!gpc_eq(f->type, wants->instance_type) ||
			!gpc_machine_type_find("aws", f->type, &t))
			continue;
		o = gpc_vec_push(to);
		gpc_aws_offer_fill(&t, wants->region, market_of(ask), o);
		o->zone = gpc_strdup(f->zone);
		o->price = price ? price->price : wants->price;
		o->price_ms = price ? price->at_ms : wants->price_ms;
		o->price_source = gpc_strdup(price ? LIVE : wants->price_source);
		o->why_not = gpc_offer_misfit(ask, o, true);
		if (!o->why_not && ask->spot && !price)
			o->why_not = gpc_format("no spot price in %s", f->zone);
		gpc_aws_offer_charge(ask, o);
		n++;
	}
	return n;
}

/* Puts the zones' offers in the place of those without one. */
static int look_up(struct gpc_aws *aws, const char *region,
	const struct gpc_ask *ask, struct gpc_offers *offers,
	struct gpc_offers *zoned, struct gpc_error *err)
{
	struct finds places = {0}, prices = {0};
	int r = ask_places(aws, region, offers, &places, err);

	if (r == 0 && ask->spot)
		r = ask_prices(aws, region, offers, &prices, err);
	gpc_vec_each(o, offers) {
		if (r < 0 || o->why_not || !gpc_eq(o->region, region))
			continue;
		o->why_not = spread(o, ask, &places, &prices, zoned) ?
			gpc_strdup("") : gpc_format("%s has no %s", region,
			o->instance_type);
	}
	gpc_vec_free(&places);
	gpc_vec_free(&prices);
	return r;
}

static void move(struct gpc_offers *from, struct gpc_offers *to)
{
	gpc_vec_each(o, from) {
		if (o->why_not && !*o->why_not) /* its zones stand for it */
			continue;
		*gpc_vec_push(to) = *o;
		*o = (struct gpc_offer){0};
	}
}

/* What would fit there cannot be had: so far as is known, the account has not enabled the
 * region. */
static void close_region(const char *region, const struct gpc_error *why,
	struct gpc_offers *offers)
{
	gpc_vec_each(o, offers) {
		if (!o->why_not && gpc_eq(o->region, region))
			o->why_not = gpc_strdup(why->msg);
	}
}

/* ret_asked: whether the region was, and answered. */
static int add_region(struct gpc_aws *aws, const char *region,
	const char *reservations, const struct gpc_ask *ask,
	struct gpc_offers *offers, struct gpc_offers *zoned, bool *ret_asked,
	struct gpc_error *err)
{
	size_t fitting = 0;
	int r = gpc_aws_reserved(aws, region, reservations, ask, zoned, err);

	built_in(region, ask, offers, &fitting);
	if (r == 0 && fitting)
		r = look_up(aws, region, ask, offers, zoned, err);
	*ret_asked |= r == 0 && fitting;
	return r;
}

static int fail_by(const struct gpc_error *why, struct gpc_error *err)
{
	if (err)
		*err = *why;
	return -(int)why->code;
}

int gpc_aws_offers(struct gpc_aws *aws, const struct gpc_strv *regions,
	const char *reservations, const struct gpc_ask *ask, struct gpc_offers *ret_offers,
	struct gpc_error *err)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0}, zoned = {0};
	struct gpc_error closed = {0};
	bool asked = false;

	for (size_t i = 0; i < regions->n; i++) {
		struct gpc_error why = {0};
		int r = add_region(aws, regions->v[i], reservations, ask,
			&offers, &zoned, &asked, &why);

		if (gpc_aws_is_stranger(r, &why)) {
			close_region(regions->v[i], &why, &offers);
			closed = why;
		} else if (r < 0) {
			return fail_by(&why, err);
		}
	}
	if (closed.code && !asked)      /* the keys are wrong */
		return fail_by(&closed, err);
	move(&zoned, ret_offers);
	move(&offers, ret_offers);
	return 0;
}
