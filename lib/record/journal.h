/* The journal of one job: events numbered from 1, each created if-absent, each
 * carrying the folded state after it, so that the newest one suffices.
 *
 * Appending: the caller decides from j->state; gpc_journal_append puts its
 * event at the next number. GPC_ECONFLICT = somebody else was first: j has
 * been brought up to date, and the caller must decide again (a stale decision
 * never moves to the next number). An unclear answer is settled inside by
 * repeating the same bytes under the same number and comparing ids, until
 * `settle_ms` is over; then the error is returned and j->unsettled is set: the
 * event may exist, and the next refresh tells.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "dep/json.h"
#include "model/event.h"
#include "store/store.h"

struct gpc_journal {
	struct gpc_store *store;    /* borrowed */
	char *job;
	char *by;                   /* who writes, in each event */
	struct gpc_job_state state; /* after event number state.n; n = 0: empty */
	int64_t settle_ms;          /* default 60,000 */
	bool unsettled;
	bool read_only;             /* a newer gpucloud wrote here */
};
/* Does not touch the store. */
void gpc_journal_init(struct gpc_journal *j, struct gpc_store *s,
	const char *job, const char *by);
void gpc_journal_clear(struct gpc_journal *j);
GPC_CLEANUP_VALUE(gpc_journal);
/* Brings j->state to the newest event, from the head hint on. *ret_changed may
 * be NULL. GPC_ENOTFOUND when there is no event at all; a corrupt event is
 * GPC_EPROTO naming its key. */
int gpc_journal_refresh(struct gpc_journal *j, bool *ret_changed,
	struct gpc_error *err) gpc_must_check;
/* Takes ownership of data (an object; may be NULL), whatever the result. */
int gpc_journal_append(struct gpc_journal *j, enum gpc_event_type type,
	struct gpc_json *data, struct gpc_error *err) gpc_must_check;
/* True when the event after j->state.n is still absent (a guard before a
 * create or delete). */
int gpc_journal_is_current(struct gpc_journal *j, bool *ret_current,
	struct gpc_error *err) gpc_must_check;
/* Events after number `after` in order; non-zero from fn ends it. What a newer
 * gpucloud wrote is passed over, with a warning to the store's log. */
typedef int gpc_event_fn(void *arg, const struct gpc_event *e);
int gpc_journal_read(struct gpc_store *s, const char *job, int64_t after,
	gpc_event_fn *fn, void *arg, struct gpc_error *err) gpc_must_check;
/* Replays all events through gpc_state_apply and compares each fold with the
 * stored one: GPC_EPROTO names the first that differs. */
int gpc_journal_verify(struct gpc_store *s, const char *job,
	struct gpc_error *err) gpc_must_check;
