/* Errors: codes, cutting, wrapping, and the two tables. */
#include "test.h"

#include <errno.h>

#include "base/str.h"

TEST(sets_and_returns)
{
	struct gpc_error err = {.sys = 5, .http = 500, .hint = "old"};

	assert_int_equal(gpc_fail(&err, GPC_EQUOTA, "%s %d", "no", 7),
		-GPC_EQUOTA);
	assert_int_equal(err.code, GPC_EQUOTA);
	assert_string_equal(err.msg, "no 7");
	assert_int_equal(err.sys, 0);
	assert_int_equal(err.http, 0);
	assert_string_equal(err.hint, "");
}

TEST(takes_null)
{
	assert_int_equal(gpc_fail(NULL, GPC_EIO, "x"), -GPC_EIO);
	assert_int_equal(gpc_fail_sys(NULL, ENOENT, "x"), -GPC_ENOTFOUND);
	assert_int_equal(gpc_wrap(NULL, -GPC_EIO, "x"), -GPC_EIO);
	gpc_hint(NULL, "x");
}

TEST(cuts_long_messages_and_says_so)
{
	struct gpc_error err = {0};
	char text[2000];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	gpc_fail(&err, GPC_EIO, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_true(gpc_ends_with(err.msg, "a..."));
	gpc_wrap(&err, -GPC_EIO, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_true(gpc_ends_with(err.msg, "..."));
	gpc_hint(&err, "%s", text);
	assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
}

TEST(never_cuts_a_character)
{
	for (int shift = 0; shift < 4; shift++) {
		struct gpc_error err = {0};
		char text[1200] = "xxx";

		for (size_t i = (size_t)shift; i + 3 < sizeof(text); i += 3)
			memcpy(text + i, "\xe2\x82\xac", 4);
		gpc_fail(&err, GPC_EIO, "%s", text);
		assert_true(gpc_utf8_valid(err.msg, strlen(err.msg)));
		assert_true(gpc_ends_with(err.msg, "..."));
	}
}

TEST(may_use_its_own_text)
{
	struct gpc_error err = {0};

	gpc_fail(&err, GPC_ENET, "old");
	gpc_hint(&err, "try");
	gpc_fail(&err, GPC_EIO, "new after %s", err.msg);
	assert_string_equal(err.msg, "new after old");
}

TEST(wraps)
{
	struct gpc_error err = {0};
	int r = gpc_fail(&err, GPC_ENET, "refused");

	gpc_hint(&err, "wait");
	assert_int_equal(gpc_wrap(&err, r, "submit %s", "a"), -GPC_ENET);
	assert_string_equal(err.msg, "submit a: refused");
	assert_string_equal(err.hint, "wait");
	assert_int_equal(gpc_wrap(&err, 0, "nothing"), 0);
	assert_string_equal(err.msg, "submit a: refused");
}

TEST(turns_errno_into_codes)
{
	static const struct { int sys; enum gpc_code code; } cases[] = {
		{ENOENT, GPC_ENOTFOUND}, {EEXIST, GPC_ECONFLICT},
		{EACCES, GPC_EIO}, {EPERM, GPC_EIO}, {EROFS, GPC_EIO},
		{ENOSPC, GPC_EIO}, {EIO, GPC_EIO}, {ETIMEDOUT, GPC_ETIMEOUT},
		{ECONNREFUSED, GPC_ENET}, {99999, GPC_EIO},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_error err = {0};

		assert_fails(gpc_fail_sys(&err, cases[i].sys, "open %s", "f"),
			cases[i].code);
		assert_int_equal(err.sys, cases[i].sys);
		assert_true(gpc_starts_with(err.msg, "open f: "));
		assert_true(strlen(err.msg) > strlen("open f: "));
	}
}

TEST(names_what_helps_a_full_disk)
{
	struct gpc_error err = {0};

	gpc_fail_sys(&err, ENOSPC, "write");
	assert_has(err.hint, "free space");
}

TEST(what_is_forbidden_is_a_missing_permission)
{
	static const struct { int sys, exit; } cases[] = {
		{EACCES, 4}, {EPERM, 4}, {EROFS, 4}, {ENOSPC, 1}, {EIO, 1},
		{ENOENT, 5},
	};
	struct gpc_error err = {0};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_fail_sys(&err, cases[i].sys, "write");
		assert_int_equal(gpc_error_exit(&err), cases[i].exit);
		assert_int_equal(err.hint[0] != 0, cases[i].exit == 4 ||
			cases[i].sys == ENOSPC);
	}
	gpc_fail(&err, GPC_EIO, "broken");
	assert_int_equal(gpc_error_exit(&err), 1);
	/* Whoever knows better has said so. */
	gpc_fail_sys(&err, EACCES, "job.yaml");
	err.code = GPC_ECONFIG;
	assert_int_equal(gpc_error_exit(&err), 3);
}

TEST(has_one_row_for_each_code)
{
	static const struct { enum gpc_code code; int exit; } exits[] = {
		{GPC_OK, 0}, {GPC_EUSAGE, 2}, {GPC_ECONFIG, 3}, {GPC_EAUTH, 4},
		{GPC_ENOTFOUND, 5}, {GPC_EQUOTA, 6}, {GPC_ECAPACITY, 6},
		{GPC_ENET, 7}, {GPC_ETIMEOUT, 7}, {GPC_ERATE, 7},
		{GPC_ECONFLICT, 8}, {GPC_EOVERCAP, 9}, {GPC_ECANCELED, 130},
		{GPC_EIO, 1}, {GPC_EPROTO, 1}, {GPC_ENOROOM, 1},
		{GPC_EUNSUPPORTED, 3},
	};

	assert_int_equal(COUNT(exits), GPC_CODE__COUNT);
	for (size_t i = 0; i < COUNT(exits); i++)
		assert_int_equal(gpc_code_exit(exits[i].code), exits[i].exit);
	for (int i = 0; i < GPC_CODE__COUNT; i++) {
		assert_non_null(gpc_code_to_str((enum gpc_code)i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(
				gpc_code_to_str((enum gpc_code)i),
				gpc_code_to_str((enum gpc_code)j));
	}
	assert_int_equal(gpc_code_exit(GPC_CODE__COUNT), 1);
	assert_string_equal(gpc_code_to_str(GPC_CODE__COUNT), "unknown");
	assert_false(gpc_code_retryable(GPC_CODE__COUNT));
	assert_true(gpc_code_retryable(GPC_ERATE));
	assert_false(gpc_code_retryable(GPC_EAUTH));
}

TEST(says_what_to_do_where_nobody_has_said_it)
{
	struct gpc_error err = {0};

	assert_string_equal(gpc_error_advice(&err), "");
	(void)gpc_fail(&err, GPC_ENET, "x");
	assert_has(gpc_error_advice(&err), "check the network");
	err.http = 200;                 /* an error for a body */
	assert_has(gpc_error_advice(&err), "try again later");
	gpc_hint(&err, "do this");
	assert_string_equal(gpc_error_advice(&err), "do this");
	(void)gpc_fail(&err, GPC_ERATE, "x");
	assert_has(gpc_error_advice(&err), "too often");
	(void)gpc_fail(&err, GPC_EPROTO, "x");
	assert_string_equal(gpc_error_advice(&err), "");
	err.http = 400;
	assert_has(gpc_error_advice(&err), "-vv");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_and_returns),
		cmocka_unit_test(takes_null),
		cmocka_unit_test(cuts_long_messages_and_says_so),
		cmocka_unit_test(never_cuts_a_character),
		cmocka_unit_test(may_use_its_own_text),
		cmocka_unit_test(wraps),
		cmocka_unit_test(turns_errno_into_codes),
		cmocka_unit_test(names_what_helps_a_full_disk),
		cmocka_unit_test(what_is_forbidden_is_a_missing_permission),
		cmocka_unit_test(has_one_row_for_each_code),
		cmocka_unit_test(says_what_to_do_where_nobody_has_said_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
