/* Hashes, MACs and signatures against what standards publish (FIPS 180-4, RFC
 * 1321, 2202, 4231, 7515), keys that cannot be used, and the library opened on
 * first use. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "base/encode.h"
#include "base/fd.h"
#include "base/str.h"
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

/* That no file can be opened at all is not told as a library that lacks. */
TEST(tells_a_shortage_from_a_missing_library)
{
	static struct { void *there; } table;
	static const struct gpc_dl_symbol symbols[] = {
		{"cosf", offsetof(__typeof__(table), there), false},
		{NULL, 0, false},
	};
	static struct gpc_dl dl = GPC_DL_INIT("libm", "libm6", symbols, &table,
		"libnothing-at-all.so.7", "libnothing.7.dylib");
	struct gpc_error err = {0};
	struct rlimit old, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int r = gpc_dl_open(&dl, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(r, -GPC_EIO);
	assert_int_equal(err.sys, EMFILE);
	assert_has(err.hint, "ulimit -n");

	err = (struct gpc_error){0};
	assert_fails(gpc_dl_open(&dl, &err), GPC_EUNSUPPORTED);
	assert_has(err.msg, "libnothing-at-all.so.7");
	assert_has(err.hint, "libm6");
}

/* RFC 4231, cases 1 to 4, 6 and 7; keys and data of one byte repeated or text. */
static const struct {
	const char *key, *data, *mac;
	int n_key, n_data;      /* how often the byte; 0: text as it is */
} macs[] = {
	{"\x0b", "Hi There", "b0344c61d8db38535ca8afceaf0bf12b"
		"881dc200c9833da726e9376c2e32cff7", 20, 0},
	{"Jefe", "what do ya want for nothing?",
		"5bdcc146bf60754e6a042426089575c7"
		"5a003f089d2739839dec58b964ec3843", 0, 0},
	{"\xaa", "\xdd", "773ea91e36800e46854db8ebd09181a7"
		"2959098b3ef8c122d9635514ced565fe", 20, 50},
	{"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
		"\x11\x12\x13\x14\x15\x16\x17\x18\x19", "\xcd",
		"82558a389a443c0ea4cc819899f2083a"
		"85f0faa3e578f8077a2e3ff46729665b", 0, 50},
	{"\xaa", "Test Using Larger Than Block-Size Key - Hash Key First",
		"60e431591ee0b67f0d8a26aacbf5b77f"
		"8e0bc6213728c5140546040f0ee37f54", 131, 0},
	{"\xaa", "This is a test using a larger than block-size key and a "
		"larger than block-size data. The key needs to be hashed before "
		"being used by the HMAC algorithm.",
		"9b09ffa71b942fcb27635fbcd5b0e944"
		"bfdc63644f0713938a7f51535c3a35e2", 131, 0},
};

/* Fills to with the byte n times, or with the text. */
static size_t spread(const char *text, int n, char *to)
{
	if (n == 0) {
		memcpy(to, text, strlen(text));
		return strlen(text);
	}
	memset(to, text[0], (size_t)n);
	return (size_t)n;
}

TEST(gives_published_macs)
{
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();

	for (size_t i = 0; i < COUNT(macs); i++) {
		char key[200], data[200], hex[GPC_SHA256_HEX];
		uint8_t mac[GPC_SHA256_SIZE];
		size_t n_key = spread(macs[i].key, macs[i].n_key, key);
		size_t n = spread(macs[i].data, macs[i].n_data, data);

		gpc_hmac_sha256(key, n_key, data, n, mac);
		gpc_hex(mac, sizeof(mac), hex);
		assert_string_equal(hex, macs[i].mac);
		gpc_sha256_hmac(h, key, n_key, data, n, mac);
		gpc_hex(mac, sizeof(mac), hex);
		assert_string_equal(hex, macs[i].mac);
	}
}

TEST(may_overwrite_the_key_with_the_mac)
{
	uint8_t key[GPC_SHA256_SIZE] = "Jefe", mac[GPC_SHA256_SIZE];

	gpc_hmac_sha256(key, sizeof(key), "data", 4, mac);
	gpc_hmac_sha256(key, sizeof(key), "data", 4, key);
	assert_memory_equal(key, mac, sizeof(mac));
	/* nothing at all is also something */
	gpc_hmac_sha256(NULL, 0, NULL, 0, mac);
	assert_int_equal(mac[0], 0xb6);
	assert_int_equal(mac[31], 0xad);
}

TEST(gives_published_old_sums)
{
	static const struct { const char *text, *md5, *sha1; } cases[] = {
		{"", "d41d8cd98f00b204e9800998ecf8427e",
			"da39a3ee5e6b4b0d3255bfef95601890afd80709"},
		{"abc", "900150983cd24fb0d6963f7d28e17f72",
			"a9993e364706816aba3e25717850c26c9cd0d89d"},
		{"message digest", "f96b697d7cb7938d525a2f31aaf161d0",
			"c12252ceda8be8994d5fa0290a47231c1d16aae3"},
		{"1234567890123456789012345678901234567890"
			"1234567890123456789012345678901234567890",
			"57edf4a22be3c955ac49da2e2107b67a",
			"50abf5706a150990a08b2c5ea40fa0e585554732"},
	};
	gpc_autoptr(gpc_md5) *h = NULL;
	struct gpc_error err = {0};

	assert_ok(gpc_md5_new(&h, &err));
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t n = strlen(cases[i].text);
		uint8_t sum[GPC_SHA1_SIZE];
		char hex[2 * GPC_SHA1_SIZE + 1];

		assert_ok(gpc_md5(cases[i].text, n, sum, &err));
		gpc_hex(sum, GPC_MD5_SIZE, hex);
		assert_string_equal(hex, cases[i].md5);
		gpc_md5_add(h, cases[i].text, n / 3);
		gpc_md5_add(h, cases[i].text + n / 3, n - n / 3);
		gpc_md5_end(h, sum);
		gpc_hex(sum, GPC_MD5_SIZE, hex);
		assert_string_equal(hex, cases[i].md5);
		assert_ok(gpc_sha1(cases[i].text, n, sum, &err));
		gpc_hex(sum, GPC_SHA1_SIZE, hex);
		assert_string_equal(hex, cases[i].sha1);
	}
	gpc_md5_free(NULL);
}

TEST(gives_published_old_macs)
{
	static const struct { const char *key, *data, *mac; int n_key, n_data; }
	cases[] = {
		{"\x0b", "Hi There",
			"b617318655057264e28bc0b6fb378c8ef146be00", 20, 0},
		{"Jefe", "what do ya want for nothing?",
			"effcdf6ae5eb2fa2d27416d5f184df9c259a7c79", 0, 0},
		{"\xaa", "\xdd",
			"125d7342b9ac11cd91a39af48aa17b4f63f175d3", 20, 50},
		{"\xaa", "Test Using Larger Than Block-Size Key - Hash Key First",
			"aa4ae5e15272d00e95705637ce8a3b55ed402112", 80, 0},
	};
	struct gpc_error err = {0};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char key[200], data[200], hex[2 * GPC_SHA1_SIZE + 1];
		uint8_t mac[GPC_SHA1_SIZE];
		size_t n_key = spread(cases[i].key, cases[i].n_key, key);
		size_t n = spread(cases[i].data, cases[i].n_data, data);

		assert_ok(gpc_hmac_sha1(key, n_key, data, n, mac, &err));
		gpc_hex(mac, sizeof(mac), hex);
		assert_string_equal(hex, cases[i].mac);
	}
}

static char *read_text(const char *name)
{
	gpc_autostr *path = gpc_format("%s/tests/vectors/jwt/%s",
		GPC_TEST_SOURCE, name);
	struct gpc_buf text = {0};
	struct gpc_error err = {0};
	char *s = NULL;

	assert_ok(gpc_read_file(path, 1 << 20, &text, &err));
	assert_ok(gpc_buf_finish(&text, &s, &err));
	return s;
}

/* RFC 7515, appendix A.2. */
TEST(gives_the_published_signature)
{
	static const char input[] = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJ"
		"leHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0c"
		"nVlfQ";
	static const char *const keys[] = {"rfc7515-a2.pem",
		"rfc7515-a2-pkcs1.pem"};
	struct gpc_error err = {0};

	for (size_t i = 0; i < COUNT(keys); i++) {
		gpc_auto(gpc_buf) struct gpc_buf got = {0}, text = {0};
		gpc_autostr *pem = read_text(keys[i]);

		assert_ok(gpc_sign_rs256(pem, input, sizeof(input) - 1, &got,
			&err));
		gpc_base64url(&text, got.data, got.len);
		assert_string_equal(gpc_buf_str(&text), "cC4hiUPoj9Eetdgtv3hF80"
			"EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF"
			"5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB"
			"--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0Gar"
			"ZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOP"
			"qvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy"
			"wlVmtVrBp0igcN_IoypGlUPQGe77Rw");
	}
}

TEST(says_what_is_wrong_with_a_key)
{
	gpc_autostr *whole = read_text("rfc7515-a2.pem");
	gpc_autostr *cut = gpc_strndup(whole, strlen(whole) / 2);
	gpc_autostr *broken = gpc_strdup(whole);
	const struct { const char *pem, *why; } cases[] = {
		{"", "cannot be read"},
		{"secret", "cannot be read"},
		{"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n"
			"-----END PRIVATE KEY-----\n", "cannot be read"},
		{cut, "cannot be read"},
		{broken, "cannot be read"},
		{ /* a fresh one of P-256 */
			"-----BEGIN PRIVATE KEY-----\n"
			"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYvFT8qn3AzItU2Z8\n"
			"19jbbki4igqvKiyafH6bKke2OzahRANCAAQiT1uv7w6NscvxKLc/xs4lwDfhQ1FG\n"
			"if5obLSmwB1c4pyxzYjj6fIdKcKJl6h6NRaYjuYeeV7WqRpP1gXIT242\n"
			"-----END PRIVATE KEY-----\n", "none of RSA"},
		{ /* any text: the header is enough */
			"-----BEGIN RSA PRIVATE KEY-----\n"
			"Proc-Type: 4,ENCRYPTED\n"
			"DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
			"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n"
			"-----END RSA PRIVATE KEY-----\n", "passphrase"},
	};

	broken[100] = '!';
	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_buf) struct gpc_buf got = {0};
		struct gpc_error err = {0};

		assert_fails(gpc_sign_rs256(cases[i].pem, "data", 4, &got, &err),
			GPC_ECONFIG);
		assert_has(err.msg, cases[i].why);
		assert_null(strstr(err.msg, "secret"));
		assert_int_equal(got.len, 0);
	}
}

TEST(wipes)
{
	char text[] = "secret", bytes[3] = {1, 2, 3};

	gpc_wipe_str(text);
	assert_memory_equal(text, "\0\0\0\0\0\0", 6);
	gpc_wipe_str(NULL);
	gpc_wipe(NULL, 0);
	gpc_wipe(bytes, 2);
	assert_memory_equal(bytes, "\0\0\3", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_published_sums),
		cmocka_unit_test(starts_anew_after_each_end),
		cmocka_unit_test(works_in_threads),
		cmocka_unit_test(gives_published_macs),
		cmocka_unit_test(may_overwrite_the_key_with_the_mac),
		cmocka_unit_test(gives_published_old_sums),
		cmocka_unit_test(gives_published_old_macs),
		cmocka_unit_test(gives_the_published_signature),
		cmocka_unit_test(says_what_is_wrong_with_a_key),
		cmocka_unit_test(wipes),
		cmocka_unit_test(names_a_missing_library),
		cmocka_unit_test(names_a_missing_symbol),
		cmocka_unit_test(tells_a_shortage_from_a_missing_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
