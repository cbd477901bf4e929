/* What agents wrote below their ranks, read back. */
#pragma once
#include <stdbool.h>

#include "model/node.h"
#include "store/store.h"

/* Absent objects are no error, nor are damaged ones: *ret_found says. */
int gpc_facts_beat(struct gpc_store *s, const char *job, int attempt, int rank,
	struct gpc_beat *ret_b, bool *ret_found, struct gpc_error *err)
	gpc_must_check;
/* How old a rank's newest beat is, by the store's own clocks; GPC_ENOTFOUND without
 * one, or where the store does not say. */
int gpc_facts_beat_age(struct gpc_store *s, const char *job, int attempt, int rank,
	int64_t *ret_ms, struct gpc_error *err) gpc_must_check;
int gpc_facts_has_exit(struct gpc_store *s, const char *job, int attempt,
	int rank, bool *ret_has, struct gpc_error *err) gpc_must_check;
/* How an attempt ended, if it has: its verdict, else every rank's exit, of
 * which the first failing one counts. partial: a failing exit suffices though
 * other ranks said nothing (their nodes are gone), and a damaged exit is the
 * failure of its agent. Else a damaged object counts as not there yet, since its
 * agent will replace it; with *ret_found false, ret_x->detail may then tell of
 * it. Clear ret_x in any case. */
int gpc_facts_outcome(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, bool partial, struct gpc_exit *ret_x, bool *ret_found,
	struct gpc_error *err) gpc_must_check;
/* Id of the newest complete checkpoint of attempts up to this one; NULL when
 * there is none. Owned. */
int gpc_facts_newest_checkpoint(struct gpc_store *s, const char *job,
	int attempt, char **ret_id, struct gpc_error *err) gpc_must_check;
