/* SHA-256 against FIPS 180-4's examples, and the library opened on first use. */
#include "test.h"

#include <pthread.h>

#include "dep/crypto.h"
#include "dep/dl.h"

TEST(gives_published_sums)
{
	static const struct { const char *text, *sum; } cases[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[GPC_SHA256_HEX];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(gpc_sha256_hex(cases[i].text,
			strlen(cases[i].text), hex), cases[i].sum);
}

TEST(starts_anew_after_each_end)
{
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();
	char block[1000], hex[GPC_SHA256_HEX];

	gpc_sha256_add(h, "junk", 4);
	gpc_sha256_end_hex(h, hex);
	memset(block, 'a', sizeof(block));
	for (int i = 0; i < 1000; i++)
		gpc_sha256_add(h, block, sizeof(block));
	gpc_sha256_end_hex(h, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a4"
		"97200e046d39ccc7112cd0");
	gpc_sha256_free(NULL);
}

static void *hash_much(void *arg)
{
	char hex[GPC_SHA256_HEX];

	for (int i = 0; i < 2000; i++)
		gpc_sha256_hex("abc", 3, hex);
	memcpy(arg, hex, sizeof(hex));
	return NULL;
}

TEST(works_in_threads)
{
	char hex[4][GPC_SHA256_HEX] = {{0}};
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hash_much,
			hex[i]), 0);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_string_equal(hex[i], "ba7816bf8f01cfea414140de5dae2223"
			"b00361a396177a9cb410ff61f20015ad");
	}
}

TEST(names_a_missing_library)
{
	static void *table[1];
	static const struct gpc_dl_symbol symbols[] = {
		{"something", 0, false}, {NULL, 0, false},
	};
	static struct gpc_dl dl = GPC_DL_INIT("libnothing", "libnothing7",
		symbols, table, "libnothing-at-all.so.7");
	struct gpc_error err = {0};

	assert_fails(gpc_dl_open(&dl, &err), GPC_EUNSUPPORTED);
	assert_has(err.msg, "libnothing");
	assert_has(err.hint, "apt-get install libnothing7");
	assert_fails(gpc_dl_open(&dl, &err), GPC_EUNSUPPORTED);
}

TEST(names_a_missing_symbol)
{
	static struct { void *there, *optional, *absent; } table;
	static const struct gpc_dl_symbol symbols[] = {
		{"cosf", offsetof(__typeof__(table), there), false},
		{"no_such_thing", offsetof(__typeof__(table), optional), true},
		{"none_either", offsetof(__typeof__(table), absent), false},
		{NULL, 0, false},
	};
	static const struct gpc_dl_symbol fewer[] = {
		{"cosf", offsetof(__typeof__(table), there), false},
		{"no_such_thing", offsetof(__typeof__(table), optional), true},
		{NULL, 0, false},
	};
	static struct gpc_dl bad = GPC_DL_INIT("libm", NULL, symbols, &table,
		"libnothing-at-all.so.7", "libm.so.6", "libm.dylib");
	static struct gpc_dl good = GPC_DL_INIT("libm", NULL, fewer, &table,
		"libm.so.6", "libm.dylib");
	struct gpc_error err = {0};

	assert_fails(gpc_dl_open(&bad, &err), GPC_EUNSUPPORTED);
	assert_has(err.msg, "none_either");
	assert_ok(gpc_dl_open(&good, &err));
	assert_ok(gpc_dl_open(&good, &err));
	assert_non_null(table.there);
	assert_null(table.optional);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_published_sums),
		cmocka_unit_test(starts_anew_after_each_end),
		cmocka_unit_test(works_in_threads),
		cmocka_unit_test(names_a_missing_library),
		cmocka_unit_test(names_a_missing_symbol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
