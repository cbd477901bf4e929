/* Typed vectors. */
#include "test.h"

#include "base/vec.h"

struct point { int x, y; };

TEST(pushes_zeroed_elements)
{
	GPC_VEC(struct point) v = {0};

	for (int i = 0; i < 100; i++) {
		struct point *p = gpc_vec_push(&v);

		assert_int_equal(p->x, 0);
		assert_int_equal(p->y, 0);
		*p = (struct point){i, -i};
	}
	assert_int_equal(v.n, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(v.v[i].x, i);
	v.n = 50;
	assert_int_equal(gpc_vec_push(&v)->x, 0);
	gpc_vec_free(&v);
	assert_null(v.v);
	assert_int_equal(v.n, 0);
}

TEST(removes_anywhere)
{
	GPC_VEC(int) v = {0};

	for (int i = 0; i < 5; i++)
		*gpc_vec_push(&v) = i;
	gpc_vec_remove(&v, 0);
	gpc_vec_remove(&v, 3);
	gpc_vec_remove(&v, 1);
	assert_int_equal(v.n, 2);
	assert_int_equal(v.v[0], 1);
	assert_int_equal(v.v[1], 3);
	gpc_vec_free(&v);
}

TEST(visits_each)
{
	GPC_VEC(int) v = {0};
	int sum = 0;

	gpc_vec_each(it, &v)
		sum += *it;
	assert_int_equal(sum, 0);
	for (int i = 1; i <= 10; i++)
		*gpc_vec_push(&v) = i;
	gpc_vec_each(it, &v)
		sum += *it;
	assert_int_equal(sum, 55);
	gpc_vec_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_zeroed_elements),
		cmocka_unit_test(removes_anywhere),
		cmocka_unit_test(visits_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
