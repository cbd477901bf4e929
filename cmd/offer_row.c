/* The one description of an offer for people and programs: `gpucloud offers`
 * lists it, a plan holds it, and both use the same words.
 */
#include "cmd/offer_row.h"

#include <math.h>
#include <string.h>

#include "cmd/offers_pick.h"

#define WHAT(name, kind, field, ...) \
	GPC_COL(name, kind, struct gpc_offer_row, offer.field, __VA_ARGS__)
#define ROW(name, kind, field, ...) \
	GPC_COL(name, kind, struct gpc_offer_row, field, __VA_ARGS__)
#define WHAT_IT_IS \
	WHAT("provider", STR, provider, GPC_COL_F_NAME), \
	WHAT("instance_type", STR, instance_type, 0, .title = "type"), \
	WHAT("region", STR, region, GPC_COL_F_WIDE), \
	WHAT("zone", STR, zone, GPC_COL_F_WIDE), \
	GPC_COL("place", STR, struct gpc_offer_row, place, GPC_COL_F_PLAIN, \
		.title = "zone"), \
	WHAT("gpus", INT, gpus, 0), \
	WHAT("gpu", STR, gpu, 0), \
	WHAT("gpu_memory_gb", INT, gpu_memory_gb, GPC_COL_F_WIDE, \
		.title = "gpu GB"), \
	WHAT("cpus", DOUBLE, cpus, GPC_COL_F_SPARE), \
	WHAT("memory", SIZE, memory_bytes, GPC_COL_F_SPARE), \
	WHAT("market", STR, market, 0), \
	WHAT("price", MONEY, price, GPC_COL_F_KEEP, .title = "per hour"), \
	ROW("price_per_gpu", MONEY, per_gpu, GPC_COL_F_WIDE, .title = "per gpu"), \
	ROW("price_per_gpu_gb", MONEY, per_gpu_gb, GPC_COL_F_DATA), \
	ROW("tflops", DOUBLE, tflops, GPC_COL_F_WIDE), \
	ROW("price_per_tflops", MONEY, per_tflops, GPC_COL_F_DATA), \
	ROW("arch", STR, arch, GPC_COL_F_DATA), \
	ROW("interconnect", STR, interconnect, GPC_COL_F_WIDE), \
	ROW("rdma", STR, rdma, GPC_COL_F_WIDE), \
	ROW("network_gbps", DOUBLE, network_gbps, GPC_COL_F_WIDE, .title = "gbps"), \
	WHAT("price_source", STR, price_source, GPC_COL_F_WIDE), \
	WHAT("price_at", AGE, price_ms, GPC_COL_F_WIDE, .title = "age")

static const struct gpc_col bought[] = {
	WHAT_IT_IS,
	GPC_COL_LAST
};
static const struct gpc_col listed[] = {
	WHAT_IT_IS,
	GPC_COL("fits", BOOL, struct gpc_offer_row, fits, GPC_COL_F_WIDE),
	WHAT("why_not", STR, why_not, GPC_COL_F_CUT, .title = "why not"),
	GPC_COL_LAST
};
const struct gpc_table gpc_offer_table = {"offer", listed,
	sizeof(struct gpc_offer_row)};

void gpc_offer_row_compute(struct gpc_offer_row *row, enum gpc_precision p)
{
	double rate = gpc_offer_tflops(&row->offer, p);

	row->tflops = rate > 0 ? rate : NAN;
	row->per_tflops = gpc_offer_per_tflops(&row->offer, p);
}

struct gpc_offer_row gpc_offer_row(const struct gpc_offer *o)
{
	struct gpc_offer_row row = {
		.offer = *o, .place = o->zone && *o->zone ? o->zone : o->region,
		.fits = !o->why_not, .arch = gpc_arch_names[gpc_offer_arch(o)],
		.interconnect = gpc_json_get_str(o->rest, GPC_OFFER_INTERCONNECT),
		.rdma = gpc_json_get_str(o->rest, GPC_OFFER_RDMA),
		.network_gbps = gpc_json_number_or(gpc_json_get(o->rest,
			GPC_OFFER_NETWORK), NAN),
		.per_gpu = gpc_offer_per_gpu(o), .per_gpu_gb = gpc_offer_per_gpu_gb(o),
	};

	gpc_offer_row_compute(&row, GPC_BF16);
	/* what costs nothing is still an amount */
	if (!row.offer.price.currency[0])
		memcpy(row.offer.price.currency, "USD", 4);
	return row;
}

struct gpc_json *gpc_offer_json(const struct gpc_offer *o)
{
	static const struct gpc_table table = {"offer", bought,
		sizeof(struct gpc_offer_row)};
	struct gpc_offer_row row = gpc_offer_row(o);

	return gpc_out_row_json(&table, &row);
}
