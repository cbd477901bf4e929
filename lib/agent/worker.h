/* One task at a time beside the loop: restoring, saving, uploading. */
#pragma once
#include <stdbool.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/mem.h"

struct gpc_worker;
/* Runs in a thread; poll w's fd for its end. Tasks that can last heed cancel. */
typedef int gpc_work_fn(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err);

int gpc_worker_new(struct gpc_worker **ret_w, struct gpc_error *err)
	gpc_must_check;
int gpc_worker_fd(const struct gpc_worker *w);
bool gpc_worker_busy(const struct gpc_worker *w);
/* arg is borrowed until the task has been taken. One task at a time: else
 * GPC_ECONFLICT. One for which there is no thread ends at once, with that error. */
int gpc_worker_start(struct gpc_worker *w, gpc_work_fn *fn, void *arg,
	struct gpc_error *err) gpc_must_check;
/* True when the task has ended: its result and error are given out once. */
bool gpc_worker_take(struct gpc_worker *w, int *ret_r, struct gpc_error *err);
void gpc_worker_cancel(struct gpc_worker *w);
void gpc_worker_free(struct gpc_worker *w);    /* cancels and waits */
GPC_CLEANUP_POINTER(gpc_worker);

/* A thread that turns SIGCHLD (blocked everywhere) into bytes on a pipe, so
 * that poll wakes up. */
int gpc_child_watch(int *ret_fd, struct gpc_error *err) gpc_must_check;
/* Reads away what a watch fd or worker fd holds. */
void gpc_drain_fd(int fd);
