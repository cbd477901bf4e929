/* One line of a list: what a snapshot says of one file, folder or link.
 *
 *   {"p":PATH,"t":"f","m":"644","s":SIZE,"mt":SECONDS,"ns":NANOSECONDS, ...}
 *   small files  "h":sha256 of the content,"k":sha256 of the pack,"ks":its size
 *   large files  "c":[PIECE,...], one for each 16 MiB: "zstd:SHA256:SIZE" or
 *                "raw:SHA256:SIZE" of the blob, or a number of pieces of zeros
 *   folders      "t":"d"
 *   links        "t":"l","l":TARGET
 * A path or target that is no UTF-8 is given as hex digits, in "pb" or "lb".
 * "ns" is left out when it is 0. A pack is a .tar.zst that holds the file under
 * its own path. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "dep/crypto.h"
#include "snapshot/snapshot.h"

#define GPC_SMALL_BYTES ((uint64_t)8 << 20)    /* files below go into packs */
#define GPC_CHUNK_BYTES ((uint64_t)16 << 20)
#define GPC_FILE_MAX_BYTES ((uint64_t)16 << 40)
#define GPC_BLOB_MAX_BYTES ((uint64_t)64 << 20)
#define GPC_LINE_MAX_BYTES ((size_t)32 << 20)
#define GPC_HEAD_MAX_BYTES ((size_t)32 << 20)

enum gpc_chunk_kind {
	GPC_CHUNK_UNKNOWN,
	GPC_CHUNK_HOLE,
	GPC_CHUNK_RAW,
	GPC_CHUNK_ZSTD,
};
struct gpc_chunk {
	uint8_t sum[GPC_SHA256_SIZE];
	uint32_t size;          /* of the blob; of a hole: pieces, 0 means 1 */
	uint8_t kind;
};
struct gpc_line {
	char *path;             /* owned */
	uint8_t kind;           /* enum gpc_entry_kind */
	bool chunked;
	uint16_t mode;
	uint64_t size;
	int64_t mtime_ns;
	uint8_t hash[GPC_SHA256_SIZE];
	uint8_t pack[GPC_SHA256_SIZE];
	uint32_t pack_size;
	GPC_VEC(struct gpc_chunk) chunks;
	char *target;           /* owned */
};
void gpc_line_clear(struct gpc_line *l);
GPC_CLEANUP_VALUE(gpc_line);

/* Appends the line and its newline. */
void gpc_line_format(const struct gpc_line *l, struct gpc_buf *b);
/* Refuses whatever a restore could not do safely: paths that leave the target,
 * pieces that do not add up to the size, and so on. */
int gpc_line_parse(const char *text, size_t n, struct gpc_line *ret_l,
	struct gpc_error *err) gpc_must_check;
