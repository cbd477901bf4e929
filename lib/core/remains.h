/* What writers that were killed left below a job: temporary files of objects that
 * never got their names, and blobs of checkpoints that were never complete. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/session.h"
#include "record/journal.h"
#include "record/prune.h"

struct gpc_remains {
	uint64_t temps, temp_bytes;     /* temporary files */
	struct gpc_swept swept;         /* blobs */
};

/* Removes (dry: counts) the temporary files below the job of j, which must be over
 * as far as j->state knows. They are listed first; nothing goes unless the journal
 * still ends there after that: then no node exists that could write one of them. What
 * a client is writing at this moment it writes once more (gpc_store_drop).
 * *ret_current: the journal did. Adds to x. */
int gpc_remains_temps(struct gpc_session *s, struct gpc_journal *j, bool dry,
	bool *ret_current, struct gpc_remains *x,
	struct gpc_error *err) gpc_must_check;
/* At the closing of a job: the same, and blobs that no checkpoint names of attempts
 * that have a node whose agent did not come to its end, or failed, as only such a
 * one leaves any as a rule. saves: it has checkpoints at all. What cannot be read keeps its blobs.
 * When *ret_current is false, somebody has gone on with the job and nothing went. */
int gpc_remains_close(struct gpc_session *s, struct gpc_journal *j, bool saves,
	bool *ret_current, struct gpc_remains *x,
	struct gpc_error *err) gpc_must_check;

/* The same of a job that is being removed: nobody goes on with it any more. */
int gpc_remains_temps_of_removed(struct gpc_session *s, const char *job,
	struct gpc_error *err) gpc_must_check;
/* Temporary files of the whole store: below jobs that are over, whatever their age;
 * elsewhere those that have been there for a day. */
int gpc_remains_temps_of_all(struct gpc_session *s, bool dry,
	struct gpc_remains *x, struct gpc_error *err) gpc_must_check;
