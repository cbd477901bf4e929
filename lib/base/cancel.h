/* A request to stop that library code may poll: signal handlers only set it. */
#pragma once
#include <signal.h>
#include <stdbool.h>

struct gpc_cancel { volatile sig_atomic_t signal; };   /* 0, or the signal's number */

static inline bool gpc_canceled(const struct gpc_cancel *c)
{
	return c && c->signal;
}
