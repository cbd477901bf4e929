/* A job's output as JSON lines. Its bytes come in pieces of any size; a character
 * of UTF-8 that lies across two of them is held back, so that no line carries half
 * of one.
 */
#pragma once
#include "base/str.h"
#include "base/vec.h"
#include "cmd/out.h"

enum { GPC_PIECE_OPEN = 4 };    /* bytes of a character that is not whole yet */

struct gpc_piece { int rank, source; size_t n; char open[GPC_PIECE_OPEN]; };
/* One for each stream that was seen (base/vec.h); freed by gpc_vec_free. */
struct gpc_pieces { struct gpc_piece *v; size_t n, cap; };

/* Prints what came of a stream; last: nothing will follow, nothing is held back. */
int gpc_pieces_put(struct gpc_pieces *p, const char *job, struct gpc_out *out,
	int rank, int source, struct gpc_str data, bool last, struct gpc_error *err);
/* Prints what was held back of all streams. */
int gpc_pieces_flush(struct gpc_pieces *p, const char *job, struct gpc_out *out,
	struct gpc_error *err);
