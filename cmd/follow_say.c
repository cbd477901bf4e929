/* What happens to a job, in words. Few lines by default: whoever looks on wants
 * the job's own output, and ours only where something changes for them.
 */
#include "cmd/follow_say.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/phrase.h"

/* --- events ---------------------------------------------------------------- */
static const struct gpc_try *last_try(const struct gpc_job_state *st)
{
	return st->tries.n ? &st->tries.v[st->tries.n - 1] : NULL;
}

static char *attempt_text(const struct gpc_event *e)
{
	const struct gpc_job_state *st = &e->state;
	const struct gpc_try *t = last_try(st);

	if (st->attempt <= 1 && !(t && t->resume_from))
		return NULL;
	gpc_autostr *passed = gpc_phrase_passed_over(t);
	return gpc_format("attempt %d, %s%s%s%s", st->attempt,
		t && t->resume_from ? "from checkpoint " : "from the start",
		t && t->resume_from ? t->resume_from : "",
		passed ? "; " : "", passed ? passed : "");
}

/* Nothing, when the intent was given up for another reason. */
static char *refusal_text(const struct gpc_event *e)
{
	const char *offer = gpc_json_get_str(e->data, "offer");
	const char *why = gpc_json_get_str(e->data, "detail");

	return offer ? gpc_format("%s cannot be had: %s", offer,
		why ? why : "nobody says why") : NULL;
}

/* What was passed over before it, or nothing. */
static char *intent_text(const struct gpc_event *e)
{
	gpc_auto(gpc_strv) struct gpc_strv lines = {0};
	const struct gpc_json *j = gpc_json_first(gpc_json_get(e->data, "passed"));

	for (; j; j = gpc_json_next(j)) {
		const char *offer = gpc_json_get_str(j, "offer");
		const char *why = gpc_json_get_str(j, "why");

		gpc_strv_addf(&lines, "%s cannot be had: %s", offer ? offer : "?",
			why ? why : "nobody says why");
	}
	return lines.n ? gpc_strv_join(&lines, "\n") : NULL;
}

static char *lost_text(const struct gpc_event *e)
{
	const char *word = gpc_json_get_str(e->data, "reason");
	int64_t rank = gpc_json_get_int(e->data, "rank", -1);
	int64_t code = gpc_json_get_int(e->data, "code", 0);
	int64_t signal = gpc_json_get_int(e->data, "signal", 0);
	enum gpc_reason reason = GPC_REASON_NONE;

	for (int i = 1; word && i < GPC_REASON__COUNT; i++) {
		if (gpc_eq(word, gpc_reason_names[i]))
			reason = (enum gpc_reason)i;
	}
	const char *offer = gpc_json_get_str(e->data, "offer");
	gpc_autostr *why = offer ? refusal_text(e) : gpc_phrase_reason(reason, (int)code, (int)signal,
		(int)rank, e->state.num_nodes);
	return gpc_format("attempt %d is over: %s",
		(int)gpc_json_get_int(e->data, "attempt", e->state.attempt),
		reason ? why : word ? word : "lost");
}

static char *update_text(const struct gpc_event *e)
{
	const struct gpc_job_state *st = &e->state;
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	gpc_autostr *cost = gpc_phrase_money(st->cost_limit);
	gpc_autostr *time = gpc_phrase_duration(st->time_limit_ms);
	gpc_autostr *list = NULL;

	if (st->cost_limit_n == e->n)
		gpc_strv_addf(&words, "cost %s", cost);
	if (st->time_limit_n == e->n)
		gpc_strv_addf(&words, "time %s", time);
	list = gpc_strv_join(&words, ", ");
	return gpc_format("%s set its limits: %s", e->by ? e->by : "somebody",
		list);
}

static char *released_text(const struct gpc_event *e)
{
	const char *id = gpc_json_get_str(e->data, "id");
	const struct gpc_json *x = gpc_json_first(gpc_json_get(e->data, "also"));
	size_t n = 0;

	for (; x; x = gpc_json_next(x))
		n++;
	return n ? gpc_format("node %s is released, and %zu more",
		id ? id : "?", n) :
		gpc_format("node %s is released", id ? id : "?");
}

static char *detail(const struct gpc_event *e, bool verbose)
{
	const char *text;

	switch (e->type) {
	case GPC_EVENT_ATTEMPT:
		return attempt_text(e);
	case GPC_EVENT_LOST:
		return lost_text(e);
	case GPC_EVENT_VOID:
		return refusal_text(e);
	case GPC_EVENT_INTENT:
		text = gpc_event_type_names[e->type];
		return e->data && gpc_json_get(e->data, "passed") ? intent_text(e) :
			verbose ? gpc_strdup(text) : NULL;
	case GPC_EVENT_CANCEL:
		return gpc_format("cancel was asked for by %s",
			e->by ? e->by : "somebody");
	case GPC_EVENT_UPDATE:
		return update_text(e);
	case GPC_EVENT_RESUME:
		return gpc_strdup("resumed");
	case GPC_EVENT_CHECKPOINT:
		text = gpc_json_get_str(e->data, "checkpoint");
		return verbose ? gpc_format("checkpoint %s is saved",
			text ? text : "?") : NULL;
	case GPC_EVENT_SUPERVISOR:
		return verbose && e->by ? gpc_format("supervised by %s", e->by)
			: NULL;
	case GPC_EVENT_RELEASED:
		return verbose ? released_text(e) : NULL;
	default:
		return verbose ? gpc_strdup(gpc_event_type_names[e->type]) :
			NULL;
	}
}

/* An attempt's end is told by its own event, a job's by gpc_follow_end. */
static bool tells_status(const struct gpc_event *e, enum gpc_job_status before)
{
	return e->state.status != before &&
		!gpc_job_status_is_end(e->state.status);
}

char *gpc_follow_event_text(const struct gpc_event *e,
	enum gpc_job_status before, bool verbose)
{
	gpc_autostr *more = detail(e, verbose);
	const char *word = gpc_job_status_to_str(e->state.status);

	if (!tells_status(e, before))
		return gpc_steal(&more);
	return gpc_format("%s%s%s", word, more ? ": " : "", more ? more : "");
}

struct gpc_json *gpc_follow_event_json(const char *job,
	const struct gpc_event *e)
{
	const struct gpc_job_state *st = &e->state;
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "type", "state");
	gpc_json_set_str(j, "job", job);
	gpc_json_set_int(j, "n", e->n);
	gpc_json_set(j, "at", gpc_phrase_time_json(e->at_ms));
	gpc_json_set_str(j, "event", gpc_event_type_names[e->type]);
	gpc_json_set_str(j, "state", gpc_job_status_to_str(st->status));
	gpc_json_set_int(j, "attempt", st->attempt);
	gpc_json_set(j, "reason", st->reason == GPC_REASON_NONE ?
		gpc_json_null() : gpc_json_string(gpc_reason_to_str(st->reason)));
	gpc_json_set(j, "checkpoint", gpc_json_string(st->checkpoint));
	if (e->type == GPC_EVENT_ATTEMPT && last_try(st))
		gpc_json_set(j, "passed_over", gpc_json_strings(&last_try(st)->damaged));
	return j;
}

/* --- the end --------------------------------------------------------------- */
char *gpc_follow_end_text(const struct gpc_view *v)
{
	gpc_autostr *state = gpc_phrase_state(&v->state);
	gpc_autostr *ran = gpc_phrase_duration(v->ran_ms);
	gpc_autostr *cost = gpc_phrase_money(v->spent);
	bool again = v->state.attempt > 1;

	if (again)
		return gpc_format("%s (ran %s in %d attempts, cost %s)", state,
			ran, v->state.attempt, cost);
	return gpc_format("%s (ran %s, cost %s)", state, ran, cost);
}

struct gpc_json *gpc_follow_end_json(const struct gpc_view *v)
{
	const struct gpc_job_state *st = &v->state;
	struct gpc_json *j = gpc_json_object();
	struct gpc_money spent = v->spent;

	/* what costs nothing is still an amount */
	if (!spent.currency[0])
		memcpy(spent.currency, "USD", 4);
	gpc_json_set_str(j, "type", "end");
	gpc_json_set_str(j, "job", v->job.id);
	gpc_json_set_str(j, "state", gpc_job_status_to_str(st->status));
	gpc_json_set_str(j, "reason", gpc_reason_to_str(st->reason));
	gpc_json_set_int(j, "exit_code", st->code);
	gpc_json_set(j, "signal", st->signal ? gpc_json_int(st->signal) :
		gpc_json_null());
	gpc_json_set_int(j, "attempts", st->attempt);
	gpc_json_set_int(j, "ran_ms", v->ran_ms);
	gpc_json_set(j, "cost", gpc_phrase_money_json(spent));
	gpc_json_set_int(j, "exit_status", gpc_reason_exit(st->reason,
		st->code, st->signal));
	return j;
}

/* --- output ---------------------------------------------------------------- */
static char *base64(const unsigned char *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = gpc_alloc((n + 2) / 3 * 4 + 1), *o = out;

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)p[i] << 16;

		if (i + 1 < n)
			v |= (unsigned)p[i + 1] << 8;
		if (i + 2 < n)
			v |= p[i + 2];
		*o++ = digits[v >> 18];
		*o++ = digits[v >> 12 & 63];
		*o++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
		*o++ = i + 2 < n ? digits[v & 63] : '=';
	}
	return out;
}

struct gpc_json *gpc_follow_log_json(const char *job, int rank, int source,
	const void *data, size_t n)
{
	struct gpc_json *j = gpc_json_object();
	bool text = !memchr(data, '\0', n) && gpc_utf8_valid(data, n);

	gpc_json_set_str(j, "type", "log");
	gpc_json_set_str(j, "job", job);
	gpc_json_set_int(j, "rank", rank);
	gpc_json_set_str(j, "stream", source == 2 ? "stderr" : "stdout");
	if (text) {
		gpc_autostr *copy = gpc_strndup(data, n);
		gpc_json_set_str(j, "data", copy);
	} else {
		gpc_autostr *coded = base64(data, n);
		gpc_json_set_str(j, "data_base64", coded);
	}
	return j;
}

struct gpc_json *gpc_follow_cut_json(const char *job, int attempt,
	const char *why)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "type", "log_cut");
	gpc_json_set_str(j, "job", job);
	gpc_json_set_int(j, "attempt", attempt);
	gpc_json_set_str(j, "log_cut", why);
	return j;
}
