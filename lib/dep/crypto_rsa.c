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

static struct {
	__typeof__(&BIO_new_mem_buf) bio_new;
	__typeof__(&BIO_free) bio_free;
	__typeof__(&PEM_read_bio_PrivateKey) read;
	__typeof__(&EVP_PKEY_free) key_free;
	int (*key_kind)(const EVP_PKEY *key);           /* since 3.0 */
	int (*key_kind_old)(const EVP_PKEY *key);       /* until 1.1 */
	__typeof__(&EVP_MD_CTX_new) ctx_new;
	__typeof__(&EVP_MD_CTX_free) ctx_free;
	__typeof__(&EVP_sha256) sha256;
	__typeof__(&EVP_DigestSignInit) sign_init;
	__typeof__(&EVP_DigestSign) sign;
	__typeof__(&ERR_peek_last_error) last_error;
	__typeof__(&ERR_reason_error_string) error_text;
	__typeof__(&ERR_clear_error) clear_errors;
} lib;

#define SYMBOL(name, field) {name, offsetof(__typeof__(lib), field), false}
#define OPTIONAL(name, field) {name, offsetof(__typeof__(lib), field), true}

static const struct gpc_dl_symbol symbols[] = {
	SYMBOL("BIO_new_mem_buf", bio_new),
	SYMBOL("BIO_free", bio_free),
	SYMBOL("PEM_read_bio_PrivateKey", read),
	SYMBOL("EVP_PKEY_free", key_free),
	OPTIONAL("EVP_PKEY_get_base_id", key_kind),
	OPTIONAL("EVP_PKEY_base_id", key_kind_old),
	SYMBOL("EVP_MD_CTX_new", ctx_new),
	SYMBOL("EVP_MD_CTX_free", ctx_free),
	SYMBOL("EVP_sha256", sha256),
	SYMBOL("EVP_DigestSignInit", sign_init),
	SYMBOL("EVP_DigestSign", sign),
	SYMBOL("ERR_peek_last_error", last_error),
	SYMBOL("ERR_reason_error_string", error_text),
	SYMBOL("ERR_clear_error", clear_errors),
	{NULL, 0, false},
};

static struct gpc_dl dl = GPC_DL_INIT("OpenSSL's libcrypto", "libssl3", symbols,
	&lib, "libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.3.dylib");

static void free_key(EVP_PKEY **key)
{
	lib.key_free(*key);
}

static void free_ctx(EVP_MD_CTX **ctx)
{
	lib.ctx_free(*ctx);
}

/* OpenSSL's reason: a fixed text of its own. */
static int refuse(struct gpc_error *err, const char *what)
{
	const char *why = lib.error_text(lib.last_error());

	gpc_fail(err, GPC_ECONFIG, "%s: %s", what,
		why ? why : "OpenSSL gives no reason");
	lib.clear_errors();
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
	BIO *bio = lib.bio_new(pem, -1);
	EVP_PKEY *key;
	int kind;

	key = bio ? lib.read(bio, NULL, no_passphrase, &encrypted) : NULL;
	lib.bio_free(bio);
	if (encrypted) {
		lib.key_free(key);
		lib.clear_errors();
		gpc_fail(err, GPC_ECONFIG,
			"the private key is protected by a passphrase");
		gpc_hint(err, "remove it: openssl pkcs8 -topk8 -nocrypt");
		return -GPC_ECONFIG;
	}
	if (!key)
		return refuse(err, "the private key cannot be read");
	kind = lib.key_kind ? lib.key_kind(key) : lib.key_kind_old(key);
	if (kind != EVP_PKEY_RSA) {
		lib.key_free(key);
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
	ctx = lib.ctx_new();
	if (!ctx || lib.sign_init(ctx, NULL, lib.sha256(), NULL, key) != 1
		|| lib.sign(ctx, signature, &size, data, n) != 1)
		return refuse(err, "cannot sign by the private key");
	lib.clear_errors();
	gpc_buf_add(to, signature, size);
	return 0;
}
