/* What the jobs of one supervisor share: whose turn it is to buy, and how many
 * notices are under way.
 *
 * Jobs that want the same wait in one row: only the first of them asks for it,
 * by priority and then by when they were submitted, and what it is refused the
 * others are refused as well. Jobs that want something else wait in another
 * row; before one asks there, those of a higher priority that could take the
 * same place have asked. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct gpc_supervision;

/* All times: boot clock; 0 = never. */
struct gpc_row {
	char *wants;
	int jobs;                     /* that wait here */
	int64_t pause_ms;             /* between two rounds of asking */
	int64_t retry_ms;             /* nobody asks before it */
	int64_t refused_ms;           /* when it was asked in vain */
	int64_t due_ms;               /* since when the next round could begin */
	enum gpc_code code;           /* of the last refusal */
	char *asker;                  /* the job that had it */
	bool early;                   /* the next round comes before its time */
};
struct gpc_crew {
	GPC_VEC(struct gpc_supervision *) waiting;
	int64_t round;                /* of steps over all jobs; 0 = there is one */
	int notices;                  /* that run */
};
void gpc_crew_clear(struct gpc_crew *c);

/* This job wants count more nodes; true when it may ask for them now. */
bool gpc_row_is_next(struct gpc_supervision *sv, int count);
/* It asked, and there is no capacity; ends_ms: when its own patience ends, 0 =
 * never. */
void gpc_row_refused(struct gpc_supervision *sv, enum gpc_code code,
	int64_t ends_ms);
/* It has got them and waits no longer: the next one may ask at once. */
void gpc_row_got(struct gpc_supervision *sv);
/* It waits no longer. */
void gpc_row_leave(struct gpc_supervision *sv);
/* One of our nodes has gone: somebody may want its place. */
void gpc_crew_freed(struct gpc_crew *c);
/* Higher is first, then the one that was submitted first. */
bool gpc_crew_before(const struct gpc_supervision *a,
	const struct gpc_supervision *b);
