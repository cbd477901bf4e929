/* The birth of a node that a group has started. */
#pragma once
#include "agent/context.h"

/* Finds or makes this node's place: when nobody supervises, it writes down itself how
 * the attempt before it ended, the next attempt, and that it is its node. Fills attempt,
 * rank, seen_n and state; the store is open. Any failure means: end at once; a->parting
 * then says what becomes of the group. */
int gpc_claim_rank(struct gpc_agent *a, int64_t until_ms, struct gpc_error *err)
	gpc_must_check;
