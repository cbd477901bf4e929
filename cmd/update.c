/* `gpucloud update`: other limits for a job that has not ended, another priority,
 * others who are told. What a node was
 * bought with, and what was submitted, cannot change: options for that are
 * known here only to say why.
 */
#include <string.h>

#include "cmd/command.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "cmd/spec_load.h"
#include "core/update.h"
#include "model/spec_notify.h"

struct update {
	const char *max_cost, *time, *priority, *notify;
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
	GPC_OPT_STR(0, "priority", struct update, priority, "N",
		"which of several waiting jobs is bought first",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "notify", struct update, notify, "ITEM|@FILE|none",
		"who is told, as YAML of the spec's notify",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('y', "yes", struct update, yes,
		"also when that ends the job at once", .key = GPC_OPT_NO_KEY),
	NEVER("name"), NEVER("workdir"), NEVER("env"), NEVER("env-file"),
	NEVER("secret"), NEVER("strict"), NEVER("checkpoint"),
	NEVER("nodes"), NEVER("infra"), NEVER("gpus"), NEVER("cpus"),
	NEVER("memory"), NEVER("spot"), NEVER("instance-type"), NEVER("image"),
	NEVER("disk-size"), NEVER("disk-tier"), NEVER("network-tier"),
	NEVER("ports"), NEVER("allow"), NEVER("max-hourly-cost"),
	NEVER("setup-time"), NEVER("deadline"),
	GPC_OPT_END
};

static const char submitted[] = "what was submitted is what runs";
static const char bought[] = "a node is bought as it is";
static const char opened[] = "what was opened for a node stays so";
static const char lifetime[] = "the lifetime of its nodes was counted with it";
static const struct { const char *word, *why; } never[] = {
	{"name", "it is part of the job's id"},
	{"workdir", submitted}, {"env", submitted}, {"env-file", submitted},
	{"secret", submitted}, {"strict", submitted}, {"checkpoint", submitted},
	{"nodes", bought}, {"infra", bought}, {"gpus", bought},
	{"cpus", bought}, {"memory", bought}, {"spot", bought},
	{"instance-type", bought}, {"image", bought}, {"disk-size", bought},
	{"disk-tier", bought}, {"network-tier", bought}, {"ports", opened},
	{"allow", opened},
	{"max-hourly-cost", "its offers were chosen by it"},
	{"setup-time", lifetime}, {"deadline", lifetime},
};

static int check_words(const struct gpc_cmd *c, struct gpc_error *err)
{
	const struct update *o = c->ctx;
	int r;

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		if (!gpc_cmd_given(c, never[i].word))
			continue;
		r = gpc_fail(err, GPC_EUSAGE, "--%s cannot be updated: %s",
			never[i].word, never[i].why);
		gpc_hint(err, "submit the job again with it; an update changes "
			"--max-cost, --time, --priority and --notify");
		return r;
	}
	if (c->argc > 1)
		return gpc_fail(err, GPC_EUSAGE, "update: one argument too "
			"many: \"%s\"", c->argv[1]);
	if (o->max_cost || o->time || o->priority || o->notify)
		return 0;
	r = gpc_fail(err, GPC_EUSAGE, "update: what?");
	gpc_hint(err, "give --max-cost, --time, --priority or --notify");
	return r;
}

/* Paths of programs start in the folder where the command was typed. */
static int read_notify(const struct gpc_cmd *c, const char *value,
	struct gpc_spec *spec, struct gpc_error *err)
{
	gpc_auto(gpc_spec_host_owned) struct gpc_spec_host_owned h;
	gpc_autostr *text = NULL;
	int r;

	gpc_spec_host_init(&h, c->cancel);
	r = gpc_spec_notify_text(value, c->cancel, &text, err);
	if (!r)
		r = gpc_spec_override(spec, "notify", text, NULL, err);
	if (!r)
		r = gpc_spec_resolve(spec, &h.host, NULL, err);
	return r ? r : gpc_spec_notify_check(spec, err);
}

/* The values as the spec reads them; u borrows from spec. */
static int read_values(const struct gpc_cmd *c, struct gpc_spec *spec,
	struct gpc_update *u, struct gpc_error *err)
{
	const struct update *o = c->ctx;
	int r = 0;

	gpc_spec_init(spec);
	if (o->max_cost)
		r = gpc_spec_override(spec, "max-cost", o->max_cost, NULL, err);
	if (!r && o->time)
		r = gpc_spec_override(spec, "time", o->time, NULL, err);
	if (!r && o->priority)
		r = gpc_spec_override(spec, "priority", o->priority, NULL, err);
	if (!r && o->notify)
		r = read_notify(c, o->notify, spec, err);
	if (!r && o->max_cost && spec->limits.cost.micros <= 0)
		r = gpc_fail(err, GPC_EUSAGE, "--max-cost %s: a limit is more "
			"than 0; `gpucloud cancel` ends a job", o->max_cost);
	if (!r && o->time && spec->limits.time_ms <= 0)
		r = gpc_fail(err, GPC_EUSAGE, "--time %s: a limit is more than "
			"0; `gpucloud cancel` ends a job", o->time);
	u->cost = o->max_cost ? spec->limits.cost : (struct gpc_money){0};
	u->time_ms = o->time ? spec->limits.time_ms : 0;
	u->priority = o->priority ? &spec->resources.priority : NULL;
	u->notify = o->notify ? &spec->notify : NULL;
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
	if (u->priority)
		gpc_json_set(j, "priority", change("old",
			gpc_json_int(x->old_priority), "new",
			gpc_json_int(x->new_priority)));
	if (u->notify)
		gpc_json_set(j, "notify", change("old",
			gpc_notify_json(&x->old_notify), "new",
			gpc_notify_json(&x->new_notify)));
	gpc_json_set(j, "note", x->note ? gpc_json_string(x->note) :
		gpc_json_null());
	return gpc_out_json(&c->out, "update", j, err);
}

static char *notify_text(const struct gpc_spec_notify *list)
{
	gpc_auto(gpc_strv) struct gpc_strv items = {0};
	gpc_autostr *text = NULL;

	for (size_t i = 0; i < list->n; i++)
		gpc_strv_take(&items, gpc_notice_text(&list->v[i]));
	text = gpc_strv_join(&items, "; ");
	return items.n ? gpc_str_printable(text, strlen(text)) :
		gpc_strdup("nobody");
}

static int print_limits(struct gpc_cmd *c, const struct gpc_update *u,
	const struct gpc_update_result *x, struct gpc_error *err)
{
	gpc_autostr *a = money_text(x->old_cost), *b = money_text(x->new_cost);
	gpc_autostr *s = time_text(x->old_time_ms);
	gpc_autostr *t = time_text(x->new_time_ms);
	int r = 0;

	if (u->cost.currency[0])
		r = gpc_out_print(&c->out, err, "cost  %s -> %s\n", a, b);
	if (!r && u->time_ms > 0)
		r = gpc_out_print(&c->out, err, "time  %s -> %s\n", s, t);
	return r;
}

static int print(struct gpc_cmd *c, const char *job, const struct gpc_update *u,
	const struct gpc_update_result *x, struct gpc_error *err)
{
	gpc_autostr *a = notify_text(&x->old_notify);
	gpc_autostr *b = notify_text(&x->new_notify);
	int r;

	if (c->out.format == GPC_OUT_JSON)
		return print_json(c, job, u, x, err);
	if (c->out.format == GPC_OUT_NAME)
		return gpc_out_print(&c->out, err, "%s\n", job);
	if (!x->changed)
		gpc_say(&c->talk, "gpucloud: %s has this already", job);
	r = print_limits(c, u, x, err);
	if (!r && u->priority)
		r = gpc_out_print(&c->out, err, "priority  %d -> %d\n",
			x->old_priority, x->new_priority);
	if (!r && u->notify)
		r = gpc_out_print(&c->out, err, "notify  %s -> %s\n", a, b);
	if (!r && x->note)
		gpc_say(&c->talk, "gpucloud: %s", x->note);
	return r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct update *o = c->ctx;
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	struct gpc_update u = {.may_end = o->yes};
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	gpc_autoptr(gpc_session) *s = NULL;
	char job[GPC_JOB_ID_SIZE];
	int r = check_words(c, err);

	if (!r)
		r = read_values(c, &spec, &u, err);
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
	.summary = "change limits, priority and notify of a job",
	.usage = "[OPTION]... JOB",
	.about = "Sets other limits for JOB, waiting or running, another priority, "
		"or who is told, and prints the old and the new. Its supervisor "
		"and its nodes follow within seconds. A limit that is passed "
		"already ends the job, which is asked first. The time must fit "
		"the lifetime that the nodes were made with. Nothing else can "
		"change.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct update),
	.min_args = 1,
	.max_args = -1,
	.complete = GPC_COMPLETE_LIVE_JOB,
	.run = run,
};
