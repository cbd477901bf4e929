/* A cloud sells hundreds of types, so only those are told of that are nearest to the
 * wish: what they lack is what a person has to change. */
#include "core/plan_misfit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "provider/gpu_match.h"
#include "provider/provider.h"

#define SHOWN 3                 /* offers, when there are more than FEW */
#define FEW 4
#define OTHER 1000.0            /* distance of what is of another kind */

/* --- names that nobody sells -------------------------------------------------- */

static const char *type_of(const struct gpc_offer *o)
{
	return o->instance_type;
}

static const char *region_of(const struct gpc_offer *o)
{
	return o->region;
}

/* Whether any candidate asks for a name that no offer of its own has. */
static int check_name(const struct gpc_offers *offers, size_t candidate,
	const char *asked, const char *what,
	const char *(*name)(const struct gpc_offer *), struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	gpc_autostr *list = NULL;
	const char *near;

	gpc_vec_each(o, offers) {
		if (gpc_plan_candidate(o) != candidate || !name(o))
			continue;
		if (!asked || gpc_eq(name(o), asked))
			return 0;
		if (!gpc_strv_has(&names, name(o)))
			gpc_strv_add(&names, name(o));
	}
	if (!asked || !names.n)
		return 0;
	near = gpc_nearest(asked, (const char *const *)names.v, names.n);
	list = names.n <= 2 * FEW ? gpc_strv_join(&names, ", ") : NULL;
	gpc_fail(err, GPC_ECONFIG, "no %s that is offered is called %s", what, asked);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else if (list)
		gpc_hint(err, "there is %s", list);
	else
		gpc_hint(err, "`gpucloud offers -o wide` shows what there is");
	return -GPC_ECONFIG;
}

/* --- the nearest ------------------------------------------------------------- */

static double ratio(double want, double have)
{
	return want > 0 && have > 0 ? fabs(log2(have / want)) : 0;
}

static double gpu_distance(const struct gpc_ask *ask, const struct gpc_offer *o)
{
	struct gpc_gpu_info gpu = {
		.memory_bytes = (uint64_t)o->gpu_memory_gb << 30,
	};
	double least = OTHER;

	if (!ask->gpus.n)
		return o->gpus && !ask->instance_type ? OTHER : 0;
	if (!o->gpu)
		return 2 * OTHER;
	snprintf(gpu.name, sizeof(gpu.name), "%s", o->gpu);
	gpc_vec_each(a, &ask->gpus) {
		double d = 10 * ratio(gpc_gpu_ask_count(a), o->gpus);

		if (gpc_gpu_matches(a, &gpu) && d < least)
			least = d;
	}
	return least;
}

static double distance(const struct gpc_spec *spec, const struct gpc_offer *o)
{
	gpc_auto(gpc_ask) struct gpc_ask ask = {0};
	double d;

	gpc_plan_ask(spec, gpc_spec_candidate(spec, gpc_plan_candidate(o)), &ask);
	d = gpu_distance(&ask, o) + ratio(ask.cpus, o->cpus) +
		ratio((double)ask.memory_bytes, (double)o->memory_bytes);
	if (ask.spot != gpc_eq(o->market, "spot"))
		d += OTHER;
	if (ask.instance_type && !gpc_eq(ask.instance_type, o->instance_type))
		d += OTHER;
	return d;
}

struct near { const struct gpc_offer *o; double distance; size_t place; };

static int compare(const void *a, const void *b)
{
	const struct near *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	if (gpc_eq(x->o->price.currency, y->o->price.currency) &&
		x->o->price.micros != y->o->price.micros)
		return x->o->price.micros < y->o->price.micros ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static bool was_refused(const struct gpc_offer *o)
{
	return gpc_json_bool_or(gpc_json_get(o->rest, GPC_PLAN_REFUSED), false);
}

/* What was to be had but for this comes first, and alone. */
static bool any_refused(const struct gpc_offers *offers)
{
	gpc_vec_each(o, offers)
		if (was_refused(o))
			return true;
	return false;
}

/* Each reason once, the nearest first; *ret_n: how many there are. Owned. */
static char *nearest(const struct gpc_spec *spec,
	const struct gpc_offers *offers, size_t *ret_n)
{
	struct near *all = gpc_array(offers->n, sizeof(*all));
	gpc_auto(gpc_strv) struct gpc_strv why = {0}, shown = {0};
	bool refused = any_refused(offers);

	for (size_t i = 0; i < offers->n; i++)
		all[i] = (struct near){ &offers->v[i],
			distance(spec, &offers->v[i]), i };
	qsort(all, offers->n, sizeof(*all), compare);
	for (size_t i = 0; i < offers->n; i++) {
		gpc_autostr *line = gpc_format("%s: %s", all[i].o->provider,
			all[i].o->why_not);

		if (refused == was_refused(all[i].o) && !gpc_strv_has(&why, line))
			gpc_strv_add(&why, line);
	}
	free(all);
	*ret_n = why.n;
	for (size_t i = 0; i < why.n && i < (why.n > FEW ? SHOWN : FEW); i++)
		gpc_strv_add(&shown, why.v[i]);
	return gpc_strv_join(&shown, "; ");
}

static bool only_here(const struct gpc_offers *offers)
{
	gpc_vec_each(o, offers)
		if (!gpc_provider_is_callers(o->provider))
			return false;
	return true;
}

static const char *hint_for(const struct gpc_offers *offers, bool only_price)
{
	if (only_price)
		return "raise resources.max_hourly_cost";
	if (any_refused(offers))
		return "allow other types, regions or markets under resources";
	if (only_here(offers))
		return "ask for less under resources, or for other machines than "
			"this one: --infra aws; `gpucloud offers` shows what it has";
	return "ask for less under resources, or for another infra; "
		"`gpucloud offers -o wide` shows what there is";
}

static int check_names(const struct gpc_spec *spec,
	const struct gpc_offers *offers, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < gpc_spec_candidates(spec, NULL); i++) {
		gpc_auto(gpc_ask) struct gpc_ask ask = {0};

		gpc_plan_ask(spec, gpc_spec_candidate(spec, i), &ask);
		r = check_name(offers, i, ask.region, "region", region_of, err);
		if (r == 0)
			r = check_name(offers, i, ask.instance_type,
				"instance type", type_of, err);
	}
	return r;
}

int gpc_plan_none_fits(const struct gpc_spec *spec,
	const struct gpc_offers *offers, bool only_price, struct gpc_error *err)
{
	gpc_autostr *text = NULL;
	size_t n = 0;
	int r = check_names(spec, offers, err);

	if (r < 0)
		return r;
	text = offers->n ? nearest(spec, offers, &n) : NULL;
	if (n > FEW)
		r = gpc_fail(err, only_price ? GPC_EOVERCAP : GPC_ECAPACITY,
			"no offer fits; nearest: %s; and %zu that fit less", text,
			n - SHOWN);
	else
		r = gpc_fail(err, only_price ? GPC_EOVERCAP : GPC_ECAPACITY,
			"no offer fits: %s", text ? text : "nothing is offered");
	gpc_hint(err, "%s", hint_for(offers, only_price));
	return r;
}
