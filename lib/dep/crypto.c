/* SHA-256 by OpenSSL's libcrypto, which is opened at the first hash: commands
 * that hash nothing do not pay for it. Hashing is not optional in gpucloud, so
 * a machine without libcrypto ends the process here with a message that names
 * the package; a damaged or slow copy of our own would be the greater risk.
 */
#include "dep/crypto.h"

#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "dep/dl.h"

static struct {
	__typeof__(&EVP_MD_CTX_new) ctx_new;
	__typeof__(&EVP_MD_CTX_free) ctx_free;
	__typeof__(&EVP_DigestInit_ex) init;
	__typeof__(&EVP_DigestUpdate) update;
	__typeof__(&EVP_DigestFinal_ex) final;
	__typeof__(&EVP_sha256) sha256;
} lib;

#define SYMBOL(name, field) {name, offsetof(__typeof__(lib), field), false}

static const struct gpc_dl_symbol symbols[] = {
	SYMBOL("EVP_MD_CTX_new", ctx_new),
	SYMBOL("EVP_MD_CTX_free", ctx_free),
	SYMBOL("EVP_DigestInit_ex", init),
	SYMBOL("EVP_DigestUpdate", update),
	SYMBOL("EVP_DigestFinal_ex", final),
	SYMBOL("EVP_sha256", sha256),
	{NULL, 0, false},
};

static struct gpc_dl dl = GPC_DL_INIT("OpenSSL's libcrypto", "libssl3", symbols,
	&lib, "libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.3.dylib");

struct gpc_sha256 {
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
		give_up("libcrypto refuses to compute SHA-256", "");
}

struct gpc_sha256 *gpc_sha256_new(void)
{
	struct gpc_sha256 *h = gpc_alloc(sizeof(*h));
	struct gpc_error err = {0};

	if (gpc_dl_open(&dl, &err) < 0)
		give_up(err.msg, err.hint);
	h->ctx = lib.ctx_new();
	check(h->ctx != NULL);
	check(lib.init(h->ctx, lib.sha256(), NULL));
	return h;
}

void gpc_sha256_add(struct gpc_sha256 *h, const void *data, size_t n)
{
	check(lib.update(h->ctx, data, n));
}

void gpc_sha256_end(struct gpc_sha256 *h, uint8_t ret_sum[GPC_SHA256_SIZE])
{
	check(lib.final(h->ctx, ret_sum, NULL));
	/* No digest named: the context keeps its own, which skips a lookup. */
	check(lib.init(h->ctx, NULL, NULL));
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
	lib.ctx_free(h->ctx);
	free(h);
}

char *gpc_sha256_hex(const void *data, size_t n, char ret_hex[GPC_SHA256_HEX])
{
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();

	gpc_sha256_add(h, data, n);
	gpc_sha256_end_hex(h, ret_hex);
	return ret_hex;
}
