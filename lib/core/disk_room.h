/* The disk that a plan's nodes would come to lie on. */
#pragma once
#include "core/plan.h"
#include "core/session.h"

/* What is free there now, in bytes, for each of the plan's nodes: those of this machine
 * share its disk. 0: it is another machine's, or nobody can say. */
uint64_t gpc_disk_room(const struct gpc_session *s, const struct gpc_plan *plan);
