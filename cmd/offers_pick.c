#include "cmd/offers_pick.h"

#include <string.h>

#include "base/str.h"

/* Where nothing fits: enough to see what is in the way. */
enum { MISFITS_MAX = 20 };

const char *const gpc_offers_sorts[] = { "price", "gpu", "gpu-memory", "tflops", NULL };

/* --- what it costs for what it has ------------------------------------------- */

static struct gpc_money part_of(struct gpc_money price, int64_t parts)
{
	if (parts <= 0)
		return (struct gpc_money){0};
	price.micros = price.micros / parts + (price.micros % parts > 0);
	return price;
}

struct gpc_money gpc_offer_per_gpu(const struct gpc_offer *o)
{
	return part_of(o->price, o->gpus);
}

struct gpc_money gpc_offer_per_gpu_gb(const struct gpc_offer *o)
{
	return part_of(o->price, (int64_t)o->gpus * o->gpu_memory_gb);
}

double gpc_offer_tflops(const struct gpc_offer *o, enum gpc_precision p)
{
	struct gpc_accelerator a;

	if (!o->gpu || !gpc_accelerator_find(o->gpu, &a))
		return 0;
	if (p == GPC_BF16 && !a.can[p])
		p = GPC_FP16;
	return a.tflops[p] * o->gpus;
}

struct gpc_money gpc_offer_per_tflops(const struct gpc_offer *o, enum gpc_precision p)
{
	/* in tenths, which is how exact the data sheets are */
	int64_t tenths = (int64_t)(gpc_offer_tflops(o, p) * 10 + 0.5);
	struct gpc_money m = part_of(o->price, tenths);

	m.micros = tenths && o->price.micros <= INT64_MAX / 10 ?
		(o->price.micros * 10 + tenths - 1) / tenths : m.micros;
	return m;
}

/* --- the order ---------------------------------------------------------------- */

static struct gpc_money price_by(const struct gpc_offer *o,
	const struct gpc_offers_pick *pick)
{
	switch (pick->sort) {
	case GPC_OFFERS_BY_GPU: return gpc_offer_per_gpu(o);
	case GPC_OFFERS_BY_GPU_MEMORY: return gpc_offer_per_gpu_gb(o);
	case GPC_OFFERS_BY_TFLOPS: return gpc_offer_per_tflops(o, pick->precision);
	case GPC_OFFERS_BY_PRICE: break;
	}
	return o->price;
}

static bool has_any(const struct gpc_offer *o, const struct gpc_offers_pick *pick)
{
	return pick->sort == GPC_OFFERS_BY_PRICE || (pick->sort == GPC_OFFERS_BY_TFLOPS ?
		gpc_offer_tflops(o, pick->precision) > 0 : o->gpus > 0);
}

/* What has none of it comes last. */
static int64_t weight(const struct gpc_offer *o, const struct gpc_offers_pick *pick)
{
	return has_any(o, pick) ? price_by(o, pick).micros : INT64_MAX;
}

/* Of what does not fit, machines with GPUs are nearer to a wish for GPUs. */
static bool before(const struct gpc_offer *a, const struct gpc_offer *b,
	const struct gpc_offers_pick *pick)
{
	if (!a->why_not != !b->why_not)
		return !a->why_not;
	if (a->why_not && pick->gpus && !a->gpus != !b->gpus)
		return a->gpus > 0;
	return weight(a, pick) < weight(b, pick);
}

/* The halves are in order; equals keep theirs. */
static void merge(struct gpc_offer *v, size_t half, size_t n, struct gpc_offer *spare,
	const struct gpc_offers_pick *pick)
{
	size_t a = 0, b = half, to = 0;

	while (a < half || b < n) {
		bool second = a == half || (b < n && before(&v[b], &v[a], pick));

		spare[to++] = v[second ? b++ : a++];
	}
	memcpy(v, spare, n * sizeof(*v));
}

static void sort_offers(struct gpc_offer *v, size_t n, struct gpc_offer *spare,
	const struct gpc_offers_pick *pick)
{
	if (n < 2)
		return;
	sort_offers(v, n / 2, spare, pick);
	sort_offers(v + n / 2, n - n / 2, spare, pick);
	merge(v, n / 2, n, spare, pick);
}

/* --- what is shown -------------------------------------------------------------- */

static void hold_to_price(struct gpc_offers *offers, struct gpc_money most)
{
	char has[GPC_MONEY_SIZE], wanted[GPC_MONEY_SIZE];

	gpc_vec_each(o, offers) {
		bool same = gpc_eq(o->price.currency, most.currency);

		if (!most.currency[0] || o->why_not || !o->price.micros)
			continue;
		if (!same)
			o->why_not = gpc_format("its price is in %s, and --max-price "
				"in %s", o->price.currency, most.currency);
		else if (o->price.micros > most.micros)
			o->why_not = gpc_format("%s an hour; --max-price is %s",
				gpc_money_format(o->price, has),
				gpc_money_format(most, wanted));
	}
}

/* "V100-16GB is Volta, which has no fp8" */
static void hold_to_precision(struct gpc_offers *offers, enum gpc_precision p)
{
	gpc_vec_each(o, offers) {
		struct gpc_accelerator a;

		if (o->why_not)
			continue;
		if (!o->gpu)
			o->why_not = gpc_strdup("asks for a precision; it has no GPU");
		else if (!gpc_accelerator_find(o->gpu, &a))
			o->why_not = gpc_format("what %s computes is not known", o->gpu);
		else if (!a.can[p])
			o->why_not = gpc_format("%s is %s, which has no %s", o->gpu,
				a.architecture, gpc_precision_names[p]);
	}
}

/* [PLACE/]TYPE */
static bool is_named(const struct gpc_offer *o, const char *what)
{
	const char *slash = what ? strrchr(what, '/') : NULL;
	gpc_autostr *place = slash ? gpc_strndup(what, (size_t)(slash - what)) : NULL;

	if (!what)
		return true;
	if (!gpc_eq(o->instance_type, slash ? slash + 1 : what))
		return false;
	return !place || gpc_eq(place, o->zone) || gpc_eq(place, o->region) ||
		gpc_eq(place, o->provider);
}

static void keep_named(struct gpc_offers *offers, const char *what)
{
	size_t n = 0;

	for (size_t i = 0; i < offers->n; i++) {
		if (is_named(&offers->v[i], what))
			offers->v[n++] = offers->v[i];
		else
			gpc_offer_clear(&offers->v[i]);
	}
	offers->n = n;
}

static int fail_unnamed(const struct gpc_strv *types, const char *what,
	struct gpc_error *err)
{
	const char *slash = strrchr(what, '/'), *type = slash ? slash + 1 : what;
	const char *near = gpc_nearest(type, (const char *const *)types->v, types->n);

	(void)gpc_fail(err, GPC_ENOTFOUND, "no offer here is %s", what);
	if (gpc_strv_has(types, type))
		gpc_hint(err, "it is sold elsewhere: gpucloud offers --explain %s", type);
	else if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "`gpucloud offers --all -o name` lists the types; --infra "
			"says from where");
	return -GPC_ENOTFOUND;
}

static size_t count_fitting(const struct gpc_offers *offers)
{
	size_t n = 0;

	gpc_vec_each(o, offers)
		n += !o->why_not;
	return n;
}

int gpc_offers_pick(const struct gpc_offers_pick *pick, struct gpc_offers *offers,
	size_t *ret_more, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv types = {0};
	struct gpc_offer *spare;
	size_t shown;

	*ret_more = 0;
	if (pick->must_compute)
		hold_to_precision(offers, pick->precision);
	hold_to_price(offers, pick->max_price);
	if (pick->explain) {
		gpc_vec_each(o, offers)
			if (o->instance_type && !gpc_strv_has(&types, o->instance_type))
				gpc_strv_add(&types, o->instance_type);
		keep_named(offers, pick->explain);
		if (!offers->n)
			return fail_unnamed(&types, pick->explain, err);
	}
	spare = gpc_array(offers->n ? offers->n : 1, sizeof(*spare));
	sort_offers(offers->v, offers->n, spare, pick);
	free(spare);
	shown = count_fitting(offers);
	if (!shown)
		shown = MISFITS_MAX;
	if (pick->all || pick->explain || shown >= offers->n)
		return 0;
	*ret_more = offers->n - shown;
	for (size_t i = shown; i < offers->n; i++)
		gpc_offer_clear(&offers->v[i]);
	offers->n = shown;
	return 0;
}
