/* jobs/JOB/watch: {v, id, n, rank?}: somebody reads along, with that rank alone. Where each put costs money, an
 * agent sends the log sooner while it is so. The reader puts it anew every 10 s;
 * the agent takes it as fresh when it has changed within 30 s of its own boot
 * clock, so no two clocks are compared. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* The reader's half; all zero at first. */
struct gpc_watching {
	char id[17];            /* random, chosen at the first put */
	int64_t n;
	int64_t put_ms;         /* boot clock of the last try; 0 = none */
	bool one;               /* only this rank's log is read */
	int rank;
};
/* Puts it when it is time to, where it is of use: a store that appends has each
 * byte at once. A failure costs only haste. */
void gpc_watching_renew(struct gpc_watching *w, struct gpc_store *s,
	const char *job);

/* The agent's half; all zero at first. */
struct gpc_watchers {
	uint64_t print;         /* of what was there; 0 = nothing */
	int64_t changed_ms;     /* boot clock; 0 = it never has */
	int64_t read_ms;        /* boot clock of the last look; 0 = none yet */
};
/* Looks when it is time to; whether somebody reads along with this rank. */
bool gpc_watchers_fresh(struct gpc_watchers *w, struct gpc_store *s,
	const char *job, int rank, int64_t now_ms);
