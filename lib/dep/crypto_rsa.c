/* RSA signatures by OpenSSL's libcrypto, for the keys of service accounts. The key
 * comes as PEM text from a file of the user: whatever is wrong with it is told
 * without a byte of it, a passphrase is never asked for, and OpenSSL's queue of
 * errors, which other users of the library in this process see, stays empty.
 * OpenSSL itself wipes what it reads of a key when that is freed.
 */
#include "dep/crypto.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "dep/dl.h"

#define FUNCTIONS(X) \
	X(BIO_new_mem_buf) \
	X(BIO_free) \
	X(PEM_read_bio_PrivateKey) \
	X(EVP_PKEY_free) \
	X(EVP_MD_CTX_new) \
	X(EVP_MD_CTX_free) \
	X(EVP_sha256) \
	X(EVP_DigestSignInit) \
	X(EVP_DigestSign) \
	X(ERR_peek_last_error) \
	X(ERR_reason_error_string) \
	X(ERR_clear_error)

/* The first since 3.0, the second until 1.1. */
#define OPTIONAL(X) \
	X(key_kind, "EVP_PKEY_get_base_id", int, (const EVP_PKEY *)) \
	X(key_kind_old, "EVP_PKEY_base_id", int, (const EVP_PKEY *))

GPC_DL_TABLE(FUNCTIONS, OPTIONAL);

static struct gpc_dl dl = GPC_DL_INIT("OpenSSL's libcrypto", "libssl3",
	symbols, &lib, "libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.3.dylib");

static void free_key(EVP_PKEY **key)
{
	lib.EVP_PKEY_free(*key);
}

static void free_ctx(EVP_MD_CTX **ctx)
{
	lib.EVP_MD_CTX_free(*ctx);
}

/* OpenSSL's reason: a fixed text of its own. */
static int refuse(struct gpc_error *err, const char *what)
{
	unsigned long last = lib.ERR_peek_last_error();
	const char *why = lib.ERR_reason_error_string(last);

	gpc_fail(err, GPC_ECONFIG, "%s: %s", what,
		why ? why : "OpenSSL gives no reason");
	lib.ERR_clear_error();
	gpc_hint(err, "use the private key as it was issued, from "
		"\"-----BEGIN\" to the end of the last line");
	return -GPC_ECONFIG;
}

/* Instead of OpenSSL's own, which asks the terminal. */
static int no_passphrase(char *to, int size, int writing, void *arg)
{
	(void)to;
	(void)size;
	(void)writing;
	*(bool *)arg = true;
	return -1;
}

static int read_key(const char *pem, EVP_PKEY **ret_key, struct gpc_error *err)
{
	bool encrypted = false;
	BIO *bio = lib.BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key;
	int kind;

	key = bio ? lib.PEM_read_bio_PrivateKey(bio, NULL, no_passphrase,
		&encrypted) : NULL;
	lib.BIO_free(bio);
	if (encrypted) {
		lib.EVP_PKEY_free(key);
		lib.ERR_clear_error();
		gpc_fail(err, GPC_ECONFIG,
			"the private key is protected by a passphrase");
		gpc_hint(err, "remove it: openssl pkcs8 -topk8 -nocrypt");
		return -GPC_ECONFIG;
	}
	if (!key)
		return refuse(err, "the private key cannot be read");
	kind = lib.key_kind ? lib.key_kind(key) : lib.key_kind_old(key);
	if (kind != EVP_PKEY_RSA) {
		lib.EVP_PKEY_free(key);
		return gpc_fail(err, GPC_ECONFIG,
			"the private key is none of RSA");
	}
	*ret_key = key;
	return 0;
}

int gpc_sign_rs256(const char *key_pem, const void *data, size_t n,
	struct gpc_buf *to, struct gpc_error *err)
{
	__attribute__((cleanup(free_key))) EVP_PKEY *key = NULL;
	__attribute__((cleanup(free_ctx))) EVP_MD_CTX *ctx = NULL;
	uint8_t signature[2048];        /* of 16,384 bits, OpenSSL's most */
	size_t size = sizeof(signature);
	int r = gpc_dl_open(&dl, err);

	if (r < 0)
		return r;
	r = read_key(key_pem, &key, err);
	if (r < 0)
		return r;
	ctx = lib.EVP_MD_CTX_new();
	if (!ctx || lib.EVP_DigestSignInit(ctx, NULL, lib.EVP_sha256(), NULL,
		key) != 1
		|| lib.EVP_DigestSign(ctx, signature, &size, data, n) != 1)
		return refuse(err, "cannot sign by the private key");
	lib.ERR_clear_error();
	gpc_buf_add(to, signature, size);
	return 0;
}
