/* YAML: types as PyYAML gives them, merge keys, aliases, places, limits on
 * hostile text, and printing that reads back. */
#include "test.h"

#include <time.h>

#include "base/rand.h"
#include "base/str.h"
#include "dep/yaml.h"

static int parse_n(const char *text, size_t n, struct gpc_yaml_docs *docs,
	struct gpc_error *err)
{
	return gpc_yaml_parse(text, n, "in.yaml", docs, err);
}

static int parse(const char *text, struct gpc_yaml_docs *docs,
	struct gpc_error *err)
{
	return parse_n(text, strlen(text), docs, err);
}

/* The first document as one line of JSON; owned. */
static char *to_json(const char *text)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err = {0};

	assert_ok(parse(text, &docs, &err));
	assert_true(docs.n > 0);
	assert_ok(gpc_yaml_to_json(gpc_yaml_root(docs.v[0]), "in.yaml", &j,
		&err));
	return gpc_json_print(j);
}

TEST(reads_values)
{
	static const struct { const char *yaml, *json; } t[] = {
		{"a: 1\nb: [x, 'y', \"z\"]\n",
			"{\"a\":1,\"b\":[\"x\",\"y\",\"z\"]}"},
		{"a: yes\nb: NO\nc: on\nd: Off\ne: y\n", "{\"a\":true,\"b\":false,"
			"\"c\":true,\"d\":false,\"e\":\"y\"}"},
		{"a: 010\nb: 0o10\nc: 0x1F\nd: 0b11\ne: 1_000\nf: 08\n",
			"{\"a\":8,\"b\":\"0o10\",\"c\":31,\"d\":3,\"e\":1000,"
			"\"f\":\"08\"}"},
		{"a: 1:30\nb: 1:30:05\nc: 1:30.5\nd: -1:10\ne: 1:60\n",
			"{\"a\":90,\"b\":5405,\"c\":90.5,\"d\":-70,"
			"\"e\":\"1:60\"}"},
		{"a: 1.5\nb: 1e3\nc: 1.0e+3\nd: .5\ne: 5.\n",
			"{\"a\":1.5,\"b\":\"1e3\",\"c\":1000,\"d\":0.5,\"e\":5}"},
		{"a: ~\nb: null\nc:\nd: Null\ne: 'null'\n", "{\"a\":null,"
			"\"b\":null,\"c\":null,\"d\":null,\"e\":\"null\"}"},
		{"a: 2026-01-02\nb: 2026-01-02 03:04:05\n", "{\"a\":\"2026-01-02\""
			",\"b\":\"2026-01-02 03:04:05\"}"},
		{"a: !!str 5\nb: !!int '7'\nc: !!float 3\nd: ! 5\n",
			"{\"a\":\"5\",\"b\":7,\"c\":3,\"d\":\"5\"}"},
		{"{A100:1, V100:1}\n", "{\"A100:1\":null,\"V100:1\":null}"},
		{"{\"a\":1,\"b\":{\"c\":[]}}", "{\"a\":1,\"b\":{\"c\":[]}}"},
		{"{\"a\":\"\\ud83d\\ude00\"}", "{\"a\":\"\xf0\x9f\x98\x80\"}"},
		{"a: |\n  x\n  y\nb: >-\n  x\n  y\n",
			"{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}"},
		{"a: &x {k: 1}\nb: *x\n", "{\"a\":{\"k\":1},\"b\":{\"k\":1}}"},
		{"a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n",
			"{\"a\":{\"k\":1,\"l\":2},\"b\":{\"l\":2,\"k\":3}}"},
		{"a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc: {<<: [*x, *y]}\n",
			"{\"a\":{\"k\":1},\"b\":{\"k\":2,\"m\":3},"
			"\"c\":{\"k\":1,\"m\":3}}"},
		{"a: {'<<': 1}\n", "{\"a\":{\"<<\":1}}"},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		gpc_autostr *json = to_json(t[i].yaml);

		assert_string_equal(json, t[i].json);
	}
}

TEST(reads_documents)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct gpc_error err;

	assert_ok(parse("a: &x 1\n---\n---\n- b\n...\n", &docs, &err));
	assert_int_equal(docs.n, 3);
	assert_non_null(gpc_yaml_root(docs.v[0]));
	assert_null(gpc_yaml_root(docs.v[1]));
	assert_int_equal(gpc_yaml_root(docs.v[2])->kind, GPC_YAML_LIST);
	gpc_yaml_docs_clear(&docs);
	assert_ok(parse("", &docs, &err));
	assert_int_equal(docs.n, 0);
	assert_ok(parse("# only\n", &docs, &err));
	assert_int_equal(docs.n, 0);
	/* anchors end with their document */
	assert_fails(parse("a: &x 1\n---\nb: *x\n", &docs, &err), GPC_ECONFIG);
}

TEST(knows_places)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	const struct gpc_yaml_node *map, *b;
	struct gpc_error err;

	assert_ok(parse("a: 1\nb:\n  - \"x\"\n  - y\n", &docs, &err));
	map = gpc_yaml_root(docs.v[0]);
	b = gpc_yaml_get(map, "b");
	assert_int_equal(map->keys[1]->line, 2);
	assert_int_equal(map->keys[1]->column, 1);
	assert_int_equal(b->items[1]->line, 4);
	assert_int_equal(b->items[1]->column, 5);
	assert_true(b->items[0]->quoted && !b->items[1]->quoted);
	assert_null(gpc_yaml_get(map, "c"));
	assert_null(gpc_yaml_get(b, "c"));
}

TEST(marks_sets)
{
	static const struct { const char *text; bool set; } t[] = {
		{"{a, b}\n", true}, {"!!set {a, b}\n", true}, {"{}\n", false},
		{"{a: , b: }\n", true}, {"a:\nb:\n", false}, {"{a: 1, b}\n", false},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
		struct gpc_error err;

		assert_ok(parse(t[i].text, &docs, &err));
		assert_int_equal(gpc_yaml_root(docs.v[0])->set, t[i].set);
	}
}

TEST(warns_of_surprises)
{
	static const struct { const char *text, *part; } t[] = {
		{"no", "false"}, {"ON", "true"}, {"010", "8 (octal)"},
		{"1:30", "90 (base 60)"}, {"1:30.5", "90.5"}, {"true", NULL},
		{"10", NULL}, {"1.5", NULL}, {"abc", NULL}, {"0", NULL},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
		gpc_autostr *text = NULL;

		gpc_yaml_from_text(t[i].text, &docs);
		text = gpc_yaml_surprise(gpc_yaml_root(docs.v[0]));
		if (t[i].part)
			assert_has(text ? text : "", t[i].part);
		else
			assert_null(text);
	}
}

TEST(refuses_bad_text)
{
	static const struct { const char *text, *part; } t[] = {
		{"a: 1\na: 2\n", "in.yaml:2:1: the key 'a' is here twice: first "
			"on line 1, column 1"},
		{"a: {b: 1,\n 'b': 2}\n", "in.yaml:2:2: "},
		{"a: *x\n", "in.yaml:1:4: the alias *x"},
		{"a: &a {b: *a}\n", "never end"},
		{"a: [1\n", "in.yaml:2:1: "}, {"\tx: 1\n", "in.yaml:1:1: "},
		{"a: b: c\n", "in.yaml:1:5: "}, {"? [a]\n: b\n", "a key must be"},
		{"a: !!binary aGk=\n", "binary is not supported"},
		{"a: !x 1\n", "!x is not supported"},
		{"!!omap [a: 1]\n", "omap is not supported"},
		{"a: !!int x\n", "does not fit its tag"},
		{"a: {<<: 1}\n", "`<<` expects a map"},
		{"a: {<<: [1]}\n", "`<<` expects maps"},
		{"a: \"\\0\"\n", "NUL character"},
		{"a: \xff\n", "in.yaml:1: this line is not valid UTF-8"},
		{"x\n\xc3\x28\n", "in.yaml:2: "}, {"a: \x01\n", "control"},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
		struct gpc_error err = {0};

		assert_fails(parse(t[i].text, &docs, &err), GPC_ECONFIG);
		assert_has(err.msg, t[i].part);
		assert_int_equal(docs.n, 0);
	}
}

TEST(refuses_nul_bytes)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct gpc_error err;

	assert_fails(parse_n("a: b\nc\0d", 8, &docs, &err), GPC_ECONFIG);
	assert_has(err.msg, "in.yaml:2:2: a NUL byte");
}

/* --- hostile text ------------------------------------------------------------ */

static void add_many(struct gpc_buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gpc_buf_adds(b, text);
}

static void expect_refusal(struct gpc_buf *b, const char *part)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct gpc_error err;
	clock_t start = clock();

	assert_fails(parse_n(b->data, b->len, &docs, &err), GPC_ECONFIG);
	assert_has(err.msg, part);
	/* generous, for sanitizers on a busy machine: it must not explode */
	assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
	gpc_buf_clear(b);
}

TEST(bounds_alias_bombs)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	gpc_buf_adds(&b, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++)
		gpc_buf_addf(&b, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, "
			"*a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1, i - 1,
			i - 1, i - 1, i - 1, i - 1, i - 1);
	expect_refusal(&b, "more than 100000 values");
	/* the same through merge keys */
	gpc_buf_adds(&b, "a0: &a0 {");
	for (int i = 0; i < 500; i++)
		gpc_buf_addf(&b, "k%d: 1, ", i);
	gpc_buf_adds(&b, "}\n");
	for (int i = 1; i < 500; i++)
		gpc_buf_addf(&b, "a%d: {<<: *a0}\n", i);
	expect_refusal(&b, "more than 100000 values");
	/* few nodes, much text */
	gpc_buf_adds(&b, "a: &a ");
	add_many(&b, "x", 1 << 20);
	gpc_buf_adds(&b, "\nb: [");
	add_many(&b, "*a, ", 5000);
	gpc_buf_adds(&b, "]\n");
	expect_refusal(&b, "more than 16 MiB");
	/* deep through aliases, each level shallow in the text */
	gpc_buf_adds(&b, "a0: &a0 [x]\n");
	for (int i = 1; i < 80; i++)
		gpc_buf_addf(&b, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	expect_refusal(&b, "64 levels");
}

TEST(bounds_size_and_depth)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	add_many(&b, "[", 100000);
	expect_refusal(&b, "64 levels");
	add_many(&b, "{a: ", 100000);
	expect_refusal(&b, "64 levels");
	add_many(&b, "- ", 1000);
	expect_refusal(&b, "64 levels");
	add_many(&b, "x", (1 << 20) + 1);
	expect_refusal(&b, "longer than 1 MiB");
	add_many(&b, "- x\n", 1 << 20);
	expect_refusal(&b, "more than 100000 values");
	add_many(&b, "- xx\n", 1 << 20);
	expect_refusal(&b, "larger than 4 MiB");
	for (int i = 0; i < 10002; i++)
		gpc_buf_addf(&b, "k%d: 1\n", i);
	expect_refusal(&b, "more than 10000 keys");
}

TEST(survives_noise)
{
	static const char chars[] = "ab: -[]{},&*!|>'\"%@`#?\n\t \\0<~1.";

	for (int round = 0; round < 20000; round++) {
		gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
		char text[40];
		size_t n = gpc_rand_below(sizeof(text));
		struct gpc_error err;

		for (size_t i = 0; i < n; i++)
			text[i] = chars[gpc_rand_below(sizeof(chars) - 1)];
		if (parse_n(text, n, &docs, &err))
			assert_has(err.msg, "in.yaml:");
	}
}

/* --- printing ------------------------------------------------------------------- */

static void print_back(const struct gpc_json *j)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	gpc_autoptr(gpc_json) *back = NULL;
	gpc_autostr *want = gpc_json_print(j), *got = NULL;
	struct gpc_error err = {0};

	assert_ok(gpc_yaml_print(j, &out, &err));
	assert_ok(parse_n(gpc_buf_str(&out), out.len, &docs, &err));
	assert_ok(gpc_yaml_to_json(docs.n ? gpc_yaml_root(docs.v[0]) : NULL,
		"in.yaml", &back, &err));
	got = gpc_json_print(back);
	if (!gpc_eq(want, got))
		fail_msg("wanted %s\ngot %s\nby\n%s", want, got,
			gpc_buf_str(&out));
}

static char *random_text(void)
{
	static const char *const parts[] = {
		"a", "b", " ", "  ", "\n", "\n\n", "\t", ":", "#", "-", "'",
		"\"", "\\", "{", "[", "|", ">", "\xc3\xa9", "\x7f", "\xc2\x85",
		"\xe2\x80\xa8", "\xef\xbb\xbf", "1", "0", ",", "&", "*", "!",
		"%", "@", "\r", "\x01", "\xf0\x9f\x98\x80", "no", "~", "null",
		"1e3", "0x1", "010", "1:30", "=", "<<", "---", "...", "?",
	};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	for (size_t i = gpc_rand_below(7); i > 0; i--)
		gpc_buf_adds(&b, parts[gpc_rand_below(COUNT(parts))]);
	return gpc_strdup(gpc_buf_str(&b));
}

static struct gpc_json *random_tree(int depth)
{
	gpc_autostr *text = random_text();
	uint64_t kind = gpc_rand_below(depth < 4 ? 8 : 6);
	struct gpc_json *j;

	switch (kind) {
	case 0: return gpc_json_int((int64_t)gpc_rand_below(1000) - 500);
	case 1: return gpc_json_number((double)gpc_rand_below(1000) / 8e20);
	case 2: return gpc_json_bool(gpc_rand_below(2));
	case 3: return gpc_json_null();
	case 4: case 5: return gpc_json_string(text);
	}
	j = kind == 6 ? gpc_json_object() : gpc_json_array();
	for (size_t i = gpc_rand_below(4); i > 0; i--) {
		gpc_autostr *key = random_text();

		if (kind == 6)
			gpc_json_set(j, key, random_tree(depth + 1));
		else
			gpc_json_add(j, random_tree(depth + 1));
	}
	return j;
}

TEST(prints_what_reads_back)
{
	for (int i = 0; i < 5000; i++) {
		gpc_autoptr(gpc_json) *j = random_tree(0);

		print_back(j);
	}
}

TEST(prints_for_people)
{
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	struct gpc_error err = {0};
	static const char json[] = "{\"name\":\"a b\",\"m\":3,\"v\":\"3.10\","
		"\"run\":\"one\\n  two\\n\",\"list\":[{\"a\":1,\"b\":[]},[1]],"
		"\"empty\":{}}";
	static const char yaml[] = "name: a b\nm: 3\nv: \"3.10\"\nrun: |\n"
		"  one\n    two\nlist:\n  - a: 1\n    b: []\n  - - 1\nempty: {}\n";

	assert_ok(gpc_json_parse(json, strlen(json), &j, &err));
	assert_ok(gpc_yaml_print(j, &out, &err));
	assert_string_equal(gpc_buf_str(&out), yaml);
}

TEST(refuses_what_has_no_form)
{
	gpc_autoptr(gpc_json) *j = gpc_json_string("\xff");
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct gpc_json *value = NULL;
	struct gpc_error err = {0};

	assert_fails(gpc_yaml_print(j, &out, &err), GPC_EPROTO);
	assert_ok(parse("[.nan]\n", &docs, &err));
	assert_fails(gpc_yaml_to_json(gpc_yaml_root(docs.v[0]), "in.yaml",
		&value, &err), GPC_ECONFIG);
	assert_null(value);
	gpc_yaml_docs_clear(&docs);
	assert_ok(parse("[99999999999999999999]\n", &docs, &err));
	assert_fails(gpc_yaml_to_json(gpc_yaml_root(docs.v[0]), "in.yaml",
		&value, &err), GPC_ECONFIG);
	assert_has(err.msg, "in.yaml:1:2: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_values),
		cmocka_unit_test(reads_documents),
		cmocka_unit_test(knows_places),
		cmocka_unit_test(marks_sets),
		cmocka_unit_test(warns_of_surprises),
		cmocka_unit_test(refuses_bad_text),
		cmocka_unit_test(refuses_nul_bytes),
		cmocka_unit_test(bounds_alias_bombs),
		cmocka_unit_test(bounds_size_and_depth),
		cmocka_unit_test(survives_noise),
		cmocka_unit_test(prints_what_reads_back),
		cmocka_unit_test(prints_for_people),
		cmocka_unit_test(refuses_what_has_no_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
