/* XML while memory runs out: each allocation that the document sizes fails in
 * turn; nothing is leaked and nothing half is returned. */
#include "test.h"

#include "dep/xml.h"

static int left = -1;                   /* until one fails; -1: none does */

static bool fails_now(void)
{
	return left >= 0 && left-- == 0;
}

/* The linker sends the calls here. */
void *__real_gpc_try_grow(void *p, size_t n, size_t size);
void *__wrap_gpc_try_grow(void *p, size_t n, size_t size);
void *__wrap_gpc_try_grow(void *p, size_t n, size_t size)
{
	return fails_now() ? NULL : __real_gpc_try_grow(p, n, size);
}

TEST(survives_want_of_memory)
{
	static const char text[] = "<a>1<b>two<c>three</c></b><b/>four&amp;"
		"five<d e='f'>six</d></a>";
	int n = 0;

	for (;; n++) {
		gpc_autoptr(gpc_xml) *root = NULL;
		struct gpc_error err = {0};
		int r;

		left = n;
		r = gpc_xml_parse(text, sizeof(text) - 1, &root, &err);
		if (r == 0) {
			assert_string_equal(root->text, "1four&five");
			break;
		}
		assert_int_equal(r, -GPC_EIO);
		assert_has(err.msg, "no memory");
		assert_null(root);
	}
	left = -1;
	assert_true(n >= 10);           /* five elements and their texts */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives_want_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
