/* A few threads that take tasks in order from a short queue: reading, hashing,
 * compressing and sending overlap, and memory does not grow with the work. The
 * first error ends it all. */
#pragma once
#include "base/err.h"
#include "base/mem.h"

/* worker: 0 .. threads - 1, never two calls at once for the same one. */
typedef int gpc_pool_fn(void *arg, unsigned worker, void *task,
	struct gpc_error *err);

struct gpc_pool_options {
	unsigned threads;
	gpc_pool_fn *run;           /* owns task, whatever it returns */
	void (*drop)(void *task);   /* frees a task that will not run; or NULL */
	void (*tick)(void *arg);    /* in the calling thread, ten times a second
	                             * while it waits; or NULL */
	void *arg;
};
struct gpc_pool;                    /* opaque */

/* 0 = a number that suits this machine; other numbers are kept in bounds. */
unsigned gpc_pool_threads(unsigned asked);
int gpc_pool_open(const struct gpc_pool_options *o, struct gpc_pool **ret_p,
	struct gpc_error *err) gpc_must_check;
/* Takes the task; waits while the queue is full. Returns the error of a task
 * that failed before. */
int gpc_pool_add(struct gpc_pool *p, void *task, struct gpc_error *err)
	gpc_must_check;
/* Waits until every task has run, or one failed. */
int gpc_pool_finish(struct gpc_pool *p, struct gpc_error *err) gpc_must_check;
/* Drops what is queued and waits for what is running. */
void gpc_pool_free(struct gpc_pool *p);
GPC_CLEANUP_POINTER(gpc_pool);
