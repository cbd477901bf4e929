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

static int interconnect_of(const char *name)
{
	for (int i = 0; gpc_interconnects[i]; i++)
		if (gpc_eq(name, gpc_interconnects[i]))
			return i;
	return -1;
}

/* What is not told may be there, but nobody can count on it. */
static char *link_misfit(const struct gpc_ask *ask, const struct gpc_offer *o)
{
	const char *has = gpc_json_get_str(o->rest, GPC_OFFER_INTERCONNECT);
	const char *rdma = gpc_json_get_str(o->rest, GPC_OFFER_RDMA);

	if (ask->interconnect && interconnect_of(has) < ask->interconnect)
		return gpc_format("asks for %s between GPUs; %s has %s",
			gpc_interconnects[ask->interconnect], o->instance_type,
			has ? has : "what it does not tell");
	if (ask->rdma && (!rdma || gpc_eq(rdma, "none")))
		return gpc_format("asks for RDMA between nodes; %s has none",
			o->instance_type);
	if (ask->only_archs && !(ask->only_archs & GPC_ARCH_BIT(gpc_offer_arch(o))))
		return gpc_format("asks for another architecture; %s is %s",
			o->instance_type, gpc_arch_names[gpc_offer_arch(o)]);
	return NULL;
}

char *gpc_offer_misfit(const struct gpc_ask *ask, const struct gpc_offer *o,
	bool exact)
{
	char *why;

	if (ask->spot != gpc_eq(o->market, "spot"))
		return gpc_format("it is sold %s, and use_spot is %s",
			ask->spot ? "on demand" : "as a spot machine",
			ask->spot ? "set" : "not set");
	if (!gpus_fit(ask, o, exact))
		return gpc_format("%s has %d GPU%s%s%s", o->instance_type,
			o->gpus, o->gpus == 1 ? "" : "s", o->gpu ? " " : "", o->gpu ? o->gpu : "");
	why = size_misfit(ask, o, exact);
	if (!why)
		why = link_misfit(ask, o);
	if (why)
		return why;
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
