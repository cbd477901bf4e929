/* Nothing is bought here: what a user has reserved and names, is used first. */
#include "provider/aws_reserved.h"

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/aws_offers.h"
#include "catalog/types.h"
#include "provider/offer_fit.h"

struct reading {
	const char *region, *wanted;
	const struct gpc_ask *ask;
	struct gpc_offers *to;
};

static bool is_wanted(const char *list, const char *id)
{
	struct gpc_str rest = gpc_str_of(list), part;

	while (gpc_str_split(&rest, ',', &part))
		if (gpc_str_eq(gpc_str_trim(part), id))
			return true;
	return false;
}

static char *misfit(const struct gpc_xml *x, const struct gpc_ask *ask,
	const struct gpc_machine_type *t, const struct gpc_offer *o)
{
	const char *state = gpc_xml_text(x, "state");
	const char *id = gpc_xml_text(x, "capacityReservationId");
	int64_t room = 0;

	if (gpc_parse_i64(gpc_xml_text(x, "availableInstanceCount"), 0,
		1 << 20, "availableInstanceCount", &room, NULL) < 0)
		room = 0;
	if (!gpc_eq(state, "active"))
		return gpc_format("%s is %.40s", id, state);
	if (room < ask->num_nodes)
		return gpc_format("%s has room for %lld", id, (long long)room);
	return gpc_aws_offer_misfit(ask, t, o);
}

static void add(const struct reading *rd, const struct gpc_xml *x)
{
	const char *id = gpc_xml_text(x, "capacityReservationId");
	int64_t until_ms = 0;
	struct gpc_machine_type t;
	struct gpc_offer *o;

	if (!is_wanted(rd->wanted, id) ||
		!gpc_machine_type_find("aws", gpc_xml_text(x, "instanceType"), &t))
		return;
	o = gpc_vec_push(rd->to);
	gpc_aws_offer_fill(&t, rd->region, "reserved", o);
	o->zone = gpc_strdup(gpc_xml_text(x, "availabilityZone"));
	o->price = (struct gpc_money){ 0, "USD" };
	o->price_source = gpc_format("%s is paid for", id);
	o->price_ms = gpc_wall_ms();
	gpc_json_set_str(o->rest, "reservation", id);
	if (gpc_eq(gpc_xml_text(x, "reservationType"), "capacity-block"))
		gpc_json_set_bool(o->rest, "block", true);
	if (gpc_parse_rfc3339(gpc_xml_text(x, "endDate"), &until_ms, NULL) == 0)
		gpc_json_set_int(o->rest, "until_ms", until_ms);
	o->why_not = misfit(x, rd->ask, &t, o);
	gpc_aws_offer_charge(rd->ask, o);
}

static int read_page(void *arg, const struct gpc_xml *page, struct gpc_error *err)
{
	const struct gpc_xml *x = gpc_xml_get(page, "capacityReservationSet/item");

	(void)err;
	for (; x; x = gpc_xml_again(x))
		add(arg, x);
	return 0;
}

int gpc_aws_reserved(struct gpc_aws *aws, const char *region,
	const char *wanted, const struct gpc_ask *ask, struct gpc_offers *to,
	struct gpc_error *err)
{
	struct reading rd = { region, wanted, ask, to };
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	if (!wanted || !*wanted)
		return 0;
	return gpc_aws_ec2_pages(aws, region, "DescribeCapacityReservations", &p,
		read_page, &rd, err);
}

static bool is_found(const struct gpc_offers *found, const char *id)
{
	gpc_vec_each(o, found)
		if (gpc_eq(gpc_json_get_str(o->rest, "reservation"), id))
			return true;
	return false;
}

void gpc_aws_reserved_tell(const char *wanted, const struct gpc_offers *found,
	const struct gpc_strv *regions, const struct gpc_log *log)
{
	struct gpc_str rest = gpc_str_of(wanted ? wanted : ""), part;
	gpc_autostr *where = gpc_strv_join(regions, ", ");

	while (gpc_str_split(&rest, ',', &part)) {
		struct gpc_str id = gpc_str_trim(part);
		gpc_autostr *name = gpc_str_printable(id.ptr, id.len);

		if (*name && !is_found(found, name))
			gpc_log(log, GPC_WARN, "aws.reservations: %s is not in %s",
				name, where);
	}
}
