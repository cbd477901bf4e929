/* The capped buffer. */
#include "test.h"

#include "base/buf.h"

TEST(is_empty_at_zero)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};
	gpc_autostr *s = NULL;

	assert_string_equal(gpc_buf_str(&b), "");
	assert_ok(gpc_buf_finish(&b, &s, &err));
	assert_string_equal(s, "");
	gpc_buf_drop(&b, 5);
	gpc_buf_reset(&b);
	gpc_buf_clear(&b);
	gpc_buf_clear(NULL);
}

TEST(appends_every_way)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char *room;

	gpc_buf_add(&b, "a\0b", 3);
	gpc_buf_adds(&b, "cd");
	gpc_buf_addc(&b, 'e');
	gpc_buf_addf(&b, "%03d", 7);
	room = gpc_buf_reserve(&b, 2);
	room[0] = 'x';
	room[1] = 'y';
	b.len += 2;
	gpc_buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 11);
	assert_memory_equal(gpc_buf_str(&b), "a\0bcde007xy", 12);
}

TEST(drops_at_the_front)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	gpc_buf_adds(&b, "abcdef");
	gpc_buf_drop(&b, 2);
	assert_string_equal(b.data, "cdef");
	gpc_buf_drop(&b, 100);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
}

TEST(holds_exactly_its_cap)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {.max = 10};
	struct gpc_error err = {0};

	gpc_buf_adds(&b, "0123456789");
	assert_ok(gpc_buf_check(&b, &err));
	gpc_buf_add(&b, "", 0);
	assert_ok(gpc_buf_check(&b, &err));
	gpc_buf_addc(&b, 'x');
	assert_fails(gpc_buf_check(&b, &err), GPC_EPROTO);
	assert_has(err.msg, "10 bytes");
	assert_string_equal(b.data, "0123456789");
}

TEST(remembers_overflow)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {.max = 4};
	struct gpc_error err = {0};
	char *s = (char *)"untouched";

	gpc_buf_addf(&b, "%d", 123456);
	gpc_buf_adds(&b, "a");
	assert_int_equal(b.len, 0);
	assert_null(gpc_buf_reserve(&b, 1));
	assert_fails(gpc_buf_finish(&b, &s, &err), GPC_EPROTO);
	assert_string_equal(s, "untouched");
	assert_false(b.overflow);
	assert_int_equal(b.max, 4);
	gpc_buf_adds(&b, "abcd");
	assert_ok(gpc_buf_check(&b, &err));
}

TEST(refuses_absurd_sizes)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {.max = SIZE_MAX};

	gpc_buf_init(&b, 100);
	assert_null(gpc_buf_reserve(&b, SIZE_MAX));
	gpc_buf_reset(&b);
	gpc_buf_adds(&b, "abc");
	assert_null(gpc_buf_reserve(&b, SIZE_MAX - 2));
	assert_true(b.overflow);
}

TEST(grows_to_its_default_cap_and_no_further)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	static const char block[4096];
	struct gpc_error err = {0};

	for (size_t i = 0; i < GPC_BUF_DEFAULT_MAX / sizeof(block); i++)
		gpc_buf_add(&b, block, sizeof(block));
	assert_ok(gpc_buf_check(&b, &err));
	assert_int_equal(b.len, GPC_BUF_DEFAULT_MAX);
	gpc_buf_addc(&b, 1);
	assert_true(b.overflow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_empty_at_zero),
		cmocka_unit_test(appends_every_way),
		cmocka_unit_test(drops_at_the_front),
		cmocka_unit_test(holds_exactly_its_cap),
		cmocka_unit_test(remembers_overflow),
		cmocka_unit_test(refuses_absurd_sizes),
		cmocka_unit_test(grows_to_its_default_cap_and_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
