/* The shop of the pretend cloud: three zones of two regions, three types of
 * machine, each on demand and as a spot machine, at prices that differ. A
 * script may sell something else. */
#include "provider/fake_offers.h"

#include <stdio.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/gpu_match.h"

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

/* --- does it fit? ----------------------------------------------------------- */

static bool gpus_fit(const struct gpc_ask *ask, const struct gpc_offer *o)
{
	struct gpc_gpu_info gpu = {
		.memory_bytes = (uint64_t)o->gpu_memory_gb << 30,
	};

	if (ask->gpus.n == 0)
		return true;
	if (!o->gpu)
		return false;
	snprintf(gpu.name, sizeof(gpu.name), "%s", o->gpu);
	gpc_vec_each(a, &ask->gpus) {
		if (gpc_gpu_matches(a, &gpu) && o->gpus >= gpc_gpu_ask_count(a))
			return true;
	}
	return false;
}

static bool place_fits(const char *want, const char *have)
{
	return !want || gpc_eq(want, "*") || gpc_eq(want, have);
}

/* The first thing that is in the way, in words; NULL when it fits. */
static char *why_not(const struct gpc_ask *ask, const struct gpc_offer *o)
{
	char want[32], have[32];

	if (ask->spot != gpc_eq(o->market, "spot"))
		return gpc_format("it is sold %s, and use_spot is %s",
			ask->spot ? "on demand" : "as a spot machine",
			ask->spot ? "set" : "not set");
	if (!gpus_fit(ask, o))
		return gpc_format("%s has %d GPUs%s%s", o->instance_type,
			o->gpus, o->gpu ? " " : "", o->gpu ? o->gpu : "");
	if (ask->cpus > o->cpus)
		return gpc_format("asks for %g CPUs; %s has %g", ask->cpus,
			o->instance_type, o->cpus);
	if (ask->memory_bytes > o->memory_bytes)
		return gpc_format("asks for %s of memory; %s has %s",
			gpc_format_size(ask->memory_bytes, want, sizeof(want)),
			o->instance_type,
			gpc_format_size(o->memory_bytes, have, sizeof(have)));
	if (ask->instance_type && !gpc_eq(ask->instance_type, o->instance_type))
		return gpc_format("asks for instance type %s; this is %s",
			ask->instance_type, o->instance_type);
	if (!place_fits(ask->region, o->region))
		return gpc_format("asks for region %s; this is %s", ask->region,
			o->region);
	if (!place_fits(ask->zone, o->zone))
		return gpc_format("asks for zone %s; this is %s", ask->zone,
			o->zone);
	return NULL;
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
			o->why_not = why_not(ask, o);
	}
	return 0;
}
