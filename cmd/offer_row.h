/* An offer as a row, for lists and inside of other objects. */
#pragma once
#include "cmd/out.h"
#include "catalog/accelerators.h"
#include "model/offer.h"

struct gpc_offer_row {
	struct gpc_offer offer;
	const char *place;            /* its zone, else its region; borrowed */
	const char *arch, *interconnect, *rdma;  /* borrowed; NULL: not told */
	double network_gbps;          /* NaN: not told */
	struct gpc_money per_gpu, per_gpu_gb;    /* "": no GPU */
	double tflops;                /* of all its GPUs in half precision; NaN: not known */
	struct gpc_money per_tflops;  /* "": not known */
	bool fits;
};
/* Schema gpucloud.offer/1, rows of struct gpc_offer_row. */
extern const struct gpc_table gpc_offer_table;
/* What is in it stays the offer's. */
struct gpc_offer_row gpc_offer_row(const struct gpc_offer *o);
/* TFLOPS of another precision. */
void gpc_offer_row_compute(struct gpc_offer_row *row, enum gpc_precision p);
/* One that is to be bought, without the fields that say whether it fits; owned. */
struct gpc_json *gpc_offer_json(const struct gpc_offer *o);
