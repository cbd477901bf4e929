/* Asking again and again costs money where a service bills each question. What
 * has just changed will soon change again; what has been still for long may stay
 * so, and is asked for less and less often. */
#include "base/pace.h"

void gpc_pace_set(struct gpc_pace *p, int64_t least_ms, int64_t most_ms)
{
	p->least_ms = least_ms;
	p->most_ms = most_ms < least_ms ? least_ms : most_ms;
	if (p->pause_ms > p->most_ms)
		p->pause_ms = p->most_ms;
}

int64_t gpc_pace_next(struct gpc_pace *p, bool news)
{
	int64_t next = p->pause_ms + p->pause_ms / 2;

	if (news || p->pause_ms < p->least_ms)
		next = p->least_ms;
	p->pause_ms = next < p->most_ms ? next : p->most_ms;
	return p->pause_ms;
}
