/* Which checkpoints of a job go, and deleting them so that a crash anywhere
 * leaves no listed checkpoint without its bytes.
 *
 * What goes is decided once and written down (the client's `pruning` event, or
 * by the one agent that may); deleting it may be done by anybody, several times
 * and at once: heads first, then the blobs of an attempt that no head of it
 * names any more. A blob lies below its own attempt and a head never comes
 * back, so even a deleter that was stopped for a day hits nothing that a later
 * attempt needs. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/str.h"
#include "record/checkpoint.h"
#include "store/store.h"

#define GPC_PRUNE_KEEP_MIN 2            /* the newest two always stay */

/* Adds to ret_drop the ids beyond the newest `keep`, oldest first, without the
 * pinned ones. A keep below 2 counts as 2. */
void gpc_prune_choose(const struct gpc_checkpoint_ids *ids, int keep,
	const struct gpc_strv *pinned, struct gpc_strv *ret_drop);
/* Whether the id may go at all: not if it is among the newest two. */
bool gpc_prune_may_drop(const struct gpc_checkpoint_ids *ids, const char *id);
/* Deletes these heads. Absent ones are fine. */
int gpc_prune_heads(struct gpc_store *s, const char *job,
	const struct gpc_strv *drop, struct gpc_error *err) gpc_must_check;

struct gpc_swept { uint64_t blobs, bytes; };
/* Deletes every blob of this attempt that none of its heads names; nobody may
 * be saving there. When a head or a list cannot be read nothing is deleted:
 * GPC_EPROTO or GPC_ENOTFOUND names it. Adds to ret_swept. dry: only counts. */
int gpc_prune_sweep(struct gpc_store *s, const char *job, int attempt, bool dry,
	const struct gpc_strv *without, const struct gpc_cancel *cancel,
	struct gpc_swept *ret_swept, struct gpc_error *err) gpc_must_check;

/* jobs/J/A/0/prune.json: what rank 0's agent of attempt A did about the newest
 * `prune` event that it carried out. */
struct gpc_prune_fact {
	int v;
	int64_t request;                /* number of the event */
	struct gpc_strv removed;        /* ids */
	int64_t blobs, bytes;
	struct gpc_json *rest;
};
void gpc_prune_fact_clear(struct gpc_prune_fact *f);
GPC_CLEANUP_VALUE(gpc_prune_fact);
int gpc_prune_fact_put(struct gpc_store *s, const char *job, int attempt,
	const struct gpc_prune_fact *f, struct gpc_error *err) gpc_must_check;
/* Absent is no error: request is 0 then. */
int gpc_prune_fact_get(struct gpc_store *s, const char *job, int attempt,
	struct gpc_prune_fact *ret_f, struct gpc_error *err) gpc_must_check;
