/* Base64 and percent-encoding: the forms of their standards, and no other. */
#include "test.h"

#include "base/encode.h"
#include "base/rand.h"
#include "base/str.h"

/* RFC 4648 section 10 first. */
static const struct { const char *bytes; size_t n; const char *text, *url; }
base64_cases[] = {
	{"", 0, "", ""},
	{"f", 1, "Zg==", "Zg"},
	{"fo", 2, "Zm8=", "Zm8"},
	{"foo", 3, "Zm9v", "Zm9v"},
	{"foob", 4, "Zm9vYg==", "Zm9vYg"},
	{"fooba", 5, "Zm9vYmE=", "Zm9vYmE"},
	{"foobar", 6, "Zm9vYmFy", "Zm9vYmFy"},
	{"\xfb\xff\xfe", 3, "+//+", "-__-"},
	{"\0\0\0\0", 4, "AAAAAA==", "AAAAAA"},
	{"\xff", 1, "/w==", "_w"},
};

TEST(writes_and_reads_base64)
{
	for (size_t i = 0; i < COUNT(base64_cases); i++) {
		gpc_auto(gpc_buf) struct gpc_buf text = {0}, url = {0};
		gpc_auto(gpc_buf) struct gpc_buf a = {0}, b = {0}, c = {0};
		struct gpc_error err = {0};
		const char *bytes = base64_cases[i].bytes;
		size_t n = base64_cases[i].n;

		gpc_base64(&text, bytes, n);
		gpc_base64url(&url, bytes, n);
		assert_string_equal(gpc_buf_str(&text), base64_cases[i].text);
		assert_string_equal(gpc_buf_str(&url), base64_cases[i].url);
		assert_ok(gpc_unbase64(gpc_buf_str(&text), text.len, false, &a,
			&err));
		assert_ok(gpc_unbase64(gpc_buf_str(&text), text.len, true, &b,
			&err));
		assert_ok(gpc_unbase64(gpc_buf_str(&url), url.len, true, &c,
			&err));
		assert_int_equal(a.len, n);
		assert_int_equal(b.len, n);
		assert_int_equal(c.len, n);
		assert_memory_equal(gpc_buf_str(&a), bytes, n);
		assert_memory_equal(gpc_buf_str(&b), bytes, n);
		assert_memory_equal(gpc_buf_str(&c), bytes, n);
	}
}

TEST(refuses_other_base64)
{
	struct gpc_error none = {0};
	static const struct { const char *text; bool also_url; } bad[] = {
		{"Z", true}, {"Zm9vY", true}, {"Zg", false}, {"Zm8", false},
		{"Zg=", true}, {"Zg===", true}, {"=", true}, {"==", true},
		{"====", true}, {"Zg==Zg==", true}, {"Zm9v=", true},
		{"Zm9v====", true}, {"Zm 9v", true}, {"Zm9v\n", true},
		{" Zm9v", true}, {"Zm9\xc3", true}, {"-__-", false},
		/* Bits that stand for nothing: two texts for the same bytes. */
		{"Zh==", true}, {"Zm9=", true}, {"/x==", true},
		{"Z=g=", true},
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		struct gpc_error err = {0};

		gpc_buf_adds(&b, "kept");
		assert_fails(gpc_unbase64(bad[i].text, strlen(bad[i].text),
			false, &b, &err), GPC_EPROTO);
		if (bad[i].also_url)
			assert_fails(gpc_unbase64(bad[i].text,
				strlen(bad[i].text), true, &b, &err),
				GPC_EPROTO);
		assert_string_equal(gpc_buf_str(&b), "kept");
	}
	assert_int_equal(gpc_unbase64("Zm\0v", 4, true, NULL, &none), -GPC_EPROTO);
}

TEST(base64_keeps_any_bytes)
{
	uint8_t bytes[300];

	gpc_rand(bytes, sizeof(bytes));
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		gpc_auto(gpc_buf) struct gpc_buf text = {0}, back = {0};
		struct gpc_error err = {0};

		gpc_base64url(&text, bytes, n);
		assert_ok(gpc_unbase64(gpc_buf_str(&text), text.len, true,
			&back, &err));
		assert_int_equal(back.len, n);
		assert_memory_equal(gpc_buf_str(&back), bytes, n);
	}
}

TEST(says_when_base64_does_not_fit)
{
	gpc_auto(gpc_buf) struct gpc_buf small = { .max = 4 };
	struct gpc_error err = {0};

	assert_true(gpc_unbase64("Zm9vYmFy", 8, false, &small, &err) < 0);
	assert_int_equal(small.len, 0);
}

TEST(percent_encodes)
{
	static const struct { const char *text, *keep, *want; } cases[] = {
		{"", "", ""},
		{"azAZ09-._~", "", "azAZ09-._~"},
		{"a b+c/d", "", "a%20b%2Bc%2Fd"},
		{"a b+c/d", "/", "a%20b%2Bc/d"},
		{"%41", "", "%2541"},
		{"*'()!", "", "%2A%27%28%29%21"},
		{"\x01\x7f\xff", "", "%01%7F%FF"},
		{"\xe4\xb8\xad", "", "%E4%B8%AD"},
		{"a=b&c=d", "=&", "a=b&c=d"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0}, back = {0};
		struct gpc_error err = {0};

		gpc_percent_encode(&b, cases[i].text, strlen(cases[i].text),
			cases[i].keep);
		assert_string_equal(gpc_buf_str(&b), cases[i].want);
		assert_ok(gpc_percent_decode(gpc_buf_str(&b), b.len, false,
			&back, &err));
		assert_string_equal(gpc_buf_str(&back), cases[i].text);
	}
}

TEST(encodes_a_nul)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	gpc_percent_encode(&b, "a\0b", 3, "/");
	assert_string_equal(gpc_buf_str(&b), "a%00b");
}

TEST(percent_decodes_strictly)
{
	static const char *const bad[] = {
		"%", "%4", "a%", "a%4", "%4g", "%g4", "%%41", "% 1", "%+1",
		"%-1", "%00", "a%00b", "%0x",
	};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(gpc_percent_decode(bad[i], strlen(bad[i]), false,
			&b, &err), GPC_EPROTO);
	assert_fails(gpc_percent_decode("a\0b", 3, false, &b, &err),
		GPC_EPROTO);
	assert_int_equal(b.len, 0);
	assert_ok(gpc_percent_decode("%e4%B8%ad+%2b", 13, false, &b, &err));
	assert_string_equal(gpc_buf_str(&b), "\xe4\xb8\xad++");
	gpc_buf_reset(&b);
	assert_ok(gpc_percent_decode("a+b%2b", 6, true, &b, &err));
	assert_string_equal(gpc_buf_str(&b), "a b+");
	/* Bytes after n are not looked at. */
	gpc_buf_reset(&b);
	assert_ok(gpc_percent_decode("ab%41", 2, false, &b, &err));
	assert_string_equal(gpc_buf_str(&b), "ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_and_reads_base64),
		cmocka_unit_test(refuses_other_base64),
		cmocka_unit_test(base64_keeps_any_bytes),
		cmocka_unit_test(says_when_base64_does_not_fit),
		cmocka_unit_test(percent_encodes),
		cmocka_unit_test(encodes_a_nul),
		cmocka_unit_test(percent_decodes_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
