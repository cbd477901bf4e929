/* SHA-256 by OpenSSL's libcrypto, which is opened at the first hash: commands
 * that hash nothing do not pay for it. Hashing is not optional in gpucloud, so
 * a machine without libcrypto ends the process here with a message that names
 * the package; a damaged or slow copy of our own would be the greater risk. MD5
 * and SHA-1 are optional: a machine's policy may forbid them, which is an error.
 *
 * HMAC (RFC 2104) is made of hashes here, since OpenSSL's own looks its hash up
 * anew each time, which takes longer than to hash what is signed.
 */
#include "dep/crypto.h"

#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "dep/dl.h"

#define FUNCTIONS(X) \
	X(EVP_MD_CTX_new) \
	X(EVP_MD_CTX_free) \
	X(EVP_DigestInit_ex) \
	X(EVP_DigestUpdate) \
	X(EVP_DigestFinal_ex) \
	X(EVP_sha256) \
	X(EVP_sha1) \
	X(EVP_md5)

GPC_DL_TABLE(FUNCTIONS, GPC_DL_NONE);

static struct gpc_dl dl = GPC_DL_INIT("OpenSSL's libcrypto", "libssl3",
	symbols, &lib, "libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.3.dylib");

#define HMAC_BLOCK 64                   /* of all hashes here */

struct gpc_sha256 {
	EVP_MD_CTX *ctx;
};

struct gpc_md5 {
	EVP_MD_CTX *ctx;
};

static _Noreturn void give_up(const char *why, const char *hint)
{
	gpc_autostr *text = gpc_format("gpucloud: %s\n%s%s", why, hint,
		hint[0] ? "\n" : "");

	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		abort();
	abort();
}

static void check(int done)
{
	if (done != 1)
		give_up("libcrypto refuses to go on with a hash", "");
}

struct gpc_sha256 *gpc_sha256_new(void)
{
	struct gpc_sha256 *h = gpc_alloc(sizeof(*h));
	struct gpc_error err = {0};

	if (gpc_dl_open(&dl, &err) < 0)
		give_up(err.msg, err.hint);
	h->ctx = lib.EVP_MD_CTX_new();
	check(h->ctx != NULL);
	check(lib.EVP_DigestInit_ex(h->ctx, lib.EVP_sha256(), NULL));
	return h;
}

void gpc_sha256_add(struct gpc_sha256 *h, const void *data, size_t n)
{
	check(lib.EVP_DigestUpdate(h->ctx, data, n));
}

void gpc_sha256_end(struct gpc_sha256 *h, uint8_t ret_sum[GPC_SHA256_SIZE])
{
	check(lib.EVP_DigestFinal_ex(h->ctx, ret_sum, NULL));
	/* No digest named: the context keeps its own, which skips a lookup. */
	check(lib.EVP_DigestInit_ex(h->ctx, NULL, NULL));
}

void gpc_sha256_end_hex(struct gpc_sha256 *h, char ret_hex[GPC_SHA256_HEX])
{
	uint8_t sum[GPC_SHA256_SIZE];

	gpc_sha256_end(h, sum);
	gpc_hex(sum, sizeof(sum), ret_hex);
}

void gpc_sha256_free(struct gpc_sha256 *h)
{
	if (!h)
		return;
	lib.EVP_MD_CTX_free(h->ctx);
	free(h);
}

char *gpc_sha256_hex(const void *data, size_t n, char ret_hex[GPC_SHA256_HEX])
{
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();

	gpc_sha256_add(h, data, n);
	gpc_sha256_end_hex(h, ret_hex);
	return ret_hex;
}

/* A HMAC over the hash of ctx, which stands at its start before and after. */
static void hmac(EVP_MD_CTX *ctx, size_t n_sum, const void *key, size_t n_key,
	const void *data, size_t n, uint8_t *ret_mac)
{
	uint8_t pad[HMAC_BLOCK] = {0};

	if (n_key > sizeof(pad)) {
		check(lib.EVP_DigestUpdate(ctx, key, n_key));
		check(lib.EVP_DigestFinal_ex(ctx, pad, NULL));
		check(lib.EVP_DigestInit_ex(ctx, NULL, NULL));
	} else if (n_key > 0) {
		memcpy(pad, key, n_key);
	}
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36;
	check(lib.EVP_DigestUpdate(ctx, pad, sizeof(pad)));
	check(lib.EVP_DigestUpdate(ctx, data, n));
	check(lib.EVP_DigestFinal_ex(ctx, ret_mac, NULL));
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	check(lib.EVP_DigestInit_ex(ctx, NULL, NULL));
	check(lib.EVP_DigestUpdate(ctx, pad, sizeof(pad)));
	check(lib.EVP_DigestUpdate(ctx, ret_mac, n_sum));
	check(lib.EVP_DigestFinal_ex(ctx, ret_mac, NULL));
	check(lib.EVP_DigestInit_ex(ctx, NULL, NULL));
	gpc_wipe(pad, sizeof(pad));
}

void gpc_sha256_hmac(struct gpc_sha256 *h, const void *key, size_t n_key,
	const void *data, size_t n, uint8_t ret_mac[GPC_SHA256_SIZE])
{
	hmac(h->ctx, GPC_SHA256_SIZE, key, n_key, data, n, ret_mac);
}

void gpc_hmac_sha256(const void *key, size_t n_key, const void *data, size_t n,
	uint8_t ret_mac[GPC_SHA256_SIZE])
{
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();

	gpc_sha256_hmac(h, key, n_key, data, n, ret_mac);
}

/* A hash that a policy may forbid. */
static int old_hash(__typeof__(&EVP_md5) *which, const char *name,
	EVP_MD_CTX **ret_ctx, struct gpc_error *err)
{
	EVP_MD_CTX *ctx;
	int r = gpc_dl_open(&dl, err);

	if (r < 0)
		return r;
	ctx = lib.EVP_MD_CTX_new();
	check(ctx != NULL);
	if (lib.EVP_DigestInit_ex(ctx, (*which)(), NULL) != 1) {
		lib.EVP_MD_CTX_free(ctx);
		gpc_fail(err, GPC_EUNSUPPORTED, "OpenSSL refuses to compute %s",
			name);
		gpc_hint(err, "its policy forbids it here (FIPS mode)");
		return -GPC_EUNSUPPORTED;
	}
	*ret_ctx = ctx;
	return 0;
}

static int old_sum(__typeof__(&EVP_md5) *which, const char *name,
	const void *data, size_t n, uint8_t *ret_sum, struct gpc_error *err)
{
	EVP_MD_CTX *ctx;
	int r = old_hash(which, name, &ctx, err);

	if (r < 0)
		return r;
	check(lib.EVP_DigestUpdate(ctx, data, n));
	check(lib.EVP_DigestFinal_ex(ctx, ret_sum, NULL));
	lib.EVP_MD_CTX_free(ctx);
	return 0;
}

int gpc_md5(const void *data, size_t n, uint8_t ret_sum[GPC_MD5_SIZE],
	struct gpc_error *err)
{
	return old_sum(&lib.EVP_md5, "MD5", data, n, ret_sum, err);
}

int gpc_sha1(const void *data, size_t n, uint8_t ret_sum[GPC_SHA1_SIZE],
	struct gpc_error *err)
{
	return old_sum(&lib.EVP_sha1, "SHA-1", data, n, ret_sum, err);
}

int gpc_hmac_sha1(const void *key, size_t n_key, const void *data, size_t n,
	uint8_t ret_mac[GPC_SHA1_SIZE], struct gpc_error *err)
{
	EVP_MD_CTX *ctx;
	int r = old_hash(&lib.EVP_sha1, "SHA-1", &ctx, err);

	if (r < 0)
		return r;
	hmac(ctx, GPC_SHA1_SIZE, key, n_key, data, n, ret_mac);
	lib.EVP_MD_CTX_free(ctx);
	return 0;
}

int gpc_md5_new(struct gpc_md5 **ret_h, struct gpc_error *err)
{
	EVP_MD_CTX *ctx;
	int r = old_hash(&lib.EVP_md5, "MD5", &ctx, err);

	if (r < 0)
		return r;
	*ret_h = gpc_alloc(sizeof(**ret_h));
	(*ret_h)->ctx = ctx;
	return 0;
}

void gpc_md5_add(struct gpc_md5 *h, const void *data, size_t n)
{
	check(lib.EVP_DigestUpdate(h->ctx, data, n));
}

void gpc_md5_end(struct gpc_md5 *h, uint8_t ret_sum[GPC_MD5_SIZE])
{
	check(lib.EVP_DigestFinal_ex(h->ctx, ret_sum, NULL));
	check(lib.EVP_DigestInit_ex(h->ctx, NULL, NULL));
}

void gpc_md5_free(struct gpc_md5 *h)
{
	if (!h)
		return;
	lib.EVP_MD_CTX_free(h->ctx);
	free(h);
}
