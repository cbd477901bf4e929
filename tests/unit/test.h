/* What every unit test starts with: cmocka with the headers it needs, short
 * forms for results with an error, and a scratch folder. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

/* What a test forks, without exec, ends where the test wants it to end and frees
 * nothing: under memcheck (tests/memcheck.sh) no leaks are looked for there. */
#ifdef __has_include
#if __has_include(<valgrind/valgrind.h>)
#include <pthread.h>
#include <valgrind/valgrind.h>
#ifdef VALGRIND_CLO_CHANGE
static void child_may_leak(void)
{
	VALGRIND_CLO_CHANGE("--leak-check=no");
}

__attribute__((constructor)) static void let_children_leak(void)
{
	pthread_atfork(NULL, NULL, child_may_leak);
}
#endif
#endif
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEST(name) static void name(void **state __attribute__((unused)))

/* The call gives 0; otherwise its message is shown. */
#define assert_ok(call) \
	do { \
		struct gpc_error *e_ = &err; \
		e_->msg[0] = '\0'; \
		if ((call) != 0) \
			fail_msg("%s: %s", #call, e_->msg); \
	} while (0)
/* The call fails with this code, the same in err, and says something. */
#define assert_fails(call, want) \
	do { \
		assert_int_equal(call, -(int)(want)); \
		assert_int_equal(err.code, want); \
		assert_true(err.msg[0] != '\0'); \
	} while (0)
#define assert_has(text, part) \
	do { \
		if (!strstr(text, part)) \
			fail_msg("\"%s\" lacks \"%s\"", text, part); \
	} while (0)

/* How far walks over many cases step: one by one, but under memcheck, where each
 * takes thirty times as long. */
static inline unsigned stride(unsigned under_memcheck)
{
	return getenv("GPUCLOUD_TEST_VALGRIND") ? under_memcheck : 1;
}

/* A new folder below TMPDIR; owned. Remove it with gpc_rmtree. */
static inline char *scratch(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = gpc_format("%s/gpucloud-test-XXXXXX", tmp ? tmp : "/tmp");

	if (!mkdtemp(path))
		fail_msg("no scratch folder at %s", path);
	return path;
}
