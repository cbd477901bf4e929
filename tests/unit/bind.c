/* Structs by table: round trips, places in errors, nothing half-read. */
#include "test.h"

#include <limits.h>

#include "base/map.h"
#include "base/money.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/bind.h"

enum color { RED, GREEN, BLUE };
static const char *const colors[] = {"red", "green", "blue", NULL};

struct node { char *id; int rank; };
struct place { char *zone; int64_t port; };
struct thing {
	char *name;
	int count;
	int64_t big;
	bool on;
	enum color color;
	struct gpc_money price;
	struct gpc_strv tags;
	struct gpc_pairs envs;
	struct place place;
	GPC_VEC(struct node) nodes;
	struct gpc_json *any;
	struct gpc_json *rest;
};

static const struct gpc_bind node_bind[] = {
	GPC_BIND(node, id, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(node, rank, INT, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND_LAST,
};
static const struct gpc_bind place_bind[] = {
	GPC_BIND(place, zone, STR),
	GPC_BIND(place, port, I64),
	GPC_BIND_LAST,
};
static const struct gpc_bind thing_bind[] = {
	GPC_BIND(thing, name, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(thing, count, INT),
	GPC_BIND(thing, big, I64),
	GPC_BIND(thing, on, BOOL),
	GPC_BIND(thing, color, ENUM, .names = colors),
	GPC_BIND(thing, price, MONEY),
	GPC_BIND(thing, tags, STRV),
	GPC_BIND(thing, envs, PAIRS),
	GPC_BIND(thing, place, OBJECT, .sub = place_bind),
	GPC_BIND(thing, nodes, VEC, .sub = node_bind,
		.sub_size = sizeof(struct node)),
	GPC_BIND(thing, any, JSON),
	GPC_BIND(thing, rest, REST),
	GPC_BIND_LAST,
};

static const char full[] = "{\"name\":\"x\",\"count\":-3,"
	"\"big\":1700000000000,\"on\":true,\"color\":\"blue\","
	"\"price\":{\"amount\":\"1.25\",\"currency\":\"USD\"},"
	"\"tags\":[\"a\",\"\"],\"envs\":{\"A\":\"1\",\"B\":null},"
	"\"place\":{\"zone\":\"z\",\"port\":22},"
	"\"nodes\":[{\"id\":\"n0\",\"rank\":0},{\"id\":\"n1\",\"rank\":1}],"
	"\"any\":[1,{\"q\":2}],\"new\":{\"deep\":[true]},\"more\":1}";

static void assert_zero(const struct thing *t)
{
	static const struct thing zero;

	assert_memory_equal(t, &zero, sizeof(zero));
}

static int parse(const char *text, struct thing *t, struct gpc_error *err)
{
	return gpc_bind_parse(text, strlen(text), thing_bind, t, err);
}

static void assert_writes(const struct thing *t, const char *want)
{
	gpc_autoptr(gpc_json) *j = gpc_bind_write(thing_bind, t);
	gpc_autostr *text = gpc_json_print(j);

	assert_string_equal(text, want);
}

TEST(reads_and_writes_everything)
{
	struct thing t = {0};
	struct gpc_error err = {0};

	assert_ok(parse(full, &t, &err));
	assert_string_equal(t.name, "x");
	assert_int_equal(t.count, -3);
	assert_true(t.big == 1700000000000);
	assert_true(t.on);
	assert_int_equal(t.color, BLUE);
	assert_true(t.price.micros == 1250000);
	assert_int_equal(t.tags.n, 2);
	assert_true(gpc_pairs_has(&t.envs, "B"));
	assert_null(gpc_pairs_get(&t.envs, "B"));
	assert_int_equal(t.place.port, 22);
	assert_int_equal(t.nodes.n, 2);
	assert_int_equal(t.nodes.v[1].rank, 1);
	assert_non_null(t.rest);
	assert_writes(&t, full);
	gpc_bind_clear(thing_bind, &t);
	assert_zero(&t);
	gpc_bind_clear(thing_bind, NULL);
}

TEST(writes_no_empty_members)
{
	struct thing t = {.name = gpc_strdup("x")};

	assert_writes(&t, "{\"name\":\"x\"}");
	*gpc_vec_push(&t.nodes) = (struct node){gpc_strdup("n"), 0};
	assert_writes(&t,
		"{\"name\":\"x\",\"nodes\":[{\"id\":\"n\",\"rank\":0}]}");
	gpc_bind_clear(thing_bind, &t);
}

TEST(takes_null_for_absent)
{
	struct thing t = {0};
	struct gpc_error err = {0};

	assert_ok(parse("{\"name\":\"x\",\"count\":null,\"nodes\":null,"
		"\"price\":null,\"any\":null,\"place\":null}", &t, &err));
	assert_writes(&t, "{\"name\":\"x\"}");
	gpc_bind_clear(thing_bind, &t);
}

TEST(names_the_place_and_leaves_nothing)
{
	static const struct { const char *text, *say; } cases[] = {
		{"[]", "$: expected an object, not an array"},
		{"{}", "$.name: is missing"},
		{"{\"name\":null}", "$.name: expected a string, not null"},
		{"{\"name\":5}", "$.name: expected a string, not this number"},
		{"{\"name\":\"x\",\"count\":\"5\"}", "$.count: expected a whole"},
		{"{\"name\":\"x\",\"count\":1.5}", "$.count: expected a whole"},
		{"{\"name\":\"x\",\"count\":2147483648}", "$.count: expected"},
		{"{\"name\":\"x\",\"big\":1e17}", "$.big: expected"},
		{"{\"name\":\"x\",\"big\":\"12x\"}", "$.big: expected"},
		{"{\"name\":\"x\",\"on\":1}", "$.on: expected true or false"},
		{"{\"name\":\"x\",\"color\":\"pink\"}",
			"$.color: expected one of red, green, blue; not \"pink\""},
		{"{\"name\":\"x\",\"color\":1}", "$.color: expected a word"},
		{"{\"name\":\"x\",\"price\":1}", "$.price: expected an object"},
		{"{\"name\":\"x\",\"price\":{\"amount\":\"$1\","
			"\"currency\":\"USD\"}}", "$.price: expected an exact"},
		{"{\"name\":\"x\",\"price\":{\"amount\":\"1\","
			"\"currency\":\"DOLLAR\"}}", "$.price: expected"},
		{"{\"name\":\"x\",\"price\":{\"amount\":1,"
			"\"currency\":\"USD\"}}", "$.price: expected"},
		{"{\"name\":\"x\",\"tags\":[\"a\",2]}", "$.tags[1]: expected"},
		{"{\"name\":\"x\",\"tags\":\"a\"}", "$.tags: expected an array"},
		{"{\"name\":\"x\",\"envs\":{\"A\":1}}", "$.envs.A: expected"},
		{"{\"name\":\"x\",\"envs\":[]}", "$.envs: expected"},
		{"{\"name\":\"x\",\"place\":{\"port\":\"z\"}}",
			"$.place.port: expected"},
		{"{\"name\":\"x\",\"nodes\":[{\"id\":\"a\"},{\"id\":\"b\"},"
			"{\"id\":\"c\",\"rank\":\"two\"}]}",
			"$.nodes[2].rank: expected a whole number"},
		{"{\"name\":\"x\",\"nodes\":[{}]}",
			"$.nodes[0].id: is missing"},
		{"{\"name\":\"x\",\"nodes\":[5]}",
			"$.nodes[0]: expected an object"},
		{"{\"name\":\"x\",\"envs\":{\"\\u001b[2J\":1}}",
			"$.envs.\\x1b[2J: expected"},
		{"{\"name\":", "JSON, line 1"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct thing t = {0};
		struct gpc_error err = {0};

		assert_fails(parse(cases[i].text, &t, &err), GPC_EPROTO);
		assert_has(err.msg, cases[i].say);
		assert_zero(&t);
	}
}

TEST(clears_all_that_was_read_before_an_error)
{
	struct thing t = {0};
	struct gpc_error err = {0};

	/* The last thing is bad; a leak of the others shows under a sanitizer. */
	assert_fails(parse("{\"name\":\"x\",\"tags\":[\"a\"],\"envs\":"
		"{\"A\":\"1\"},\"place\":{\"zone\":\"z\"},\"nodes\":"
		"[{\"id\":\"n0\"},{\"id\":\"n1\",\"rank\":\"\"}]}", &t, &err),
		GPC_EPROTO);
	assert_has(err.msg, "$.nodes[1].rank");
	assert_zero(&t);
}

TEST(keeps_what_a_double_cannot_hold)
{
	static const int64_t values[] = {
		INT64_MAX, INT64_MIN, (INT64_C(1) << 53) + 1,
		-(INT64_C(1) << 53) - 1, INT64_C(1) << 53, INT64_MAX - 1, 1,
	};

	for (size_t i = 0; i < COUNT(values); i++) {
		struct thing t = {.name = gpc_strdup("x"), .big = values[i],
			.count = INT_MIN};
		struct thing back = {0};
		gpc_autoptr(gpc_json) *j = gpc_bind_write(thing_bind, &t);
		gpc_autostr *text = gpc_json_print(j);
		struct gpc_error err = {0};

		assert_ok(parse(text, &back, &err));
		assert_true(back.big == values[i]);
		assert_int_equal(back.count, INT_MIN);
		gpc_bind_clear(thing_bind, &t);
		gpc_bind_clear(thing_bind, &back);
	}
}

TEST(keeps_any_money)
{
	static const struct gpc_money values[] = {
		{INT64_MAX, "USD"}, {1, "CNY"}, {-2500000, "USD"}, {5, ""},
		{0, "EUR"},
	};

	for (size_t i = 0; i < COUNT(values); i++) {
		struct thing t = {.name = gpc_strdup("x"), .price = values[i]};
		struct thing back = {0};
		gpc_autoptr(gpc_json) *j = gpc_bind_write(thing_bind, &t);
		struct gpc_error err = {0};

		assert_ok(gpc_bind_read(j, thing_bind, &back, &err));
		assert_true(back.price.micros == values[i].micros);
		assert_string_equal(back.price.currency, values[i].currency);
		gpc_bind_clear(thing_bind, &t);
		gpc_bind_clear(thing_bind, &back);
	}
}

TEST(limits_elements)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct thing t = {0};
	struct gpc_error err = {0};

	gpc_buf_adds(&b, "{\"name\":\"x\",\"nodes\":[");
	for (int i = 0; i <= GPC_BIND_MAX_ELEMENTS; i++)
		gpc_buf_addf(&b, "%s{\"id\":\"\"}", i ? "," : "");
	gpc_buf_adds(&b, "]}");
	assert_fails(gpc_bind_parse(b.data, b.len, thing_bind, &t, &err),
		GPC_EPROTO);
	assert_has(err.msg, "more than 100000 elements");
	assert_zero(&t);
}

TEST(copies_deeply)
{
	struct thing t = {0}, copy = {.name = gpc_strdup("old")};
	struct gpc_error err = {0};

	assert_ok(parse(full, &t, &err));
	t.big = INT64_MAX;
	gpc_strv_add(&copy.tags, "old");
	gpc_bind_copy(thing_bind, &copy, &t);
	assert_true(copy.big == INT64_MAX);
	copy.big = 1700000000000;
	gpc_bind_clear(thing_bind, &t);
	assert_writes(&copy, full);
	gpc_bind_copy(thing_bind, &copy, &t);
	assert_zero(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes_everything),
		cmocka_unit_test(writes_no_empty_members),
		cmocka_unit_test(takes_null_for_absent),
		cmocka_unit_test(names_the_place_and_leaves_nothing),
		cmocka_unit_test(clears_all_that_was_read_before_an_error),
		cmocka_unit_test(keeps_what_a_double_cannot_hold),
		cmocka_unit_test(keeps_any_money),
		cmocka_unit_test(limits_elements),
		cmocka_unit_test(copies_deeply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
