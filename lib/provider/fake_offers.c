/* The shop of the pretend cloud: three zones of two regions, three types of
 * machine, each on demand and as a spot machine, at prices that differ. A
 * script may sell something else. */
#include "provider/fake_offers.h"

#include "base/str.h"
#include "base/time.h"
#include "provider/offer_fit.h"

static const struct {
	const char *name;
	double cpus;
	uint64_t memory_gb;
	const char *gpu;
	int gpus, gpu_memory_gb;
	int64_t micros, spot_micros;       /* USD per hour in the first zone */
} types[] = {
	{ "cpu-4", 4, 16, NULL, 0, 0, 200000, 60000 },
	{ "a100-1", 12, 96, "A100-80GB", 1, 80, 2000000, 800000 },
	{ "a100-8", 96, 768, "A100-80GB", 8, 80, 16000000, 6400000 },
};
static const struct { const char *region, *zone; int percent; } zones[] = {
	{ "north", "north-a", 100 }, { "north", "north-b", 110 },
	{ "south", "south-a", 90 },
};
enum {
	N_TYPES = sizeof(types) / sizeof(*types),
	N_ZONES = sizeof(zones) / sizeof(*zones),
};

static void usual_offer(size_t type, size_t zone, bool spot,
	struct gpc_offer *o)
{
	int64_t micros = spot ? types[type].spot_micros : types[type].micros;

	o->region = gpc_strdup(zones[zone].region);
	o->zone = gpc_strdup(zones[zone].zone);
	o->instance_type = gpc_strdup(types[type].name);
	o->market = gpc_strdup(spot ? "spot" : "on-demand");
	o->gpu = gpc_strdup(types[type].gpu);
	o->gpus = types[type].gpus;
	o->gpu_memory_gb = types[type].gpu_memory_gb;
	o->cpus = types[type].cpus;
	o->memory_bytes = types[type].memory_gb << 30;
	o->price = (struct gpc_money){ micros * zones[zone].percent / 100, "USD" };
}

static void usual_offers(struct gpc_offers *to)
{
	for (size_t type = 0; type < N_TYPES; type++) {
		for (size_t zone = 0; zone < N_ZONES; zone++) {
			usual_offer(type, zone, false, gpc_vec_push(to));
			usual_offer(type, zone, true, gpc_vec_push(to));
		}
	}
}

static int scripted_offers(const struct gpc_json *list, struct gpc_offers *to,
	struct gpc_error *err)
{
	const struct gpc_json *x;

	for (x = gpc_json_first(list); x; x = gpc_json_next(x)) {
		gpc_autoptr(gpc_json) *j = gpc_json_copy(x);
		int r;

		if (gpc_json_is_object(j))
			gpc_json_set_str(j, "provider", "fake");
		r = gpc_offer_read(j, gpc_vec_push(to), err);
		if (r < 0) {
			to->n--;
			return gpc_wrap(err, r, "offers of the script");
		}
	}
	return 0;
}

int gpc_fake_offers(const struct gpc_json *list, const struct gpc_ask *ask,
	struct gpc_offers *ret_offers, struct gpc_error *err)
{
	size_t first = ret_offers->n;

	if (list) {
		int r = scripted_offers(list, ret_offers, err);

		if (r < 0)
			return r;
	} else {
		usual_offers(ret_offers);
	}
	for (size_t i = first; i < ret_offers->n; i++) {
		struct gpc_offer *o = &ret_offers->v[i];

		gpc_set_str(&o->provider, "fake");
		if (!o->market)
			o->market = gpc_strdup("on-demand");
		if (!o->instance_type)
			o->instance_type = gpc_strdup("fake");
		if (!o->price_source)
			o->price_source = gpc_strdup(list ? "script" : "built in");
		if (!o->price_ms)
			o->price_ms = gpc_wall_ms();
		if (!o->why_not)
			o->why_not = gpc_offer_misfit(ask, o, false);
	}
	return 0;
}
