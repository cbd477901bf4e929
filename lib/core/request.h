/* What clients ask of a job, as events: each decides anew when somebody else
 * wrote first. GPC_ECONFLICT (with the reason) when the job's state forbids it. */
#pragma once
#include "base/map.h"
#include "core/session.h"
#include "core/view.h"

/* Gives up what limits.keep_on_failure keeps of a job: nothing, before its end is in
 * the journal or when that was asked already. */
int gpc_request_leave(struct gpc_session *s, const char *job, bool now,
	struct gpc_error *err) gpc_must_check;
/* Ended already, in the journal or by what its nodes have written: *ret_ended =
 * true and success. */
int gpc_request_cancel(struct gpc_session *s, const char *job, bool now,
	bool *ret_ended, struct gpc_error *err) gpc_must_check;
/* *ret_event: number of the event, to wait for its checkpoint. */
int gpc_request_save(struct gpc_session *s, const char *job, const char *label,
	int64_t *ret_event, struct gpc_error *err) gpc_must_check;
/* name: "TERM", "SIGUSR1", "interrupt"; rank < 0 = all. */
int gpc_request_signal(struct gpc_session *s, const char *job, const char *name,
	int rank, struct gpc_error *err) gpc_must_check;
/* The node of this rank is to let the holder of this public key in (model/ssh.h), also
 * when the job has ended and the node is still there. opens: with that a way to it may
 * be made at its provider, which is looked for once the job's last node is gone. */
int gpc_request_ssh(struct gpc_session *s, const char *job, int rank,
	const char *key, bool opens, struct gpc_error *err) gpc_must_check;
/* Lists a job that has not ended, or still holds nodes, for the supervisors once
 * more: its entry may have gone with an end that the journal has lost. */
void gpc_request_attention(struct gpc_session *s, const struct gpc_view *v);
/* Puts secrets again if the job has any (values: name -> value, may be NULL). */
int gpc_request_resume(struct gpc_session *s, const char *job,
	const char *checkpoint, const struct gpc_pairs *secrets,
	struct gpc_error *err) gpc_must_check;
