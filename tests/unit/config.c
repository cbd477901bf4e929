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
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
