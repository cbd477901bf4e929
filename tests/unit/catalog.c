/* The tables that are built in: each row is whole, and is found by what names it. */
#include "test.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "catalog/accelerators.h"
#include "catalog/prices.h"
#include "catalog/types.h"
#include "model/gpu_alias.h"

TEST(each_type_is_whole)
{
	struct gpc_machine_type t, again;
	size_t n = 0;

	for (; gpc_machine_type_at(n, &t); n++) {
		assert_true(t.provider[0] && strchr(t.name, '.'));
		assert_true(t.cpus > 0 && t.memory_bytes > 0);
		assert_true(t.rdma[0] && t.interconnect[0]);
		assert_int_equal(t.gpus > 0, t.gpu[0] != '\0');
		assert_int_equal(t.gpus > 0, t.gpu_memory_gb > 0);
		if (t.gpu[0])
			assert_non_null(gpc_gpu_find(t.gpu));
		assert_true(gpc_machine_type_find(t.provider, t.name, &again));
		assert_memory_equal(&t, &again, sizeof(t));
	}
	assert_true(n > 100);
}

TEST(types_are_found_by_their_whole_name)
{
	struct gpc_machine_type t;

	assert_true(gpc_machine_type_find("aws", "p5.48xlarge", &t));
	assert_int_equal(t.gpus, 8);
	assert_string_equal(t.gpu, "H100-SXM");
	assert_string_equal(t.rdma, "efa");
	assert_string_equal(t.interconnect, "nvswitch");
	assert_int_equal(t.arch, GPC_ARCH_X86_64);
	assert_true(gpc_machine_type_find("aws", "g5g.xlarge", &t));
	assert_int_equal(t.arch, GPC_ARCH_ARM64);
	assert_false(gpc_machine_type_find("aws", "p5", &t));
	assert_false(gpc_machine_type_find("gcp", "p5.48xlarge", &t));
}

/* All that people can ask for by name is known; half precision is the fastest that
 * everything trains in. */
TEST(each_accelerator_is_whole)
{
	size_t n = 0;
	const struct gpc_gpu_model *models = gpc_gpu_models(&n);
	struct gpc_accelerator a;

	for (size_t i = 0; i < n; i++) {
		if (!gpc_accelerator_find(models[i].name, &a))
			fail_msg("%s is not in the table", models[i].name);
		assert_true(a.architecture[0] && a.can[GPC_FP32]);
		for (int p = 0; p < GPC_PRECISION__COUNT; p++)
			assert_true(a.can[p] || a.tflops[p] == 0);
	}
	assert_true(gpc_accelerator_find("H100-SXM", &a));
	assert_true(a.can[GPC_FP8] && a.tflops[GPC_BF16] > 989);
	assert_true(gpc_accelerator_find("V100-16GB", &a));
	assert_string_equal(a.architecture, "Volta");
	assert_false(a.can[GPC_FP8] || a.can[GPC_BF16] || a.can[GPC_TF32]);
	assert_true(a.can[GPC_FP16] && a.tflops[GPC_FP16] > 100);
	assert_false(gpc_accelerator_find("V100", &a));
	assert_false(gpc_accelerator_find("", &a) || gpc_accelerator_find(NULL, &a));
}

/* As the file says it: nothing is lost between the rows and what is looked up. */
TEST(each_price_is_found)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	struct gpc_str rest, line;
	struct gpc_error err;
	size_t n = 0;

	assert_ok(gpc_read_file(GPC_TEST_SOURCE "/lib/catalog/data/prices.csv",
		1 << 20, &text, &err));
	rest = (struct gpc_str){ text.data, text.len };
	assert_true(gpc_str_split(&rest, '\n', &line));
	while (gpc_str_split(&rest, '\n', &line)) {
		char provider[12], region[24], type[40], amount[16], currency[4];
		struct gpc_money price = {0}, told = {0};
		int64_t ms = 0;

		if (!line.len)
			continue;
		assert_int_equal(sscanf(line.ptr,
			"%11[^,],%23[^,],%39[^,],%15[^,],%3[^,]", provider, region,
			type, amount, currency), 5);
		assert_ok(gpc_money_parse(amount, currency, "row", &told, &err));
		assert_true(gpc_list_price(provider, region, type, &price, &ms));
		assert_int_equal(price.micros, told.micros);
		assert_string_equal(price.currency, currency);
		assert_true(price.micros > 0 && ms > 0);
		n++;
	}
	assert_true(n > 1000);
}

TEST(what_has_no_price_has_none)
{
	struct gpc_money price;
	int64_t ms;

	assert_false(gpc_list_price("aws", "us-east-1", "p5", &price, &ms));
	assert_false(gpc_list_price("aws", "us-east", "p5.48xlarge", &price, &ms));
	assert_false(gpc_list_price("", "", "", &price, &ms));
	assert_false(gpc_list_price("zzz", "us-east-1", "p5.48xlarge", &price, &ms));
	assert_true(gpc_list_sells_in("aws", "cn-north-1"));
	assert_false(gpc_list_sells_in("aws", "us-east"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_is_whole),
		cmocka_unit_test(types_are_found_by_their_whole_name),
		cmocka_unit_test(each_accelerator_is_whole),
		cmocka_unit_test(each_price_is_found),
		cmocka_unit_test(what_has_no_price_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
