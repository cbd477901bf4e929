/* Many listed things in little memory: each key only says what differs from the one
 * before, so that of a list in order some 10 to 30 bytes a key remain. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "transfer/listed.h"

/* All zero is an empty one. */
struct gpc_packed {
	struct gpc_buf bytes;
	struct gpc_buf last;            /* key */
	int64_t modified_ms;            /* of the last one */
	uint64_t n;
};
/* GPC_EIO when there is no memory for it. */
int gpc_packed_add(struct gpc_packed *p, const struct gpc_listed *l,
	struct gpc_error *err) gpc_must_check;
void gpc_packed_clear(struct gpc_packed *p);
GPC_CLEANUP_VALUE(gpc_packed);

/* Reads from the start. All zero but p is a reader. */
struct gpc_packed_reader {
	const struct gpc_packed *p;     /* borrowed; may grow meanwhile */
	size_t at;
	struct gpc_buf key;
	int64_t modified_ms;
};
/* False at the end. The key is good until the next call. */
bool gpc_packed_next(struct gpc_packed_reader *r, struct gpc_listed *ret_l);
void gpc_packed_reader_clear(struct gpc_packed_reader *r);
GPC_CLEANUP_VALUE(gpc_packed_reader);
