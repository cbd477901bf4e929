/* One rule for all clouds, so that a spec means the same on each. */
#include "provider/offer_fit.h"

#include <stdio.h>

#include "base/parse.h"
#include "base/str.h"
#include "provider/gpu_match.h"

static bool gpus_fit(const struct gpc_ask *ask, const struct gpc_offer *o,
	bool exact)
{
	struct gpc_gpu_info gpu = {
		.memory_bytes = (uint64_t)o->gpu_memory_gb << 30,
	};

	if (ask->gpus.n == 0)
		return !exact || ask->instance_type || o->gpus == 0;
	if (!o->gpu)
		return false;
	snprintf(gpu.name, sizeof(gpu.name), "%s", o->gpu);
	gpc_vec_each(a, &ask->gpus) {
		int n = gpc_gpu_ask_count(a);

		if (gpc_gpu_matches(a, &gpu) &&
			(exact ? o->gpus == n : o->gpus >= n))
			return true;
	}
	return false;
}

static bool place_fits(const char *want, const char *have)
{
	return !want || gpc_eq(want, "*") || !have || gpc_eq(want, have);
}

static bool amount_fits(double want, double have, bool at_least)
{
	return want <= 0 || (at_least ? have >= want : have == want);
}

static char *size_misfit(const struct gpc_ask *ask, const struct gpc_offer *o,
	bool exact)
{
	char want[32], have[32];

	if (!amount_fits(ask->cpus, o->cpus, !exact || ask->cpus_at_least))
		return gpc_format("asks for %g CPUs; %s has %g", ask->cpus,
			o->instance_type, o->cpus);
	if (amount_fits((double)ask->memory_bytes, (double)o->memory_bytes,
		!exact || ask->memory_at_least))
		return NULL;
	return gpc_format("asks for %s of memory; %s has %s",
		gpc_format_size(ask->memory_bytes, want, sizeof(want)),
		o->instance_type,
		gpc_format_size(o->memory_bytes, have, sizeof(have)));
}

char *gpc_offer_misfit(const struct gpc_ask *ask, const struct gpc_offer *o,
	bool exact)
{
	char *size;

	if (ask->spot != gpc_eq(o->market, "spot"))
		return gpc_format("it is sold %s, and use_spot is %s",
			ask->spot ? "on demand" : "as a spot machine",
			ask->spot ? "set" : "not set");
	if (!gpus_fit(ask, o, exact))
		return gpc_format("%s has %d GPU%s%s%s", o->instance_type,
			o->gpus, o->gpus == 1 ? "" : "s", o->gpu ? " " : "", o->gpu ? o->gpu : "");
	size = size_misfit(ask, o, exact);
	if (size)
		return size;
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
