/* This machine as the one offer of the provider local: CPUs that are online,
 * memory, GPUs by NVML, the price that the user set. */
#include "provider/local_machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/nvml.h"
#include "provider/gpu_match.h"

struct gpus {
	struct gpc_gpu_info v[GPC_LOCAL_MAX_GPUS];
	size_t n;
	const char *none;             /* why there is none */
};

static void find_gpus(struct gpus *g)
{
	gpc_autoptr(gpc_nvml) *nvml = NULL;
	size_t count;

	memset(g, 0, sizeof(*g));
	g->none = "no NVIDIA driver";
	if (gpc_nvml_open(&nvml, NULL) < 0)
		return;
	g->none = "the driver shows no GPU";
	count = gpc_nvml_count(nvml);
	for (size_t i = 0; i < count && g->n < GPC_LOCAL_MAX_GPUS; i++)
		if (gpc_nvml_info(nvml, i, &g->v[g->n], NULL) == 0)
			g->n++;
}

static char *ask_text(const struct gpc_gpu_ask *a)
{
	int n = gpc_gpu_ask_count(a);

	if (!a->name)
		return gpc_format("%d GPU%s with %d GB%s", n, n == 1 ? "" : "s",
			a->memory_gb, a->memory_at_least ? " or more" : "");
	return gpc_format("%d GPU%s %s", n, n == 1 ? "" : "s", a->name);
}

static char *have_text(const struct gpus *g)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};

	if (g->n == 0)
		return gpc_format("none (%s)", g->none);
	for (size_t i = 0; i < g->n; i++) {
		size_t same = 1;

		while (i + same < g->n
			&& gpc_eq(g->v[i].name, g->v[i + same].name))
			same++;
		gpc_strv_addf(&words, "%zu %s", same, g->v[i].name);
		i += same - 1;
	}
	return gpc_strv_join(&words, ", ");
}

/* The first kind of GPU that is here in sufficient number for this wish. */
static const struct gpc_gpu_info *match(const struct gpus *g,
	const struct gpc_gpu_ask *a)
{
	for (size_t i = 0; i < g->n; i++) {
		int same = 0;

		if (!gpc_gpu_matches(a, &g->v[i]))
			continue;
		for (size_t k = 0; k < g->n; k++)
			same += gpc_eq(g->v[k].name, g->v[i].name);
		if (same >= gpc_gpu_ask_count(a))
			return &g->v[i];
	}
	return NULL;
}

static void fit_gpus(const struct gpc_ask *ask, struct gpc_offer *o)
{
	gpc_auto(gpc_strv) struct gpc_strv wishes = {0};
	gpc_autostr *wanted = NULL, *have = NULL;
	struct gpus *g;

	if (ask->gpus.n == 0)
		return;
	g = gpc_alloc(sizeof(*g));
	find_gpus(g);
	gpc_vec_each(a, &ask->gpus) {
		const struct gpc_gpu_info *found = match(g, a);

		if (found) {
			o->gpu = gpc_strdup(found->name);
			o->gpus = gpc_gpu_ask_count(a);
			o->gpu_memory_gb = gpc_gpu_memory_gb(found);
			free(g);
			return;
		}
		gpc_strv_take(&wishes, ask_text(a));
	}
	wanted = gpc_strv_join(&wishes, " or ");
	have = have_text(g);
	o->why_not = gpc_format("asks for %s; this machine has %s", wanted, have);
	free(g);
}

static uint64_t ram_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* A machine sold as "16 GB" shows a little less to its programs. */
static bool has_memory(uint64_t have, uint64_t want)
{
	return have >= want - want / 16;
}

static void fit_rest(const struct gpc_ask *ask, struct gpc_offer *o)
{
	char a[32], b[32];

	if (o->why_not)
		return;
	if (ask->cpus > o->cpus)
		o->why_not = gpc_format("asks for %g CPUs; this machine has %g",
			ask->cpus, o->cpus);
	else if (!has_memory(o->memory_bytes, ask->memory_bytes))
		o->why_not = gpc_format("asks for %s of memory; this machine has %s",
			gpc_format_size(ask->memory_bytes, a, sizeof(a)),
			gpc_format_size(o->memory_bytes, b, sizeof(b)));
	else if (ask->instance_type && !gpc_eq(ask->instance_type, "local"))
		o->why_not = gpc_format("asks for instance type %s; this machine "
			"is called local", ask->instance_type);
	else if (ask->region && !gpc_eq(ask->region, "local")
		&& !gpc_eq(ask->region, "*"))
		o->why_not = gpc_format("asks for region %s; this machine has none",
			ask->region);
	else if (ask->max_hourly.currency[0]
		&& gpc_eq(ask->max_hourly.currency, o->price.currency)
		&& gpc_money_cmp(o->price, ask->max_hourly) > 0)
		o->why_not = gpc_strdup("costs more than max_hourly_cost");
}

void gpc_local_offer(const struct gpc_ask *ask, struct gpc_money per_hour,
	struct gpc_offer *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	o->provider = gpc_strdup("local");
	o->instance_type = gpc_strdup("local");
	o->market = gpc_strdup(ask->spot ? "spot" : "on-demand");
	o->cpus = cpus > 0 ? (double)cpus : 1;
	o->memory_bytes = ram_bytes();
	o->price = per_hour;
	o->price_source = gpc_strdup(per_hour.micros
		? "local.price_per_hour" : "free");
	o->price_ms = gpc_wall_ms();
	fit_gpus(ask, o);
	fit_rest(ask, o);
}

void gpc_local_gpus(const char *name, bool fits[GPC_LOCAL_MAX_GPUS])
{
	gpc_autoptr(gpc_nvml) *nvml = NULL;
	size_t count;

	if (gpc_nvml_open(&nvml, NULL) < 0)
		return;
	count = gpc_nvml_count(nvml);
	for (size_t i = 0; i < count && i < GPC_LOCAL_MAX_GPUS; i++) {
		struct gpc_gpu_info info;

		fits[i] = gpc_nvml_info(nvml, i, &info, NULL) == 0
			&& (!name || gpc_eq(info.name, name));
	}
}
