/* From a spec to an offer: each candidate is asked of its provider, what does
 * not fit keeps its reason, and what fits is ordered by price. */
#include "core/plan.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "core/plan_misfit.h"
#include "core/vendor.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)
#define RESERVED_MARGIN_MS ((int64_t)35 * 60 * 1000)
#define DEFAULT_PROVIDER "local"

void gpc_plan_clear(struct gpc_plan *p)
{
	gpc_offers_clear(&p->offers);
	gpc_bill_clear(&p->hourly_bill);
	gpc_bill_clear(&p->at_most_bill);
	*p = (struct gpc_plan) {0};
}

/* Part i of PROVIDER/REGION/ZONE; NULL when it says nothing. */
static char *infra_part(const char *infra, int i)
{
	struct gpc_str rest = gpc_str_of(infra), part;

	while (gpc_str_split(&rest, '/', &part)) {
		if (i-- > 0)
			continue;
		return part.len == 0 || gpc_str_eq(part, "*") ? NULL :
			gpc_strndup(part.ptr, part.len);
	}
	return NULL;
}

void gpc_plan_ask(const struct gpc_spec *spec, const struct gpc_resources *r,
	struct gpc_ask *ask)
{
	*ask = (struct gpc_ask) {
		.cpus = r->cpus,
		.cpus_at_least = r->cpus_at_least,
		.memory_bytes = r->memory_bytes,
		.memory_at_least = r->memory_at_least,
		.disk_bytes = r->disk_bytes,
		.instance_type = gpc_strdup(r->instance_type),
		.region = infra_part(r->infra, 1),
		.zone = infra_part(r->infra, 2),
		.spot = r->use_spot,
		.max_hourly = r->max_hourly_cost,
		.num_nodes = spec->num_nodes,
	};
	gpc_vec_each(g, &r->gpus) {
		struct gpc_gpu_ask *a = gpc_vec_push(&ask->gpus);

		a->name = gpc_strdup(g->name);
		a->vendor = gpc_strdup(g->vendor);
		a->count = g->count;
		a->memory_gb = g->memory_gb;
		a->memory_at_least = g->memory_at_least;
	}
}

static int check_keeps(struct gpc_session *s, const struct gpc_spec *spec,
	const char *provider, struct gpc_error *err)
{
	if (spec->recovery.by != GPC_SPEC_BY_CLOUD)
		return 0;
	if (s->store && gpc_store_of_nodes(s->store) != s->store)
		return gpc_fail(err, GPC_EUNSUPPORTED, "recovery.by: cloud: the "
			"job's nodes write its journal, and they do not reach "
			"that of %s", s->store->url);
	if (gpc_provider_caps(provider) & GPC_PROVIDER_KEEPS)
		return 0;
	gpc_fail(err, GPC_EUNSUPPORTED, "recovery.by: cloud: \"%s\" starts no "
		"machines again by itself", provider);
	gpc_hint(err, "name infra: aws, or leave recovery.by out: then a "
		"supervisor recovers the job");
	return -GPC_EUNSUPPORTED;
}

/* A machine elsewhere has to reach the store. That is seen from its URL, before any
 * cloud is asked. */
static int check_reach(struct gpc_session *s, const char *provider,
	struct gpc_error *err)
{
	gpc_autostr *url = NULL, *region = NULL;

	if (!s->store || gpc_provider_caps(provider) & GPC_PROVIDER_THIS_HOST)
		return 0;
	return gpc_store_address(gpc_store_of_nodes(s->store), "store.json", &url,
		&region, err);
}

static int ask_provider(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_resources *r, struct gpc_offers *offers,
	struct gpc_error *err)
{
	gpc_auto(gpc_ask) struct gpc_ask ask = {0};
	gpc_autostr *name = gpc_resources_provider(r);
	struct gpc_vendor *vendor = NULL;
	struct gpc_offers found = {0};
	int rc;

	if (!name)
		name = gpc_strdup(DEFAULT_PROVIDER);
	rc = check_keeps(s, spec, name, err);
	if (rc == 0)
		rc = check_reach(s, name, err);
	if (rc == 0)
		rc = gpc_session_vendor(s, name, &vendor, err);
	if (rc < 0)
		return rc;
	gpc_plan_ask(spec, r, &ask);
	ask.archs = s->archs;
	rc = vendor->provider->ops->offers(vendor->provider, &ask, &found, err);
	if (rc < 0)
		return rc;
	gpc_vec_each(o, &found)
		*gpc_vec_push(offers) = *o;
	gpc_vec_free(&found);
	return 0;
}

char *gpc_plan_offer_key(const struct gpc_offer *o)
{
	return gpc_format("%s/%s/%s/%s/%s", o->provider,
		o->region ? o->region : "", o->zone ? o->zone : "",
		o->instance_type ? o->instance_type : "",
		o->market ? o->market : "");
}

char *gpc_plan_limit_key(const struct gpc_offer *o)
{
	const char *group = gpc_json_get_str(o->rest, "limit");

	return gpc_format("limit %s/%s/%s/%s", o->provider,
		o->region ? o->region : "", o->market ? o->market : "",
		group ? group : "");
}

char *gpc_plan_region_key(const struct gpc_offer *o)
{
	return gpc_format("region %s/%s", o->provider, o->region ? o->region : "");
}

/* What costs something in another currency cannot be known to be under a cap. */
static bool over_cap(const struct gpc_offer *o, struct gpc_money cap)
{
	return cap.currency[0] && o->price.micros > 0 &&
		(!gpc_eq(o->price.currency, cap.currency) ||
		o->price.micros > cap.micros);
}

/* Which alternative of the spec an offer is for goes with it. */
static void mark_candidate(struct gpc_offers *offers, size_t first, size_t i)
{
	for (size_t k = first; k < offers->n; k++) {
		struct gpc_offer *o = &offers->v[k];

		if (!o->rest)
			o->rest = gpc_json_object();
		gpc_json_set_int(o->rest, "candidate", (int64_t)i);
	}
}

size_t gpc_plan_candidate(const struct gpc_offer *o)
{
	int64_t i = gpc_json_get_int(o->rest, "candidate", 0);

	return i > 0 ? (size_t)i : 0;
}

unsigned gpc_plan_archs(const struct gpc_plan *p)
{
	unsigned archs = 0;

	for (size_t i = 0; i < p->n_fitting; i++)
		archs |= GPC_ARCH_BIT(gpc_offer_arch(&p->offers.v[i]));
	return archs;
}

/* Why this one, or all under its limit or of its region, was refused just now; or
 * NULL. */
static const char *refusal(const struct gpc_pairs *refused,
	const struct gpc_offer *o)
{
	gpc_autostr *key = gpc_plan_offer_key(o);
	gpc_autostr *limit = gpc_plan_limit_key(o);
	gpc_autostr *region = gpc_plan_region_key(o);

	if (!refused || !refused->n)
		return NULL;
	return gpc_pairs_has(refused, key) ? gpc_pairs_get(refused, key) :
		gpc_pairs_has(refused, limit) ? gpc_pairs_get(refused, limit) :
		gpc_pairs_get(refused, region);
}

/* Sets why_not of what does not fit the money or the images, or was refused just
 * now. */
static bool sift(struct gpc_offers *offers, size_t first,
	const struct gpc_resources *c, const struct gpc_pairs *refused)
{
	bool by_price = false;

	for (size_t i = first; i < offers->n; i++) {
		struct gpc_offer *o = &offers->v[i];
		const char *why;

		if (o->why_not)
			continue;
		if (over_cap(o, c->max_hourly_cost)) {
			by_price = true;
			gpc_set_str(&o->why_not,
				"costs more than resources.max_hourly_cost");
		} else if (c->image_ids.n && o->region &&
			!gpc_pairs_has(&c->image_ids, o->region)) {
			o->why_not = gpc_format("resources.image_id names no "
				"image for %s", o->region);
		} else if ((why = refusal(refused, o))) {
			gpc_set_str(&o->why_not, why);
			gpc_json_set_bool(o->rest, GPC_PLAN_REFUSED, true);
		}
	}
	return by_price;
}

/* Stable: fitting ones first, by price; alternatives whose order was given keep it. */
static void sort_offers(struct gpc_offers *offers, bool ordered,
	size_t *ret_fitting)
{
	size_t fitting = 0;

	for (size_t i = 0; i < offers->n; i++) {
		struct gpc_offer o = offers->v[i];
		size_t at = i;

		if (o.why_not)
			continue;
		at = fitting++;
		while (at > 0 && offers->v[at - 1].price.micros > o.price.micros &&
			(!ordered || gpc_plan_candidate(&offers->v[at - 1]) ==
			gpc_plan_candidate(&o)))
			at--;
		memmove(offers->v + at + 1, offers->v + at,
			(i - at) * sizeof(o));
		offers->v[at] = o;
	}
	*ret_fitting = fitting;
}

static bool is_free(const char *provider)
{
	return gpc_provider_caps(provider) & GPC_PROVIDER_FREE;
}

struct gpc_money gpc_plan_offer_hourly(const struct gpc_offer *o)
{
	return o->tariff.parts.n ? gpc_tariff_hourly(&o->tariff) : o->price;
}

/* What all nodes of the first offer cost for so long. */
static struct gpc_money charge(const struct gpc_plan *p, int64_t ms,
	struct gpc_bill *to)
{
	const struct gpc_tariff *t = &p->offers.v[0].tariff;
	struct gpc_money sum = gpc_money_for(p->hourly, ms);

	if (t->parts.n)
		return gpc_tariff_charge(t, ms, p->num_nodes, false, to);
	if (sum.micros > 0)
		gpc_bill_add(to, GPC_TARIFF_MACHINE, sum);
	return sum;
}

/* What was reserved ends when it ends; half an hour before, the cloud takes it back
 * from a block. */
static void bound_offer(struct gpc_plan *p)
{
	int64_t until = gpc_json_get_int(p->offers.v[0].rest, "until_ms", 0);
	int64_t left = until - RESERVED_MARGIN_MS - gpc_wall_ms();

	if (!until || (p->life_ms && p->life_ms <= left))
		return;
	p->life_ms = left > 1 ? left : 1;
	p->end_by = GPC_END_LIFETIME;
}

/* The least of what the spec says, what the money buys, and (for machines that
 * are paid by the hour) a day. A machine that costs nothing has no default for
 * setup either: without limits.setup only the agent counts the time. */
static void bound_life(const struct gpc_spec *spec, struct gpc_plan *p,
	struct gpc_money spent, int64_t ran_ms)
{
	const struct gpc_spec_limits *l = &spec->limits;
	bool by_hour = !is_free(p->offers.v[0].provider);

	p->free = p->hourly.micros == 0;
	if (by_hour) {
		p->life_ms = spec->life_ms ? spec->life_ms : DAY_MS;
		p->end_by = GPC_END_LIFETIME;
	}
	if (l->time_ms > 0 && (by_hour || !p->free || l->setup_ms > 0)) {
		int64_t left = l->time_ms > ran_ms ? l->time_ms - ran_ms : 0;
		int64_t grace = spec->checkpoint.grace_ms;
		int64_t ms = left + l->setup_ms + 60000 +
			(grace ? grace : GPC_SPEC_GRACE_DEFAULT_MS);

		if (l->setup_ms == 0)
			ms += GPC_SPEC_SETUP_DEFAULT_MS;
		if (p->life_ms == 0 || ms < p->life_ms) {
			p->life_ms = ms;
			p->end_by = GPC_END_TIME;
		}
	}
	bound_offer(p);
	if (l->cost.currency[0] && p->hourly.micros > 0) {
		struct gpc_money left = l->cost;
		int64_t ms;

		left.micros -= spent.micros;
		ms = left.micros > 0 ? gpc_money_lasts(left, p->hourly) : 0;
		if (p->life_ms == 0 || ms < p->life_ms) {
			p->life_ms = ms;
			p->end_by = GPC_END_COST;
		}
	}
	if (p->life_ms > 0)
		p->at_most = charge(p, p->life_ms, &p->at_most_bill);
}

static int check_place(const char *field, const char *path,
	struct gpc_error *err)
{
	if (!path || *path != '/')
		return 0;
	gpc_fail(err, GPC_ECONFIG, "%s: %s lies outside the job's home, which is "
		"all that a job on this machine may change", field, path);
	gpc_hint(err, "name it relative to the workdir, or below ~/");
	return -GPC_ECONFIG;
}

/* The agent would refuse these too, artifacts even after the job has run. */
static int check_places(const struct gpc_spec *spec, const char *provider,
	struct gpc_error *err)
{
	int r = 0;

	if (!(gpc_provider_caps(provider) & GPC_PROVIDER_THIS_HOST))
		return 0;
	r = check_place("checkpoint.path", spec->checkpoint.path, err);
	gpc_vec_each(m, &spec->file_mounts) {
		if (r == 0)
			r = check_place("file_mounts", m->target, err);
	}
	gpc_vec_each(a, &spec->artifacts) {
		if (r == 0)
			r = check_place("artifacts", a->path, err);
	}
	return r;
}

static int check_caps(const struct gpc_spec *spec, struct gpc_plan *p,
	struct gpc_money spent, struct gpc_error *err)
{
	struct gpc_money cap = spec->limits.cost;

	if (!cap.currency[0] || p->hourly.micros == 0)
		return 0;
	if (p->hourly.currency[0] && !gpc_eq(cap.currency, p->hourly.currency))
		return gpc_fail(err, GPC_ECONFIG,
			"limits.cost is in %s, but the machine is paid in %s",
			cap.currency, p->hourly.currency);
	if (spent.micros < cap.micros)
		return 0;
	return gpc_fail(err, GPC_EOVERCAP,
		"limits.cost is used up: nothing more is bought");
}

int gpc_plan_make(struct gpc_session *s, const struct gpc_spec *spec,
	struct gpc_money spent, int64_t ran_ms, struct gpc_plan *ret_p,
	struct gpc_error *err)
{
	return gpc_plan_make_without(s, spec, spent, ran_ms, NULL, ret_p, err);
}

int gpc_plan_make_without(struct gpc_session *s, const struct gpc_spec *spec,
	struct gpc_money spent, int64_t ran_ms, const struct gpc_pairs *refused,
	struct gpc_plan *ret_p, struct gpc_error *err)
{
	gpc_auto(gpc_plan) struct gpc_plan p = { .num_nodes = spec->num_nodes };
	struct gpc_error why = {0}, last = {0};
	bool ordered = false, only_price = false;
	size_t n = gpc_spec_candidates(spec, &ordered);
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct gpc_resources *c = gpc_spec_candidate(spec, i);
		size_t first = p.offers.n;

		/* Submitting warned about it; the others are what is left. */
		if (n > 1 && gpc_resources_check_supported(c, NULL, NULL) < 0)
			continue;
		r = ask_provider(s, spec, c, &p.offers, &why);
		/* Another alternative may do without that cloud. */
		if (r < 0 && n > 1) {
			gpc_log(s->log, GPC_WARN, "alternative %zu of resources is "
				"left out: %s", i + 1, why.msg);
			last = why;
			continue;
		}
		if (r < 0) {
			if (err)
				*err = why;
			return r;
		}
		mark_candidate(&p.offers, first, i);
		only_price |= sift(&p.offers, first, c, refused);
	}
	sort_offers(&p.offers, ordered, &p.n_fitting);
	/* A price is in the way only if nothing under it was refused. */
	if (p.n_fitting == 0 && last.code) {
		if (err)
			*err = last;
		return -(int)last.code;
	}
	if (p.n_fitting == 0)
		return gpc_plan_none_fits(spec, &p.offers, only_price &&
			!(refused && refused->n > 0), err);
	p.hourly = gpc_plan_offer_hourly(&p.offers.v[0]);
	p.hourly.micros *= spec->num_nodes;
	charge(&p, GPC_HOUR_MS, &p.hourly_bill);
	r = check_places(spec, p.offers.v[0].provider, err);
	if (r == 0)
		r = check_caps(spec, &p, spent, err);
	if (r < 0)
		return r;
	bound_life(spec, &p, spent, ran_ms);
	*ret_p = p;
	p = (struct gpc_plan) {0};
	return 0;
}
