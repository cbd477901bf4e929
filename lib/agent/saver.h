/* Inside the saver: checkpoint.c decides when, save.c does it in the worker,
 * prune.c removes old ones there. */
#pragma once
#include <stdatomic.h>
#include "agent/context.h"
#include "dep/json.h"

struct gpc_request {
	char label[25];
	char token[17];              /* asked here, by this; "" = by an event */
	int64_t number;
	int64_t due_ms;              /* boot clock: not before; 0 = it was just asked */
};

struct gpc_saver {
	/* fixed */
	struct gpc_store *store;
	const struct gpc_log *log;
	const char *job, *dir;       /* borrowed from the agent */
	char *prefix;                /* jobs/J/A/blobs/ */
	char *pinned;                /* resume_from: never pruned */
	char *cache_path;
	int attempt, rank, num_nodes, keep;
	bool all_ranks, leads;       /* leads: rank 0, who commits */
	int64_t patience_ms;         /* how long a forced save waits for quiet */

	/* when; only the loop touches these */
	GPC_VEC(struct gpc_request) asked;
	int64_t look_due_ms, follow_due_ms, ask_due_ms;
	int64_t unquiet_since_ms;    /* boot clock; 0 = quiet */
	bool finishing, finished, last_again;
	int64_t prune_served_n;      /* newest `prune` event that was carried out */
	int64_t prune_due_ms;        /* boot clock: not before, after a failure */
	int follow_n;                /* other ranks: last n that was served */
	bool empty_told;

	/* the task under way; the worker's while it is busy */
	enum gpc_saver_task {
		GPC_SAVER_IDLE, GPC_SAVER_LOOK, GPC_SAVER_FORCE, GPC_SAVER_FINAL,
		GPC_SAVER_PRUNE,
	} task;
	struct gpc_request request;
	bool wait_change;            /* FORCE: the program was just asked */
	bool insist;                 /* LOOK: restless for some seconds */
	bool any_state;              /* LOOK: restless for a minute */
	int64_t prune_n;             /* PRUNE: the event, and what it keeps */
	int prune_keep;
	int held_attempt;            /* PRUNE: nodes of it may still be there */
	int n;                       /* next number (leader) or the one to serve */
	uint64_t saved_print, seen_print;   /* fingerprints of the tree */
	struct gpc_json *base;       /* head of this rank's newest save */
	bool changed, saved, empty, suspect;
	atomic_bool in_parts;        /* it waits for the other ranks */
};

enum { PART_SPARE_MS = 15000 };   /* after the patience, for others' parts */

/* Tasks for the worker. */
int gpc_saver_task_save(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err);
int gpc_saver_task_prune(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err);
/* Which `prune` events earlier attempts have carried out. */
int64_t gpc_saver_prunes_served(struct gpc_agent *a);
/* Removes all but the newest `keep` records and what only they needed. */
int gpc_saver_prune_now(struct gpc_saver *s, int keep,
	const struct gpc_cancel *cancel, struct gpc_error *err) gpc_must_check;
/* Fingerprint of the tree now; *ret_n its number of files. */
int gpc_saver_print(const struct gpc_saver *s, const struct gpc_cancel *cancel,
	uint64_t *ret_print, uint64_t *ret_n, struct gpc_error *err)
	gpc_must_check;
