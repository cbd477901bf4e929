/* Numbers out of output: pieces of lines, progress bars, bursts, and the file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "test.h"

#include "agent/metrics.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"

static struct gpc_error err;

static void collect(void *arg, const char *line, size_t n)
{
	gpc_buf_add(arg, line, n);
}

static struct gpc_metrics *metrics(const char *name, const char *expr,
	const char *file, struct gpc_buf *to)
{
	struct gpc_pairs exprs = {0};
	struct gpc_metrics *m = NULL;

	if (name)
		gpc_pairs_set(&exprs, name, expr);
	assert_ok(gpc_metrics_new(&exprs, file, collect, to, &m, &err));
	gpc_pairs_clear(&exprs);
	return m;
}

TEST(expressions_find_their_numbers)
{
	static const struct { const char *expr, *line, *want; } cases[] = {
		{ "loss=([0-9.]+)", "step 1 loss=0.25 ok\n", "0.25" },
		{ "loss=", "step 1 loss=0.25, ok\n", "0.25" },
		{ "loss: *", "loss:   -1.5e-3\n", "-0.0015" },
		{ "[0-9]+$", "epoch 12\n", "12" },
		{ "(train|eval)=([0-9.]+)", "eval=3\n", NULL },
		{ "ac?c=([0-9.]+)", "acc=3\n", "3" },
		{ "loss=([0-9.]+)", "50% loss=1\r100% loss=2\r", "1" },
		{ "loss=([a-z]+)", "loss=nan\n", NULL },
		{ "loss=([0-9.]+)", "loss=0.5", NULL },      /* no end yet */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_buf out = {0};
		struct gpc_metrics *m = metrics("x", cases[i].expr, NULL, &out);
		gpc_autostr *want = gpc_format("\"value\":%s}",
			cases[i].want ? cases[i].want : "");

		gpc_metrics_feed(m, 0, cases[i].line, strlen(cases[i].line));
		if (cases[i].want ? !strstr(gpc_buf_str(&out), want) : out.len)
			fail_msg("case %zu: %s", i, gpc_buf_str(&out));
		gpc_metrics_free(m);
		gpc_buf_clear(&out);
	}
}

/* One byte at a time, from two sources at once. */
TEST(pieces_make_a_line)
{
	const char *a = "loss=0.125\n", *b = "loss=9\n";
	struct gpc_buf out = {0};
	struct gpc_metrics *m = metrics("loss", "loss=([0-9.]+)", NULL, &out);

	for (size_t i = 0; a[i]; i++) {
		gpc_metrics_feed(m, 0, a + i, 1);
		if (i < 5)
			gpc_metrics_feed(m, 1, b + i, 1);
	}
	assert_non_null(strstr(gpc_buf_str(&out), "0.125"));
	assert_null(strstr(gpc_buf_str(&out), "\"value\":9"));
	gpc_metrics_free(m);
	gpc_buf_clear(&out);
}

TEST(a_burst_gives_few_values_and_the_last)
{
	struct gpc_buf out = {0};
	struct gpc_metrics *m = metrics("n", "n=([0-9]+)", NULL, &out);
	size_t lines = 0;

	for (int i = 0; i < 10000; i++) {
		gpc_autostr *line = gpc_format("n=%d\n", i);

		gpc_metrics_feed(m, 0, line, strlen(line));
	}
	gpc_metrics_tick(m);
	assert_non_null(strstr(gpc_buf_str(&out), "\"value\":9999}"));
	for (size_t i = 0; i < out.len; i++)
		lines += out.data[i] == '\n';
	assert_in_range(lines, 2, 100);
	gpc_metrics_free(m);
	gpc_buf_clear(&out);
}

TEST(endless_and_binary_lines_are_passed_by)
{
	struct gpc_buf out = {0};
	struct gpc_metrics *m = metrics("n", "n=([0-9]+)", NULL, &out);
	gpc_autostr *chunk = gpc_alloc(100000);

	memset(chunk, 'x', 100000);
	for (int i = 0; i < 100; i++)
		gpc_metrics_feed(m, 0, chunk, 100000);
	gpc_metrics_feed(m, 0, "n=1\n", 4);
	assert_int_equal(out.len, 0);
	gpc_metrics_feed(m, 0, "\0n=2\nn=3\n", 9);
	assert_non_null(strstr(gpc_buf_str(&out), "\"value\":3}"));
	gpc_metrics_free(m);
	gpc_buf_clear(&out);
}

static void append(const char *path, const char *text, int flags)
{
	gpc_autofd fd = -1;

	assert_ok(gpc_open(path, O_WRONLY | O_CREAT | flags, 0600, &fd, &err));
	assert_ok(gpc_write_all(fd, text, strlen(text), path, &err));
}

TEST(the_file_is_followed)
{
	gpc_autostr *dir = scratch();
	gpc_autostr *path = gpc_path_join(dir, "m.jsonl");
	struct gpc_buf out = {0};
	struct gpc_metrics *m = metrics(NULL, NULL, path, &out);

	gpc_metrics_tick(m);                        /* not there yet */
	append(path, "{\"loss\": 0.5, \"step\": 3, \"who\": \"me\"}\n{\"lo",
		O_APPEND);
	gpc_metrics_tick(m);
	assert_non_null(strstr(gpc_buf_str(&out), "\"loss\",\"value\":0.5"));
	assert_non_null(strstr(gpc_buf_str(&out), "\"step\",\"value\":3"));
	assert_null(strstr(gpc_buf_str(&out), "who"));
	gpc_buf_reset(&out);
	append(path, "ss\": 0.25}\nnot json\n", O_APPEND);
	gpc_metrics_tick(m);
	assert_non_null(strstr(gpc_buf_str(&out), "0.25"));
	gpc_buf_reset(&out);
	append(path, "{\"t\": 77, \"lr\": 1}\n", O_TRUNC);     /* begun anew */
	gpc_metrics_tick(m);
	assert_string_equal(gpc_buf_str(&out),
		"{\"t\":77,\"name\":\"lr\",\"value\":1}\n");
	gpc_metrics_free(m);
	gpc_buf_clear(&out);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(a_bad_expression_is_named)
{
	struct gpc_pairs exprs = {0};
	struct gpc_metrics *m = NULL;
	struct gpc_buf out = {0};

	gpc_pairs_set(&exprs, "loss", "loss=(");
	assert_fails(gpc_metrics_new(&exprs, NULL, collect, &out, &m, &err),
		GPC_ECONFIG);
	assert_has(err.msg, "metrics.loss");
	gpc_pairs_clear(&exprs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_find_their_numbers),
		cmocka_unit_test(pieces_make_a_line),
		cmocka_unit_test(a_burst_gives_few_values_and_the_last),
		cmocka_unit_test(endless_and_binary_lines_are_passed_by),
		cmocka_unit_test(the_file_is_followed),
		cmocka_unit_test(a_bad_expression_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
