/* Names of GPUs: users write "A100-40GB", the driver says
 * "NVIDIA A100-SXM4-40GB". Both are looked up in the table of models. Where one
 * of them is not in it, the first part of the wish must be a word of the
 * driver's name; a memory part is compared with the real memory; a form factor
 * excludes only the other form factor. */
#include "provider/gpu_match.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "model/gpu_alias.h"

#define NVML_VENDOR "nvidia"     /* whose GPUs NVML shows */

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c);
}

/* word stands in name between characters that are no letters or digits. */
static bool has_word(const char *name, struct gpc_str word)
{
	size_t len = strlen(name);

	for (size_t i = 0; i + word.len <= len; i++) {
		gpc_autostr *a = gpc_strndup(name + i, word.len);
		gpc_autostr *b = gpc_strndup(word.ptr, word.len);

		if (gpc_eq_nocase(a, b) && (i == 0 || !is_name_char(name[i - 1]))
			&& !is_name_char(name[i + word.len]))
			return true;
	}
	return false;
}

static bool has_text(const char *name, const char *word)
{
	size_t n = strlen(word);

	for (; *name; name++) {
		gpc_autostr *part = gpc_strndup(name, n);

		if (gpc_eq_nocase(part, word))
			return true;
	}
	return false;
}

static bool memory_near(int have_gb, int want_gb)
{
	int slack = want_gb / 10 > 1 ? want_gb / 10 : 1;

	return have_gb >= want_gb - slack && have_gb <= want_gb + slack;
}

/* "80GB" -> 80; 0 = not such a part. */
static int memory_part(struct gpc_str part)
{
	int n = 0;
	size_t i = 0;

	for (; i < part.len && isdigit((unsigned char)part.ptr[i]) && n < 10000; i++)
		n = n * 10 + (part.ptr[i] - '0');
	if (i == 0 || part.len - i != 2 || toupper((unsigned char)part.ptr[i]) != 'G'
		|| toupper((unsigned char)part.ptr[i + 1]) != 'B')
		return 0;
	return n;
}

static bool form_conflicts(const char *name, const char *form)
{
	bool sxm = has_text(name, "SXM"), pcie = has_text(name, "PCIE");

	if (gpc_eq_nocase(form, "SXM"))
		return pcie && !sxm;
	if (gpc_eq_nocase(form, "PCIE"))
		return sxm && !pcie;
	return false;
}

/* By the words of the names, for a model that the table does not know. */
static bool words_match(const char *want, const struct gpc_gpu_info *gpu)
{
	struct gpc_str rest = gpc_str_of(want), part;

	if (!gpc_str_split(&rest, '-', &part) || !has_word(gpu->name, part))
		return false;
	while (gpc_str_split(&rest, '-', &part)) {
		gpc_autostr *text = gpc_strndup(part.ptr, part.len);
		int gb = memory_part(part);

		if (gb ? !memory_near(gpc_gpu_memory_gb(gpu), gb)
			: form_conflicts(gpu->name, text))
			return false;
	}
	return true;
}

bool gpc_gpu_matches(const struct gpc_gpu_ask *ask,
	const struct gpc_gpu_info *gpu)
{
	const struct gpc_gpu_model *have = gpc_gpu_of_device(gpu->name,
		gpu->memory_bytes), *want;
	int gb = gpc_gpu_memory_gb(gpu);

	if (!ask->name) {
		if (ask->vendor && !gpc_eq(ask->vendor,
			have ? have->vendor : NVML_VENDOR))
			return false;
		return ask->memory_at_least ? gb >= ask->memory_gb - 1
			: ask->memory_gb == 0 || memory_near(gb, ask->memory_gb);
	}
	want = gpc_gpu_find(ask->name);
	if (have && want)
		return have == want;
	return words_match(ask->name, gpu);
}

int gpc_gpu_ask_count(const struct gpc_gpu_ask *ask)
{
	double n = ceil(ask->count);

	return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}

int gpc_gpu_memory_gb(const struct gpc_gpu_info *gpu)
{
	return (int)((gpu->memory_bytes + ((uint64_t)1 << 29)) >> 30);
}
