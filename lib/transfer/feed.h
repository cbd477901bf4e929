/* A list that is made by a thread of its own and read somewhere else, in order: so
 * that two lists can be compared as they come, and files move while the list of what
 * is to be moved goes on. What waits takes a few MiB at the most; then the list waits
 * for its reader.
 *
 * Feeds may be made of feeds: whoever produces one reads others. */
#pragma once
#include <stdbool.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/mem.h"
#include "transfer/listed.h"

struct gpc_feed;                        /* opaque */
/* Puts all it has and ends; run by the feed's thread. arg is the caller's until
 * gpc_feed_free returns. */
typedef int gpc_feed_fn(void *arg, struct gpc_feed *f, struct gpc_error *err);
/* cancel is borrowed. GPC_EIO: no thread. */
int gpc_feed_start(gpc_feed_fn *fn, void *arg, const struct gpc_cancel *cancel,
	struct gpc_feed **ret_f, struct gpc_error *err) gpc_must_check;
/* Ends the thread, which notices with its next put, and waits for it. */
void gpc_feed_free(struct gpc_feed *f);
GPC_CLEANUP_POINTER(gpc_feed);

/* The producer's side. GPC_ECANCELED when nobody reads any more. */
int gpc_feed_put(struct gpc_feed *f, const struct gpc_listed *l,
	struct gpc_error *err) gpc_must_check;

enum gpc_feed_state { GPC_FEED_END, GPC_FEED_ONE, GPC_FEED_LATER };
/* The reader's side. END: that was all, and the producer has ended well; what made it
 * fail is returned after all that it had put. LATER: nothing came in timeout_ms (-1 =
 * no limit). The key is good until the next call. */
int gpc_feed_next(struct gpc_feed *f, int timeout_ms, enum gpc_feed_state *ret_state,
	struct gpc_listed *ret_l, struct gpc_error *err) gpc_must_check;

/* What was put so far, notes apart. */
struct gpc_feed_counts {
	uint64_t files, bytes;
	bool complete;
};
void gpc_feed_counts(struct gpc_feed *f, struct gpc_feed_counts *ret_c);
