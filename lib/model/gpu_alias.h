/* One table of accelerator names: what people write, what drivers report, and
 * the canonical name that offers use ("A100-40GB", "H100-SXM"). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpc_gpu_model {
	const char *name;         /* canonical */
	const char *vendor;       /* "nvidia", "amd", "google", "aws", "huawei" */
	int memory_gb;            /* of one */
};
/* Any letter case, with or without - and spaces; NULL when unknown. */
const struct gpc_gpu_model *gpc_gpu_find(const char *name);
/* By what the driver says ("NVIDIA A100-SXM4-80GB") and its memory in bytes,
 * which decides between sizes of one model; NULL when unknown. */
const struct gpc_gpu_model *gpc_gpu_of_device(const char *device,
	uint64_t memory_bytes);
/* The nearest known name, for "did you mean"; NULL when none is near. */
const char *gpc_gpu_nearest(const char *name);
/* All models, in the order of the table. */
const struct gpc_gpu_model *gpc_gpu_models(size_t *ret_n);
bool gpc_gpu_is_vendor(const char *word);
