/* What accelerators compute, as it is built in: see data/README.md. */
#pragma once
#include <stdbool.h>

enum gpc_precision {
	GPC_FP32, GPC_TF32, GPC_BF16, GPC_FP16, GPC_FP8, GPC_INT8, GPC_PRECISION__COUNT,
};
extern const char *const gpc_precision_names[]; /* "fp32"…, NULL */

struct gpc_accelerator {
	char name[24];                  /* gpc_gpu_find's */
	char architecture[24];
	bool can[GPC_PRECISION__COUNT];
	/* At their peak, without sparsity, in 10^12 a second; 0 = not known. */
	double tflops[GPC_PRECISION__COUNT];
};
/* By its canonical name; false: unknown. */
bool gpc_accelerator_find(const char *name, struct gpc_accelerator *ret_a);
