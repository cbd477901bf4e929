/* The group that started this node (recovery.by: cloud), and what becomes of it. */
#pragma once
#include "agent/context.h"

/* The node's own provider, for what it shows of the group; NULL after close. */
int gpc_group_open(struct gpc_agent *a, struct gpc_error *err) gpc_must_check;
void gpc_group_close(struct gpc_agent *a);
/* A node as its provider shows it: found in a list that is asked for now. *ret_x is
 * borrowed from list; NULL: it is not shown. */
int gpc_group_look(struct gpc_agent *a, const char *id,
	struct gpc_instances *list, const struct gpc_instance **ret_x,
	struct gpc_error *err) gpc_must_check;

/* After the agent's work: ends the group with the job, so that no other node comes; else
 * lets it start the next one. Tries until the group takes it, which may be long: nothing
 * else is left to do, and the node's lifetime bounds it. */
void gpc_group_part(struct gpc_agent *a);
