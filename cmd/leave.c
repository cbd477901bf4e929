/* See leave.h. */
#include "cmd/leave.h"

static bool below_threshold(const struct gpc_cmd *c, const struct gpc_plan *p)
{
	struct gpc_money above = gpc_config_money(&c->config,
		GPC_CONFIG_CONFIRM_ABOVE);

	return above.currency[0] && p->at_most.currency[0] &&
		gpc_eq(above.currency, p->at_most.currency) &&
		p->at_most.micros <= above.micros;
}

int gpc_leave_ask(struct gpc_cmd *c, const struct gpc_spec *spec,
	const struct gpc_plan *p, bool yes, struct gpc_error *err)
{
	int r;

	if (p->free || yes || below_threshold(c, p) ||
		gpc_provider_caps(p->offers.v[0].provider) & GPC_PROVIDER_FREE)
		return 0;
	if (gpc_can_ask(&c->talk)) {
		if (gpc_ask(&c->talk, "Buy this?"))
			return 0;
		return gpc_fail(err, GPC_ECANCELED, "nothing was bought");
	}
	if (spec->limits.cost.currency[0])
		return 0;
	r = gpc_fail(err, GPC_EUSAGE, "this job costs money, and there is "
		"no terminal to ask on");
	gpc_hint(err, "pass -y, or set a limit with --max-cost");
	return r;
}
