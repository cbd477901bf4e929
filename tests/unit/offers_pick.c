/* Which offers are shown, in which order: made up ones. */
#include "test.h"

#include "base/str.h"
#include "cmd/offers_pick.h"

static void add(struct gpc_offers *to, const char *zone, const char *type, int gpus,
	int64_t micros, const char *why_not)
{
	*gpc_vec_push(to) = (struct gpc_offer){
		.provider = gpc_strdup("fake"), .region = gpc_strdup("north"),
		.zone = gpc_strdup(zone), .instance_type = gpc_strdup(type),
		.gpu = gpus ? gpc_strdup(gpus > 4 ? "A10G" : "A100-80GB") : NULL,
		.gpus = gpus, .gpu_memory_gb = gpus > 4 ? 40 : 80,
		.price = { micros, "USD" }, .why_not = gpc_strdup(why_not),
	};
}

/* Of eight GPUs with 40 GB, of one with 80, and of none. */
static void fill(struct gpc_offers *to)
{
	add(to, "north-a", "small", 0, 100, "has 0 GPUs");
	add(to, "north-a", "eight", 8, 8001, NULL);
	add(to, "north-b", "eight", 8, 8800, NULL);
	add(to, "north-a", "one", 1, 1500, NULL);
	add(to, "north-a", "old", 2, 700, "sold out");
}

static void shows(struct gpc_offers_pick pick, const char *const *want, size_t more)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0};
	struct gpc_error err;
	size_t n = 0, left = 99;

	fill(&offers);
	assert_ok(gpc_offers_pick(&pick, &offers, &left, &err));
	gpc_vec_each(o, &offers)
		assert_string_equal(o->instance_type, want[n++]);
	assert_null(want[n]);
	assert_int_equal(left, more);
}

#define SHOWS(more, pick, ...) \
	shows((struct gpc_offers_pick)pick, (const char *const[]){ __VA_ARGS__, NULL }, more)
#define PICK(...) { __VA_ARGS__ }

TEST(what_fits_comes_first_by_what_was_asked)
{
	SHOWS(2, PICK(0), "one", "eight", "eight");
	SHOWS(2, PICK(.sort = GPC_OFFERS_BY_GPU), "eight", "eight", "one");
	SHOWS(2, PICK(.sort = GPC_OFFERS_BY_GPU_MEMORY), "one", "eight", "eight");
	SHOWS(2, PICK(.sort = GPC_OFFERS_BY_TFLOPS, .precision = GPC_BF16), "one", "eight",
		"eight");
	SHOWS(2, PICK(.sort = GPC_OFFERS_BY_TFLOPS, .precision = GPC_FP32), "eight",
		"eight", "one");
	SHOWS(0, PICK(.all = true), "one", "eight", "eight", "small", "old");
	SHOWS(0, PICK(.all = true, .gpus = true), "one", "eight", "eight", "old", "small");
}

TEST(what_costs_too_much_does_not_fit)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0};
	struct gpc_offers_pick pick = { .max_price = { 8001, "USD" } };
	struct gpc_error err;
	size_t more;

	SHOWS(3, PICK(.max_price = { 8001, "USD" }), "one", "eight");
	pick.all = true;
	fill(&offers);
	assert_ok(gpc_offers_pick(&pick, &offers, &more, &err));
	assert_has(offers.v[4].why_not, "--max-price");
	gpc_offers_clear(&offers);
	fill(&offers);
	memcpy(pick.max_price.currency, "EUR", 4);
	assert_ok(gpc_offers_pick(&pick, &offers, &more, &err));
	gpc_vec_each(o, &offers)
		assert_non_null(o->why_not);
}

TEST(what_cannot_compute_it_does_not_fit)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0};
	struct gpc_offers_pick pick = { .all = true, .must_compute = true,
		.precision = GPC_FP8 };
	struct gpc_error err;
	size_t more;

	SHOWS(2, PICK(.must_compute = true, .precision = GPC_INT8), "one", "eight", "eight");
	fill(&offers);
	assert_ok(gpc_offers_pick(&pick, &offers, &more, &err));
	gpc_vec_each(o, &offers)
		if (gpc_eq(o->instance_type, "one"))
			assert_string_equal(o->why_not,
				"A100-80GB is Ampere, which has no fp8");
}

TEST(one_type_is_explained)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0};
	struct gpc_offers_pick pick = { .explain = "eigt" };
	struct gpc_error err;
	size_t more;

	SHOWS(0, PICK(.explain = "old"), "old");
	SHOWS(0, PICK(.explain = "eight"), "eight", "eight");
	SHOWS(0, PICK(.explain = "north-b/eight"), "eight");
	SHOWS(0, PICK(.explain = "fake/eight"), "eight", "eight");
	fill(&offers);
	assert_fails(gpc_offers_pick(&pick, &offers, &more, &err), GPC_ENOTFOUND);
	assert_has(err.hint, "eight");
	gpc_offers_clear(&offers);
	fill(&offers);
	pick.explain = "south/eight";
	assert_fails(gpc_offers_pick(&pick, &offers, &more, &err), GPC_ENOTFOUND);
	assert_has(err.hint, "--explain eight");
}

TEST(where_nothing_fits_it_is_seen_why)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0};
	struct gpc_offers_pick pick = { .gpus = true };
	struct gpc_error err;
	size_t more;

	for (int i = 0; i < 60; i++)
		add(&offers, "z", i % 6 ? "plain" : "wrong", i % 6 ? 0 : 1, i, "no");
	assert_ok(gpc_offers_pick(&pick, &offers, &more, &err));
	assert_int_equal(offers.n + more, 60);
	assert_in_range(offers.n, 10, 59);
	for (int i = 0; i < 10; i++)
		assert_string_equal(offers.v[i].instance_type, "wrong");
}

TEST(parts_of_a_price_are_rounded_up)
{
	struct gpc_offer o = { .gpus = 8, .gpu_memory_gb = 80, .price = { 8001, "USD" } };

	assert_int_equal(gpc_offer_per_gpu(&o).micros, 1001);
	assert_int_equal(gpc_offer_per_gpu_gb(&o).micros, 13);
	o.price.micros = INT64_MAX;
	assert_int_equal(gpc_offer_per_gpu(&o).micros, INT64_MAX / 8 + 1);
	o.gpus = 0;
	assert_string_equal(gpc_offer_per_gpu(&o).currency, "");
	assert_string_equal(gpc_offer_per_gpu_gb(&o).currency, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_comes_first_by_what_was_asked),
		cmocka_unit_test(what_costs_too_much_does_not_fit),
		cmocka_unit_test(what_cannot_compute_it_does_not_fit),
		cmocka_unit_test(one_type_is_explained),
		cmocka_unit_test(where_nothing_fits_it_is_seen_why),
		cmocka_unit_test(parts_of_a_price_are_rounded_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
