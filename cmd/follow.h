/* Looking on while a job runs: its states, its output, its end.
 *
 * Nothing here moves the job: a background supervisor does, and following only
 * makes sure that there is one. So stopping to look on never costs a byte.
 */
#pragma once
#include "cmd/command.h"
#include "core/session.h"
#include "core/view.h"
#include "record/tether.h"

struct gpc_follow_options {
	bool log;               /* pass the job's stdout and stderr on */
	bool json;              /* JSON lines on stdout, for everything */
	bool name_lines;        /* several jobs: name the job in each line */
	bool until_runs;        /* no longer than until the job is RUNNING */
	bool fresh;             /* just submitted or resumed: tell every state */
	int from_attempt;       /* log of this and later attempts; 0 = all */
	int64_t after_event;    /* states after this event */
	struct gpc_tether *tether;      /* renewed meanwhile; NULL = none */
};
struct gpc_follow;              /* opaque */

int gpc_follow_new(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	const struct gpc_follow_options *options, struct gpc_follow **ret_f,
	struct gpc_error *err) gpc_must_check;
void gpc_follow_free(struct gpc_follow *f);
GPC_CLEANUP_POINTER(gpc_follow);

/* Tells and passes on all that is there now. *ret_ended: the job has ended and
 * every byte of its log was passed on. */
int gpc_follow_step(struct gpc_follow *f, bool *ret_ended,
	struct gpc_error *err) gpc_must_check;
/* Sleeps until there may be more: at most 80 ms, and on a store where each look is
 * billed up to 5 s when nothing comes. A signal ends it. */
void gpc_follow_pause(struct gpc_follow *f);
/* Steps until the end: GPC_ECANCELED on a signal, GPC_ETIMEOUT after timeout_ms
 * (0 = never). */
int gpc_follow_run(struct gpc_follow *f, int64_t timeout_ms,
	struct gpc_error *err) gpc_must_check;
/* After the end: waits until every node is released, 60 s at most, and warns
 * when one is left. A signal ends the waiting. */
void gpc_follow_release(struct gpc_follow *f);
/* Says how it ended, the reason word last; the exit status of attached submit
 * and of wait. */
int gpc_follow_end(struct gpc_follow *f);
/* "gpucloud: JOB TEXT", on a line of its own. */
void gpc_follow_tell(struct gpc_follow *f, const char *text);
/* Says that the job runs on without us, and how to go on. */
void gpc_follow_detach(struct gpc_follow *f);
const struct gpc_view *gpc_follow_view(const struct gpc_follow *f);
