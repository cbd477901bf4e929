/* Rendering: the same rows in five formats, hostile text, narrow terminals, and
 * a stdout that fails. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/time.h"
#include "cmd/out.h"

enum state { IDLE, BUSY };
static const char *const states[] = {"IDLE", "BUSY", NULL};

struct row {
	const char *name;
	enum state state;
	int nodes;
	struct gpc_money cost;
	uint64_t size;
	int64_t ran, started;
	bool spot;
	double load;
	struct gpc_strv tags;
};
static const struct gpc_col cols[] = {
	GPC_COL("name", STR, struct row, name,
		GPC_COL_F_NAME | GPC_COL_F_CUT),
	GPC_COL("state", ENUM, struct row, state, 0, .names = states),
	GPC_COL("nodes", INT, struct row, nodes, 0),
	GPC_COL("cost", MONEY, struct row, cost, 0, .title = "paid so far"),
	GPC_COL("size", SIZE, struct row, size, GPC_COL_F_WIDE),
	GPC_COL("ran", DURATION, struct row, ran, GPC_COL_F_WIDE),
	GPC_COL("started", TIME, struct row, started, GPC_COL_F_DATA),
	GPC_COL("spot", BOOL, struct row, spot, GPC_COL_F_WIDE),
	GPC_COL("load", DOUBLE, struct row, load, GPC_COL_F_WIDE),
	GPC_COL("tags", STRV, struct row, tags, GPC_COL_F_WIDE),
	GPC_COL_LAST
};
static const struct gpc_table table = {"thing", cols, sizeof(struct row)};

static char *tag_words[] = {(char[]){"x"}, (char[]){"y"}};
static const struct row rows[] = {
	{"train", BUSY, 2, {1230000, "USD"}, 1536, 90000, 1769817601000, true,
		0.5, {tag_words, 2, 2}},
	{"größe,\"x\"\033[2J", IDLE, 0, {0, ""}, 0, -1, 0, false, NAN,
		{NULL, 0, 0}},
};

struct capture { char *text; size_t n; struct gpc_out o; };

static void begin(struct capture *c, enum gpc_out_format format, int width)
{
	memset(c, 0, sizeof(*c));
	c->o.to = open_memstream(&c->text, &c->n);
	assert_non_null(c->o.to);
	c->o.format = format;
	c->o.width = width;
}

static void expect(struct capture *c, const char *text)
{
	assert_int_equal(gpc_out_finish(&c->o, NULL), 0);
	fclose(c->o.to);
	assert_string_equal(c->text, text);
	free(c->text);
}

static void test_table(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_TABLE, 0);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 2, NULL), 0);
	expect(&c,
"NAME              STATE  NODES  PAID SO FAR\n"
"train             BUSY       2        $1.23\n"
"größe,\"x\"\\x1b[2J  IDLE       0            -\n");
	begin(&c, GPC_OUT_TABLE, 0);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 0, NULL), 0);
	expect(&c, "");
}

/* Rows that come in blocks line up as if they came together. */
static void test_blocks(void **state)
{
	static const struct row blocks[] = {
		{.name = "a", .size = 5}, {.name = "b", .size = GPC_SIZE_NONE},
		{.name = "c", .size = 1010 << 10},
	};
	static const struct gpc_col few[] = {
		GPC_COL("size", SIZE, struct row, size, 0, .width = 8),
		GPC_COL("name", STR, struct row, name, GPC_COL_F_NAME),
		GPC_COL_LAST
	};
	static const struct gpc_table thing = {"thing", few, sizeof(struct row)};
	static const enum gpc_out_format formats[] = { GPC_OUT_TABLE,
		GPC_OUT_CSV, GPC_OUT_NAME };
	static const char *const want[] = {
"    SIZE  NAME\n"
"     5 B  a\n"
"       -  b\n"
"1010 KiB  c\n",
"size_bytes,name\r\n5,a\r\n,b\r\n1034240,c\r\n",
"a\nb\nc\n",
	};
	struct capture c;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		begin(&c, formats[i], 0);
		assert_int_equal(gpc_out_rows(&c.o, &thing, blocks, 2, NULL), 0);
		assert_int_equal(gpc_out_rows_more(&c.o, &thing, blocks + 2, 1,
			NULL), 0);
		expect(&c, want[i]);
	}
	static const struct row unnamed[] = { {.name = "a"}, {.size = 1} };
	begin(&c, GPC_OUT_NAME, 0);
	assert_int_equal(gpc_out_rows(&c.o, &thing, unnamed, 2, NULL), 0);
	expect(&c, "a\n");
	begin(&c, GPC_OUT_JSON, 0);
	assert_int_equal(gpc_out_event(&c.o, "thing", gpc_out_row_json(&thing,
		&blocks[1]), NULL), 0);
	expect(&c, "{\"schema\":\"gpucloud.thing/1\",\"size_bytes\":null,"
		"\"name\":\"b\"}\n");
}

static void test_narrow(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_TABLE, 40);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 2, NULL), 0);
	expect(&c,
"NAME           STATE  NODES  PAID SO FAR\n"
"train          BUSY       2        $1.23\n"
"größe,\"x\"\\x1…  IDLE       0            -\n");
	/* then columns go from the right, and what stays is cut no more than
	 * it must be */
	begin(&c, GPC_OUT_TABLE, 32);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 2, NULL), 0);
	expect(&c,
"NAME              STATE  NODES +\n"
"train             BUSY       2\n"
"größe,\"x\"\\x1b[2J  IDLE       0\n");
	/* the first two stay, however narrow the terminal */
	begin(&c, GPC_OUT_TABLE, 5);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 1, NULL), 0);
	expect(&c,
"NAME   STATE +\n"
"train  BUSY\n");
}

/* A long name is cut before columns of facts go, and the second one stays. */
static void test_narrow_name(void **state)
{
	static const struct row one[] = {{.name =
		"a-name-that-is-so-long-that-it-fills-a-line-1234", .nodes = 3}};
	static const struct gpc_col few[] = {
		GPC_COL("job", STR, struct row, name, GPC_COL_F_NAME),
		GPC_COL("state", ENUM, struct row, state, 0, .names = states),
		GPC_COL("nodes", INT, struct row, nodes, 0),
		GPC_COL("spot", BOOL, struct row, spot, 0),
		GPC_COL("detail", STR, struct row, name, GPC_COL_F_CUT),
		GPC_COL_LAST
	};
	static const struct gpc_table t = {"t", few, sizeof(struct row)};
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_TABLE, 68);
	assert_int_equal(gpc_out_rows(&c.o, &t, one, 1, NULL), 0);
	expect(&c,
"JOB                                               STATE  NODES  SPOT\n"
"a-name-that-is-so-long-that-it-fills-a-line-1234  IDLE       3  no\n");
	/* one that is cut anyhow gives way to the mark too */
	begin(&c, GPC_OUT_TABLE, 60);
	assert_int_equal(gpc_out_rows(&c.o, &t, one, 1, NULL), 0);
	expect(&c,
"JOB                                     STATE  NODES  SPOT +\n"
"a-name-that-is-so-long-that-it-fills-…  IDLE       3  no\n");
	begin(&c, GPC_OUT_TABLE, 40);
	assert_int_equal(gpc_out_rows(&c.o, &t, one, 1, NULL), 0);
	expect(&c,
"JOB                   STATE  NODES  SPOT\n"
"a-name-that-is-so-l…  IDLE       3  no\n");
	begin(&c, GPC_OUT_TABLE, 34);
	assert_int_equal(gpc_out_rows(&c.o, &t, one, 1, NULL), 0);
	expect(&c,
"JOB                   STATE  NODES\n"
"a-name-that-is-so-l…  IDLE       3\n");
	begin(&c, GPC_OUT_TABLE, 20);
	assert_int_equal(gpc_out_rows(&c.o, &t, one, 1, NULL), 0);
	expect(&c,
"JOB          STATE +\n"
"a-name-tha…  IDLE\n");
}

/* What says nothing of any row goes before anything is cut. */
static void test_narrow_empty(void **state)
{
	static const struct row two[] = {{.name = "first", .ran = -1},
		{.name = "second", .ran = -1, .tags = {tag_words, 2, 2}}};
	static const struct gpc_col cols_of[] = {
		GPC_COL("name", STR, struct row, name, GPC_COL_F_NAME),
		GPC_COL("state", ENUM, struct row, state, 0, .names = states),
		GPC_COL("ran", DURATION, struct row, ran, 0),
		GPC_COL("tags", STRV, struct row, tags, GPC_COL_F_CUT),
		GPC_COL_LAST
	};
	static const struct gpc_table t = {"t", cols_of, sizeof(struct row)};
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_TABLE, 80);
	assert_int_equal(gpc_out_rows(&c.o, &t, two, 2, NULL), 0);
	expect(&c,
"NAME    STATE  RAN  TAGS\n"
"first   IDLE     -  -\n"
"second  IDLE     -  x,y\n");
	begin(&c, GPC_OUT_TABLE, 23);
	assert_int_equal(gpc_out_rows(&c.o, &t, two, 2, NULL), 0);
	expect(&c,
"NAME    STATE  TAGS\n"
"first   IDLE   -\n"
"second  IDLE   x,y\n");
}

static void test_wide_chars(void **state)
{
	static const struct row wide[] = {{.name = "日本語日本語"}, {.name = "a"}};
	static const struct gpc_col two[] = {
		GPC_COL("name", STR, struct row, name, GPC_COL_F_CUT),
		GPC_COL("state", ENUM, struct row, state, 0, .names = states),
		GPC_COL_LAST
	};
	static const struct gpc_table t = {"t", two, sizeof(struct row)};
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_TABLE, 17);
	assert_int_equal(gpc_out_rows(&c.o, &t, wide, 2, NULL), 0);
	expect(&c,
"NAME        STATE\n"
"日本語日…   IDLE\n"
"a           IDLE\n");
}

static void test_wide_and_record(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_WIDE, 0);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 1, NULL), 0);
	expect(&c,
"NAME   STATE  NODES  PAID SO FAR     SIZE    RAN  SPOT  LOAD  TAGS\n"
"train  BUSY       2        $1.23  1.5 KiB  1m30s  yes    0.5  x,y\n");
	/* too narrow for all: nothing is lost besides the lines */
	begin(&c, GPC_OUT_WIDE, 30);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows + 1, 1, NULL), 0);
	expect(&c,
"NAME              STATE  NODES  PAID SO FAR  SIZE  RAN  SPOT  LOAD  TAGS\n"
"größe,\"x\"\\x1b[2J  IDLE       0            -   0 B    -  no       -  -\n");
	begin(&c, GPC_OUT_TABLE, 0);
	assert_int_equal(gpc_out_record(&c.o, &table, &rows[0], NULL), 0);
	expect(&c,
"Name:         train\n"
"State:        BUSY\n"
"Nodes:        2\n"
"Paid so far:  $1.23\n");
}

static void test_csv(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_CSV, 0);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 2, NULL), 0);
	expect(&c,
"name,state,nodes,cost,cost_currency,size_bytes,ran_ms,started,spot,load,tags\r\n"
"train,BUSY,2,1.23,USD,1536,90000,2026-01-31T00:00:01.000Z,true,0.5,\"x,y\"\r\n"
"\"größe,\"\"x\"\"\033[2J\",IDLE,0,,,0,,,false,,\r\n");
}

static void test_name(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_NAME, 3);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 2, NULL), 0);
	expect(&c, "train\ngröße,\"x\"\\x1b[2J\n");
}

static void test_json(void **state)
{
	gpc_autoptr(gpc_json) *j = NULL;
	struct capture c;

	(void)state;
	begin(&c, GPC_OUT_JSON, 3);
	assert_int_equal(gpc_out_rows(&c.o, &table, rows, 2, NULL), 0);
	fclose(c.o.to);
	assert_memory_equal(c.text, "{\n  \"schema\": \"gpucloud.thing/1\",", 33);
	assert_int_equal(gpc_json_parse(c.text, c.n, &j, NULL), 0);
	free(c.text);
	const struct gpc_json *first = gpc_json_first(gpc_json_get(j, "rows"));
	assert_string_equal(gpc_json_get_str(first, "name"), "train");
	assert_string_equal(gpc_json_get_str(first, "state"), "BUSY");
	assert_int_equal(gpc_json_get_int(first, "size_bytes", 0), 1536);
	assert_int_equal(gpc_json_get_int(first, "ran_ms", 0), 90000);
	assert_string_equal(gpc_json_get_str(gpc_json_get(first, "cost"),
		"amount"), "1.23");
	assert_string_equal(gpc_json_get_str(first, "started"),
		"2026-01-31T00:00:01.000Z");
	const struct gpc_json *second = gpc_json_next(first);
	assert_string_equal(gpc_json_get_str(second, "name"), rows[1].name);
	assert_true(gpc_json_is_null(gpc_json_get(second, "ran_ms")));
	assert_true(gpc_json_is_null(gpc_json_get(second, "load")));
	assert_true(gpc_json_is_null(gpc_json_get(second, "cost")));
	assert_null(gpc_json_next(second));
}

static void test_event(void **state)
{
	struct gpc_json *j = gpc_json_object();
	struct capture c;

	(void)state;
	gpc_json_set_str(j, "text", "a\nb");
	begin(&c, GPC_OUT_JSON, 0);
	assert_int_equal(gpc_out_event(&c.o, "event", j, NULL), 0);
	expect(&c, "{\"schema\":\"gpucloud.event/1\",\"text\":\"a\\nb\"}\n");
}

static void test_failing_stdout(void **state)
{
	struct gpc_error err = {0};
	struct gpc_out o = {.to = fopen("/dev/full", "w")};

	(void)state;
	if (!o.to)
		skip();               /* not every system has it */
	assert_int_equal(gpc_out_print(&o, &err, "small\n"), 0);
	assert_int_equal(gpc_out_finish(&o, &err), -GPC_EIO);
	assert_non_null(strstr(err.msg, "stdout"));
	assert_false(o.broken);
	fclose(o.to);
}

static void test_broken_pipe(void **state)
{
	struct gpc_out o = {0};
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	o.to = fdopen(fds[1], "w");
	assert_int_not_equal(gpc_out_write(&o, "x", 1, NULL), 0);
	assert_true(o.broken);
	fclose(o.to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_narrow_name),
		cmocka_unit_test(test_narrow_empty),
		cmocka_unit_test(test_wide_chars),
		cmocka_unit_test(test_wide_and_record),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_failing_stdout),
		cmocka_unit_test(test_broken_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
