/* Offers and asks as plain data. */
#include "model/offer.h"

#include "dep/bind.h"

static const struct gpc_bind fields[] = {
	GPC_BIND(gpc_offer, provider, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_offer, region, STR),
	GPC_BIND(gpc_offer, zone, STR),
	GPC_BIND(gpc_offer, instance_type, STR),
	GPC_BIND(gpc_offer, market, STR),
	GPC_BIND(gpc_offer, gpu, STR),
	GPC_BIND(gpc_offer, gpus, INT),
	GPC_BIND(gpc_offer, gpu_memory_gb, INT),
	/* Bytes of memory fit in 63 bits. */
	GPC_BIND(gpc_offer, memory_bytes, I64),
	GPC_BIND(gpc_offer, price, MONEY),
	GPC_BIND(gpc_offer, tariff, OBJECT, .sub = gpc_tariff_fields),
	GPC_BIND(gpc_offer, price_source, STR),
	GPC_BIND(gpc_offer, price_ms, I53),
	GPC_BIND(gpc_offer, why_not, STR),
	GPC_BIND(gpc_offer, rest, REST),
	GPC_BIND_LAST
};

const char *const gpc_interconnects[] = { "none", "pcie", "nvlink", "nvswitch", NULL };

struct gpc_json *gpc_offer_write(const struct gpc_offer *o)
{
	struct gpc_json *j = gpc_bind_write(fields, o);

	/* CPUs may be fractions, for which tables have no kind. */
	if (o->cpus > 0)
		gpc_json_set(j, "cpus", gpc_json_number(o->cpus));
	return j;
}

int gpc_offer_read(const struct gpc_json *j, struct gpc_offer *ret_o,
	struct gpc_error *err)
{
	struct gpc_offer o = {0};
	int r = gpc_bind_read(j, fields, &o, err);

	if (r < 0)
		return r;
	o.cpus = gpc_json_number_or(gpc_json_get(o.rest, "cpus"), 0);
	if (o.rest)
		gpc_json_unset(o.rest, "cpus");
	*ret_o = o;
	return 0;
}

enum gpc_arch gpc_offer_arch(const struct gpc_offer *o)
{
	const char *name = gpc_json_get_str(o->rest, GPC_OFFER_ARCH);
	enum gpc_arch a = gpc_arch_self();

	if (name)
		(void)gpc_arch_find(name, &a);
	return a;
}

void gpc_offer_clear(struct gpc_offer *o)
{
	gpc_bind_clear(fields, o);
	o->cpus = 0;
}

void gpc_offers_clear(struct gpc_offers *o)
{
	gpc_vec_each(x, o)
		gpc_offer_clear(x);
	gpc_vec_free(o);
}

void gpc_ask_clear(struct gpc_ask *a)
{
	gpc_vec_each(g, &a->gpus) {
		free(g->name);
		free(g->vendor);
	}
	gpc_vec_free(&a->gpus);
	free(a->instance_type);
	free(a->region);
	free(a->zone);
	*a = (struct gpc_ask){0};
}
