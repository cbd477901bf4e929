/* `gpucloud status JOB`: what a person asks about one job, in the order in which
 * they ask it: how is it, why, what next, what does it cost, where is it, and
 * what happened before.
 */
#include "cmd/job_detail.h"

#include <string.h>

#include "base/time.h"
#include "cmd/job_gang.h"
#include "cmd/job_metrics.h"
#include "cmd/pause.h"
#include "cmd/phrase.h"
#include "cmd/wrap.h"
#include "core/logs.h"
#include "core/notify.h"
#include "core/machine.h"
#include "core/ports.h"
#include "core/supervise.h"
#include "model/spec_notify.h"
#include "model/spec_ports.h"
#include "provider/provider.h"
#include "record/checkpoint.h"
#include "record/update.h"

enum { LABEL = 13,             /* columns of "Checkpoints: " */
	PORTS_SHOWN = 8 };

struct detail {
	struct gpc_cmd *c;
	struct gpc_error *err;
	int r;
};

static void row(struct detail *d, const char *label, const char *text)
{
	gpc_autostr *safe = gpc_str_printable(text, strlen(text));
	gpc_autostr *line = gpc_format("%-*s%s", LABEL, label, safe);
	size_t width = d->c->out.width > 0 ? (size_t)d->c->out.width : SIZE_MAX;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (gpc_utf8_width(line) > width)
		gpc_wrap_line(line, LABEL, LABEL * 2 < width ? LABEL : 2, width,
			&b);
	else
		gpc_buf_addf(&b, "%s\n", line);
	if (!d->r)
		d->r = gpc_out_print(&d->c->out, d->err, "%s", gpc_buf_str(&b));
}

static void blank(struct detail *d)
{
	if (!d->r)
		d->r = gpc_out_print(&d->c->out, d->err, "\n");
}

/* --- how it is ------------------------------------------------------------- */
static void add_uploads(struct detail *d, const struct gpc_view *v)
{
	gpc_autostr *files = gpc_phrase_count(v->upload_files, "file");
	gpc_autostr *size = gpc_phrase_size(v->upload_bytes);
	gpc_autostr *text = gpc_format("%s, %s, to be brought to file_mounts' buckets",
		files, size);

	if (v->upload_files)
		row(d, "Uploads:", text);
}

/* Of the newest attempt of which it is known. */
static void add_log_cut(struct detail *d, const struct gpc_job_state *st)
{
	for (size_t i = st->tries.n; i-- > 0;) {
		const struct gpc_try *t = &st->tries.v[i];

		if (!t->log_cut)
			continue;
		gpc_autostr *text = gpc_format("the end of attempt %d's could not be "
			"stored: %s", t->n, t->log_cut);
		row(d, "Log:", text);
		return;
	}
}

static void add_state(struct detail *d, const struct gpc_view *v)
{
	const struct gpc_job_state *st = &v->state;
	gpc_autostr *state = gpc_phrase_state(st);
	gpc_autostr *advice = gpc_reason_advice(st->reason, v->job.id,
		st->checkpoint);

	row(d, "State:", state);
	/* it is about what to do after the end */
	if (st->reason != GPC_REASON_NONE && st->status != GPC_JOB_STOPPING &&
		st->reason != GPC_REASON_COMPLETED && *advice)
		row(d, "", advice);
	if (v->note && *v->note)
		row(d, "Note:", v->note);
	if (st->cancel && !gpc_job_status_is_end(st->status))
		row(d, "", "asked to end");
	add_log_cut(d, st);
	add_uploads(d, v);
}

static void add_times(struct detail *d, const struct gpc_view *v)
{
	gpc_autostr *at = gpc_phrase_time(v->state.submitted_ms);
	gpc_autostr *age = gpc_phrase_age(v->state.submitted_ms);
	gpc_autostr *text = gpc_format("%s (%s) by %s@%s", at, age,
		v->job.owner.user ? v->job.owner.user : "?",
		v->job.owner.host ? v->job.owner.host : "?");
	gpc_autostr *ran = gpc_phrase_duration(v->ran_ms);

	row(d, "Submitted:", text);
	if (v->state.ended_ms) {
		gpc_autostr *end = gpc_phrase_time(v->state.ended_ms);
		row(d, "Ended:", end);
	}
	row(d, "Ran:", ran);
}

static void add_cost(struct detail *d, const struct gpc_view *v)
{
	gpc_autostr *text = gpc_phrase_cost(v->spent, v->rate,
		gpc_job_status_is_end(v->state.status));

	row(d, "Cost:", text);
}

/* What holds now; what `update` changed is marked. */
static void add_limits(struct detail *d, const struct gpc_spec *spec,
	const struct gpc_job_state *st)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	struct gpc_spec_limits l = gpc_update_limits(spec, st);
	gpc_autostr *text = NULL;

	if (l.cost.currency[0]) {
		gpc_autostr *cost = gpc_phrase_money(l.cost);
		gpc_strv_addf(&words, "cost %s%s", cost, st->cost_limit_n ?
			" (updated)" : "");
	}
	if (l.time_ms > 0) {
		gpc_autostr *time = gpc_phrase_duration(l.time_ms);
		gpc_strv_addf(&words, "time %s%s", time, st->time_limit_n ?
			" (updated)" : "");
	}
	text = gpc_strv_join(&words, ", ");
	if (words.n)
		row(d, "Limits:", text);
}

static void add_priority(struct detail *d, const struct gpc_spec *spec,
	const struct gpc_job_state *st)
{
	int n = gpc_update_priority(spec, st);
	gpc_autostr *text = gpc_format("%d%s", n, st->priority_n ?
		" (updated)" : "");

	if (n || st->priority_n)
		row(d, "Priority:", text);
}

static void add_tether(struct detail *d, struct gpc_session *s,
	const struct gpc_view *v)
{
	int64_t within_ms = gpc_view_tether_ms(s, v);
	gpc_autostr *time = gpc_phrase_duration(within_ms);
	gpc_autostr *text = gpc_format("it ends when its client is interrupted or "
		"silent for %s", time);

	if (within_ms)
		row(d, "Tether:", text);
}

static void add_notify(struct detail *d, struct gpc_session *s,
	const struct gpc_view *v, const struct gpc_spec *spec)
{
	gpc_auto(gpc_spec_notify) struct gpc_spec_notify list = {0};
	gpc_autostr *failed = NULL;

	if (gpc_update_notify(spec, &v->state, &list, NULL) || !list.n)
		return;
	for (size_t i = 0; i < list.n; i++) {
		gpc_autostr *text = gpc_notice_text(&list.v[i]);

		row(d, i ? "" : "Notify:", text);
	}
	failed = gpc_notify_failure(s, v->job.id);
	if (failed) {
		gpc_autostr *text = gpc_format("failed: %s", failed);

		row(d, "", text);
	}
}

/* Where the job is reached, and by whom. */
static void add_ports(struct detail *d, const struct gpc_view *v,
	const struct gpc_spec *spec)
{
	gpc_auto(gpc_ports_at) struct gpc_ports_at where = {0};
	gpc_auto(gpc_strv) struct gpc_strv allow = {0};
	gpc_autostr *who = NULL, *more = NULL, *text = NULL;
	bool guarded = false;
	size_t shown = 0;

	if (!gpc_view_is_over(v))
		gpc_ports_where(spec, &v->state, &where);
	for (; shown < where.n && shown < PORTS_SHOWN; shown++) {
		const struct gpc_port_at *x = &where.v[shown];
		gpc_autostr *later = x->at ? NULL : gpc_format("%s: not open yet",
			x->ports);
		gpc_autostr *line = v->state.num_nodes > 1 ? gpc_format("%s "
			"(rank %d)", x->at ? x->at : later, x->rank) :
			gpc_strdup(x->at ? x->at : later);

		row(d, shown ? "" : "Ports:", line);
	}
	if (where.n > shown) {
		more = gpc_format("and %zu more: see -o json", where.n - shown);
		row(d, "", more);
	}
	gpc_spec_allowed(spec, &allow);
	gpc_vec_each(n, &v->state.nodes)
		guarded = guarded || !gpc_provider_is_callers(n->provider);
	who = gpc_strv_join(&allow, ", ");
	text = gpc_format("for %s alone", who);
	if (where.n && guarded && allow.n)
		row(d, "", text);
}

static void add_wishes(struct detail *d, struct gpc_session *s,
	const struct gpc_view *v)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};

	if (gpc_spec_from_json(v->job.spec, v->job.id, &spec, NULL, NULL))
		return;
	add_ports(d, v, &spec);
	add_limits(d, &spec, &v->state);
	add_tether(d, s, v);
	add_priority(d, &spec, &v->state);
	add_notify(d, s, v, &spec);
}

/* --- where it is from ------------------------------------------------------ */
/* Who moves it forward. When that is nobody: what does, for a job of this user. */
static void add_supervisor(struct detail *d, const struct gpc_session *s,
	const struct gpc_view *v, const char *who)
{
	gpc_autostr *text = NULL;

	if (!gpc_starts_with(who, "nobody")) {
		row(d, "Supervisor:", who);
		return;
	}
	if (!gpc_job_status_is_end(v->state.status)) {
		row(d, "Supervisor:", who);
		if (gpc_eq(v->job.owner.hash, s->place.owner.hash))
			row(d, "", "`gpucloud supervise` goes on with it");
		return;
	}
	text = gpc_format("nobody: `gpucloud release %s` gives back what is still "
		"held", v->job.id);
	row(d, "Supervisor:", text);
}

static void add_origin(struct detail *d, struct gpc_session *s,
	const struct gpc_view *v)
{
	row(d, "Workdir:", v->job.workdir ? v->job.workdir : "none");
	if (v->job.secrets.n) {
		gpc_autostr *names = gpc_strv_join(&v->job.secrets, ", ");
		row(d, "Secrets:", names);
	}
	if (gpc_view_is_over(v))
		return;
	gpc_autostr *who = v->supervisor ? gpc_supervisor_words(s,
		v->supervisor) : gpc_supervisor_describe(s, v->job.id);
	gpc_autostr *machine = gpc_machine_standby(s);
	gpc_autostr *both = machine && !strstr(who, machine) &&
		!gpc_eq(machine, v->job.id) ? gpc_format("%s; %s, when it is "
		"gone", who, machine) : NULL;
	add_supervisor(d, s, v, both ? both : who);
	if (gpc_eq(gpc_json_get_str(gpc_json_get(v->job.spec, "recovery"), "by"),
		"cloud") && !gpc_job_status_is_end(v->state.status))
		row(d, "Recovery:", "the cloud starts the next machine by itself, "
			"with or without a supervisor");
}

/* Where each look costs money, what the journal knows must do. */
static bool far_checkpoints(struct detail *d, struct gpc_session *s,
	const struct gpc_view *v)
{
	const struct gpc_json *spec = gpc_json_get(v->job.spec, "checkpoint");
	const char *id = v->state.checkpoint;

	if (!gpc_cmd_is_far(s))
		return false;
	gpc_autostr *text = id ? gpc_format("newest %s", id) : NULL;
	row(d, "Checkpoints:", text ? text : gpc_job_status_is_end(
		v->state.status) ? "none" : gpc_json_get_str(spec, "path") ?
		"none yet" : "none: a lost node starts over");
	return true;
}

static void add_saved(struct detail *d, struct gpc_session *s,
	const struct gpc_view *v)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	const struct gpc_json *spec = gpc_json_get(v->job.spec, "checkpoint");
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint newest = {0};

	if (far_checkpoints(d, s, v) ||
		gpc_checkpoint_list(s->store, v->job.id, &ids, NULL))
		return;
	if (!ids.n) {
		row(d, "Checkpoints:", gpc_job_status_is_end(v->state.status) ?
			"none" : gpc_json_get_str(spec, "path") ? "none yet" :
			"none: a lost node starts over");
		return;
	}
	const char *id = ids.v[ids.n - 1].id;
	if (gpc_checkpoint_get(s->store, v->job.id, id, &newest, NULL)) {
		gpc_autostr *text = gpc_format("%zu, newest %s", ids.n, id);
		row(d, "Checkpoints:", text);
		return;
	}
	gpc_autostr *age = gpc_phrase_age(newest.at_ms);
	gpc_autostr *size = gpc_phrase_size((uint64_t)newest.bytes);
	gpc_autostr *text = gpc_format("%zu, newest %s (%s, %s)", ids.n, id,
		size, age);
	row(d, "Checkpoints:", text);
}

static void add_checkpoints(struct detail *d, struct gpc_session *s,
	const struct gpc_view *v)
{
	add_saved(d, s, v);
	gpc_vec_each(t, &v->state.tries) {
		gpc_autostr *passed = gpc_phrase_passed_over(t);
		gpc_autostr *text = passed ? gpc_format("%s by attempt %d",
			passed, t->n) : NULL;

		if (text)
			row(d, "", text);
	}
}

/* The newest numbers, of one attempt: those of an earlier one would mislead. */
static void add_metrics(struct detail *d, struct gpc_session *s,
	const struct gpc_view *v)
{
	gpc_auto(gpc_metric_list) struct gpc_metric_list l = {0};
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	int64_t newest = 0;

	if (gpc_metrics_newest(s->store, v->job.id, v->state.attempt,
		v->state.num_nodes, &l, NULL) || !l.n)
		return;
	gpc_vec_each(m, &l) {
		gpc_strv_addf(&words, "%s=%.6g", m->name, m->value);
		newest = m->at_ms > newest ? m->at_ms : newest;
	}
	gpc_autostr *list = gpc_strv_join(&words, " ");
	gpc_autostr *age = gpc_phrase_age(newest);
	gpc_autostr *text = gpc_format("%s (%s)", list, age);
	row(d, "Metrics:", text);
}

/* --- tables ---------------------------------------------------------------- */
struct try_row {
	int attempt;
	int64_t started, ran;
	char *end, *from, *checkpoint;
};
static const struct gpc_col try_cols[] = {
	GPC_COL("attempt", INT, struct try_row, attempt, 0),
	GPC_COL("started", TIME, struct try_row, started, 0),
	GPC_COL("ran", DURATION, struct try_row, ran, 0),
	GPC_COL("end", STR, struct try_row, end, GPC_COL_F_CUT),
	GPC_COL("from", STR, struct try_row, from, GPC_COL_F_CUT),
	GPC_COL("saved", STR, struct try_row, checkpoint, GPC_COL_F_CUT),
	GPC_COL_LAST
};
static const struct gpc_table try_table = {"attempt", try_cols,
	sizeof(struct try_row)};

static void fill_try(struct try_row *r, const struct gpc_try *t,
	const struct gpc_job_state *st)
{
	int64_t end = t->ended_ms ? t->ended_ms :
		st->ended_ms ? st->ended_ms : gpc_wall_ms();

	r->attempt = t->n;
	r->started = t->started_ms;
	r->ran = t->running_ms_at ? end - t->running_ms_at : -1;
	if (r->ran > 10000)
		r->ran -= r->ran % 1000;
	r->end = t->reason == GPC_REASON_NONE ? NULL : gpc_phrase_reason(
		t->reason, t->code, t->signal, t->rank, st->num_nodes);
	if (t->boot) {
		free(r->end);
		r->end = gpc_format("%s: %s", gpc_reason_to_str(t->reason),
			t->boot);
	}
	r->from = gpc_strdup(t->resume_from);
	r->checkpoint = gpc_strdup(t->checkpoint);
}

static void add_tries(struct detail *d, const struct gpc_job_state *st)
{
	struct try_row *rows = gpc_array(st->tries.n ? st->tries.n : 1,
		sizeof(*rows));

	for (size_t i = 0; i < st->tries.n; i++)
		fill_try(&rows[i], &st->tries.v[i], st);
	if (!d->r && st->tries.n) {
		blank(d);
		d->r = gpc_out_rows(&d->c->out, &try_table, rows, st->tries.n,
			d->err);
	}
	for (size_t i = 0; i < st->tries.n; i++) {
		free(rows[i].end);
		free(rows[i].from);
		free(rows[i].checkpoint);
	}
	free(rows);
}

static const struct gpc_col refusal_cols[] = {
	GPC_COL("attempt", INT, struct gpc_refusal, attempt, 0),
	GPC_COL("times", INT, struct gpc_refusal, times, 0),
	GPC_COL("refused", STR, struct gpc_refusal, offer, 0),
	GPC_COL("why", STR, struct gpc_refusal, why, GPC_COL_F_CUT),
	GPC_COL_LAST
};
static const struct gpc_table refusal_table = {"refused", refusal_cols,
	sizeof(struct gpc_refusal)};

/* Offers that could not be had. */
static void add_refusals(struct detail *d, const struct gpc_job_state *st)
{
	if (d->r || !st->refused.n)
		return;
	blank(d);
	if (!d->r)
		d->r = gpc_out_rows(&d->c->out, &refusal_table, st->refused.v,
			st->refused.n, d->err);
}

static const struct gpc_col node_cols[] = {
	GPC_COL("rank", INT, struct gpc_node, rank, 0),
	GPC_COL("attempt", INT, struct gpc_node, attempt, GPC_COL_F_WIDE),
	GPC_COL("node", ENUM, struct gpc_node, status, 0,
		.names = gpc_node_status_names),
	GPC_COL("provider", STR, struct gpc_node, provider, 0),
	GPC_COL("offer", STR, struct gpc_node, offer, GPC_COL_F_CUT),
	GPC_COL("address", STR, struct gpc_node, address, 0),
	GPC_COL("per_hour", MONEY, struct gpc_node, rate, 0),
	GPC_COL("expires", TIME, struct gpc_node, expires_ms, GPC_COL_F_WIDE),
	GPC_COL("id", STR, struct gpc_node, id, GPC_COL_F_CUT),
	GPC_COL_LAST
};
static const struct gpc_table node_table = {"node", node_cols,
	sizeof(struct gpc_node)};

/* A thousand rows are read by nobody; wide shows them. */
static void add_nodes(struct detail *d, const struct gpc_job_state *st)
{
	if (d->r || !st->nodes.n)
		return;
	blank(d);
	if (!d->r && d->c->out.format != GPC_OUT_WIDE &&
		gpc_log_leads((int)st->nodes.n))
		d->r = gpc_gang_rows(d->c, st, d->err);
	else if (!d->r)
		d->r = gpc_out_rows(&d->c->out, &node_table, st->nodes.v,
			st->nodes.n, d->err);
}

int gpc_job_detail(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_view *v, struct gpc_error *err)
{
	struct detail d = {c, err, 0};
	gpc_autostr *name = v->job.original_name ? gpc_format("%s (\"%s\")",
		v->job.id, v->job.original_name) : gpc_strdup(v->job.id);

	row(&d, "Job:", name);
	add_state(&d, v);
	add_times(&d, v);
	add_cost(&d, v);
	add_wishes(&d, s, v);
	add_origin(&d, s, v);
	add_checkpoints(&d, s, v);
	add_metrics(&d, s, v);
	add_tries(&d, &v->state);
	add_refusals(&d, &v->state);
	add_nodes(&d, &v->state);
	if (!d.r && gpc_log_leads(v->state.num_nodes))
		d.r = gpc_gang_last_lines(c, s, v, err);
	return d.r;
}
