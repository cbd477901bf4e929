/* Log lines: levels, forms, and bytes that try to forge them. */
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "dep/json.h"

static void keep(void *arg, enum gpc_level level, const char *line)
{
	gpc_strv_addf(arg, "%d %s", level, line);
}

TEST(shows_up_to_its_level)
{
	gpc_auto(gpc_strv) struct gpc_strv lines = {0};
	struct gpc_log log = {.level = GPC_INFO, .sink = keep,
		.sink_arg = &lines};

	gpc_log(NULL, GPC_ERROR, "nobody hears");
	gpc_log(&log, GPC_ERROR, "e %d", 1);
	gpc_log(&log, GPC_WARN, "w");
	gpc_log(&log, GPC_INFO, "i");
	gpc_log(&log, GPC_VERBOSE, "v");
	gpc_log(&log, GPC_TRACE, "t");
	assert_int_equal(lines.n, 3);
	assert_string_equal(lines.v[0], "0 error: e 1");
	assert_string_equal(lines.v[1], "1 warning: w");
	assert_string_equal(lines.v[2], "2 i");
}

TEST(stays_one_line)
{
	gpc_auto(gpc_strv) struct gpc_strv lines = {0};
	struct gpc_log log = {.level = GPC_TRACE, .sink = keep,
		.sink_arg = &lines};

	gpc_log(&log, GPC_INFO, "a\nerror: forged \033[31m\xff");
	assert_string_equal(lines.v[0],
		"2 a\\x0aerror: forged \\x1b[31m\\xff");
}

TEST(writes_json)
{
	gpc_auto(gpc_strv) struct gpc_strv lines = {0};
	struct gpc_log log = {.level = GPC_INFO, .json = true, .color = true,
		.sink = keep, .sink_arg = &lines};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err = {0};

	gpc_log(&log, GPC_WARN, "say \"hi\" \\ \t %s", "\xc3\xa4");
	assert_ok(gpc_json_parse(lines.v[0] + 2, strlen(lines.v[0]) - 2, &j,
		&err));
	assert_string_equal(gpc_json_get_str(j, "level"), "warning");
	assert_string_equal(gpc_json_get_str(j, "msg"),
		"say \"hi\" \\ \\x09 \xc3\xa4");
	assert_int_equal(strlen(gpc_json_get_str(j, "time")), 24);
}

TEST(writes_to_stderr)
{
	struct gpc_log log = {.level = GPC_INFO, .color = true};
	int fds[2], saved = dup(STDERR_FILENO);
	char text[100] = "";

	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	gpc_log(&log, GPC_ERROR, "x");
	gpc_log(&log, GPC_INFO, "y");
	dup2(saved, STDERR_FILENO);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "\033[31merror: x\033[0m\ny\n");
	close(fds[0]);
	close(fds[1]);
	close(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_up_to_its_level),
		cmocka_unit_test(stays_one_line),
		cmocka_unit_test(writes_json),
		cmocka_unit_test(writes_to_stderr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
