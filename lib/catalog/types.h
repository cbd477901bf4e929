/* Types of machines that clouds sell, as they are built in: see data/README.md. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"

struct gpc_machine_type {
	char provider[12], name[40];
	char gpu[24];                   /* gpc_gpu_find's name; "": none */
	int gpus, gpu_memory_gb;
	double cpus;
	uint64_t memory_bytes;
	enum gpc_arch arch;
	double network_gbps;            /* at its peak; 0 = not known */
	char rdma[12];                  /* "efa", "none" */
	char interconnect[12];          /* of its GPUs: "nvswitch", "nvlink", "pcie", "none" */
};
/* Row i of the table, by provider; false past its end. */
bool gpc_machine_type_at(size_t i, struct gpc_machine_type *ret_t);
/* By its name. */
bool gpc_machine_type_find(const char *provider, const char *name,
	struct gpc_machine_type *ret_t);
