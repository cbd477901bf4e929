/* The hashed map and the pairs. */
#include "test.h"

#include "base/map.h"
#include "base/str.h"

TEST(maps_many_keys_in_order)
{
	gpc_auto(gpc_map) struct gpc_map m = {0};
	static int values[5000];

	assert_null(gpc_map_get(&m, "x"));
	assert_false(gpc_map_has(&m, ""));
	for (int i = 0; i < 5000; i++) {
		gpc_autostr *key = gpc_format("key%d", i);

		gpc_map_set(&m, key, &values[i]);
	}
	assert_int_equal(m.n, 5000);
	for (int i = 0; i < 5000; i++) {
		gpc_autostr *key = gpc_format("key%d", i);

		assert_ptr_equal(gpc_map_get(&m, key), &values[i]);
		assert_string_equal(m.entries[i].key, key);
	}
	assert_null(gpc_map_get(&m, "key5000"));
}

TEST(replaces_and_holds_null)
{
	gpc_auto(gpc_map) struct gpc_map m = {0};
	int a, b;

	gpc_map_set(&m, "", &a);
	gpc_map_set(&m, "", &b);
	gpc_map_set(&m, "null", NULL);
	assert_int_equal(m.n, 2);
	assert_ptr_equal(gpc_map_get(&m, ""), &b);
	assert_null(gpc_map_get(&m, "null"));
	assert_true(gpc_map_has(&m, "null"));
	gpc_map_clear(&m);
	gpc_map_set(&m, "again", &a);
	assert_int_equal(m.n, 1);
	gpc_map_clear(NULL);
}

TEST(keeps_pairs)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0}, q = {0};

	gpc_pairs_set(&p, "A", "1");
	gpc_pairs_set(&p, "B", NULL);
	gpc_pairs_setf(&p, "C", "%d", 3);
	gpc_pairs_set(&p, "A", gpc_pairs_get(&p, "A"));
	gpc_pairs_unset(&p, "nothing");
	assert_int_equal(p.n, 3);
	assert_string_equal(gpc_pairs_get(&p, "A"), "1");
	assert_null(gpc_pairs_get(&p, "B"));
	assert_true(gpc_pairs_has(&p, "B"));
	assert_false(gpc_pairs_has(&p, "a"));
	gpc_pairs_copy(&q, &p);
	gpc_pairs_copy(&q, &q);
	gpc_pairs_unset(&p, "A");
	assert_string_equal(p.v[0].key, "B");
	assert_string_equal(p.v[1].value, "3");
	gpc_pairs_unset(&p, "C");
	gpc_pairs_unset(&p, "B");
	assert_int_equal(p.n, 0);
	assert_int_equal(q.n, 3);
	assert_string_equal(gpc_pairs_get(&q, "C"), "3");
	gpc_pairs_clear(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_many_keys_in_order),
		cmocka_unit_test(replaces_and_holds_null),
		cmocka_unit_test(keeps_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
