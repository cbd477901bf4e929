/* job.json never changes; what was asked for later stands in the journal and
 * counts instead. Every reader of limits passes through here. */
#include "record/update.h"

#include "model/spec_notify.h"

struct gpc_spec_limits gpc_update_limits(const struct gpc_spec *spec,
	const struct gpc_job_state *st)
{
	struct gpc_spec_limits l = spec->limits;

	if (st->cost_limit.currency[0])
		l.cost = st->cost_limit;
	if (st->time_limit_ms > 0)
		l.time_ms = st->time_limit_ms;
	return l;
}

void gpc_update_spec(struct gpc_spec *spec, const struct gpc_job_state *st)
{
	spec->limits = gpc_update_limits(spec, st);
}

int gpc_update_priority(const struct gpc_spec *spec,
	const struct gpc_job_state *st)
{
	return st->priority_n ? st->priority : gpc_spec_priority(spec);
}

int gpc_update_notify(const struct gpc_spec *spec,
	const struct gpc_job_state *st, struct gpc_spec_notify *ret_list,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *own = st->notify_n ? NULL :
		gpc_spec_notify_json(&spec->notify);

	if (st->notify_n && !st->notify)
		return 0;
	return gpc_spec_notify_read(st->notify_n ? st->notify : own, "notify",
		ret_list, err);
}
