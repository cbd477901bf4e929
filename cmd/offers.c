/* `gpucloud offers`: what can be bought for a wish, cheapest first, and why the
 * rest does not fit. So far that is this machine.
 */
#include "model/offer.h"

#include <string.h>

#include "base/time.h"
#include "cmd/command.h"
#include "cmd/session_open.h"
#include "core/plan.h"
#include "model/spec.h"
#include "provider/provider.h"

struct offers {
	const char *gpus, *cpus, *memory, *nodes, *infra;
	bool spot;
};

static const struct gpc_opt options[] = {
	GPC_OPT_STR('g', "gpus", struct offers, gpus, "NAME[:COUNT]",
		"with these GPUs a node", .complete = GPC_COMPLETE_GPU,
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "cpus", struct offers, cpus, "N[+]",
		"with this many CPUs a node; + means at least",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "memory", struct offers, memory, "GB[+]",
		"with this much memory a node", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "nodes", struct offers, nodes, "N",
		"for this many nodes", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "infra", struct offers, infra, "INFRA",
		"from here instead of local", .complete = GPC_COMPLETE_INFRA),
	GPC_OPT_FLAG(0, "spot", struct offers, spot,
		"at the price of the spot market"),
	GPC_OPT_END
};

struct row {
	const char *provider, *type, *region, *zone, *market, *gpu, *source;
	const char *why_not;
	int gpus, gpu_memory;
	double cpus;
	uint64_t memory;
	struct gpc_money price;
	int64_t price_at;
	bool fits;
};
static const struct gpc_col cols[] = {
	GPC_COL("provider", STR, struct row, provider, GPC_COL_F_NAME),
	GPC_COL("instance_type", STR, struct row, type, 0, .title = "type"),
	GPC_COL("region", STR, struct row, region, GPC_COL_F_WIDE),
	GPC_COL("zone", STR, struct row, zone, GPC_COL_F_WIDE),
	GPC_COL("gpus", INT, struct row, gpus, 0),
	GPC_COL("gpu", STR, struct row, gpu, 0),
	GPC_COL("gpu_memory_gb", INT, struct row, gpu_memory, GPC_COL_F_WIDE,
		.title = "gpu GB"),
	GPC_COL("cpus", DOUBLE, struct row, cpus, 0),
	GPC_COL("memory", SIZE, struct row, memory, 0),
	GPC_COL("market", STR, struct row, market, GPC_COL_F_WIDE),
	GPC_COL("price", MONEY, struct row, price, GPC_COL_F_KEEP,
		.title = "per hour"),
	GPC_COL("price_source", STR, struct row, source, GPC_COL_F_WIDE),
	GPC_COL("price_at", AGE, struct row, price_at, GPC_COL_F_WIDE,
		.title = "age"),
	GPC_COL("fits", BOOL, struct row, fits, 0),
	GPC_COL("why_not", STR, struct row, why_not, GPC_COL_F_CUT,
		.title = "why not"),
	GPC_COL_LAST
};
static const struct gpc_table table = {"offer", cols, sizeof(struct row)};

static int set(struct gpc_spec *spec, const char *word, const char *value,
	struct gpc_error *err)
{
	return value ? gpc_spec_override(spec, word, value, NULL, err) : 0;
}

static int make_spec(struct gpc_cmd *c, struct gpc_spec *spec,
	struct gpc_error *err)
{
	const struct offers *o = c->ctx;
	int r;

	gpc_spec_init(spec);
	r = set(spec, "gpus", o->gpus, err);
	if (!r)
		r = set(spec, "cpus", o->cpus, err);
	if (!r)
		r = set(spec, "memory", o->memory, err);
	if (!r)
		r = set(spec, "nodes", o->nodes, err);
	if (!r)
		r = set(spec, "infra", o->infra, err);
	if (!r && o->spot)
		r = set(spec, "spot", "true", err);
	return r;
}

static int ask_provider(struct gpc_session *s, const char *name,
	const struct gpc_ask *ask, struct gpc_offers *all,
	struct gpc_error *err)
{
	struct gpc_provider_context ctx;
	gpc_autoptr(gpc_provider) *p = NULL;
	struct gpc_offers found = {0};
	int r = gpc_session_provider(s, name, &ctx, &p, err);

	if (!r)
		r = p->ops->offers(p, ask, &found, err);
	gpc_vec_each(o, &found)
		*gpc_vec_push(all) = *o;
	gpc_vec_free(&found);
	return r;
}

static int ask_all(struct gpc_session *s, const struct gpc_spec *spec,
	struct gpc_offers *all, struct gpc_error *err)
{
	const struct gpc_resources *want = gpc_spec_candidate(spec, 0);
	gpc_auto(gpc_ask) struct gpc_ask ask = {0};
	gpc_autostr *only = gpc_resources_provider(want);

	gpc_plan_ask(spec, want, &ask);
	/* nothing else is enabled where no account is set up */
	return ask_provider(s, only ? only : "local", &ask, all, err);
}

/* What fits first, then by price; the order of equals is kept. */
static bool before(const struct gpc_offer *a, const struct gpc_offer *b)
{
	if (!a->why_not != !b->why_not)
		return !a->why_not;
	return a->price.micros < b->price.micros;
}

static void sort(struct gpc_offers *all)
{
	for (size_t i = 1; i < all->n; i++) {
		struct gpc_offer o = all->v[i];
		size_t at = i;

		for (; at > 0 && before(&o, &all->v[at - 1]); at--)
			all->v[at] = all->v[at - 1];
		all->v[at] = o;
	}
}

static void fill(struct row *r, const struct gpc_offer *o)
{
	*r = (struct row){
		.provider = o->provider, .type = o->instance_type,
		.region = o->region, .zone = o->zone, .market = o->market,
		.gpu = o->gpu, .source = o->price_source,
		.why_not = o->why_not, .gpus = o->gpus,
		.gpu_memory = o->gpu_memory_gb, .cpus = o->cpus,
		.memory = o->memory_bytes, .price = o->price,
		.price_at = o->price_ms, .fits = !o->why_not,
	};
	if (!r->price.currency[0])
		memcpy(r->price.currency, "USD", 4);
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_offers) struct gpc_offers all = {0};
	gpc_autoptr(gpc_session) *s = NULL;
	int r = make_spec(c, &spec, err);

	if (!r)
		r = gpc_cmd_session(c, GPC_STORE_MAY_LACK, &s, err);
	if (!r)
		r = ask_all(s, &spec, &all, err);
	if (r)
		return r;
	sort(&all);
	struct row *rows = gpc_array(all.n ? all.n : 1, sizeof(*rows));
	for (size_t i = 0; i < all.n; i++)
		fill(&rows[i], &all.v[i]);
	r = gpc_out_rows(&c->out, &table, rows, all.n, err);
	free(rows);
	return r;
}

const struct gpc_command gpc_command_offers = {
	.name = "offers",
	.summary = "show what can be bought",
	.usage = "[OPTION]...",
	.about = "Lists the offers for a wish, those that fit first and the "
		"cheapest of them on top, and says why the others do not fit. "
		"So far the only provider is local, this machine.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct offers),
	.run = run,
};
