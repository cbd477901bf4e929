/* Addresses that are told: which are taken, and that their short form hides what is
 * secret, is the same for the same address and can be told from what people write. */
#include <string.h>

#include "base/str.h"
#include "model/hook.h"
#include "test.h"

TEST(takes_addresses)
{
	static const struct { const char *url, *fault; } cases[] = {
		{"https://example.org", NULL},
		{"https://example.org/a?b=c", NULL},
		{"https://example.org:8443/a", NULL},
		{"https://[::1]:1/a", NULL},
		{"http://127.0.0.1/a", NULL},
		{"http://127.1.2.3:80/a", NULL},
		{"http://localhost", NULL},
		{"http://localhost:1?x", NULL},
		{"http://[::1]", NULL},
		{"http://[::1]:80/a", NULL},
		{"http://example.org/", "http:// would"},
		{"http://localhost.example.org/", "http:// would"},
		{"http://localhostx:1/", "http:// would"},
		{"http://127.0.0.1.example.org/", "http:// would"},
		{"http://127.0.0.1x/", "http:// would"},
		{"http://127.example.org/", "http:// would"},
		{"http://128.0.0.1/", "http:// would"},
		{"http://[::1]x/", "http:// would"},
		{"http://[::2]/", "http:// would"},
		{"http://localhost@example.org/", "no user"},
		{"https://a:b@example.org/", "no user"},
		{"https://example.org/a@b", NULL},
		{"https://", "no host"},
		{"https:///a", "no host"},
		{"https://:80/a", "no host"},
		{"https://example.org/#a", "no #"},
		{"https://example.org/ a", "printable"},
		{"https://example.org/\xc3\xa9", "printable"},
		{"https://example.org/\n", "printable"},
		{"HTTPS://example.org/", "begins with"},
		{"ftp://example.org/", "begins with"},
		{"example.org", "begins with"},
		{"", "begins with"},
		{"https://example.org/...#0123456789abcdef", NULL},
		{"https://example.org/...#0123456789abcde", "no #"},
		{"https://example.org/...#0123456789abcdef0", "no #"},
		{"https://example.org/...#0123456789ABCDEF", "no #"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *fault = gpc_hook_fault(cases[i].url);

		if (!fault != !cases[i].fault || (fault &&
			!strstr(fault, cases[i].fault)))
			fail_msg("%s: %s", cases[i].url, fault ? fault : "-");
	}
}

TEST(refuses_long_ones)
{
	char url[5000] = "https://example.org/";
	size_t n = strlen(url);

	memset(url + n, 'a', sizeof(url) - n - 1);
	assert_non_null(gpc_hook_fault(url));
	url[4096] = '\0';
	assert_null(gpc_hook_fault(url));
}

TEST(hides_what_is_secret)
{
	static const char *const urls[] = {
		"https://example.org:1/services/T0/s3cret",
		"https://example.org:1?s3cret",
		"https://example.org:1/s3cret2",
	};
	gpc_autostr *last = NULL;

	for (size_t i = 0; i < COUNT(urls); i++) {
		gpc_autostr *brief = gpc_hook_short(urls[i]);
		gpc_autostr *again = gpc_hook_short(brief);
		gpc_autostr *shown = gpc_hook_shown(urls[i]);
		gpc_autostr *shown_again = gpc_hook_shown(brief);
		char a[GPC_HOOK_HASH_SIZE], b[GPC_HOOK_HASH_SIZE];

		assert_true(gpc_starts_with(brief,
			"https://example.org:1/...#"));
		assert_null(strstr(brief, "s3cret"));
		assert_true(gpc_hook_is_short(brief));
		assert_false(gpc_hook_is_short(urls[i]));
		assert_string_equal(again, brief);
		assert_string_equal(gpc_hook_hash(urls[i], a),
			gpc_hook_hash(brief, b));
		assert_int_equal(strlen(a), 16);
		assert_string_equal(shown, "https://example.org:1/...");
		assert_string_equal(shown_again, shown);
		assert_false(gpc_eq(brief, last));
		gpc_set_str(&last, brief);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_addresses),
		cmocka_unit_test(refuses_long_ones),
		cmocka_unit_test(hides_what_is_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
