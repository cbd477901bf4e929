/* jobs/JOB/tether: {v, id, n, within_ms}, a sign of life of the client that a
 * job is tethered to. The client puts it anew again and again; agent and
 * supervisor end the job when it has not changed for within_ms. Whether it
 * changed is judged by the watcher's own boot clock, so no two clocks are
 * compared. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

/* The client's half. */
struct gpc_tether {
	int64_t within_ms;      /* 0 = not tethered */
	char id[17];            /* random, chosen at the first put */
	int64_t n;
	int64_t put_ms;         /* boot clock; 0 = not yet */
};
int gpc_tether_put(struct gpc_tether *t, struct gpc_store *s, const char *job,
	struct gpc_error *err) gpc_must_check;
/* Puts it when the last put is so old that it should be; a failure is tried
 * again at the next call. */
void gpc_tether_renew(struct gpc_tether *t, struct gpc_store *s,
	const char *job);
/* The job goes on without a client. */
int gpc_tether_cut(struct gpc_store *s, const char *job, struct gpc_error *err)
	gpc_must_check;

/* How long the client of a job may be silent; 0 where there is no tether, or it
 * cannot be read. */
int64_t gpc_tether_within_ms(struct gpc_store *s, const char *job);

/* The watchers' half; all zero at first. */
struct gpc_tether_watch {
	char id[17];
	int64_t n;
	int64_t within_ms;      /* as last read; 0 = there is no tether */
	int64_t changed_ms;     /* boot clock */
	int64_t read_ms;        /* boot clock of the last look; 0 = none yet */
};
/* Looks when it is time to; true when the client has been silent too long. A
 * store that cannot be read says nothing about the client, nor does a time in
 * which we did not look ourselves. */
bool gpc_tether_silent(struct gpc_tether_watch *w, struct gpc_store *s,
	const char *job, int64_t now_ms);
