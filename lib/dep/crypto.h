/* Hashes of OpenSSL. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define GPC_SHA256_SIZE 32
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
