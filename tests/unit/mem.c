/* Allocation: zeroed, overflow-checked, and fatal when memory is gone. */
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(zeroes)
{
	unsigned char *p = gpc_array(1000, 3);
	void *none = gpc_alloc(0);

	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(p[i], 0);
	assert_non_null(none);
	free(none);
	free(p);
}

/* Runs f in a child that must end by SIGABRT. */
static void assert_aborts(void (*f)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit none = {0};

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void array_overflow(void)
{
	gpc_array(SIZE_MAX / 2, 4);
}

static void grow_overflow(void)
{
	gpc_grow(NULL, SIZE_MAX / 8 + 2, 8);
}

TEST(aborts_on_overflow)
{
	assert_aborts(array_overflow);
	assert_aborts(grow_overflow);
}

TEST(copies_strings)
{
	gpc_autostr *a = gpc_strdup("abc"), *b = gpc_strndup("abcdef", 3);
	gpc_autostr *c = gpc_strndup("ab", 100), *d = gpc_strdup("");

	assert_string_equal(a, "abc");
	assert_string_equal(b, "abc");
	assert_string_equal(c, "ab");
	assert_string_equal(d, "");
	assert_null(gpc_strdup(NULL));
}

TEST(formats_any_length)
{
	gpc_autostr *s = gpc_format("%*s|%d", 5000, "x", 42);

	assert_int_equal(strlen(s), 5003);
	assert_string_equal(s + 4999, "x|42");
}

TEST(sets_a_slot_from_a_part_of_itself)
{
	char *slot = NULL;

	gpc_set_str(&slot, "hello world");
	gpc_set_str(&slot, slot + 6);
	assert_string_equal(slot, "world");
	gpc_set_str(&slot, NULL);
	assert_null(slot);
}

TEST(steals)
{
	gpc_autostr *a = gpc_strdup("x");
	gpc_autostr *b = gpc_steal(&a);

	assert_null(a);
	assert_string_equal(b, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeroes),
		cmocka_unit_test(aborts_on_overflow),
		cmocka_unit_test(copies_strings),
		cmocka_unit_test(formats_any_length),
		cmocka_unit_test(sets_a_slot_from_a_part_of_itself),
		cmocka_unit_test(steals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
