/* Comparing the providers with the journals. Nodes of jobs that have ended are
 * left to the supervisor of their job, which drains them. */
#include "core/reconcile.h"

#include "core/release.h"

#define RELEASE_MS 10000

int gpc_reconcile(struct gpc_session *s, int *ret_n, struct gpc_error *err)
{
	struct gpc_held_list l = {0};
	const struct gpc_held **go = NULL;
	bool *left = NULL;
	size_t n = 0;
	int r = gpc_held_find(s, false, &l, err), q;

	go = gpc_array(l.n + 1, sizeof(const struct gpc_held *));
	left = gpc_array(l.n + 1, sizeof(*left));
	gpc_vec_each(h, &l) {
		if (!h->orphan || h->foreign || h->draining)
			continue;
		gpc_log(s->log, GPC_INFO, "ends orphan %s %s: %s", h->provider,
			h->id, h->why);
		go[n++] = h;
	}
	q = gpc_held_release_all(s, go, n, RELEASE_MS, left, r == 0 ? err : NULL);
	r = r < 0 ? r : q;
	*ret_n = 0;
	for (size_t i = 0; i < n; i++)
		*ret_n += !left[i];
	free(go);
	free(left);
	gpc_held_clear(&l);
	return r;
}
