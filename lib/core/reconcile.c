/* Comparing the providers with the journals. Nodes of jobs that have ended are
 * left to the supervisor of their job, which drains them. */
#include "core/reconcile.h"

#include "core/release.h"

#define RELEASE_MS 10000

int gpc_reconcile(struct gpc_session *s, int *ret_n, struct gpc_error *err)
{
	struct gpc_held_list l = {0};
	int n = 0;
	int r = gpc_held_find(s, false, &l, err);

	for (size_t i = 0; r == 0 && i < l.n; i++) {
		const struct gpc_held *h = &l.v[i];

		if (!h->orphan || h->foreign || h->draining)
			continue;
		gpc_log(s->log, GPC_INFO, "ends orphan %s %s: %s", h->provider,
			h->id, h->why);
		r = gpc_held_release(s, h, RELEASE_MS, err);
		n += r == 0;
	}
	gpc_held_clear(&l);
	*ret_n = n;
	return r;
}
