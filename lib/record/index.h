/* index/live and index/done: which jobs there are, without reading them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/money.h"
#include "base/vec.h"
#include "model/job.h"
#include "store/store.h"

struct gpc_index_entry {
	char job[GPC_JOB_ID_SIZE];
	char name[GPC_JOB_NAME_MAX + 1];
	char owner_hash[17];
	bool live;
	int attempt;
	enum gpc_job_status status;    /* done only; live: read the journal */
	enum gpc_reason reason;
	struct gpc_money spent;
	int64_t start_ms, end_ms;      /* live: start = submitted */
};
struct gpc_index { struct gpc_index_entry *v; size_t n, cap; };

int gpc_index_put_live(struct gpc_store *s, const struct gpc_job *job,
	struct gpc_error *err) gpc_must_check;
/* Puts the done key, then removes the live one (and older done keys). */
int gpc_index_put_done(struct gpc_store *s, const struct gpc_job *job,
	const struct gpc_job_state *st, struct gpc_error *err) gpc_must_check;
/* Whether the done key of this end is there, and a live one. */
int gpc_index_look(struct gpc_store *s, const struct gpc_job *job,
	const struct gpc_job_state *st, bool *ret_done, bool *ret_live,
	struct gpc_error *err) gpc_must_check;
/* Removes every entry of a job that was created at since_ms (0: it is not known
 * any more, and all of the index is looked through). */
int gpc_index_forget(struct gpc_store *s, const char *job, int64_t since_ms,
	struct gpc_error *err) gpc_must_check;
/* All live jobs, and done ones whose end is at or after since_ms; live wins,
 * and of done keys of one job the highest attempt. Newest start first. */
int gpc_index_list(struct gpc_store *s, int64_t since_ms,
	struct gpc_index *ret_index, struct gpc_error *err) gpc_must_check;
/* Only the live ones: one list, and a look at each. */
int gpc_index_list_live(struct gpc_store *s, struct gpc_index *ret_index,
	struct gpc_error *err) gpc_must_check;
/* Exact id, unique prefix, name (newest), "@" (newest of owner_hash): every
 * match, best first; GPC_ENOTFOUND with the nearest name as a hint. A name that
 * several unfinished jobs bear sets *ret_ambiguous. */
int gpc_index_find(struct gpc_store *s, const char *word,
	const char *owner_hash, struct gpc_index *ret_matches,
	bool *ret_ambiguous, struct gpc_error *err) gpc_must_check;
void gpc_index_clear(struct gpc_index *x);
GPC_CLEANUP_VALUE(gpc_index);
