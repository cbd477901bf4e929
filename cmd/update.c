/* `gpucloud update`: other limits for a job that has not ended. What a node was
 * bought with, and what was submitted, cannot change: options for that are
 * known here only to say why.
 */
#include <string.h>

#include "cmd/command.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "core/update.h"

struct update {
	const char *max_cost, *time;
	bool yes;
	const char *refused;
};

/* An option that only explains itself; =VALUE or nothing. */
#define NEVER(word) \
	GPC_OPT_STR(0, word, struct update, refused, "VALUE", "refused", \
		.implied = "", .hidden = true, .key = GPC_OPT_NO_KEY)

static const struct gpc_opt options[] = {
	GPC_OPT_STR(0, "max-cost", struct update, max_cost, "AMOUNT",
		"cap on all that the job costs", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "time", struct update, time, "TIME",
		"running time over all attempts", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('y', "yes", struct update, yes,
		"also when that ends the job at once", .key = GPC_OPT_NO_KEY),
	NEVER("name"), NEVER("workdir"), NEVER("env"), NEVER("env-file"),
	NEVER("secret"), NEVER("strict"), NEVER("checkpoint"),
	NEVER("nodes"), NEVER("infra"), NEVER("gpus"), NEVER("cpus"),
	NEVER("memory"), NEVER("spot"), NEVER("instance-type"), NEVER("image"),
	NEVER("disk-size"), NEVER("disk-tier"), NEVER("network-tier"),
	NEVER("ports"), NEVER("max-hourly-cost"), NEVER("setup-time"),
	NEVER("deadline"), NEVER("priority"), NEVER("notify"),
	GPC_OPT_END
};

static const char submitted[] = "what was submitted is what runs";
static const char bought[] = "a node is bought as it is";
static const char lifetime[] = "the lifetime of its nodes was counted with it";
static const struct { const char *word, *why; } never[] = {
	{"name", "it is part of the job's id"},
	{"workdir", submitted}, {"env", submitted}, {"env-file", submitted},
	{"secret", submitted}, {"strict", submitted}, {"checkpoint", submitted},
	{"nodes", bought}, {"infra", bought}, {"gpus", bought},
	{"cpus", bought}, {"memory", bought}, {"spot", bought},
	{"instance-type", bought}, {"image", bought}, {"disk-size", bought},
	{"disk-tier", bought}, {"network-tier", bought}, {"ports", bought},
	{"max-hourly-cost", "its offers were chosen by it"},
	{"setup-time", lifetime}, {"deadline", lifetime},
	{"priority", "there is no queue yet that would heed it"},
	{"notify", "notifications are not sent yet, so nothing would heed it"},
};

static int check_words(const struct gpc_cmd *c, struct gpc_error *err)
{
	const struct update *o = c->ctx;
	int r;

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		bool later = gpc_eq(never[i].word, "priority") ||
			gpc_eq(never[i].word, "notify");

		if (!gpc_cmd_given(c, never[i].word))
			continue;
		r = gpc_fail(err, GPC_EUSAGE, "--%s cannot be updated: %s",
			never[i].word, never[i].why);
		if (!later)
			gpc_hint(err, "submit the job again with it; an update "
				"changes --max-cost and --time");
		return r;
	}
	if (c->argc > 1)
		return gpc_fail(err, GPC_EUSAGE, "update: one argument too "
			"many: \"%s\"", c->argv[1]);
	if (o->max_cost || o->time)
		return 0;
	r = gpc_fail(err, GPC_EUSAGE, "update: what?");
	gpc_hint(err, "give --max-cost or --time");
	return r;
}

/* The values as the spec reads them. */
static int read_values(const struct update *o, struct gpc_update *u,
	struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	int r = 0;

	gpc_spec_init(&spec);
	if (o->max_cost)
		r = gpc_spec_override(&spec, "max-cost", o->max_cost, NULL, err);
	if (!r && o->time)
		r = gpc_spec_override(&spec, "time", o->time, NULL, err);
	if (!r && o->max_cost && spec.limits.cost.micros <= 0)
		r = gpc_fail(err, GPC_EUSAGE, "--max-cost %s: a limit is more "
			"than 0; `gpucloud cancel` ends a job", o->max_cost);
	if (!r && o->time && spec.limits.time_ms <= 0)
		r = gpc_fail(err, GPC_EUSAGE, "--time %s: a limit is more than "
			"0; `gpucloud cancel` ends a job", o->time);
	u->cost = o->max_cost ? spec.limits.cost : (struct gpc_money){0};
	u->time_ms = o->time ? spec.limits.time_ms : 0;
	return r;
}

static int apply(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	struct gpc_update *u, struct gpc_update_result *x,
	struct gpc_error *err)
{
	int r = gpc_update_job(s, job, u, x, err);

	if (r || !x->would_end || u->may_end)
		return r;
	if (!gpc_can_ask(&c->talk)) {
		r = gpc_fail(err, GPC_EUSAGE, "%s: %s", job, x->would_end);
		gpc_hint(err, "pass -y if that is meant; nothing was changed");
		return r;
	}
	gpc_say(&c->talk, "gpucloud: %s: %s", job, x->would_end);
	if (!gpc_ask(&c->talk, "End it?"))
		return gpc_fail(err, GPC_ECANCELED, "nothing was changed");
	u->may_end = true;
	gpc_update_result_clear(x);
	return gpc_update_job(s, job, u, x, err);
}

/* --- telling ---------------------------------------------------------------- */
static char *money_text(struct gpc_money m)
{
	return m.currency[0] ? gpc_phrase_money(m) : gpc_strdup("no limit");
}

static char *time_text(int64_t ms)
{
	return ms > 0 ? gpc_phrase_duration(ms) : gpc_strdup("no limit");
}

static struct gpc_json *change(const char *old, struct gpc_json *from,
	const char *new, struct gpc_json *to)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set(j, old, from);
	gpc_json_set(j, new, to);
	return j;
}

static struct gpc_json *ms_json(int64_t ms)
{
	return ms > 0 ? gpc_json_int(ms) : gpc_json_null();
}

static struct gpc_json *limit_json(struct gpc_money m)
{
	return m.currency[0] ? gpc_phrase_money_json(m) : gpc_json_null();
}

static int print_json(struct gpc_cmd *c, const char *job,
	const struct gpc_update *u, const struct gpc_update_result *x,
	struct gpc_error *err)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "job", job);
	gpc_json_set_bool(j, "changed", x->changed);
	if (u->cost.currency[0])
		gpc_json_set(j, "cost", change("old", limit_json(x->old_cost),
			"new", limit_json(x->new_cost)));
	if (u->time_ms > 0)
		gpc_json_set(j, "time", change("old_ms",
			ms_json(x->old_time_ms), "new_ms",
			ms_json(x->new_time_ms)));
	gpc_json_set(j, "note", x->note ? gpc_json_string(x->note) :
		gpc_json_null());
	return gpc_out_json(&c->out, "update", j, err);
}

static int print(struct gpc_cmd *c, const char *job, const struct gpc_update *u,
	const struct gpc_update_result *x, struct gpc_error *err)
{
	gpc_autostr *a = money_text(x->old_cost), *b = money_text(x->new_cost);
	gpc_autostr *s = time_text(x->old_time_ms);
	gpc_autostr *t = time_text(x->new_time_ms);
	int r = 0;

	if (c->out.format == GPC_OUT_JSON)
		return print_json(c, job, u, x, err);
	if (c->out.format == GPC_OUT_NAME)
		return gpc_out_print(&c->out, err, "%s\n", job);
	if (!x->changed)
		gpc_say(&c->talk, "gpucloud: %s has these limits already", job);
	if (u->cost.currency[0])
		r = gpc_out_print(&c->out, err, "cost  %s -> %s\n", a, b);
	if (!r && u->time_ms > 0)
		r = gpc_out_print(&c->out, err, "time  %s -> %s\n", s, t);
	if (!r && x->note)
		gpc_say(&c->talk, "gpucloud: %s", x->note);
	return r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct update *o = c->ctx;
	struct gpc_update u = {.may_end = o->yes};
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	gpc_autoptr(gpc_session) *s = NULL;
	char job[GPC_JOB_ID_SIZE];
	int r = check_words(c, err);

	if (!r)
		r = read_values(o, &u, err);
	if (!r)
		r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);
	if (!r)
		r = gpc_job_find(s, c->argv[0], true, job, err);
	if (!r)
		r = apply(c, s, job, &u, &x, err);
	if (r)
		return r;
	gpc_cmd_ensure_supervisor(c, s);
	return print(c, job, &u, &x, err);
}

const struct gpc_command gpc_command_update = {
	.name = "update",
	.summary = "change the limits of a job that has not ended",
	.usage = "[OPTION]... JOB",
	.about = "Sets other limits for JOB, waiting or running, and prints the "
		"old and the new ones. Its supervisor and its nodes follow "
		"within seconds. A limit that is passed already ends the job, "
		"which is asked first. The time must fit the lifetime that the "
		"nodes were made with. Nothing else can change.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct update),
	.min_args = 1,
	.max_args = -1,
	.complete = GPC_COMPLETE_LIVE_JOB,
	.run = run,
};
