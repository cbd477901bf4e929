/* What a request or a put sends, and who takes what an answer delivers. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bytes in memory (data), or `size` bytes of fd from offset (read with pread, so
 * a repeat sends the same). */
struct gpc_body {
	const void *data;
	int fd;                         /* used when data is NULL */
	int64_t offset;
	uint64_t size;
};
/* Reads some bytes of a body's file: at least one and up to n, from `at`, of the rest
 * of the body, none at its end. By position, so that sending it again begins where it
 * should whoever else uses the descriptor. GPC_EPROTO when the file has become
 * shorter. */
int gpc_body_read(const struct gpc_body *body, uint64_t at, void *to, size_t n,
	size_t *ret_n, struct gpc_error *err) gpc_must_check;
/* Takes what arrives, in order; non-zero stops it and is returned. */
typedef int gpc_sink_fn(void *arg, const void *data, size_t n,
	struct gpc_error *err);
