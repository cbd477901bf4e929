/* Whoever reads along is noticed, and forgotten when nothing more is heard. */
#include "test.h"

#include "record/watching.h"

#define JOB "job-aaaaaa"

static struct gpc_store *open_far(void)
{
	struct gpc_store *s = NULL;
	struct gpc_error err;

	assert_ok(gpc_store_open("mem://", 0, NULL, &s, &err));
	s->caps &= ~(unsigned)(GPC_STORE_APPEND | GPC_STORE_LOCAL);
	return s;
}

TEST(a_reader_is_fresh_for_half_a_minute)
{
	struct gpc_store *s = open_far();
	struct gpc_watching r = {0};
	struct gpc_watchers w = {0};
	struct gpc_error err;

	assert_false(gpc_watchers_fresh(&w, s, JOB, 0, 1000));
	gpc_watching_renew(&r, s, JOB);
	assert_false(gpc_watchers_fresh(&w, s, JOB, 0, 2000)); /* not looked yet */
	assert_true(gpc_watchers_fresh(&w, s, JOB, 0, 6000));
	assert_true(gpc_watchers_fresh(&w, s, JOB, 0, 35000));
	assert_false(gpc_watchers_fresh(&w, s, JOB, 0, 36000));
	r.put_ms = 0;                   /* time for the next one */
	gpc_watching_renew(&r, s, JOB);
	assert_int_equal(r.n, 2);
	assert_true(gpc_watchers_fresh(&w, s, JOB, 0, 45000));
	assert_ok(gpc_store_del(s, "jobs/" JOB "/watch", &err));
	assert_false(gpc_watchers_fresh(&w, s, JOB, 0, 80000));
	gpc_store_free(s);
}

TEST(it_is_put_no_more_often_than_needed)
{
	struct gpc_store *s = open_far();
	struct gpc_watching r = {0};

	for (int i = 0; i < 5; i++)
		gpc_watching_renew(&r, s, JOB);
	assert_int_equal(r.n, 1);
	gpc_store_free(s);
}

TEST(where_bytes_come_at_once_nobody_asks)
{
	struct gpc_store *s = open_far();
	struct gpc_watching r = {0};
	struct gpc_watchers w = {0};
	struct gpc_error err;

	s->caps |= GPC_STORE_APPEND;
	gpc_watching_renew(&r, s, JOB);
	assert_int_equal(gpc_store_head(s, "jobs/" JOB "/watch", NULL, &err),
		-GPC_ENOTFOUND);
	assert_false(gpc_watchers_fresh(&w, s, JOB, 0, 1000));
	gpc_store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_is_fresh_for_half_a_minute),
		cmocka_unit_test(it_is_put_no_more_often_than_needed),
		cmocka_unit_test(where_bytes_come_at_once_nobody_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
