/* The newest metrics from the ends of streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/job_metrics.h"
#include "record/keys.h"

static void put(struct gpc_store *s, int rank, const char *text)
{
	gpc_key key;

	gpc_key_rank(key, "j", 1, rank, "metrics/0000000000000000-1");
	assert_int_equal(gpc_store_put(s, key, text, strlen(text), 0, NULL), 0);
}

static const struct gpc_metric *find(const struct gpc_metric_list *l,
	const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i].name, name) == 0)
			return &l->v[i];
	}
	return NULL;
}

static void newest_wins(void **state)
{
	gpc_autoptr(gpc_store) *s = NULL;
	gpc_auto(gpc_metric_list) struct gpc_metric_list l = {0};

	(void)state;
	assert_int_equal(gpc_store_open("mem://job-metrics", GPC_STORE_CREATE,
		NULL, &s, NULL), 0);
	assert_int_equal(gpc_metrics_newest(s, "j", 1, 2, &l, NULL), 0);
	assert_int_equal(l.n, 0);
	put(s, 0, "0,\"value\":9}\n"               /* the rest of a cut line */
		"{\"t\":1000,\"name\":\"loss\",\"value\":2.5}\n"
		"{\"t\":3000,\"name\":\"loss\",\"value\":1.5}\n"
		"no json\n"
		"{\"t\":3000,\"name\":\"bad\",\"value\":\"text\"}\n"
		"{\"t\":9000,\"name\":\"half\",\"val");
	put(s, 1, "{\"t\":2000,\"name\":\"loss\",\"value\":7}\n"
		"{\"t\":2000,\"name\":\"step\",\"value\":4}\n");
	assert_int_equal(gpc_metrics_newest(s, "j", 1, 2, &l, NULL), 0);
	assert_int_equal(l.n, 2);
	assert_non_null(find(&l, "loss"));
	assert_true(find(&l, "loss")->value == 1.5);
	assert_int_equal(find(&l, "loss")->rank, 0);
	assert_non_null(find(&l, "step"));
	assert_int_equal(find(&l, "step")->rank, 1);
	gpc_autoptr(gpc_json) *j = gpc_metrics_json(&l);
	assert_string_equal(gpc_json_get_str(gpc_json_get(j, "loss"), "at"),
		"1970-01-01T00:00:03.000Z");
}

/* Only the end of a long stream is read. */
static void long_stream(void **state)
{
	gpc_autoptr(gpc_store) *s = NULL;
	gpc_auto(gpc_metric_list) struct gpc_metric_list l = {0};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	(void)state;
	assert_int_equal(gpc_store_open("mem://long-metrics", GPC_STORE_CREATE,
		NULL, &s, NULL), 0);
	for (int i = 0; i < 5000; i++)
		gpc_buf_addf(&b, "{\"t\":%d,\"name\":\"%s\",\"value\":%d}\n",
			i + 1, i ? "loss" : "old", i);
	put(s, 0, gpc_buf_str(&b));
	assert_int_equal(gpc_metrics_newest(s, "j", 1, 1, &l, NULL), 0);
	assert_int_equal(l.n, 1);
	assert_true(l.v[0].value == 4999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_wins), cmocka_unit_test(long_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
