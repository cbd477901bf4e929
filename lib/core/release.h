/* Giving machines back for sure. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/session.h"
#include "model/node.h"

/* A node that some provider shows with this store's tag. */
struct gpc_held {
	char *provider, *id, *job, *owner;   /* from its tags */
	int64_t created_ms, expires_ms;
	bool orphan;                  /* no live job needs it */
	bool draining;                /* its job has ended; a supervisor drains it */
	bool foreign;                 /* another owner's */
	char *why;                    /* why it is an orphan */
};
struct gpc_held_list { struct gpc_held *v; size_t n, cap; };
void gpc_held_clear(struct gpc_held_list *l);
/* Everything of this store, from tags alone; with the journal when the store
 * can be read. */
int gpc_held_find(struct gpc_session *s, struct gpc_held_list *ret_l,
	struct gpc_error *err) gpc_must_check;
/* Ends one and waits until its provider confirms absence. */
int gpc_held_release(struct gpc_session *s, const struct gpc_held *h,
	int64_t timeout_ms, struct gpc_error *err) gpc_must_check;
/* Waits until no node of the job is left; GPC_ETIMEOUT names what is. Keeps a
 * supervisor running meanwhile. */
int gpc_release_wait(struct gpc_session *s, const char *job,
	int64_t timeout_ms, struct gpc_error *err) gpc_must_check;
