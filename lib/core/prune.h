/* Removing a job's old checkpoints. Who may is decided by the journal: of a job
 * that lives rank 0's agent, between two saves, when an event asks for it; of
 * one that has ended the client that wins a `pruning` event, which names what
 * goes. Whoever meets a prune that was not finished may finish it. */
#pragma once
#include "core/session.h"
#include "record/journal.h"
#include "record/prune.h"

struct gpc_prune_options {
	int keep;                     /* newest ones that stay; 0 = the spec's */
	bool dry_run;                 /* only choose */
};
enum gpc_prune_how {
	GPC_PRUNE_NOTHING,            /* there is nothing to remove */
	GPC_PRUNE_DONE,
	GPC_PRUNE_ASKED,              /* the job lives: see gpc_prune_served */
	GPC_PRUNE_WOULD,              /* dry_run */
};
struct gpc_prune_result {
	enum gpc_prune_how how;
	struct gpc_strv removed;      /* ids, oldest first; also those that a prune
	                               * before, which was cut short, chose */
	struct gpc_swept swept;       /* blobs that nothing needed any more; its
	                               * bytes are those of temps as well */
	uint64_t temps;               /* temporary files of killed writers */
	int64_t event;                /* ASKED: its number */
};
void gpc_prune_result_clear(struct gpc_prune_result *x);
GPC_CLEANUP_VALUE(gpc_prune_result);
/* GPC_ECONFLICT: its nodes are not all released yet, or it is being removed. */
int gpc_prune_checkpoints(struct gpc_session *s, const char *job,
	const struct gpc_prune_options *options,
	struct gpc_prune_result *ret_x, struct gpc_error *err) gpc_must_check;
/* Whether an agent has carried out this request; then also what it removed. */
int gpc_prune_served(struct gpc_session *s, const char *job, int64_t event,
	bool *ret_served, struct gpc_prune_result *x,
	struct gpc_error *err) gpc_must_check;
/* Finishes the prune that j->state names, if there is one: afterwards the job
 * can be resumed. Adds to swept. */
int gpc_prune_finish(struct gpc_session *s, struct gpc_journal *j,
	struct gpc_swept *swept, struct gpc_error *err) gpc_must_check;
/* Whether no node of the job is left that could still write. */
bool gpc_prune_may(const struct gpc_job_state *st);
