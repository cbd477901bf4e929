/* What PutMetricData is sent. That AWS's own descriptions know these names, the stand-in
 * checks in the end-to-end tests. */
#include "test.h"

#include <math.h>

#include "base/str.h"
#include "provider/aws_figures.h"

static void add(struct gpc_figures *f, const char *name, double least, double most,
	double sum, int64_t n)
{
	*gpc_vec_push(&f->v) = (struct gpc_figure){ gpc_strdup(name), least, most,
		sum, n, 1800000000123 };
}

static void clear(struct gpc_figures *f)
{
	gpc_vec_each(x, &f->v)
		free(x->name);
	gpc_vec_free(&f->v);
}

static struct gpc_figures of_job(void)
{
	return (struct gpc_figures){ .space = "team/training",
		.job = "train-abcdef", .node = "us-east-1/i-1", .rank = 3 };
}

TEST(figures_as_parameters)
{
	static const struct { const char *key, *value; } wanted[] = {
		{"Namespace", "team/training"},
		{"MetricData.member.1.MetricName", "loss"},
		{"MetricData.member.1.Unit", "None"},
		{"MetricData.member.1.Timestamp", "2027-01-15T08:00:00.123Z"},
		{"MetricData.member.1.Dimensions.member.1.Name", "JobId"},
		{"MetricData.member.1.Dimensions.member.1.Value", "train-abcdef"},
		{"MetricData.member.1.Dimensions.member.2.Name", "Rank"},
		{"MetricData.member.1.Dimensions.member.2.Value", "3"},
		{"MetricData.member.1.StatisticValues.Minimum", "0.25"},
		{"MetricData.member.1.StatisticValues.Maximum", "2.5"},
		{"MetricData.member.1.StatisticValues.Sum", "2.75"},
		{"MetricData.member.1.StatisticValues.SampleCount", "2"},
		{"MetricData.member.2.MetricName", "GPUUtilization"},
		{"MetricData.member.2.Unit", "Percent"},
		{"MetricData.member.2.Dimensions.member.3.Name", "GPU"},
		{"MetricData.member.2.Dimensions.member.3.Value", "7"},
		{"MetricData.member.3.MetricName", "GPUMemoryUsed"},
		{"MetricData.member.3.Unit", "Bytes"},
		{"MetricData.member.3.StatisticValues.Sum", "85899345920"},
		{"MetricData.member.4.MetricName", "GPUPower"},
		{"MetricData.member.5.MetricName", "GPUTemperature"},
		{"MetricData.member.6.MetricName", "gpu7.other"},
	};
	struct gpc_figures f = of_job();
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	add(&f, "loss", 0.25, 2.5, 2.75, 2);
	add(&f, "gpu7.utilization", 90, 90, 90, 1);
	add(&f, "gpu7.memory_bytes", 85899345920.0, 85899345920.0, 85899345920.0, 1);
	add(&f, "gpu7.power_w", 300, 300, 300, 1);
	add(&f, "gpu7.temperature_c", 60, 60, 60, 1);
	add(&f, "gpu7.other", 1, 1, 1, 1);
	assert_int_equal(gpc_aws_figures_params(&f, &p), 6);
	for (size_t i = 0; i < COUNT(wanted); i++) {
		const char *value = gpc_pairs_get(&p, wanted[i].key);

		if (!gpc_eq(value, wanted[i].value))
			fail_msg("%s is %s", wanted[i].key, value ? value : "-");
	}
	assert_null(gpc_pairs_get(&p,
		"MetricData.member.6.Dimensions.member.3.Name"));
	clear(&f);
}

/* One bad datum would cost the whole call. */
TEST(what_would_be_refused_is_left_out)
{
	struct gpc_figures f = of_job();
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autostr *longest = gpc_alloc(257);

	memset(longest, 'x', 256);
	add(&f, "", 1, 1, 1, 1);
	add(&f, ":colon", 1, 1, 1, 1);
	add(&f, "caf\xc3\xa9", 1, 1, 1, 1);
	add(&f, longest, 1, 1, 1, 1);
	add(&f, "nan", (double)NAN, 1, 1, 1);
	add(&f, "inf", 1, 1, (double)INFINITY, 1);
	add(&f, "huge", 1e120, 1e120, 1e120, 1);
	add(&f, "none", 0, 0, 0, 0);
	assert_int_equal(gpc_aws_figures_params(&f, &p), 0);
	add(&f, "tiny", 1e-200, 1e-200, 1e-200, 1);
	assert_int_equal(gpc_aws_figures_params(&f, &p), 1);
	assert_string_equal(gpc_pairs_get(&p,
		"MetricData.member.1.StatisticValues.Sum"), "0");
	clear(&f);
}

TEST(no_more_than_a_call_takes)
{
	struct gpc_figures f = of_job();
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	for (int i = 0; i < GPC_AWS_FIGURES_MOST + 5; i++) {
		gpc_autostr *name = gpc_format("m%d", i);

		add(&f, name, 1, 1, 1, 1);
	}
	assert_int_equal(gpc_aws_figures_params(&f, &p), GPC_AWS_FIGURES_MOST);
	clear(&f);
}


int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_as_parameters),
		cmocka_unit_test(what_would_be_refused_is_left_out),
		cmocka_unit_test(no_more_than_a_call_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
