/* Stands in for NVIDIA's library: two GPUs, of which the second is busy. The driver's
 * version is that of FAKE_NVML_DRIVER; "none": it does not load. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory { unsigned long long total, free, used; };
struct utilization { unsigned gpu, memory; };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d);
int nvmlDeviceGetName(void *d, char *text, unsigned n);
int nvmlDeviceGetUUID(void *d, char *text, unsigned n);
int nvmlDeviceGetMemoryInfo(void *d, struct memory *m);
int nvmlDeviceGetUtilizationRates(void *d, struct utilization *u);
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw);
int nvmlSystemGetDriverVersion(char *text, unsigned n);

static const char devices[2];

static const char *driver(void)
{
	const char *set = getenv("FAKE_NVML_DRIVER");

	return set ? set : "535.104.05";
}

int nvmlInit_v2(void)
{
	return strcmp(driver(), "none") == 0 ? 9 : 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned n)
{
	snprintf(text, n, "%s", driver());
	return 0;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d)
{
	if (i >= 2)
		return 2;
	*d = (void *)&devices[i];
	return 0;
}

int nvmlDeviceGetName(void *d, char *text, unsigned n)
{
	(void)d;
	snprintf(text, n, "NVIDIA A100-SXM4-40GB");
	return 0;
}

int nvmlDeviceGetUUID(void *d, char *text, unsigned n)
{
	snprintf(text, n, "GPU-%d", (int)((const char *)d - devices));
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *d, struct memory *m)
{
	(void)d;
	*m = (struct memory){ .total = 40ULL << 30, .free = 39ULL << 30,
		.used = 1ULL << 30 };
	return 0;
}

int nvmlDeviceGetUtilizationRates(void *d, struct utilization *u)
{
	*u = (struct utilization){ .gpu = d == &devices[1] ? 90 : 3 };
	return 0;
}

int nvmlDeviceGetPowerUsage(void *d, unsigned *mw)
{
	(void)d;
	*mw = 61000;
	return 0;
}
