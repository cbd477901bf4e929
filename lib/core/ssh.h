/* `gpucloud ssh`, the client's half: a key of this user, a way to the node, and the
 * entry by which the system's ssh takes it. */
#pragma once
#include "core/session.h"

struct gpc_ssh_ask {
	int rank;
	const char *from;            /* who may reach it, where something guards it: an
	                              * address or CIDR; NULL: this machine, as seen
	                              * from outside */
};
struct gpc_ssh_way {
	char *alias;                 /* what ssh is told, by config */
	char *config;                /* path of the file with its entry */
};
/* Asks the node's agent for a server, waits until it listens, opens the way to it, pins
 * its host key, and writes the entry. Says what it waits for in the session's log.
 * GPC_ECONFLICT: the job has no node and gets none any more, or the node shows another
 * host key than before. */
int gpc_ssh_open(struct gpc_session *s, const char *job,
	const struct gpc_ssh_ask *ask, struct gpc_ssh_way *ret_way,
	struct gpc_error *err) gpc_must_check;
void gpc_ssh_way_clear(struct gpc_ssh_way *w);
GPC_CLEANUP_VALUE(gpc_ssh_way);
/* Removes what there is here for the jobs of this store that are over. Trouble is only
 * said: the next call finds them again. */
void gpc_ssh_tidy(struct gpc_session *s);
/* The same for one job that is over. */
void gpc_ssh_forget(struct gpc_session *s, const char *job);
