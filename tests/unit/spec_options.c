/* The command line's rows and the model's words say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cmd/spec_load.h"

static const struct gpc_spec_option *word(const char *name)
{
	size_t n;
	const struct gpc_spec_option *o = gpc_spec_options(&n);

	for (size_t i = 0; i < n; i++) {
		if (gpc_eq(o[i].word, name))
			return &o[i];
	}
	return NULL;
}

static void every_word_has_a_row(void **state)
{
	size_t n;
	const struct gpc_spec_option *o = gpc_spec_options(&n);

	(void)state;
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		const struct gpc_opt *row = gpc_opt_find(gpc_spec_cli_options,
			o[i].word);

		if (!row)
			fail_msg("--%s has no row", o[i].word);
		assert_true(row->type == GPC_OPT_T_STR ||
			row->type == GPC_OPT_T_LIST);
		assert_string_equal(row->help, o[i].help);
		if (o[i].arg)
			assert_string_equal(row->arg, o[i].arg);
		else
			assert_string_equal(row->implied, "true");
	}
}

static void look(const struct gpc_opt *row, void *arg)
{
	int *strings = arg;

	if (gpc_eq(row->name, "env") || gpc_eq(row->name, "env-file") ||
		gpc_eq(row->name, "secret"))
		return;
	if (!word(row->name))
		fail_msg("--%s is no word of the model", row->name);
	++*strings;
}

static void every_row_is_a_word(void **state)
{
	int strings = 0;
	size_t n;

	(void)state;
	gpc_spec_options(&n);
	gpc_opt_each(gpc_spec_cli_options, look, &strings);
	assert_int_equal(strings, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_has_a_row),
		cmocka_unit_test(every_row_is_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
