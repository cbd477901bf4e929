/* A job that cannot use the GPUs it pays for is told so before it begins. Where the
 * provider has chosen them itself, it has seen them: then a driver that does not answer
 * only costs the figures. */
#include "agent/gpus.h"

#include <stdint.h>

#include "base/str.h"
#include "model/boot_failure.h"

static gpc_printf(4, 5) int cannot(struct gpc_agent *a, const char *word,
	struct gpc_error *err, const char *fmt, ...)
{
	gpc_autostr *said = NULL, *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	said = gpc_vformat(fmt, ap);
	va_end(ap);
	a->boot = gpc_boot_failure_find(word);
	text = gpc_boot_failure_text(a->boot, said);
	return gpc_fail(err, GPC_EUNSUPPORTED, "%s", text);
}

/* The number that begins here; what is too large is as good as the largest. */
static uint64_t next_number(const char **at)
{
	uint64_t n = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		n = n < UINT32_MAX ? n * 10 + (uint64_t)(**at - '0') : n;
	*at += **at == '.';
	return n;
}

bool gpc_gpus_version_at_least(const char *version, const char *least)
{
	while (*version >= '0' && *version <= '9' && *least) {
		uint64_t has = next_number(&version), wants = next_number(&least);

		if (has != wants)
			return has > wants;
	}
	/* What has no further parts has zeros there. */
	while (*least >= '0' && *least <= '9')
		if (next_number(&least) > 0)
			return false;
	return true;
}

static int check_driver(struct gpc_agent *a, struct gpc_error *err)
{
	const char *least = a->spec.min_driver;
	struct gpc_error why = {0};
	char version[96];

	if (!least)
		return 0;
	if (gpc_nvml_driver(a->nvml, version, &why) < 0)
		return cannot(a, "no_driver", err, "%s", why.msg);
	if (gpc_gpus_version_at_least(version, least))
		return 0;
	return cannot(a, "old_driver", err, "it is %s, asked for is %s", version,
		least);
}

static int take_all(struct gpc_agent *a, struct gpc_error *err)
{
	size_t n = gpc_nvml_count(a->nvml);

	if (n < (size_t)a->node->n_gpus)
		return cannot(a, "few_gpus", err, "%zu of %d", n, a->node->n_gpus);
	a->gpus = gpc_json_array();
	for (size_t i = 0; i < n; i++)
		gpc_json_add(a->gpus, gpc_json_int((int64_t)i));
	return 0;
}

int gpc_gpus_open(struct gpc_agent *a, struct gpc_error *err)
{
	bool chosen = gpc_json_first(a->node->gpus);
	struct gpc_error why = {0};
	int r = 0;

	if (!chosen && a->node->n_gpus <= 0)
		return 0;
	if (chosen)
		a->gpus = gpc_json_copy(a->node->gpus);
	if (gpc_nvml_open(&a->nvml, &why) < 0) {
		if (!chosen || a->spec.min_driver)
			return cannot(a, "no_driver", err, "%s", why.msg);
		gpc_agent_say(a, GPC_WARN, "no GPU figures: %s", why.msg);
		return 0;
	}
	if (!chosen)
		r = take_all(a, err);
	return r < 0 ? r : check_driver(a, err);
}
