/* Ways from outside that `gpucloud ssh` had opened to a job's nodes, closed again once
 * the job is over: before its index entry moves, so that whoever comes next goes on with
 * it. What cannot be closed keeps no job open for ever: `release --orphans` finds it by
 * its tags. */
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"

enum { AGAIN_MS = 2000, PATIENCE_MS = 10 * 60 * 1000 };

/* Those of this job at one provider. */
static int close_at(struct gpc_supervision *sv, const char *provider,
	size_t *n_left, struct gpc_error *err)
{
	struct gpc_source *s = NULL;
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	int r = gpc_supervision_source(sv, provider, &s, err);

	if (r < 0 || !s->provider->ops->ways)
		return r;
	r = s->provider->ops->ways(s->provider, &found, err);
	gpc_vec_each(x, &found) {
		const char *id = x->id;

		if (r < 0 || !gpc_eq(gpc_pairs_get(&x->tags, "gpucloud-job"),
			sv->job.id))
			continue;
		(*n_left)++;            /* until a list does not show it */
		r = s->provider->ops->destroy(s->provider, &id, 1, err);
	}
	return r;
}

static int close_all(struct gpc_supervision *sv, size_t *n_left,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv done = {0};
	int r = 0;

	gpc_vec_each(n, &sv->journal.state.nodes) {
		if (r < 0 || gpc_strv_has(&done, n->provider))
			continue;
		gpc_strv_add(&done, n->provider);
		r = close_at(sv, n->provider, n_left, err);
	}
	return r;
}

bool gpc_supervision_close_ways(struct gpc_supervision *sv)
{
	int64_t now = gpc_boot_ms();
	struct gpc_error why = {0};
	size_t n_left = 0;
	int r;

	if (!sv->journal.state.opened || sv->ways_closed)
		return true;
	if (!sv->ways_since_ms)
		sv->ways_since_ms = now;
	if (now < sv->ways_ms)
		return false;
	sv->ways_ms = now + AGAIN_MS;
	r = close_all(sv, &n_left, &why);
	sv->ways_closed = r == 0 && n_left == 0;
	if (sv->ways_closed || (r != -GPC_EAUTH &&
		now - sv->ways_since_ms < PATIENCE_MS))
		return sv->ways_closed;
	gpc_log(sv->session->log, GPC_WARN, "%s: what was opened for ssh stays "
		"(%s): `gpucloud release --orphans` closes it", sv->job.id,
		r < 0 ? why.msg : "it is still in use");
	return sv->ways_closed = true;
}
