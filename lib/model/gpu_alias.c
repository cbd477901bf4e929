/* Accelerator names. Users, price lists and drivers each have their own
 * spelling of one model; everything inside gpucloud uses the canonical one, so
 * that a wish and an offer can be compared by equality. The bare name of a
 * model with several sizes means its first: A100 = 40 GB, V100 = 16 GB. */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "model/gpu_alias.h"

#define N(a) (sizeof(a) / sizeof(*(a)))
enum { KEY = 64 };

static const struct gpc_gpu_model models[] = {
	{"K80", "nvidia", 12}, {"M60", "nvidia", 8}, {"P4", "nvidia", 8},
	{"P100", "nvidia", 16}, {"V100-16GB", "nvidia", 16},
	{"V100-32GB", "nvidia", 32}, {"T4", "nvidia", 16},
	{"T4G", "nvidia", 16}, {"RTX3090", "nvidia", 24},
	{"RTX4090", "nvidia", 24}, {"RTX5090", "nvidia", 32},
	{"A10", "nvidia", 24}, {"A10G", "nvidia", 24}, {"A30", "nvidia", 24},
	{"A40", "nvidia", 48}, {"A100-40GB", "nvidia", 40},
	{"A100-80GB", "nvidia", 80}, {"L4", "nvidia", 24},
	{"L20", "nvidia", 48}, {"L40", "nvidia", 48}, {"L40S", "nvidia", 48},
	{"RTX6000Ada", "nvidia", 48}, {"RTX-PRO-6000-BSE", "nvidia", 96},
	{"RTX-PRO-5000-48GB", "nvidia", 48},
	{"RTX-PRO-5000-72GB", "nvidia", 72},
	{"RTX-PRO-4500-BSE", "nvidia", 32}, {"H20", "nvidia", 96},
	{"H100-PCIe", "nvidia", 80}, {"H100-SXM", "nvidia", 80},
	{"H100-NVL", "nvidia", 94}, {"H200", "nvidia", 141},
	{"GH200", "nvidia", 96}, {"B200", "nvidia", 180},
	{"B300", "nvidia", 288}, {"GB200", "nvidia", 186},
	{"GB300", "nvidia", 279}, {"V520", "amd", 8}, {"MI210", "amd", 64},
	{"MI250X", "amd", 128}, {"MI300X", "amd", 192},
	{"MI325X", "amd", 256}, {"TPU-v2", "google", 16},
	{"TPU-v3", "google", 32}, {"TPU-v4", "google", 32},
	{"TPU-v5e", "google", 16}, {"TPU-v5p", "google", 95},
	{"TPU-v6e", "google", 32}, {"TPU-v7", "google", 192},
	{"Trainium1", "aws", 32}, {"Trainium2", "aws", 96},
	{"Inferentia1", "aws", 8}, {"Inferentia2", "aws", 32},
	{"Ascend910B", "huawei", 64},
};

/* Compared without -, _, spaces and letter case. */
static const char *const aliases[][2] = {
	{"V100", "V100-16GB"}, {"V100-SXM2", "V100-16GB"},
	{"V100-SXM2-16GB", "V100-16GB"}, {"V100-SXM2-32GB", "V100-32GB"},
	{"V100-PCIe-16GB", "V100-16GB"}, {"V100-PCIe-32GB", "V100-32GB"},
	{"V100-SXM3-32GB", "V100-32GB"}, {"P100-PCIe-16GB", "P100"},
	{"P100-SXM2-16GB", "P100"}, {"A100", "A100-40GB"},
	{"A100-SXM4-40GB", "A100-40GB"}, {"A100-SXM4-80GB", "A100-80GB"},
	{"A100-SXM-40GB", "A100-40GB"}, {"A100-SXM-80GB", "A100-80GB"},
	{"A100-SXM", "A100-40GB"}, {"A100-PCIe", "A100-40GB"},
	{"A100-PCIe-40GB", "A100-40GB"}, {"A100-PCIe-80GB", "A100-80GB"},
	{"A100-80GB-PCIe", "A100-80GB"}, {"A100-80GB-SXM", "A100-80GB"},
	{"H100", "H100-SXM"}, {"H100-80GB", "H100-SXM"},
	{"H100-80GB-HBM3", "H100-SXM"}, {"H100-SXM5", "H100-SXM"},
	{"H100-SXM5-80GB", "H100-SXM"}, {"H100-MEGA-80GB", "H100-SXM"},
	{"H100-MEGA", "H100-SXM"}, {"H100-PCIe-80GB", "H100-PCIe"},
	{"H100-NVL-94GB", "H100-NVL"}, {"H200-SXM", "H200"},
	{"H200-141GB", "H200"}, {"GH200-96GB", "GH200"},
	{"GH200-480GB", "GH200"}, {"B200-SXM", "B200"},
	{"B300-SXM6", "B300"}, {"B300-SXM6-AC", "B300"},
	{"Tesla-T4", "T4"}, {"Tesla-K80", "K80"}, {"3090", "RTX3090"},
	{"4090", "RTX4090"}, {"5090", "RTX5090"},
	{"RTX-6000-Ada-Generation", "RTX6000Ada"},
	{"RTX6000-Ada", "RTX6000Ada"}, {"RTX-PRO-6000", "RTX-PRO-6000-BSE"},
	{"RTXPRO6000-Blackwell-Server-Edition", "RTX-PRO-6000-BSE"},
	{"RTX-PRO-5000", "RTX-PRO-5000-48GB"},
	{"RTX-PRO-4500", "RTX-PRO-4500-BSE"}, {"MI300", "MI300X"},
	{"Instinct-MI300X", "MI300X"}, {"Instinct-MI210", "MI210"},
	{"Radeon-Pro-V520", "V520"}, {"TPU-v5-lite", "TPU-v5e"},
	{"TPU-v5litepod", "TPU-v5e"}, {"TPU-v6-lite", "TPU-v6e"},
	{"TPU7x", "TPU-v7"}, {"Trainium", "Trainium1"}, {"Trn1", "Trainium1"},
	{"Trn2", "Trainium2"}, {"Inferentia", "Inferentia1"},
	{"Inf1", "Inferentia1"}, {"Inf2", "Inferentia2"},
	{"Ascend-910B", "Ascend910B"},
};

/* Lower case letters and digits only; false when it does not fit. */
static bool make_key(const char *name, char ret_key[KEY])
{
	size_t n = 0;

	for (; *name; name++) {
		if (*name == '-' || *name == '_' || *name == ' ')
			continue;
		if (n == KEY - 1)
			return false;
		ret_key[n++] = (char)tolower((unsigned char)*name);
	}
	ret_key[n] = '\0';
	return n > 0;
}

static bool same(const char *key, const char *name)
{
	char other[KEY];

	return make_key(name, other) && gpc_eq(key, other);
}

static const struct gpc_gpu_model *find_model(const char *key)
{
	for (size_t i = 0; i < N(models); i++) {
		if (same(key, models[i].name))
			return &models[i];
	}
	return NULL;
}

const struct gpc_gpu_model *gpc_gpu_find(const char *name)
{
	const struct gpc_gpu_model *model;
	char key[KEY], target[KEY];

	if (!make_key(name, key))
		return NULL;
	model = find_model(key);
	for (size_t i = 0; !model && i < N(aliases); i++) {
		if (same(key, aliases[i][0]) && make_key(aliases[i][1], target))
			model = find_model(target);
	}
	return model;
}

/* Another size of the same model: the name up to its last dash. */
static const struct gpc_gpu_model *by_memory(const struct gpc_gpu_model *m,
	int gb)
{
	const char *dash = strrchr(m->name, '-');
	size_t n = dash ? (size_t)(dash - m->name) + 1 : 0;

	if (!n || !gpc_ends_with(m->name, "GB"))
		return m;
	for (size_t i = 0; i < N(models); i++) {
		int apart = models[i].memory_gb - gb;

		if (!strncmp(models[i].name, m->name, n) && apart >= -4 &&
		    apart <= 4)
			return &models[i];
	}
	return m;
}

const struct gpc_gpu_model *gpc_gpu_of_device(const char *device,
	uint64_t memory_bytes)
{
	static const char *const prefixes[] = {
		"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "AMD ",
	};
	const struct gpc_gpu_model *m;

	for (size_t i = 0; i < N(prefixes); i++) {
		if (gpc_starts_with(device, prefixes[i]))
			device += strlen(prefixes[i]);
	}
	m = gpc_gpu_find(device);
	if (!m || !memory_bytes)
		return m;
	return by_memory(m, (int)(memory_bytes >> 30));
}

const char *gpc_gpu_nearest(const char *name)
{
	const char *words[N(models) + N(aliases)];
	size_t n = 0;

	for (size_t i = 0; i < N(models); i++)
		words[n++] = models[i].name;
	for (size_t i = 0; i < N(aliases); i++)
		words[n++] = aliases[i][0];
	return gpc_nearest(name, words, n);
}

const struct gpc_gpu_model *gpc_gpu_models(size_t *ret_n)
{
	*ret_n = N(models);
	return models;
}

bool gpc_gpu_is_vendor(const char *word)
{
	static const char *const vendors[] = {
		"nvidia", "amd", "google", "aws", "huawei", "intel",
	};

	for (size_t i = 0; i < N(vendors); i++) {
		if (gpc_eq_nocase(word, vendors[i]))
			return true;
	}
	return false;
}
