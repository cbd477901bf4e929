/* What the index says of a job names its entry, JOB.ATTEMPT.END, so one that was
 * resumed since is another one. Lists show views of the last day. */
#include "core/view_cache.h"

#include "base/str.h"
#include "base/time.h"
#include "core/cost.h"
#include "core/kept.h"

#define KIND "done"
#define KEEP_MS ((int64_t)2 * 24 * 3600 * 1000)
#define VERSION 1

static int read_kept(struct gpc_session *s, const char *name,
	const char *id, struct gpc_view *ret_v)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	gpc_autoptr(gpc_json) *j = gpc_kept_get(s, KIND, name);

	if (gpc_json_get_int(j, "v", 0) != VERSION ||
		!gpc_kept_job(s, id, &v.job) ||
		gpc_job_state_read(gpc_json_get(j, "state"), &v.state,
			NULL) < 0)
		return -GPC_ENOTFOUND;
	v.spent = gpc_cost_spent(&v.state, gpc_wall_ms());
	v.rate = gpc_cost_rate(&v.state);
	v.ran_ms = v.state.ran_ms;
	v.note = gpc_strdup(v.state.detail);
	*ret_v = v;
	v = (struct gpc_view){0};
	return 0;
}

int gpc_view_load_done(struct gpc_session *s, const struct gpc_index_entry *x,
	struct gpc_view *ret_v, struct gpc_error *err)
{
	gpc_autostr *name = NULL;
	struct gpc_json *j;
	int r;

	if (x->live || !gpc_store_is_far(s->store))
		return gpc_view_load(s, x->job, ret_v, err);
	name = gpc_format("%s.%d.%lld", x->job, x->attempt,
		(long long)x->end_ms);
	if (read_kept(s, name, x->job, ret_v) == 0)
		return 0;
	r = gpc_view_load(s, x->job, ret_v, err);
	if (r < 0 || !gpc_view_is_over(ret_v) ||
		ret_v->state.ended_ms != x->end_ms)
		return r;
	j = gpc_json_object();
	gpc_json_set_int(j, "v", VERSION);
	gpc_json_set(j, "state", gpc_job_state_write(&ret_v->state));
	gpc_kept_put(s, KIND, name, j, KEEP_MS);
	return 0;
}
