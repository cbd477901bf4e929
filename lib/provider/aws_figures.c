/* facts: PutMetricData takes 1,000 data, names of 255 characters, no NaN, and values
 * between 2^-360 and 2^360. */
#include "provider/aws_figures.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/time.h"

#define NAME_MAX_BYTES 255
#define DECIMALS "%.15g"

static const struct { const char *ours, *theirs, *unit; } of_gpus[] = {
	{"utilization", "GPUUtilization", "Percent"},
	{"memory_bytes", "GPUMemoryUsed", "Bytes"},
	{"power_w", "GPUPower", "None"},
	{"temperature_c", "GPUTemperature", "None"},
};

static bool is_good(double x)
{
	return isfinite(x) && fabs(x) <= ldexp(1, 360);
}

/* What is smaller than any value that is taken is 0. */
static void set_value(struct gpc_pairs *to, const char *key, double x)
{
	gpc_pairs_setf(to, key, DECIMALS, fabs(x) < ldexp(1, -360) ? 0.0 : x);
}

static bool is_name(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return n > 0 && n <= NAME_MAX_BYTES && text[0] != ':';
}

/* "gpu3.utilization": the digits, and which; -1 = no figure of a GPU. */
static int gpu_of(const char *name, char **ret_gpu)
{
	size_t digits = gpc_starts_with(name, "gpu") ?
		strspn(name + 3, "0123456789") : 0;

	if (!digits || name[3 + digits] != '.')
		return -1;
	for (size_t i = 0; i < sizeof(of_gpus) / sizeof(*of_gpus); i++) {
		if (!gpc_eq(of_gpus[i].ours, name + 4 + digits))
			continue;
		*ret_gpu = gpc_strndup(name + 3, digits);
		return (int)i;
	}
	return -1;
}

static void add_dimension(struct gpc_pairs *to, const char *datum, int n,
	const char *name, const char *value)
{
	gpc_autostr *key = gpc_format("%s.Dimensions.member.%d.Name", datum, n);
	gpc_autostr *val = gpc_format("%s.Dimensions.member.%d.Value", datum, n);

	gpc_pairs_set(to, key, name);
	gpc_pairs_set(to, val, value);
}

static void add_values(struct gpc_pairs *to, const char *datum,
	const struct gpc_figure *x)
{
	const struct { const char *name; double value; } all[] = {
		{"Minimum", x->least}, {"Maximum", x->most}, {"Sum", x->sum},
		{"SampleCount", (double)x->n},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		gpc_autostr *key = gpc_format("%s.StatisticValues.%s", datum,
			all[i].name);

		set_value(to, key, all[i].value);
	}
}

static void add_datum(const struct gpc_figures *f, const struct gpc_figure *x,
	size_t n, struct gpc_pairs *to)
{
	gpc_autostr *datum = gpc_format("MetricData.member.%zu", n);
	gpc_autostr *name = gpc_format("%s.MetricName", datum);
	gpc_autostr *unit = gpc_format("%s.Unit", datum);
	gpc_autostr *at = gpc_format("%s.Timestamp", datum);
	gpc_autostr *rank = gpc_format("%d", f->rank), *gpu = NULL;
	char when[GPC_RFC3339_SIZE];
	int i = gpu_of(x->name, &gpu);

	gpc_pairs_set(to, name, i >= 0 ? of_gpus[i].theirs : x->name);
	gpc_pairs_set(to, unit, i >= 0 ? of_gpus[i].unit : "None");
	gpc_pairs_set(to, at, gpc_format_rfc3339(x->at_ms, when));
	add_dimension(to, datum, 1, "JobId", f->job);
	add_dimension(to, datum, 2, "Rank", rank);
	if (gpu)
		add_dimension(to, datum, 3, "GPU", gpu);
	add_values(to, datum, x);
}

size_t gpc_aws_figures_params(const struct gpc_figures *f, struct gpc_pairs *to)
{
	size_t n = 0;

	gpc_pairs_set(to, "Namespace", f->space);
	gpc_vec_each(x, &f->v)
		if (n < GPC_AWS_FIGURES_MOST && x->n > 0 && is_name(x->name) &&
			is_good(x->least) && is_good(x->most) && is_good(x->sum))
			add_datum(f, x, ++n, to);
	return n;
}
