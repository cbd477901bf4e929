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
/* Takes what arrives, in order; non-zero stops it and is returned. */
typedef int gpc_sink_fn(void *arg, const void *data, size_t n,
	struct gpc_error *err);
