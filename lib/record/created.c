/* The price that a node was bought at is its rate from the first moment, so that no
 * crash leaves one that seems to cost nothing; a provider that reads another rate back
 * has the event `rate` for it. */
#include "record/created.h"

#include "base/time.h"
#include "dep/bind.h"
#include "record/recover.h"

#define CLOCK_MS 60000           /* that clocks may differ */

static struct gpc_json *money_json(struct gpc_money m)
{
	struct gpc_json *j = gpc_json_object();
	char text[GPC_MONEY_SIZE];

	gpc_json_set_str(j, "amount", gpc_money_decimal(m, text));
	gpc_json_set_str(j, "currency", m.currency);
	return j;
}

/* A repeat may come long after what it repeats. The provider's clock is believed if
 * it is one of our time. */
static void set_launched(struct gpc_json *n, const struct gpc_intent *intent,
	const struct gpc_instance *x)
{
	int64_t now = gpc_wall_ms();

	if (x->created_ms > intent->at_ms - CLOCK_MS &&
		x->created_ms < now + CLOCK_MS)
		gpc_json_set_int(n, "created_ms", x->created_ms < now ?
			x->created_ms : now);
}

struct gpc_json *gpc_created_node(const struct gpc_launch *l,
	const struct gpc_intent *intent, const struct gpc_instance *x, int rank)
{
	struct gpc_json *n = gpc_json_object();
	struct gpc_money rate = l->offer.tariff.parts.n ?
		gpc_tariff_hourly(&l->offer.tariff) : l->offer.price;

	gpc_json_set_int(n, "rank", rank);
	gpc_json_set_str(n, "id", x->id);
	if (x->address)
		gpc_json_set_str(n, "address", x->address);
	gpc_json_set_int(n, "expires_ms",
		x->expires_ms ? x->expires_ms : l->expires_ms);
	gpc_json_set_str(n, "provider", l->provider);
	gpc_json_set_str(n, GPC_EXPIRES_REASON,
		gpc_json_get_str(l->rest, GPC_EXPIRES_REASON));
	gpc_json_set_str(n, "offer", l->offer.instance_type);
	if (rate.micros > 0)
		gpc_json_set(n, "rate", money_json(rate));
	set_launched(n, intent, x);
	return n;
}

struct gpc_json *gpc_created(const struct gpc_launch *l,
	const struct gpc_intent *intent, struct gpc_json *nodes)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "intent", intent->n);
	gpc_json_set(data, "nodes", nodes);
	if (l->offer.tariff.parts.n)
		gpc_json_set(data, "tariff", gpc_bind_write(gpc_tariff_fields,
			&l->offer.tariff));
	return data;
}
