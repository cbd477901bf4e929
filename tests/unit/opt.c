/* The option parser: every type, every way to write a value, every error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/time.h"
#include "cmd/opt.h"

enum shape { ROUND, SQUARE, FLAT };
static const char *const shapes[] = {"round", "square", "flat", NULL};

struct shared { bool json; };
struct ctx {
	bool follow;
	enum gpc_tri color;
	const char *name;
	struct gpc_strv env;
	int verbose, tail;
	uint64_t size;
	int64_t wait, tether, since;
	struct gpc_money cost;
	enum shape shape;
	struct shared shared;
};
static const struct gpc_opt shared_rows[] = {
	GPC_OPT_FLAG(0, "json", struct shared, json, "as JSON"),
	GPC_OPT_END
};
static const struct gpc_opt rows[] = {
	GPC_OPT_FLAG('f', "follow", struct ctx, follow, "go on"),
	GPC_OPT_TRI(0, "color", struct ctx, color, "colours"),
	GPC_OPT_STR('n', "name", struct ctx, name, "NAME", "the name"),
	GPC_OPT_LIST('e', "env", struct ctx, env, "K=V", "environment"),
	GPC_OPT_COUNT('v', "verbose", struct ctx, verbose, "say more"),
	GPC_OPT_INT(0, "tail", struct ctx, tail, "N", "last lines",
		.min = 1, .max = 1000),
	GPC_OPT_SIZE(0, "size", struct ctx, size, "SIZE", "how big",
		.unit = 1 << 30),
	GPC_OPT_DURATION(0, "wait", struct ctx, wait, "TIME", "how long",
		.preset = "5m"),
	GPC_OPT_DURATION(0, "tether", struct ctx, tether, "TIME",
		"end without the client", .implied = "10m", .negatable = true),
	GPC_OPT_TIME(0, "since", struct ctx, since, "TIME", "from when"),
	GPC_OPT_MONEY(0, "max-cost", struct ctx, cost, "MONEY", "at most"),
	GPC_OPT_ENUM(0, "shape", struct ctx, shape, "SHAPE", shapes, "shape"),
	GPC_OPT_GROUP(struct ctx, shared, struct shared, shared_rows),
	GPC_OPT_END
};

enum { MAX_WORDS = 20 };
struct parsed {
	struct ctx ctx;
	struct gpc_opt_args args;
	struct gpc_error err;
	int r;
};

static void parse(struct parsed *p, unsigned flags, const char *const *words)
{
	const struct gpc_opt_set set = {rows, &p->ctx};
	char *argv[MAX_WORDS + 1] = {0};
	int n = 0;

	memset(p, 0, sizeof(*p));
	for (; words[n]; n++)
		argv[n] = (char *)(uintptr_t)words[n];
	p->r = gpc_opt_parse(&set, 1, n, argv, flags, &p->args, &p->err);
}
#define PARSE(p, flags, ...) \
	parse(p, flags, (const char *const[]){__VA_ARGS__, NULL})

static void done(struct parsed *p)
{
	gpc_opt_args_clear(&p->args);
	gpc_opt_release(rows, &p->ctx);
}

static void test_every_type(void **state)
{
	struct parsed p;

	(void)state;
	PARSE(&p, 0, "a", "-fvv", "--name=x=y", "-eA=1", "-e", "B", "--tail",
		"7", "--size=2", "--max-cost=1.5", "--shape", "flat", "--json",
		"b");
	assert_int_equal(p.r, 0);
	assert_true(p.ctx.follow && p.ctx.shared.json);
	assert_int_equal(p.ctx.verbose, 2);
	assert_string_equal(p.ctx.name, "x=y");
	assert_int_equal(p.ctx.env.n, 2);
	assert_string_equal(p.ctx.env.v[0], "A=1");
	assert_string_equal(p.ctx.env.v[1], "B");
	assert_int_equal(p.ctx.tail, 7);
	assert_true(p.ctx.size == (uint64_t)2 << 30);
	assert_true(p.ctx.cost.micros == 1500000);
	assert_string_equal(p.ctx.cost.currency, "USD");
	assert_int_equal(p.ctx.shape, FLAT);
	assert_int_equal(p.args.argc, 2);
	assert_string_equal(p.args.argv[0], "a");
	assert_string_equal(p.args.argv[1], "b");
	assert_null(p.args.argv[2]);
	assert_true(p.ctx.wait == 300000);
	done(&p);
}

static void test_tri_and_implied(void **state)
{
	struct parsed p;

	(void)state;
	PARSE(&p, 0, "--color", "--tether");
	assert_int_equal(p.ctx.color, GPC_ON);
	assert_true(p.ctx.tether == 600000);
	done(&p);
	PARSE(&p, 0, "--no-color", "--tether=30s", "--wait", "2h");
	assert_int_equal(p.ctx.color, GPC_OFF);
	assert_true(p.ctx.tether == 30000 && p.ctx.wait == 7200000);
	done(&p);
	/* a bare --tether never takes the next word */
	PARSE(&p, 0, "--tether", "5m", "--no-tether");
	assert_true(p.ctx.tether == 0);
	assert_string_equal(p.args.argv[0], "5m");
	assert_true(gpc_opt_given(&p.args, "tether"));
	assert_false(gpc_opt_given(&p.args, "color"));
	assert_int_equal(p.ctx.color, GPC_UNSET);
	done(&p);
}

static void test_times(void **state)
{
	struct parsed p;

	(void)state;
	PARSE(&p, 0, "--since", "2026-01-31");
	assert_int_equal(p.r, 0);
	assert_true(p.ctx.since == 1769817600000);
	done(&p);
	PARSE(&p, 0, "--since=2026-01-31T00:00:01Z");
	assert_true(p.ctx.since == 1769817601000);
	done(&p);
	PARSE(&p, 0, "--since", "1h");
	assert_in_range(gpc_wall_ms() - p.ctx.since, 3600000, 3660000);
	done(&p);
}

static void test_dashes(void **state)
{
	struct parsed p;

	(void)state;
	PARSE(&p, 0, "-", "--", "-f", "--", "x");
	assert_int_equal(p.args.argc, 4);
	assert_string_equal(p.args.argv[1], "-f");
	assert_string_equal(p.args.argv[2], "--");
	assert_null(p.args.rest);
	assert_false(p.ctx.follow);
	done(&p);
	PARSE(&p, GPC_OPT_SPLIT, "spec", "-f", "--", "python3", "-v");
	assert_int_equal(p.args.argc, 1);
	assert_null(p.args.argv[1]);
	assert_int_equal(p.args.n_rest, 2);
	assert_string_equal(p.args.rest[1], "-v");
	assert_null(p.args.rest[2]);
	assert_int_equal(p.ctx.verbose, 0);
	done(&p);
	PARSE(&p, GPC_OPT_SPLIT, "--");
	assert_non_null(p.args.rest);
	assert_int_equal(p.args.n_rest, 0);
	assert_null(p.args.rest[0]);
	done(&p);
	PARSE(&p, GPC_OPT_STOP_AT_WORD, "-v", "submit", "--no-such", "--");
	assert_int_equal(p.r, 0);
	assert_int_equal(p.ctx.verbose, 1);
	assert_int_equal(p.args.argc, 3);
	assert_string_equal(p.args.argv[2], "--");
	done(&p);
}

static void test_errors(void **state)
{
	static const struct {
		const char *words[3];
		const char *msg, *hint;
	} cases[] = {
		{{"--folow"}, "unknown option --folow",
			"did you mean --follow?"},
		{{"--no-colour"}, "unknown option --no-colour",
			"did you mean --no-color?"},
		{{"--cost=1"}, "unknown option --cost", "did you mean --max-cost?"},
		{{"-x"}, "unknown option -x", ""},
		{{"-fx"}, "unknown option -x", ""},
		{{"--no-follow"}, "unknown option --no-follow", NULL},
		{{"--follow=1"}, "--follow takes no value, but got \"1\"", ""},
		{{"--name"}, "--name needs a value: --name NAME", ""},
		{{"-n"}, "-n needs a value: -n NAME", ""},
		{{"--shape=squar"}, "--shape: \"squar\" is not one of round, "
			"square, flat", "did you mean square?"},
		{{"--tail", "0"}, "--tail", NULL},
		{{"--tail", "1001"}, "--tail", NULL},
		{{"--tail", "7x"}, "--tail", NULL},
		{{"--tail="}, "--tail", NULL},
		{{"--size", "-1"}, "--size", NULL},
		{{"--wait", "soon"}, "--wait", NULL},
		{{"--since", "2026-13-31"}, "--since", NULL},
		{{"--since", "later"}, "--since", NULL},
		{{"--max-cost", "-3"}, "--max-cost", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct parsed p;

		parse(&p, 0, cases[i].words);
		assert_int_equal(p.r, -GPC_EUSAGE);
		assert_int_equal(p.err.code, GPC_EUSAGE);
		assert_memory_equal(p.err.msg, cases[i].msg,
			strlen(cases[i].msg));
		if (cases[i].hint)
			assert_string_equal(p.err.hint, cases[i].hint);
		assert_null(p.args.argv);
		done(&p);
	}
}

static void test_first_set_wins(void **state)
{
	struct ctx a = {0}, b = {0};
	const struct gpc_opt_set sets[] = {{NULL, NULL}, {rows, &a}, {rows, &b}};
	gpc_auto(gpc_opt_args) struct gpc_opt_args args = {0};
	char word[] = "-f";
	char *argv[] = {word, NULL};

	(void)state;
	assert_int_equal(gpc_opt_parse(sets, 3, 1, argv, 0, &args, NULL), 0);
	assert_true(a.follow);
	assert_false(b.follow);
}

static void test_help(void **state)
{
	static const struct gpc_opt few[] = {
		GPC_OPT_FLAG('f', "follow", struct ctx, follow, "go on"),
		GPC_OPT_TRI(0, "color", struct ctx, color, "colours"),
		GPC_OPT_ENUM('s', "shape", struct ctx, shape, "SHAPE", shapes,
			"what it looks like, said in so many words that the "
			"line has to be broken"),
		GPC_OPT_DURATION(0, "tether", struct ctx, tether, "TIME", "end",
			.implied = "10m", .preset = "1h"),
		GPC_OPT_STR(0, "a-very-long-name", struct ctx, name,
			"AND-A-VALUE", "x"),
		GPC_OPT_STR(0, "secret", struct ctx, name, "X", "never",
			.hidden = true),
		GPC_OPT_END
	};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	(void)state;
	gpc_opt_help(few, 80, &b);
	assert_string_equal(gpc_buf_str(&b),
"  -f, --follow              go on\n"
"      --[no-]color          colours\n"
"  -s, --shape SHAPE         what it looks like, said in so many words that the\n"
"                            line has to be broken: round, square, flat\n"
"      --tether[=TIME]       end [1h]\n"
"      --a-very-long-name AND-A-VALUE\n"
"                            x\n");
	b.len = 0;
	gpc_opt_help(few, 40, &b);
	assert_true(gpc_starts_with(gpc_buf_str(&b),
"  -f, --follow\n"
"        go on\n"
"      --[no-]color\n"
"        colours\n"
"  -s, --shape SHAPE\n"
"        what it looks like, said in so\n"
"        many words that the line has to\n"
"        be broken: round, square, flat\n"));
	assert_non_null(gpc_opt_find(few, "no-color"));
	assert_null(gpc_opt_find(few, "no-follow"));
}

/* Values as the configuration writes them. */
static void test_texts(void **state)
{
	static const struct { const char *option, *text; bool good; } cases[] = {
		{"follow", "true", true}, {"follow", "off", true},
		{"follow", "maybe", false}, {"color", "no", true},
		{"color", "auto", false}, {"name", "x", true},
		{"verbose", "2", true}, {"verbose", "-1", false},
		{"tail", "7", true}, {"tail", "0", false}, {"tail", "x", false},
		{"size", "1GB", true}, {"size", "big", false},
		{"wait", "90", true}, {"wait", "soon", false},
		{"tether", "true", true}, {"tether", "false", true},
		{"tether", "5m", true}, {"tether", "x", false},
		{"since", "2h", true}, {"since", "2026-13-01", false},
		{"max-cost", "80 CNY", true}, {"max-cost", "much", false},
		{"shape", "flat", true}, {"shape", "oval", false},
		{"env", "A=1", true},
	};
	struct ctx c = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct gpc_opt *row = gpc_opt_find(rows, cases[i].option);
		struct gpc_error err = {0};
		int r = gpc_opt_check_text(row, cases[i].text, "k", &err);

		if (r != (cases[i].good ? 0 : -GPC_ECONFIG))
			fail_msg("%s: %s", cases[i].option, cases[i].text);
		if (r && strncmp(err.msg, "k: ", 3))
			assert_string_equal(err.msg, "k: ...");
	}
	assert_int_equal(gpc_opt_set_text(gpc_opt_find(rows, "tether"), &c,
		"yes", "k", NULL), 0);
	assert_true(c.tether == 600000);
	assert_int_equal(gpc_opt_set_text(gpc_opt_find(rows, "tether"), &c,
		"no", "k", NULL), 0);
	assert_true(c.tether == 0);
	assert_int_equal(gpc_opt_set_text(gpc_opt_find(rows, "color"), &c,
		"no", "k", NULL), 0);
	assert_int_equal(c.color, GPC_OFF);
	assert_int_equal(gpc_opt_set_text(gpc_opt_find(rows, "verbose"), &c,
		"2", "k", NULL), 0);
	assert_int_equal(c.verbose, 2);
	assert_int_equal(gpc_opt_set_text(gpc_opt_find(rows, "shape"), &c,
		"square", "k", NULL), 0);
	assert_int_equal(c.shape, SQUARE);
}

/* Two options fill one list, in their order. */
static void test_one_list_of_two(void **state)
{
	struct two { struct gpc_strv list; } t = {0};
	static const struct gpc_opt two_rows[] = {
		GPC_OPT_LIST(0, "out", struct two, list, "X", "out"),
		GPC_OPT_LIST(0, "in", struct two, list, "X", "in",
			.before = "!"),
		GPC_OPT_END
	};
	const struct gpc_opt_set set = {two_rows, &t};
	struct gpc_opt_args args = {0};
	char *argv[] = {(char[]){"--out=a"}, (char[]){"--in"}, (char[]){"b"},
		(char[]){"--out"}, (char[]){"!c"}, NULL};

	(void)state;
	assert_int_equal(gpc_opt_parse(&set, 1, 5, argv, 0, &args, NULL), 0);
	gpc_autostr *got = gpc_strv_join(&t.list, " ");
	assert_string_equal(got, "a !b !c");
	gpc_opt_args_clear(&args);
	gpc_opt_release(two_rows, &t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_every_type),
		cmocka_unit_test(test_tri_and_implied),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_dashes),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_first_set_wins),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_one_list_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
