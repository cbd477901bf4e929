/* `gpucloud offers`: what can be bought for a wish, cheapest first, and why the
 * rest does not fit.
 */
#include <string.h>

#include "base/str.h"
#include "model/offer.h"

#include "cmd/command.h"
#include "cmd/offer_row.h"
#include "cmd/offers_pick.h"
#include "cmd/session_open.h"
#include "core/plan.h"
#include "model/spec.h"
#include "provider/provider.h"

static const char *const archs[] = { "any", "x86_64", "arm64", NULL };
static const char *const interconnects[] = { "any", "pcie", "nvlink", "nvswitch", NULL };

static const char *const precisions[] = {
	"any", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", NULL,
};

struct offers {
	const char *gpus, *cpus, *memory, *disk, *type, *nodes, *infra, *region;
	bool spot, rdma;
	int arch, interconnect, precision;      /* of the words above */
	struct gpc_offers_pick pick;
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
	GPC_OPT_STR(0, "disk-size", struct offers, disk, "GB",
		"with a system disk of this size", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "instance-type", struct offers, type, "TYPE",
		"of this type alone", .key = GPC_OPT_NO_KEY),
	GPC_OPT_ENUM(0, "arch", struct offers, arch, "ARCH", archs,
		"with processors of this architecture", .key = GPC_OPT_NO_KEY),
	GPC_OPT_ENUM(0, "interconnect", struct offers, interconnect, "WHAT",
		interconnects, "with GPUs that are joined by this, or by what is "
		"faster", .key = GPC_OPT_NO_KEY),
	GPC_OPT_ENUM(0, "precision", struct offers, precision, "WHAT", precisions,
		"with GPUs that compute in this", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "rdma", struct offers, rdma,
		"with RDMA between nodes", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "nodes", struct offers, nodes, "N",
		"for this many nodes", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "infra", struct offers, infra, "INFRA",
		"from here instead of local", .complete = GPC_COMPLETE_INFRA),
	GPC_OPT_STR(0, "region", struct offers, region, "REGION",
		"in this region of the --infra", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "spot", struct offers, spot,
		"at the price of the spot market"),
	GPC_OPT_MONEY(0, "max-price", struct offers, pick.max_price, "AMOUNT",
		"that cost at most this an hour and node", .key = GPC_OPT_NO_KEY),
	GPC_OPT_ENUM(0, "sort", struct offers, pick.sort, "WHAT", gpc_offers_sorts,
		"by the price of a node, of a GPU, of a GB of its memory, or of what "
		"it computes"),
	GPC_OPT_FLAG(0, "all", struct offers, pick.all,
		"what does not fit, too, and why"),
	GPC_OPT_STR(0, "explain", struct offers, pick.explain, "[PLACE/]TYPE",
		"whether this type fits, and why not", .key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

struct wish { struct gpc_spec *spec; struct gpc_strv warnings; };

static int set(struct wish *w, const char *word, const char *value,
	struct gpc_error *err)
{
	return value ? gpc_spec_override(w->spec, word, value, &w->warnings, err) : 0;
}

static int set_infra(struct wish *w, const struct offers *o,
	struct gpc_error *err)
{
	gpc_autostr *both = NULL;
	int r;

	if (!o->region)
		return set(w, "infra", o->infra, err);
	if (o->infra && !strchr(o->infra, '/')) {
		both = gpc_format("%s/%s", o->infra, o->region);
		return set(w, "infra", both, err);
	}
	if (o->infra)
		r = gpc_fail(err, GPC_EUSAGE, "--infra %s and --region %s both name a "
			"region", o->infra, o->region);
	else
		r = gpc_fail(err, GPC_EUSAGE, "--region %s: a region of which cloud?",
			o->region);
	gpc_hint(err, "name the cloud beside it: --infra aws --region %s", o->region);
	return r;
}

static int make_spec(struct gpc_cmd *c, struct gpc_spec *spec,
	struct gpc_error *err)
{
	const struct offers *o = c->ctx;
	struct wish w = { .spec = spec };
	int r;

	gpc_spec_init(spec);
	r = set(&w, "gpus", o->gpus, err);
	if (!r)
		r = set(&w, "cpus", o->cpus, err);
	if (!r)
		r = set(&w, "memory", o->memory, err);
	if (!r)
		r = set(&w, "nodes", o->nodes, err);
	if (!r)
		r = set(&w, "disk-size", o->disk, err);
	if (!r)
		r = set(&w, "instance-type", o->type, err);
	if (!r)
		r = set_infra(&w, o, err);
	if (!r && o->spot)
		r = set(&w, "spot", "true", err);
	for (size_t i = 0; i < w.warnings.n; i++)
		gpc_log(&c->log, GPC_WARN, "%s", w.warnings.v[i]);
	gpc_strv_clear(&w.warnings);
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

static int ask_all(struct gpc_session *s, const struct offers *o,
	const struct gpc_spec *spec, struct gpc_offers *all, struct gpc_errors *others, struct gpc_error *err)
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
	ask.only_archs = o->arch ? GPC_ARCH_BIT(o->arch - 1) : 0;
	ask.interconnect = o->interconnect;
	ask.rdma = o->rdma;
	/* nothing else is enabled where no account is set up */
	return ask_provider(s, only ? only : "local", &ask, all, err);
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_offers) struct gpc_offers all = {0};
	gpc_autoptr(gpc_session) *s = NULL;
	struct offers *o = c->ctx;
	size_t more = 0;
	int r = make_spec(c, &spec, err);

	if (!r)
		r = gpc_cmd_session(c, GPC_STORE_MAY_LACK, &s, err);
	if (!r)
		r = ask_all(s, o, &spec, &all, &c->also, err);
	o->pick.gpus = o->gpus != NULL;
	o->pick.must_compute = o->precision > 0;
	o->pick.precision = o->precision ? o->precision - 1 : GPC_BF16;
	if (!r)
		r = gpc_offers_pick(&o->pick, &all, &more, err);
	if (r)
		return r;
	struct gpc_offer_row *rows = gpc_array(all.n ? all.n : 1, sizeof(*rows));
	for (size_t i = 0; i < all.n; i++)
		rows[i] = gpc_offer_row(&all.v[i]);
	for (size_t i = 0; i < all.n; i++)
		gpc_offer_row_compute(&rows[i], o->pick.precision);
	r = gpc_out_rows(&c->out, &gpc_offer_table, rows, all.n, err);
	free(rows);
	if (!r && more)
		gpc_say(&c->talk, "gpucloud: %zu more do not fit; --all shows them and "
			"why", more);
	return r;
}

const struct gpc_command gpc_command_offers = {
	.name = "offers",
	.summary = "show what can be bought",
	.usage = "[OPTION]...",
	.about = "Lists the offers that fit a wish, the cheapest on top; where "
		"none fits, what is in the way. Without --infra it is this machine.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct offers),
	.run = run,
};
