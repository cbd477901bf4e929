/* Giving machines back for sure. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/money.h"
#include "core/session.h"
#include "model/node.h"

/* A node that some provider shows with this store's tag. */
struct gpc_held {
	char *provider, *id, *job, *owner;   /* from its tags */
	int64_t created_ms, expires_ms;
	struct gpc_money rate;        /* per hour, as its job's journal says */
	int64_t silent_ms;            /* gpc_held_look: wall clock since when its
	                               * job's supervisor is silent; -1 = nobody
	                               * supervises, 0 = not, or not known */
	bool orphan;                  /* no live job needs it */
	bool draining;                /* its job has ended; a supervisor drains it */
	bool foreign;                 /* another owner's */
	bool way;                     /* no node, but a way to some (provider.h) */
	char *why;                    /* why it is an orphan */
};
struct gpc_held_list { struct gpc_held *v; size_t n, cap; };
void gpc_held_clear(struct gpc_held_list *l);
/* Everything of this store, from tags alone; with the journal when the store
 * can be read. A failure leaves in ret_l what was found all the same: one provider or
 * region that does not answer keeps nobody from the others. thorough: what costs more requests to find, too (provider.h). */
int gpc_held_find(struct gpc_session *s, bool thorough,
	struct gpc_held_list *ret_l, struct gpc_error *err) gpc_must_check;
/* Adds what the journals hold of jobs that have ended (by what their agents say,
 * at least) and no provider shows: paid for until somebody records that it is
 * gone. */
int gpc_held_add_ended(struct gpc_session *s, struct gpc_held_list *l,
	struct gpc_error *err) gpc_must_check;
/* For people: whether the jobs of nodes that seem needed have ended by what their
 * agents say (orphan and draining then, though no supervisor wrote it down yet),
 * and who keeps the nodes of ended jobs from being given back. */
void gpc_held_look(struct gpc_session *s, struct gpc_held_list *l);
/* Ends one and waits until its provider confirms absence. */
int gpc_held_release(struct gpc_session *s, const struct gpc_held *h,
	int64_t timeout_ms, struct gpc_error *err) gpc_must_check;
/* The same of all of these, those of one provider at a time by one call of it. Says
 * of each whether it is left, or may be; with the first error. */
int gpc_held_release_all(struct gpc_session *s, const struct gpc_held *const *h,
	size_t n, int64_t timeout_ms, bool *ret_left,
	struct gpc_error *err) gpc_must_check;
/* Ends what providers made beside nodes of this store and no node uses any more.
 * *ret_n: how much that was. */
int gpc_held_tidy(struct gpc_session *s, size_t *ret_n,
	struct gpc_error *err) gpc_must_check;
/* Waits until no node of the job is left; GPC_ETIMEOUT names what is. Keeps a
 * supervisor running meanwhile. The other one does not wait for nodes that are kept
 * after a failure, nor (now) for what they still save: it asks them to go. */
int gpc_release_finish(struct gpc_session *s, const char *job, bool now,
	int64_t timeout_ms, struct gpc_error *err) gpc_must_check;
int gpc_release_wait(struct gpc_session *s, const char *job,
	int64_t timeout_ms, struct gpc_error *err) gpc_must_check;
