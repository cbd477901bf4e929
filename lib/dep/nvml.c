/* NVIDIA's management library, opened when somebody asks for GPUs.
 *
 * No header and no link dependency: the handful of functions that gpucloud
 * calls are declared here, as their stable ABI has had them since driver 384.
 * A machine without the library or without a driver answers
 * GPC_EUNSUPPORTED, which callers read as "no GPU here". */
#include "dep/nvml.h"

#include <dlfcn.h>
#include <string.h>

#include "base/mem.h"

typedef void *nvml_device;
struct nvml_memory { unsigned long long total, free, used; };
struct nvml_utilization { unsigned gpu, memory; };
enum { NVML_OK = 0, NVML_TEMPERATURE_GPU = 0, MAX_GPUS = 256 };

struct gpc_nvml {
	void *lib;
	unsigned n;
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, nvml_device *);
	int (*name)(nvml_device, char *, unsigned);
	int (*uuid)(nvml_device, char *, unsigned);
	int (*memory)(nvml_device, struct nvml_memory *);
	int (*utilization)(nvml_device, struct nvml_utilization *);
	int (*power)(nvml_device, unsigned *);
	int (*temperature)(nvml_device, int, unsigned *);
	int (*driver)(char *, unsigned);
};

/* slot points at a function pointer: C has no cast from void * to one. */
static bool find(void *lib, const char *symbol, void *slot)
{
	void *p = dlsym(lib, symbol);

	memcpy(slot, &p, sizeof(p));
	return p != NULL;
}

static bool find_all(struct gpc_nvml *n)
{
	bool ok = find(n->lib, "nvmlInit_v2", &n->init)
		&& find(n->lib, "nvmlShutdown", &n->shutdown)
		&& find(n->lib, "nvmlDeviceGetCount_v2", &n->count)
		&& find(n->lib, "nvmlDeviceGetHandleByIndex_v2", &n->handle)
		&& find(n->lib, "nvmlDeviceGetName", &n->name)
		&& find(n->lib, "nvmlDeviceGetUUID", &n->uuid)
		&& find(n->lib, "nvmlDeviceGetMemoryInfo", &n->memory);

	find(n->lib, "nvmlDeviceGetUtilizationRates", &n->utilization);
	find(n->lib, "nvmlDeviceGetPowerUsage", &n->power);
	find(n->lib, "nvmlDeviceGetTemperature", &n->temperature);
	find(n->lib, "nvmlSystemGetDriverVersion", &n->driver);
	return ok;
}

int gpc_nvml_open(struct gpc_nvml **ret_n, struct gpc_error *err)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	struct gpc_nvml *n;

	if (!lib)
		return gpc_fail(err, GPC_EUNSUPPORTED, "no NVIDIA driver");
	n = gpc_alloc(sizeof(*n));
	n->lib = lib;
	if (!find_all(n)) {
		dlclose(lib);
		free(n);
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"the NVIDIA driver is too old for gpucloud");
	}
	if (n->init() != NVML_OK) {
		dlclose(lib);
		free(n);
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"the NVIDIA driver is not loaded");
	}
	if (n->count(&n->n) != NVML_OK || n->n > MAX_GPUS)
		n->n = 0;
	*ret_n = n;
	return 0;
}

void gpc_nvml_free(struct gpc_nvml *n)
{
	if (!n)
		return;
	n->shutdown();
	dlclose(n->lib);
	free(n);
}

size_t gpc_nvml_count(const struct gpc_nvml *n)
{
	return n ? n->n : 0;
}

int gpc_nvml_driver(struct gpc_nvml *n, char ret_text[96],
	struct gpc_error *err)
{
	char text[96] = "";

	if (!n->driver || n->driver(text, sizeof(text) - 1) != NVML_OK || !*text)
		return gpc_fail(err, GPC_EUNSUPPORTED, "the NVIDIA driver does not "
			"tell its version");
	memcpy(ret_text, text, sizeof(text));
	return 0;
}

static int device(struct gpc_nvml *n, size_t gpu, nvml_device *ret_d,
	struct gpc_error *err)
{
	if (gpu >= gpc_nvml_count(n))
		return gpc_fail(err, GPC_ENOTFOUND, "no GPU %zu here", gpu);
	if (n->handle((unsigned)gpu, ret_d) != NVML_OK)
		return gpc_fail(err, GPC_EIO, "GPU %zu does not answer", gpu);
	return 0;
}

int gpc_nvml_info(struct gpc_nvml *n, size_t gpu, struct gpc_gpu_info *ret_i,
	struct gpc_error *err)
{
	struct gpc_gpu_info info = {0};
	struct nvml_memory mem = {0};
	nvml_device d;
	int r = device(n, gpu, &d, err);

	if (r < 0)
		return r;
	if (n->name(d, info.name, sizeof(info.name)) != NVML_OK
		|| n->uuid(d, info.uuid, sizeof(info.uuid)) != NVML_OK
		|| n->memory(d, &mem) != NVML_OK)
		return gpc_fail(err, GPC_EIO, "GPU %zu does not answer", gpu);
	info.memory_bytes = mem.total;
	*ret_i = info;
	return 0;
}

int gpc_nvml_sample(struct gpc_nvml *n, size_t gpu,
	struct gpc_gpu_sample *ret_s, struct gpc_error *err)
{
	struct gpc_gpu_sample s = { .utilization = -1, .power_mw = -1,
		.temperature_c = -1 };
	struct nvml_utilization u = {0};
	struct nvml_memory mem = {0};
	unsigned x = 0;
	nvml_device d;
	int r = device(n, gpu, &d, err);

	if (r < 0)
		return r;
	if (n->memory(d, &mem) != NVML_OK)
		return gpc_fail(err, GPC_EIO, "GPU %zu does not answer", gpu);
	s.memory_used_bytes = mem.used;
	if (n->utilization && n->utilization(d, &u) == NVML_OK)
		s.utilization = (int)u.gpu;
	if (n->power && n->power(d, &x) == NVML_OK)
		s.power_mw = (int)x;
	if (n->temperature
		&& n->temperature(d, NVML_TEMPERATURE_GPU, &x) == NVML_OK)
		s.temperature_c = (int)x;
	*ret_s = s;
	return 0;
}
