/* Which of the offers that were asked for are shown, and in which order. */
#pragma once
#include "catalog/accelerators.h"
#include "model/offer.h"

enum gpc_offers_sort {
	GPC_OFFERS_BY_PRICE, GPC_OFFERS_BY_GPU, GPC_OFFERS_BY_GPU_MEMORY,
	GPC_OFFERS_BY_TFLOPS,
};
extern const char *const gpc_offers_sorts[];

struct gpc_offers_pick {
	struct gpc_money max_price;     /* an hour and node; "" = any */
	const char *explain;            /* [PLACE/]TYPE: these alone; NULL = all */
	enum gpc_offers_sort sort;
	enum gpc_precision precision;   /* of the TFLOPS */
	bool must_compute;              /* only GPUs that have this precision */
	bool all;                       /* what does not fit, too */
	bool gpus;                      /* GPUs were asked for */
};
/* Puts what fits first and sorts it; drops what is not to be shown, of which *ret_more
 * do not fit. Where nothing fits, some of it is shown, for its reasons. GPC_ENOTFOUND: nothing
 * of the type that is to be explained. */
int gpc_offers_pick(const struct gpc_offers_pick *pick, struct gpc_offers *offers,
	size_t *ret_more, struct gpc_error *err) gpc_must_check;
/* What one GPU of it costs an hour, and one GB of its memory, rounded up; "" where
 * there is none. */
struct gpc_money gpc_offer_per_gpu(const struct gpc_offer *o);
struct gpc_money gpc_offer_per_gpu_gb(const struct gpc_offer *o);
/* What all of its GPUs compute at their peak in a precision, in 10^12 a second; for bf16
 * that of fp16, where they have no bf16. 0: not known, or not at all. */
double gpc_offer_tflops(const struct gpc_offer *o, enum gpc_precision p);
/* What one of these costs an hour; "" where there is none. */
struct gpc_money gpc_offer_per_tflops(const struct gpc_offer *o, enum gpc_precision p);
