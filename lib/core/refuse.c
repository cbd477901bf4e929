/* What cannot be had: which offers are passed over until the next round, what of it
 * is remembered for people, and machines that died before they ever ran, which are no
 * lost nodes but offers that could not be had. */
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "core/plan.h"
#include "core/supervision.h"

#define KEY "key"               /* of a node in `created`: its offer's */
#define LIMIT "limit"

static void pass_over(struct gpc_supervision *sv, const char *key,
	const char *limit, enum gpc_code code, const char *why)
{
	if (!sv->wait_since_ms)
		sv->wait_since_ms = gpc_boot_ms();
	gpc_pairs_set(&sv->refused, key, why);
	/* Other zones and types would be refused for the same limit, or lack. */
	if ((code == GPC_EQUOTA || code == GPC_ENOTFOUND) && limit)
		gpc_pairs_set(&sv->refused, limit, why);
	/* What a region lacks is why the job ends only where nothing may come yet. */
	if (code != GPC_ENOTFOUND || !sv->may_wait)
		sv->refused_code = code;
	gpc_log(sv->session->log, GPC_INFO, "%s: %s cannot be had: %s",
		sv->job.id, key, why);
}

void gpc_supervision_refuse(struct gpc_supervision *sv,
	const struct gpc_offer *o, const struct gpc_error *why)
{
	gpc_autostr *key = gpc_plan_offer_key(o);
	gpc_autostr *limit = why->code == GPC_ENOTFOUND ? gpc_plan_region_key(o) :
		gpc_plan_limit_key(o);
	gpc_autostr *said = gpc_error_words(why);
	gpc_autostr *text = gpc_format("%s%s%s%s", said,
		why->hint[0] ? " (" : "", why->hint, why->hint[0] ? ")" : "");

	pass_over(sv, key, limit, why->code, text);
	if (why->retry_after_ms != GPC_NEVER_MS && why->code != GPC_ENOTFOUND)
		sv->may_wait = true;
}

void gpc_supervision_name_offer(const struct gpc_offer *o, struct gpc_json *to)
{
	gpc_autostr *key = gpc_plan_offer_key(o);
	gpc_autostr *limit = gpc_plan_limit_key(o);

	gpc_json_set_str(to, KEY, key);
	gpc_json_set_str(to, LIMIT, limit);
}

static int end_at_once(struct gpc_supervision *sv, const struct gpc_node *n,
	const struct gpc_instance *x, bool *progressed, struct gpc_error *err)
{
	gpc_supervision_note(sv, "rank %d: its machine died before it ran: %s",
		n->rank, x->why ? x->why : gpc_code_to_str(x->never_ran));
	return gpc_supervision_end(sv, x->never_ran == GPC_EAUTH ?
		GPC_REASON_AUTH : GPC_REASON_SPEC_INVALID, 0, 0, n->rank,
		progressed, err);
}

int gpc_supervision_stillborn(struct gpc_supervision *sv,
	const struct gpc_node *n, const struct gpc_instance *x,
	bool *progressed, struct gpc_error *err)
{
	const char *key = gpc_json_get_str(n->rest, KEY);
	gpc_autostr *why = gpc_format("its machine died before it ran: %s",
		x->why ? x->why : gpc_code_to_str(x->never_ran));
	struct gpc_json *data;

	if (x->never_ran == GPC_EAUTH || x->never_ran == GPC_ECONFIG)
		return end_at_once(sv, n, x, progressed, err);
	if (key)
		pass_over(sv, key, gpc_json_get_str(n->rest, LIMIT),
			x->never_ran, why);
	sv->may_wait = true;
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", sv->journal.state.attempt);
	gpc_json_set_int(data, "rank", n->rank);
	gpc_json_set_str(data, "reason", gpc_reason_to_str(x->never_ran ==
		GPC_EQUOTA ? GPC_REASON_QUOTA : GPC_REASON_NO_CAPACITY));
	gpc_json_set_str(data, "offer", key);
	gpc_json_set_str(data, "detail", why);
	gpc_supervision_note(sv, "attempt %d: %s", sv->journal.state.attempt,
		why);
	return gpc_supervision_append(sv, GPC_EVENT_LOST, data, progressed, err);
}
