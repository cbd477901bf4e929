/* Programs that hand out credentials: how commands are split, and what becomes of
 * those that fail, hang, talk too much or leave children behind. */
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/time.h"
#include "creds/process.h"

static const struct { const char *command, *words; } splits[] = {
	{"a b  c", "a|b|c"},
	{"  a\tb ", "a|b"},
	{"a 'b c' \"d e\"", "a|b c|d e"},
	{"a'b'\"c\"d", "abcd"},
	{"a '' \"\"", "a||"},
	{"a\\ b c\\\\", "a b|c\\"},
	{"a \"x\\\"y\" 'x\\y'", "a|x\"y|x\\y"},
	{"a \"\\n\"", "a|\\n"},
	{"a $HOME *.c ; b", "a|$HOME|*.c|;|b"},
	{"/p/x --f=\"a b\"", "/p/x|--f=a b"},
	{"", NULL}, {"   ", NULL}, {"''", NULL}, {"a 'b", NULL},
	{"a \"b", NULL}, {"a \\", NULL},
};

TEST(test_split)
{
	for (size_t i = 0; i < COUNT(splits); i++) {
		gpc_auto(gpc_strv) struct gpc_strv argv = {0};
		struct gpc_error err = {0};
		gpc_autostr *joined = NULL;

		if (!splits[i].words) {
			assert_fails(gpc_process_split(splits[i].command,
				&argv, &err), GPC_ECONFIG);
			assert_int_equal(argv.n, 0);
			continue;
		}
		assert_ok(gpc_process_split(splits[i].command, &argv, &err));
		joined = gpc_strv_join(&argv, "|");
		assert_string_equal(joined, splits[i].words);
	}
}

static int run(const char *script, int timeout_ms, const char *env,
	struct gpc_buf *out, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv argv = {0}, more = {0};
	const struct gpc_process p = {
		.argv = &argv, .env = env ? &more : NULL,
		.timeout_ms = timeout_ms,
	};

	gpc_strv_add(&argv, "/bin/sh");
	gpc_strv_add(&argv, "-c");
	gpc_strv_add(&argv, script);
	if (env)
		gpc_strv_add(&more, env);
	return gpc_process_run(&p, out, err);
}

TEST(test_run)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	struct gpc_error err = {0};

	assert_ok(run("echo \"$A\"; echo talk >&2", 0, "A=x y", &out, &err));
	assert_string_equal(gpc_buf_str(&out), "x y\n");
	gpc_buf_reset(&out);
	assert_ok(run("cat; echo end", 0, NULL, &out, &err));
	assert_string_equal(gpc_buf_str(&out), "end\n");
	gpc_buf_reset(&out);
	assert_fails(run("echo secret; printf 'not\\nlogged in\\n\\n' >&2; "
		"exit 3", 0, NULL, &out, &err), GPC_EAUTH);
	assert_has(err.msg, "/bin/sh ended with status 3: not");
	assert_has(err.msg, "logged in");
	assert_null(strstr(err.msg, "secret"));
	assert_null(strchr(err.msg, '\n'));
	assert_fails(run("kill -9 $$", 0, NULL, &out, &err), GPC_EAUTH);
	assert_has(err.msg, "ended with signal 9");
}

/* None of them holds us for longer than its time. */
TEST(test_hang)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	struct gpc_error err = {0};
	int64_t begin = gpc_boot_ms();

	assert_fails(run("sleep 300", 300, NULL, &out, &err), GPC_ETIMEOUT);
	assert_has(err.msg, "/bin/sh gave no answer within 300ms");
	assert_fails(run("exec >&- 2>&-; trap '' TERM; while :; do sleep 1; "
		"done", 300, NULL, &out, &err), GPC_ETIMEOUT);
	/* A child that keeps the pipe is not waited for. */
	assert_ok(run("sleep 300 & echo \"$!\"", 0, NULL, &out, &err));
	assert_true(gpc_boot_ms() - begin < 60000);
	assert_true(gpc_buf_str(&out)[0] != '\0');
	kill((pid_t)atoi(gpc_buf_str(&out)), SIGKILL);
}

TEST(test_too_much)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	struct gpc_error err = {0};

	assert_fails(run("while :; do echo 0123456789012345678901234567890; "
		"done", 20000, NULL, &out, &err), GPC_EPROTO);
	assert_true(out.len <= GPC_PROCESS_MAX_OUT);
}

/* What it started goes with it, also what does not heed SIGTERM. */
TEST(test_group)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	struct gpc_error err = {0};
	uint64_t start;
	pid_t left;

	assert_fails(run("sh -c \"trap '' TERM; exec >/dev/null 2>&1; "
		"while :; do sleep 1; done\" & echo \"$!\"; "
		"while :; do echo 0123456789012345678901234567890; done",
		60000, NULL, &out, &err), GPC_EPROTO);
	left = (pid_t)atoi(gpc_buf_str(&out));
	assert_true(left > 0);
	start = gpc_proc_start(left);
	assert_false(start && gpc_proc_alive(left, start));
}

TEST(test_cannot_start)
{
	gpc_auto(gpc_strv) struct gpc_strv argv = {0};
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	const struct gpc_process p = {.argv = &argv};
	struct gpc_error err = {0};

	gpc_strv_add(&argv, "/no/such/program");
	assert_fails(gpc_process_run(&p, &out, &err), GPC_ECONFIG);
	assert_has(err.msg, "/no/such/program: there is no such program");
	gpc_set_str(&argv.v[0], "/etc/passwd");
	assert_fails(gpc_process_run(&p, &out, &err), GPC_ECONFIG);
	assert_has(err.msg, "may not be executed");
}

TEST(test_cancel)
{
	gpc_auto(gpc_strv) struct gpc_strv argv = {0};
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	struct gpc_cancel cancel = {.signal = 2};
	const struct gpc_process p = {.argv = &argv, .cancel = &cancel};
	struct gpc_error err = {0};

	gpc_strv_add(&argv, "sleep");
	gpc_strv_add(&argv, "300");
	assert_fails(gpc_process_run(&p, &out, &err), GPC_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_cannot_start),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
