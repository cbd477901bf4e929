/* Checkpoints: when to save, saving, committing, pruning. */
#pragma once
#include "agent/context.h"

/* After restore: what is there now counts as saved already. */
struct gpc_saver *gpc_saver_new(struct gpc_agent *a);
void gpc_saver_free(struct gpc_saver *s);

/* A save by request, even if nothing changed; label NULL = "user". number: of
 * the event, kept in the record so that who asked finds it. Rank 0 (or every
 * rank with ranks: all) acts upon it, the others ignore it. */
void gpc_saver_ask(struct gpc_agent *a, const char *label, int64_t number);
/* The same for the job itself, whose token stands for the answer (ask.h). */
void gpc_saver_ask_here(struct gpc_agent *a, const char *label,
	const char *token);
/* Starts what is due if the worker is free: saves, and the newest `prune` that
 * the state names, between two saves. Call it each second. */
void gpc_saver_tick(struct gpc_agent *a, int64_t now_ms);
/* The last save of this attempt, when the program has ended. True while it
 * still has to be waited for. */
bool gpc_saver_finish(struct gpc_agent *a, const char *label);
/* The worker has ended a task of the saver. */
void gpc_saver_done(struct gpc_agent *a, int r, const struct gpc_error *err);
/* True while the worker's task is the saver's. */
bool gpc_saver_works(const struct gpc_agent *a);
/* No save from now on. */
void gpc_saver_close(struct gpc_agent *a);
