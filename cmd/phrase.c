/* The same thing is said in the same words everywhere: what a machine is, when
 * something was, what it cost, how a job ended.
 */
#include "cmd/phrase.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/provider.h"

char *gpc_phrase_time(int64_t wall_ms)
{
	time_t t = (time_t)(wall_ms / 1000);
	struct tm tm;
	char text[32];

	if (!wall_ms || !localtime_r(&t, &tm) ||
		!strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		return gpc_strdup("-");
	return gpc_strdup(text);
}

char *gpc_phrase_duration(int64_t ms)
{
	int64_t unit = ms < 10000 ? 100 : ms < 3600000 ? 1000 :
		ms < 86400000 ? 60000 : 3600000;
	char text[64];

	if (ms < 0)
		ms = 0;
	/* "400ms" and "9s600ms" say less than "0.4s" and "9.6s" */
	if (ms < 10000 && ms % 1000 >= 100)
		return gpc_format("%" PRId64 ".%" PRId64 "s", ms / 1000,
			ms % 1000 / 100);
	return gpc_strdup(gpc_format_duration(ms - ms % unit, text,
		sizeof(text)));
}

char *gpc_phrase_age(int64_t wall_ms)
{
	int64_t ms = gpc_wall_ms() - wall_ms;

	if (ms < 1000)
		return gpc_strdup("just now");
	char text[64];
	int64_t unit = ms < 3600000 ? 1000 : ms < 86400000 ? 60000 : 3600000;
	return gpc_format("%s ago", gpc_format_duration(ms - ms % unit, text,
		sizeof(text)));
}

char *gpc_phrase_count(uint64_t n, const char *thing)
{
	return gpc_format("%" PRIu64 " %s%s", n, thing, n == 1 ? "" : "s");
}

char *gpc_phrase_size(uint64_t bytes)
{
	char text[64];

	return gpc_strdup(gpc_format_size(bytes, text, sizeof(text)));
}

char *gpc_phrase_money(struct gpc_money m)
{
	char text[GPC_MONEY_SIZE];

	if (!m.currency[0])
		memcpy(m.currency, "USD", 4);
	return gpc_strdup(gpc_money_format(m, text));
}

char *gpc_phrase_rate(struct gpc_money per_hour)
{
	gpc_autostr *money = NULL;

	if (per_hour.micros == 0)
		return gpc_strdup("free");
	money = gpc_phrase_money(per_hour);
	return gpc_format("%s per hour", money);
}

char *gpc_phrase_cost(struct gpc_money spent, struct gpc_money per_hour,
	bool ended)
{
	gpc_autostr *money = gpc_phrase_money(spent), *rate = NULL;

	if (ended && per_hour.micros == 0)
		return gpc_steal(&money);
	rate = gpc_phrase_money(per_hour);
	return gpc_format("%s so far, %s per hour now", money, rate);
}

char *gpc_phrase_bill(const struct gpc_bill *b)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};

	if (b->n < 2)
		return NULL;
	gpc_vec_each(p, b) {
		gpc_autostr *money = gpc_phrase_money(p->sum);

		gpc_strv_addf(&words, "%s %s", p->name, money);
	}
	return gpc_strv_join(&words, ", ");
}

struct gpc_json *gpc_phrase_bill_json(const struct gpc_bill *b)
{
	struct gpc_json *list = gpc_json_array();

	gpc_vec_each(p, b) {
		struct gpc_json *j = gpc_json_object();

		gpc_json_set_str(j, "part", p->name);
		gpc_json_set(j, "cost", gpc_phrase_money_json(p->sum));
		gpc_json_add(list, j);
	}
	return list;
}

char *gpc_phrase_machine(const struct gpc_offer *o)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char *text = NULL;

	if (o->cpus > 0)
		gpc_buf_addf(&b, "%g CPU%s", o->cpus, o->cpus == 1 ? "" : "s");
	if (o->memory_bytes) {
		gpc_autostr *size = gpc_phrase_size(o->memory_bytes);
		gpc_buf_addf(&b, "%s%s", b.len ? ", " : "", size);
	}
	if (b.len)
		gpc_buf_adds(&b, ", ");
	if (o->gpus > 0) {
		gpc_buf_addf(&b, "%d x %s", o->gpus, o->gpu ? o->gpu : "GPU");
		if (o->gpu_memory_gb)
			gpc_buf_addf(&b, " (%d GB)", o->gpu_memory_gb);
	} else {
		gpc_buf_adds(&b, "no GPU");
	}
	return gpc_buf_finish(&b, &text, NULL) ? gpc_strdup("") : text;
}

char *gpc_phrase_place(const struct gpc_offer *o)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char *text = NULL;
	bool only_market = gpc_provider_is_callers(o->provider);

	gpc_buf_adds(&b, o->provider ? o->provider : "?");
	if (o->region && *o->region && !only_market)
		gpc_buf_addf(&b, "/%s", o->region);
	if (o->zone && *o->zone && !only_market)
		gpc_buf_addf(&b, "/%s", o->zone);
	if (o->instance_type && *o->instance_type && !only_market)
		gpc_buf_addf(&b, " %s", o->instance_type);
	if (o->market && !gpc_eq(o->market, "on-demand") && *o->market)
		gpc_buf_addf(&b, " (%s)", o->market);
	return gpc_buf_finish(&b, &text, NULL) ? gpc_strdup("") : text;
}

char *gpc_phrase_reason(enum gpc_reason reason, int code, int signal, int rank,
	int num_nodes)
{
	gpc_auto(gpc_strv) struct gpc_strv more = {0};

	/* where we ended the program ourselves, how it died says nothing */
	bool own_end = reason == GPC_REASON_EXIT_CODE ||
		reason == GPC_REASON_SETUP_FAILED;

	if (own_end && signal)
		gpc_strv_addf(&more, "signal %d", signal);
	else if (own_end && code)
		gpc_strv_addf(&more, "%d", code);
	if (num_nodes > 1 && reason != GPC_REASON_COMPLETED &&
		reason != GPC_REASON_CANCELLED && rank >= 0)
		gpc_strv_addf(&more, "rank %d", rank);
	if (!more.n)
		return gpc_strdup(gpc_reason_to_str(reason));
	gpc_autostr *text = gpc_strv_join(&more, ", ");
	return gpc_format("%s (%s)", gpc_reason_to_str(reason), text);
}

char *gpc_phrase_state(const struct gpc_job_state *st)
{
	const char *word = gpc_job_status_to_str(st->status);

	if (st->reason == GPC_REASON_NONE)
		return gpc_strdup(word);
	gpc_autostr *why = gpc_phrase_reason(st->reason, st->code, st->signal,
		st->rank, st->num_nodes);
	return gpc_format("%s: %s", word, why);
}

char *gpc_phrase_passed_over(const struct gpc_try *t)
{
	gpc_autostr *ids = t ? gpc_strv_join(&t->damaged, ", ") : NULL;

	if (!t || !t->damaged.n)
		return NULL;
	return gpc_format("%s %s damaged%s%s%s and passed over", ids,
		t->damaged.n > 1 ? "are" : "is", t->damage ? " (" : "",
		t->damage ? t->damage : "", t->damage ? ")" : "");
}

struct gpc_json *gpc_phrase_money_json(struct gpc_money m)
{
	char text[GPC_MONEY_SIZE];
	struct gpc_json *j;

	if (!m.currency[0])
		return gpc_json_null();
	j = gpc_json_object();
	gpc_json_set_str(j, "amount", gpc_money_decimal(m, text));
	gpc_json_set_str(j, "currency", m.currency);
	return j;
}

struct gpc_json *gpc_phrase_time_json(int64_t wall_ms)
{
	char text[GPC_RFC3339_SIZE];

	return gpc_json_string(wall_ms ? gpc_format_rfc3339(wall_ms, text) :
		NULL);
}
