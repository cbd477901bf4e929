/* GPUs of this machine by NVIDIA's management library, opened at run time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct gpc_gpu_info {
	char name[96];             /* as NVML says: "NVIDIA H200" */
	char uuid[96];
	uint64_t memory_bytes;
};
struct gpc_gpu_sample {
	int utilization;           /* percent; -1 unknown */
	uint64_t memory_used_bytes;
	int power_mw, temperature_c;  /* -1 unknown */
};
struct gpc_nvml;               /* opaque */
/* GPC_EUNSUPPORTED when the library or the driver is absent: no GPU here. */
int gpc_nvml_open(struct gpc_nvml **ret_n, struct gpc_error *err) gpc_must_check;
void gpc_nvml_free(struct gpc_nvml *n);
GPC_CLEANUP_POINTER(gpc_nvml);
size_t gpc_nvml_count(const struct gpc_nvml *n);
/* The driver's version, such as "535.104.05"; GPC_EUNSUPPORTED when it does not say. */
int gpc_nvml_driver(struct gpc_nvml *n, char ret_text[96],
	struct gpc_error *err) gpc_must_check;
int gpc_nvml_info(struct gpc_nvml *n, size_t gpu, struct gpc_gpu_info *ret_i,
	struct gpc_error *err) gpc_must_check;
int gpc_nvml_sample(struct gpc_nvml *n, size_t gpu,
	struct gpc_gpu_sample *ret_s, struct gpc_error *err) gpc_must_check;
