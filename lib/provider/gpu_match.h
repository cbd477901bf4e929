/* Which wish for a GPU a real GPU fulfils. */
#pragma once
#include <stdbool.h>

#include "dep/nvml.h"
#include "model/offer.h"

/* "A100-40GB", "H100-SXM", or by memory alone, against what NVML says. Parts
 * of the name that NVML does not tell (SXM, PCIe) are no hindrance. */
bool gpc_gpu_matches(const struct gpc_gpu_ask *ask,
	const struct gpc_gpu_info *gpu);
/* Whole GPUs that a wish takes: half of one is one. */
int gpc_gpu_ask_count(const struct gpc_gpu_ask *ask);
/* GB as makers count them: 80 for the A100's 81,920 MiB, 141 for the H200. */
int gpc_gpu_memory_gb(const struct gpc_gpu_info *gpu);
