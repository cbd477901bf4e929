/* A job's bytes to stdout: exact, and never in the way of an interrupt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <signal.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/rand.h"
#include "cmd/through.h"

enum { BIG = 3000000 };

static void file_gets_all(void **state)
{
	char *data = gpc_alloc(BIG), *back = gpc_alloc(BIG);
	struct gpc_out o = {.to = tmpfile()};
	struct gpc_cancel cancel = {0};
	size_t n = 0;

	(void)state;
	gpc_rand(data, BIG);
	assert_int_equal(gpc_through_stdout(&o, data, BIG, &cancel, NULL), 0);
	rewind(o.to);
	assert_int_equal(gpc_read_full(fileno(o.to), back, BIG, "back", &n,
		NULL), 0);
	assert_int_equal(n, BIG);
	assert_memory_equal(data, back, BIG);
	fclose(o.to);
	free(data);
	free(back);
}

/* Nobody reads: a signal that came before or comes while we wait ends it, and
 * nothing is left in stdio that a later flush would wait for. */
static void full_pipe_lets_go(void **state)
{
	char *data = gpc_alloc(BIG);
	struct gpc_cancel cancel = {.signal = SIGINT};
	struct gpc_error err = {0};
	struct gpc_out o = {0};
	int fds[2];

	(void)state;
	assert_int_equal(gpc_pipe(fds, NULL), 0);
	o.to = fdopen(fds[1], "w");
	assert_int_equal(gpc_through_stdout(&o, data, BIG, &cancel, &err),
		-GPC_ECANCELED);
	assert_false(o.broken);
	assert_int_equal(fflush(o.to), 0);
	fclose(o.to);
	close(fds[0]);
	free(data);
}

static void gone_reader_is_told(void **state)
{
	struct gpc_cancel cancel = {0};
	struct gpc_error err = {0};
	struct gpc_out o = {0};
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(gpc_pipe(fds, NULL), 0);
	close(fds[0]);
	o.to = fdopen(fds[1], "w");
	assert_true(gpc_through_stdout(&o, "x", 1, &cancel, &err) < 0);
	assert_true(o.broken);
	fclose(o.to);
}

static void full_disk_is_an_error(void **state)
{
	struct gpc_cancel cancel = {0};
	struct gpc_error err = {0};
	struct gpc_out o = {.to = fopen("/dev/full", "w")};

	(void)state;
	if (!o.to)
		skip();
	assert_true(gpc_through_stdout(&o, "x", 1, &cancel, &err) < 0);
	assert_false(o.broken);
	assert_non_null(strstr(err.msg, "stdout"));
	fclose(o.to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_gets_all),
		cmocka_unit_test(full_pipe_lets_go),
		cmocka_unit_test(gone_reader_is_told),
		cmocka_unit_test(full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
