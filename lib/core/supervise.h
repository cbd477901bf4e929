/* Moving jobs forward. One process per user, host and store does it (a lock
 * file decides); attached clients only make sure that it runs and look on. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/session.h"
#include "model/spec.h"
#include "record/journal.h"
#include "record/state.h"

/* --- one job (step.c) ---------------------------------------------------- */
struct gpc_supervision;
int gpc_supervision_new(struct gpc_session *s, const char *job,
	struct gpc_supervision **ret_sv, struct gpc_error *err) gpc_must_check;
void gpc_supervision_free(struct gpc_supervision *sv);
GPC_CLEANUP_POINTER(gpc_supervision);
/* Does what can be done now without waiting. *ret_done: ended and every node
 * released. *ret_wake_ms: when to come again at the latest. GPC_ENOTFOUND: the
 * job has been deleted from the store; its nodes are orphans now. */
int gpc_supervision_step(struct gpc_supervision *sv, bool *ret_done,
	int64_t *ret_wake_ms, struct gpc_error *err) gpc_must_check;
/* An ended job that is listed again, and for which it must show whether somebody
 * resumes it or its closing was cut short. Does not last. */
bool gpc_supervision_may_reopen(const struct gpc_supervision *sv);
const struct gpc_job_state *gpc_supervision_state(
	const struct gpc_supervision *sv);

/* For how long a supervisor may show no sign of life before another one takes
 * over, and from when on people are told of its silence. */
#define GPC_SUPERVISOR_STALE_MS 60000
#define GPC_SUPERVISOR_SILENT_MS 30000

/* --- all my jobs (supervise.c; started by background.c) -------------------- */
struct gpc_supervise_how {
	bool once;                    /* one round, in which it waits for jobs whose
	                               * supervisor is silent until it may take them
	                               * over */
	const char *machine;          /* the job that this process is the program of
	                               * (core/machine.h); NULL = none */
	void (*heeded)(void);         /* called when cancel has ended it: what it then
	                               * still tells the store is not cancelled; NULL */
};
/* Runs until the last unfinished job of this owner is done (that a machine can move,
 * on one), or cancel. Whoever ends lets its jobs go, so that another one need not wait
 * until they are stale. GPC_ECONFLICT when another process supervises here already;
 * one that is silent for too long is replaced. */
int gpc_supervise_run(struct gpc_session *s, const struct gpc_supervise_how *how,
	struct gpc_error *err) gpc_must_check;
/* Milliseconds for which the background supervisor of this user, host and store
 * has been silent, when people should be told; else 0. */
int64_t gpc_supervisor_silent_ms(struct gpc_session *s);
/* Starts the background supervisor unless one runs: a process of its own
 * session, talking to state_dir/supervise-<store>.log. One that is silent for
 * too long (stopped, stuck) is replaced. */
int gpc_supervisor_ensure(struct gpc_session *s, struct gpc_error *err)
	gpc_must_check;
/* Tells it that something was just written to the store that it should look at
 * at once; it looks seldom at a store that is not of this machine. Only haste is
 * lost where that fails. */
void gpc_supervisor_wake(struct gpc_session *s);
/* Who supervises this job, for people: "process 1234 on HOST" or "nobody: ...".
 * Owned. */
char *gpc_supervisor_describe(struct gpc_session *s, const char *job);
/* The record of who supervises a job, "" when there is none (owned), and the same
 * words of such a text. *ret_stale (may be NULL): nobody renews it any more, as far
 * as this can be seen at once. */
int gpc_supervisor_record(struct gpc_session *s, const char *job,
	char **ret_text, bool *ret_stale, struct gpc_error *err) gpc_must_check;
char *gpc_supervisor_words(struct gpc_session *s, const char *record);
/* The same as {alive, pid, user, host, job, text}: alive is null where only time can
 * tell, and false when there is none yet, whose other fields are null. Owned. */
struct gpc_json *gpc_supervisor_words_json(struct gpc_session *s,
	const char *record);
/* Wall clock: since when a job's supervisor shows no sign of life, as its record
 * and the store's clock tell; -1 when there is none or it is dead, 0 when it is
 * at work or nothing can be read. */
int64_t gpc_supervisor_silent_since(struct gpc_session *s, const char *job);
