/* See notify_json.h. `text` alone is what chats show (Slack, Mattermost and others
 * read that member), all else is for programs. */
#include "core/notify_json.h"

#include "base/str.h"
#include "base/time.h"
#include "core/cost.h"

static const char *name_of(const struct gpc_supervision *sv)
{
	return sv->job.original_name ? sv->job.original_name : sv->job.name;
}

static char *text_of(const struct gpc_supervision *sv,
	const struct gpc_event *e, const char *reason, struct gpc_money spent)
{
	const char *state = gpc_job_status_to_str(e->state.status);
	char money[GPC_MONEY_SIZE];
	const char *name = name_of(sv), *id = sv->job.id;
	int attempt = e->state.attempt;

	switch (e->type) {
	case GPC_EVENT_PHASE:
		return gpc_format("%s (%s) has begun, attempt %d", name, id,
			attempt);
	case GPC_EVENT_CHECKPOINT:
		return gpc_format("%s (%s) has saved checkpoint %s", name, id,
			e->state.checkpoint ? e->state.checkpoint : "");
	case GPC_EVENT_LOST:
		return gpc_format("%s (%s) was interrupted (%s) in attempt %d "
			"and goes on", name, id, reason, attempt);
	default:
		return gpc_format("%s (%s) has ended: %s, %s, attempt %d, cost "
			"%s", name, id, state, reason, attempt,
			gpc_money_format(spent, money));
	}
}

static struct gpc_json *money_json(struct gpc_money m)
{
	struct gpc_json *o = gpc_json_object();
	char text[GPC_MONEY_SIZE];

	gpc_json_set_str(o, "amount", gpc_money_decimal(m, text));
	gpc_json_set_str(o, "currency", m.currency[0] ? m.currency : "USD");
	return o;
}

char *gpc_notice_json(const struct gpc_supervision *sv,
	const struct gpc_event *e, const char *word, const char *reason)
{
	const struct gpc_job_state *st = &e->state;
	struct gpc_money spent = gpc_cost_spent(st, gpc_wall_ms());
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *text = text_of(sv, e, reason, spent);
	char at[GPC_RFC3339_SIZE];

	gpc_json_set_str(j, "schema", "gpucloud.notice/1");
	gpc_json_set_str(j, "text", text);
	gpc_json_set_str(j, "id", sv->job.id);
	gpc_json_set_str(j, "name", name_of(sv));
	gpc_json_set_str(j, "event", word);
	gpc_json_set_int(j, "event_n", e->n);
	gpc_json_set_str(j, "at", gpc_format_rfc3339(e->at_ms, at));
	gpc_json_set_str(j, "state", gpc_job_status_to_str(st->status));
	gpc_json_set_str(j, "reason", reason);
	gpc_json_set_int(j, "exit_code", st->code);
	gpc_json_set_int(j, "attempt", st->attempt);
	if (st->checkpoint)
		gpc_json_set_str(j, "checkpoint", st->checkpoint);
	gpc_json_set(j, "cost", money_json(spent));
	gpc_json_set_str(j, "store", sv->session->store->url);
	return gpc_json_print(j);
}
