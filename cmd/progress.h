/* A progress line on stderr, only on a terminal; otherwise every call is a
 * no-op. It redraws at most ten times a second and never survives other talk. */
#pragma once
#include <stdint.h>

#include "base/mem.h"
#include "cmd/talk.h"

struct gpc_progress;                               /* opaque */

/* what: "packing". total: bytes, 0 = unknown, then a spinner is shown. */
struct gpc_progress *gpc_progress_new(struct gpc_talk *t, const char *what,
	uint64_t total_bytes);
/* Absolute numbers, as often as the caller likes. */
void gpc_progress_bytes(struct gpc_progress *p, uint64_t done, uint64_t total);
/* A spinner with a text: "waiting for the node (12s)". NULL only turns it. */
void gpc_progress_text(struct gpc_progress *p, const char *text);
/* Clears the line. */
void gpc_progress_free(struct gpc_progress *p);
GPC_CLEANUP_POINTER(gpc_progress);
