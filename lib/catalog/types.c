/* The table is text, as it is kept; a row is read when it is asked for. */
#include "catalog/types.h"

#include "base/str.h"
#include "catalog/row.h"

#define X(line) line,
static const char rows[][128] = {
#include "catalog/types.inc"
};
#undef X
enum { N_ROWS = sizeof(rows) / sizeof(*rows) };
enum { PROVIDER, NAME, GPU, GPUS, GPU_MEMORY, CPUS, MEMORY, ARCH, NETWORK, RDMA,
	INTERCONNECT };

bool gpc_machine_type_at(size_t i, struct gpc_machine_type *ret_t)
{
	struct gpc_row r;

	if (i >= N_ROWS)
		return false;
	gpc_row_split(rows[i], &r);
	*ret_t = (struct gpc_machine_type){
		.gpus = (int)gpc_row_number(&r, GPUS),
		.gpu_memory_gb = (int)gpc_row_number(&r, GPU_MEMORY),
		.cpus = gpc_row_number(&r, CPUS),
		.memory_bytes = (uint64_t)(gpc_row_number(&r, MEMORY) * (1 << 30)),
		.network_gbps = gpc_row_number(&r, NETWORK),
	};
	(void)gpc_arch_find(r.f[ARCH], &ret_t->arch);
	GPC_ROW_TAKE(ret_t->provider, &r, PROVIDER);
	GPC_ROW_TAKE(ret_t->name, &r, NAME);
	GPC_ROW_TAKE(ret_t->gpu, &r, GPU);
	GPC_ROW_TAKE(ret_t->rdma, &r, RDMA);
	GPC_ROW_TAKE(ret_t->interconnect, &r, INTERCONNECT);
	return true;
}

bool gpc_machine_type_find(const char *provider, const char *name,
	struct gpc_machine_type *ret_t)
{
	for (size_t i = 0; gpc_machine_type_at(i, ret_t); i++)
		if (gpc_eq(ret_t->name, name) && gpc_eq(ret_t->provider, provider))
			return true;
	return false;
}
