/* The roll of an attempt of many nodes: how far each rank has come, in the keys of
 * small objects, jobs/J/A/roll/WORD/RANK or .../RANK~VALUE. So one list tells of a
 * thousand ranks what else took a look at each of them. Ranks put their own; each is
 * there before what it speaks of can be read, so a rank that is missing has not
 * come so far. Few nodes keep no roll: a list costs as much as a dozen looks. */
#pragma once
#include "model/job.h"
#include "record/keys.h"
#include "store/store.h"

enum gpc_roll_word {
	GPC_ROLL_HERE,        /* it has begun; the value is its address */
	GPC_ROLL_READY,       /* recovery.barrier: it waits for the others */
	GPC_ROLL_RUN,         /* its program runs */
	GPC_ROLL_END,         /* its program is over: when and why, see below */
	GPC_ROLL_EXIT,        /* and exit.json is there; with a value if it tells of a
	                       * log without its end */
	GPC_ROLL_DONE,        /* it does nothing any more, and releases itself */
	GPC_ROLL__COUNT
};
#define GPC_ROLL_LEAST 13     /* nodes */

static inline bool gpc_roll_is_kept(int num_nodes)
{
	return num_nodes >= GPC_ROLL_LEAST;
}

/* As last listed; ranks that are not there have NULL, those without a value "". */
struct gpc_roll { char **values; int num_nodes, n; };
void gpc_roll_clear(struct gpc_roll *r);
GPC_CLEANUP_VALUE(gpc_roll);
static inline const char *gpc_roll_of(const struct gpc_roll *r, int rank)
{
	return rank >= 0 && rank < r->num_nodes ? r->values[rank] : NULL;
}
/* Of END: the rank that failed first by the nodes' clocks, and why; -1 = none. Those
 * that were stopped since another one had failed do not count. */
int gpc_roll_first_failed(const struct gpc_roll *r, int64_t *ret_at_ms,
	enum gpc_reason *ret_reason);
/* Of END: the rank whose program ended last; -1 = none. */
int gpc_roll_last_ended(const struct gpc_roll *r);
/* The value of END. stopped: since another rank failed. Owned. */
char *gpc_roll_end(int64_t at_ms, enum gpc_reason reason, bool stopped);

/* value: at most 64 printable characters, NULL = none; what a key cannot hold is
 * written as gpc_key_escape does. */
int gpc_roll_put(struct gpc_store *s, const char *job, int attempt, int rank,
	enum gpc_roll_word word, const char *value, struct gpc_error *err)
	gpc_must_check;
/* Replaces *r, which is empty or of an earlier call; on failure it stays. What is
 * not of the form, or no rank of num_nodes, is passed over. */
int gpc_roll_call(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, enum gpc_roll_word word, struct gpc_roll *r,
	struct gpc_error *err) gpc_must_check;

/* When each rank's beat was put, by the store's clock; 0 = there is none. ms has
 * num_nodes elements. A store that does not say gives 1 for all that are there. */
int gpc_roll_beats(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, int64_t *ms, struct gpc_error *err) gpc_must_check;
