/* `gpucloud offers`: what can be bought for a wish, cheapest first, and why the
 * rest does not fit. So far that is this machine.
 */
#include "model/offer.h"

#include "cmd/command.h"
#include "cmd/offer_row.h"
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
	struct gpc_offers *all, struct gpc_errors *others, struct gpc_error *err)
{
	const struct gpc_resources *want = gpc_spec_candidate(spec, 0);
	gpc_auto(gpc_ask) struct gpc_ask ask = {0};
	gpc_autostr *only = gpc_resources_provider(want);
	int r;

	r = gpc_resources_check_supported(want, others, err);
	if (r)
		return r;
	gpc_plan_ask(spec, want, &ask);
	ask.archs = s->archs;
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

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_offers) struct gpc_offers all = {0};
	gpc_autoptr(gpc_session) *s = NULL;
	int r = make_spec(c, &spec, err);

	if (!r)
		r = gpc_cmd_session(c, GPC_STORE_MAY_LACK, &s, err);
	if (!r)
		r = ask_all(s, &spec, &all, &c->also, err);
	if (r)
		return r;
	sort(&all);
	struct gpc_offer_row *rows = gpc_array(all.n ? all.n : 1, sizeof(*rows));
	for (size_t i = 0; i < all.n; i++)
		rows[i] = gpc_offer_row(&all.v[i]);
	r = gpc_out_rows(&c->out, &gpc_offer_table, rows, all.n, err);
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
