/* The configuration: precedence, what a project may not set, and errors that
 * name the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/config.h"

static int read_text(struct gpc_config *c, enum gpc_config_origin origin,
	const char *text, struct gpc_error *err)
{
	return gpc_config_read(c, origin, text, strlen(text), "c.yaml", NULL,
		err);
}

static void test_defaults(void **state)
{
	gpc_auto(gpc_config) struct gpc_config c = {0};

	(void)state;
	gpc_config_init(&c);
	assert_false(gpc_config_is_set(&c, GPC_CONFIG_STORE));
	assert_null(gpc_config_str(&c, GPC_CONFIG_STORE));
	assert_true(gpc_config_bool(&c, GPC_CONFIG_LOCAL_ENABLED));
	assert_int_equal(gpc_config_enum(&c, GPC_CONFIG_LOCAL_HOME),
		GPC_HOME_OWN);
	assert_string_equal(gpc_config_where(&c, GPC_CONFIG_COLOR), "default");
	assert_string_equal(gpc_config_money(&c,
		GPC_CONFIG_LOCAL_PRICE_PER_HOUR).currency, "");
}

static void test_precedence(void **state)
{
	gpc_auto(gpc_config) struct gpc_config c = {0};
	char store[] = "GPUCLOUD_STORE=file:///env";
	char price[] = "GPUCLOUD_LOCAL_PRICE_PER_HOUR=4.20 CNY";
	char empty[] = "GPUCLOUD_COLOR=";
	char other[] = "GPUCLOUD_JOB_ID=whatever";
	char longer[] = "GPUCLOUD_STOREX=no";
	char *env[] = {other, longer, store, price, empty, NULL};

	(void)state;
	gpc_config_init(&c);
	assert_int_equal(read_text(&c, GPC_FROM_USER, "# mine\nstore: /user\n"
		"local:\n  price_per_hour: 0.60\n  enabled: no\n"
		"color: never\n", NULL), 0);
	assert_string_equal(gpc_config_str(&c, GPC_CONFIG_STORE), "/user");
	assert_string_equal(gpc_config_where(&c, GPC_CONFIG_STORE),
		"c.yaml:2:1");
	assert_false(gpc_config_bool(&c, GPC_CONFIG_LOCAL_ENABLED));
	assert_true(gpc_config_money(&c, GPC_CONFIG_LOCAL_PRICE_PER_HOUR)
		.micros == 600000);
	assert_int_equal(read_text(&c, GPC_FROM_PROJECT,
		"local.price_per_hour: 0.70\n", NULL), 0);
	assert_int_equal(gpc_config_origin(&c, GPC_CONFIG_LOCAL_PRICE_PER_HOUR),
		GPC_FROM_PROJECT);
	assert_int_equal(gpc_config_read_env(&c, env, NULL), 0);
	assert_string_equal(gpc_config_money(&c,
		GPC_CONFIG_LOCAL_PRICE_PER_HOUR).currency, "CNY");
	assert_string_equal(gpc_config_str(&c, GPC_CONFIG_STORE), "file:///env");
	assert_string_equal(gpc_config_where(&c, GPC_CONFIG_STORE),
		"GPUCLOUD_STORE");
	assert_int_equal(gpc_config_enum(&c, GPC_CONFIG_COLOR),
		GPC_COLOR_NEVER);
	assert_int_equal(gpc_config_set(&c, GPC_CONFIG_STORE, GPC_FROM_OPTION,
		"/opt", "--store", NULL), 0);
	assert_string_equal(gpc_config_str(&c, GPC_CONFIG_STORE), "/opt");
}

static void test_empty(void **state)
{
	static const char *const texts[] = {
		"", "# nothing\n", "---\n", "~\n", "{}\n", "store:\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		gpc_auto(gpc_config) struct gpc_config c = {0};

		gpc_config_init(&c);
		assert_int_equal(read_text(&c, GPC_FROM_USER, texts[i], NULL),
			0);
		assert_false(gpc_config_is_set(&c, GPC_CONFIG_STORE));
	}
}

static void test_errors(void **state)
{
	static const struct {
		enum gpc_config_origin origin;
		const char *text, *msg, *hint;
	} cases[] = {
		{GPC_FROM_USER, "a: 1\n", "c.yaml:1:1: unknown key \"a\"",
			"`gpucloud config list` shows the keys"},
		{GPC_FROM_USER, "submit.store: x\n",
			"c.yaml:1:1: unknown key \"submit.store\"",
			"did you mean store?"},
		{GPC_FROM_USER, "Price-per-hour: x\n",
			"c.yaml:1:1: unknown key \"Price-per-hour\"",
			"did you mean local.price_per_hour?"},
		{GPC_FROM_USER, "\nstroe: x\n",
			"c.yaml:2:1: unknown key \"stroe\"",
			"did you mean store?"},
		{GPC_FROM_USER, "local:\n  prise_per_hour: 1\n",
			"c.yaml:2:3: unknown key \"local.prise_per_hour\"",
			"did you mean local.price_per_hour?"},
		{GPC_FROM_USER, "local: 3\n", "c.yaml:1:1: unknown key", NULL},
		{GPC_FROM_USER, "color: allways\n", "c.yaml:1:1: color: "
			"\"allways\" is not one of auto, always, never",
			"did you mean always?"},
		{GPC_FROM_USER, "local.enabled: perhaps\n",
			"c.yaml:1:1: local.enabled", NULL},
		{GPC_FROM_USER, "confirm_above: lots\n",
			"c.yaml:1:1: confirm_above", NULL},
		{GPC_FROM_USER, "store: [a]\n", "c.yaml:1:1: store: expected "
			"one value, not a list", ""},
		{GPC_FROM_USER, "store: \"\"\n", "c.yaml:1:1: store is empty",
			NULL},
		{GPC_FROM_USER, "- a\n", "c.yaml:1:1: expected `key: value`",
			NULL},
		{GPC_FROM_USER, "store: a\nstore: b\n", "c.yaml:2:1", NULL},
		{GPC_FROM_USER, "store: {\n", "c.yaml:", NULL},
		{GPC_FROM_USER, "color: auto\n---\ncolor: auto\n",
			"c.yaml: expected one document", NULL},
		{GPC_FROM_PROJECT, "color: auto\nstore: /tmp/theirs\n",
			"c.yaml:2:1: a project's file may not set store",
			"read that file; if it is as you want it, `gpucloud "
			"config trust` allows it here, until it changes"},
		{GPC_FROM_PROJECT, "local: {home: user}\n", "c.yaml:1:9: "
			"a project's file may not set local.home", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		gpc_auto(gpc_config) struct gpc_config c = {0};
		struct gpc_error err = {0};

		gpc_config_init(&c);
		assert_int_equal(read_text(&c, cases[i].origin, cases[i].text,
			&err), -GPC_ECONFIG);
		assert_int_equal(err.code, GPC_ECONFIG);
		if (strncmp(err.msg, cases[i].msg, strlen(cases[i].msg)))
			assert_string_equal(err.msg, cases[i].msg);
		if (cases[i].hint)
			assert_string_equal(err.hint, cases[i].hint);
	}
}

static void test_env_error(void **state)
{
	gpc_auto(gpc_config) struct gpc_config c = {0};
	struct gpc_error err = {0};
	char bad[] = "GPUCLOUD_LOG_LEVEL=loud";
	char *env[] = {bad, NULL};

	(void)state;
	gpc_config_init(&c);
	assert_int_equal(gpc_config_read_env(&c, env, &err), -GPC_ECONFIG);
	assert_string_equal(err.msg, "GPUCLOUD_LOG_LEVEL: log_level: \"loud\" "
		"is not one of error, warn, info, verbose, trace");
}

/* --- keys of the caller ---------------------------------------------------- */

static bool find_extra(const char *name, struct gpc_config_extra *ret_extra)
{
	*ret_extra = (struct gpc_config_extra){
		.expected = "text", .doc = "a test",
		.guarded = gpc_starts_with(name, "run.secret"),
		.list = gpc_eq(name, "run.list"),
	};
	return gpc_eq(name, "plain") || gpc_eq(name, "run.fast") ||
		gpc_eq(name, "run.list") || gpc_eq(name, "run.secret");
}

static int check_extra(const struct gpc_config_extra *extra, const char *text,
	const char *label, struct gpc_error *err)
{
	assert_string_equal(extra->doc, "a test");
	return gpc_eq(text, "bad") ?
		gpc_fail(err, GPC_ECONFIG, "%s: is bad", label) : 0;
}

static void extra_names(struct gpc_strv *names)
{
	gpc_strv_add(names, "plain");
	gpc_strv_add(names, "run.fast");
	gpc_strv_add(names, "run.list");
	gpc_strv_add(names, "run.secret");
}

static const struct gpc_config_extension extension = {
	find_extra, check_extra, extra_names,
};

static const char *more(const struct gpc_config *c, const char *name)
{
	const struct gpc_config_more *m = gpc_config_find_more(c, name);

	return m && m->items.n ? m->items.v[0] : NULL;
}

static void test_extra(void **state)
{
	gpc_auto(gpc_config) struct gpc_config c = {0};
	const struct gpc_config_more *m;

	(void)state;
	gpc_config_init(&c);
	c.extension = &extension;
	/* a later source wins, whatever is read first */
	assert_int_equal(gpc_config_set_more(&c, "plain", GPC_FROM_ENV, "env",
		"GPUCLOUD_PLAIN", NULL), 0);
	assert_int_equal(read_text(&c, GPC_FROM_PROJECT, "run: {fast: 2}\n",
		NULL), 0);
	assert_int_equal(read_text(&c, GPC_FROM_USER, "plain: file\nrun:\n"
		"  fast: 1\n  list: [a, b]\n", NULL), 0);
	assert_string_equal(more(&c, "plain"), "env");
	assert_string_equal(more(&c, "run.fast"), "2");
	m = gpc_config_find_more(&c, "run.list");
	assert_int_equal(m->items.n, 2);
	assert_string_equal(m->where, "c.yaml:4:3");
	assert_int_equal(gpc_config_set_more(&c, "run.list", GPC_FROM_ENV,
		"x y\nz\n", "E", NULL), 0);
	m = gpc_config_find_more(&c, "run.list");
	assert_int_equal(m->items.n, 2);
	assert_string_equal(m->items.v[0], "x y");
	assert_null(gpc_config_find_more(&c, "run.secret"));
}

static void test_extra_errors(void **state)
{
	static const struct {
		enum gpc_config_origin origin;
		const char *text, *msg, *hint;
	} cases[] = {
		{GPC_FROM_USER, "run.fats: 1\n",
			"c.yaml:1:1: unknown key \"run.fats\"",
			"did you mean run.fast?"},
		{GPC_FROM_USER, "run: {fast: bad}\n",
			"c.yaml:1:7: run.fast: is bad", ""},
		{GPC_FROM_USER, "run: {fast: [a]}\n", "c.yaml:1:7: run.fast: "
			"expected one value, not a list", ""},
		{GPC_FROM_USER, "run: {list: [[a]]}\n", "c.yaml:1:7: run.list: "
			"expected a list of texts", ""},
		{GPC_FROM_USER, "run: {list: [a, bad]}\n",
			"c.yaml:1:7: run.list: is bad", ""},
		{GPC_FROM_USER, "run: 3\n", "c.yaml:1:1: unknown key \"run\"",
			NULL},
		{GPC_FROM_PROJECT, "run: {secret: a}\n", "c.yaml:1:7: a "
			"project's file may not set run.secret unless you "
			"trust it", NULL},
		{GPC_FROM_PROJECT, "profiles: {}\n",
			"c.yaml:1:1: a project's file has no profiles", NULL},
		{GPC_FROM_USER, "profiles: [a]\n",
			"c.yaml:1:1: profiles: expected `NAME: {KEY: VALUE}`", ""},
		{GPC_FROM_USER, "profiles: {a: 3}\n", "c.yaml:1:12: the profile "
			"a: expected `key: value` lines", ""},
		{GPC_FROM_USER, "profiles:\n  a:\n    run: {fast: bad}\n",
			"c.yaml:3:11: run.fast: is bad", ""},
		{GPC_FROM_USER, "profiles: {a: {profile: b}}\n",
			"c.yaml:1:16: a profile cannot name another one", ""},
		{GPC_FROM_USER, "profiles: {a: {profiles: {}}}\n",
			"c.yaml:1:16: unknown key \"profiles\"", NULL},
		{GPC_FROM_USER, "profiles: {a: {color: red}}\n", "c.yaml:1:16: "
			"color: \"red\" is not one of auto, always, never", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		gpc_auto(gpc_config) struct gpc_config c = {0};
		struct gpc_error err = {0};

		gpc_config_init(&c);
		c.extension = &extension;
		assert_int_equal(read_text(&c, cases[i].origin, cases[i].text,
			&err), -GPC_ECONFIG);
		assert_int_equal(err.code, GPC_ECONFIG);
		assert_string_equal(err.msg, cases[i].msg);
		if (cases[i].hint)
			assert_string_equal(err.hint, cases[i].hint);
	}
}

static void test_guards(void **state)
{
	static const char text[] = "store: /theirs\nrun: {secret: a, fast: 1}\n";
	gpc_auto(gpc_config) struct gpc_config trusted = {0}, skipped = {0};

	(void)state;
	gpc_config_init(&trusted);
	trusted.extension = &extension;
	trusted.guard = GPC_GUARD_TRUST;
	assert_int_equal(read_text(&trusted, GPC_FROM_PROJECT, text, NULL), 0);
	assert_string_equal(gpc_config_str(&trusted, GPC_CONFIG_STORE),
		"/theirs");
	assert_string_equal(more(&trusted, "run.secret"), "a");
	gpc_config_init(&skipped);
	skipped.extension = &extension;
	skipped.guard = GPC_GUARD_SKIP;
	assert_int_equal(read_text(&skipped, GPC_FROM_PROJECT, text, NULL), 0);
	assert_null(gpc_config_str(&skipped, GPC_CONFIG_STORE));
	assert_null(more(&skipped, "run.secret"));
	assert_string_equal(more(&skipped, "run.fast"), "1");
}

static void test_profiles(void **state)
{
	static const char text[] = "color: never\nrun: {fast: 0}\nprofiles:\n"
		"  eu:\n    color: always\n    store: /eu\n    run: {fast: 1}\n"
		"  us:\n  asia: {}\n";
	gpc_auto(gpc_config) struct gpc_config c = {0};
	struct gpc_error err = {0};

	(void)state;
	gpc_config_init(&c);
	c.extension = &extension;
	assert_int_equal(read_text(&c, GPC_FROM_USER, text, NULL), 0);
	assert_int_equal(gpc_config_enum(&c, GPC_CONFIG_COLOR),
		GPC_COLOR_NEVER);
	assert_int_equal(gpc_config_set(&c, GPC_CONFIG_STORE, GPC_FROM_ENV,
		"/env", "GPUCLOUD_STORE", NULL), 0);
	assert_int_equal(gpc_config_read_profile(&c, "eu", "--profile", text,
		sizeof(text) - 1, "c.yaml", NULL), 0);
	assert_int_equal(gpc_config_enum(&c, GPC_CONFIG_COLOR),
		GPC_COLOR_ALWAYS);
	assert_string_equal(gpc_config_where(&c, GPC_CONFIG_COLOR),
		"c.yaml:5:5");
	assert_string_equal(gpc_config_str(&c, GPC_CONFIG_STORE), "/env");
	assert_string_equal(more(&c, "run.fast"), "1");
	assert_int_equal(gpc_config_read_profile(&c, "asia", "--profile", text,
		sizeof(text) - 1, "c.yaml", NULL), 0);
	/* one without keys is one */
	assert_int_equal(gpc_config_read_profile(&c, "us", "--profile", text,
		sizeof(text) - 1, "c.yaml", NULL), 0);
	assert_int_equal(gpc_config_read_profile(&c, "asa", "--profile", text,
		sizeof(text) - 1, "c.yaml", &err), -GPC_ECONFIG);
	assert_string_equal(err.msg, "--profile: there is no profile \"asa\" in "
		"c.yaml");
	assert_string_equal(err.hint, "did you mean asia? there are eu, us, "
		"asia");
	assert_int_equal(gpc_config_read_profile(&c, "x", "--profile", "", 0,
		"c.yaml", &err), -GPC_ECONFIG);
}

static void test_fields(void **state)
{
	(void)state;
	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		const struct gpc_config_field *f = &gpc_config_fields[i];

		assert_non_null(f->name);
		assert_non_null(f->doc);
		assert_true((f->kind == GPC_CONFIG_ENUM) == (f->words != NULL));
	}
	gpc_autostr *name = gpc_config_env_name("local.home");
	assert_string_equal(name, "GPUCLOUD_LOCAL_HOME");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_env_error),
		cmocka_unit_test(test_extra),
		cmocka_unit_test(test_extra_errors),
		cmocka_unit_test(test_guards),
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
