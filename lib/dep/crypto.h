/* Hashes and signatures of OpenSSL. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"

#define GPC_SHA256_SIZE 32
#define GPC_SHA1_SIZE 20
#define GPC_MD5_SIZE 16
#define GPC_SHA256_HEX 65                          /* with the NUL */

struct gpc_sha256;                                 /* opaque, reusable */
struct gpc_sha256 *gpc_sha256_new(void);
void gpc_sha256_add(struct gpc_sha256 *h, const void *data, size_t n);
/* Ends this hash and starts the next one. */
void gpc_sha256_end(struct gpc_sha256 *h, uint8_t ret_sum[GPC_SHA256_SIZE]);
void gpc_sha256_end_hex(struct gpc_sha256 *h, char ret_hex[GPC_SHA256_HEX]);
void gpc_sha256_free(struct gpc_sha256 *h);
GPC_CLEANUP_POINTER(gpc_sha256);
char *gpc_sha256_hex(const void *data, size_t n, char ret_hex[GPC_SHA256_HEX]);

/* HMAC-SHA256 by a hash that stands at its start, and does so again afterwards:
 * for many in a row. ret_mac may be the key. */
void gpc_sha256_hmac(struct gpc_sha256 *h, const void *key, size_t n_key,
	const void *data, size_t n, uint8_t ret_mac[GPC_SHA256_SIZE]);
void gpc_hmac_sha256(const void *key, size_t n_key, const void *data, size_t n,
	uint8_t ret_mac[GPC_SHA256_SIZE]);

/* What old interfaces still ask for; never for security. GPC_EUNSUPPORTED where
 * the policy of this machine's OpenSSL (FIPS) forbids it. */
int gpc_md5(const void *data, size_t n, uint8_t ret_sum[GPC_MD5_SIZE],
	struct gpc_error *err) gpc_must_check;
int gpc_sha1(const void *data, size_t n, uint8_t ret_sum[GPC_SHA1_SIZE],
	struct gpc_error *err) gpc_must_check;
int gpc_hmac_sha1(const void *key, size_t n_key, const void *data, size_t n,
	uint8_t ret_mac[GPC_SHA1_SIZE], struct gpc_error *err) gpc_must_check;
/* MD5 of what comes in parts, such as the parts of an upload. */
struct gpc_md5;
int gpc_md5_new(struct gpc_md5 **ret_h, struct gpc_error *err) gpc_must_check;
void gpc_md5_add(struct gpc_md5 *h, const void *data, size_t n);
/* Ends this hash and starts the next one. */
void gpc_md5_end(struct gpc_md5 *h, uint8_t ret_sum[GPC_MD5_SIZE]);
void gpc_md5_free(struct gpc_md5 *h);
GPC_CLEANUP_POINTER(gpc_md5);

/* RSASSA-PKCS1-v1_5 with SHA-256 (RS256) by a private key in PEM, PKCS #8 or
 * PKCS #1; adds the signature's bytes to `to`. GPC_ECONFIG when the key cannot
 * be used, and why; no byte of it is ever part of a message. */
int gpc_sign_rs256(const char *key_pem, const void *data, size_t n,
	struct gpc_buf *to, struct gpc_error *err) gpc_must_check;
