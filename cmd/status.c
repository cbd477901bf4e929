/* `gpucloud status`: which jobs there are, or one of them in detail. It only
 * reads: it starts nothing, makes no store, and one unreadable job does not
 * hide the others.
 */
#include <string.h>

#include "base/time.h"
#include "cmd/command.h"
#include "cmd/job_detail.h"
#include "cmd/job_metrics.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "cmd/watch.h"
#include "core/logs.h"
#include "core/view_cache.h"
#include "record/index.h"
#include "record/watching.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)
enum { VIEWS_LOCAL = 100, VIEWS_FAR = 20,
	RELEASE_MS = 60000 /* for which nodes of an ended job may still be on their way */ };

struct status { bool all, all_users; int64_t watch; };

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG('a', "all", struct status, all,
		"also jobs that ended more than 24 hours ago"),
	GPC_OPT_FLAG(0, "all-users", struct status, all_users,
		"jobs of every user of this store"),
	GPC_OPT_WATCH(struct status, watch),
	GPC_OPT_END
};

struct row {
	char *job, *name, *state, *reason, *owner, *provider, *detail, *error;
	int attempt, nodes, nodes_held;
	int64_t submitted, ended, ran;
	struct gpc_money spent, rate;
	bool done;              /* by the index: it will not change */
};
/* Where gpc_view_json has the same thing, it has the same name. */
static const struct gpc_col cols[] = {
	GPC_COL("job", STR, struct row, job, GPC_COL_F_NAME),
	GPC_COL("name", STR, struct row, name, GPC_COL_F_DATA),
	GPC_COL("state", STR, struct row, state, 0),
	GPC_COL("reason", STR, struct row, reason, GPC_COL_F_DATA),
	GPC_COL("attempt", INT, struct row, attempt, 0, .title = "try"),
	GPC_COL("num_nodes", INT, struct row, nodes, GPC_COL_F_WIDE,
		.title = "nodes"),
	GPC_COL("nodes_held", INT, struct row, nodes_held, GPC_COL_F_WIDE,
		.title = "held"),
	GPC_COL("ran", DURATION, struct row, ran, 0),
	GPC_COL("cost", MONEY, struct row, spent, 0),
	GPC_COL("rate_per_hour", MONEY, struct row, rate, GPC_COL_F_WIDE,
		.title = "per hour"),
	GPC_COL("provider", STR, struct row, provider, GPC_COL_F_WIDE),
	GPC_COL("owner", STR, struct row, owner, GPC_COL_F_WIDE),
	GPC_COL("submitted", AGE, struct row, submitted, 0, .title = "age"),
	GPC_COL("ended", TIME, struct row, ended, GPC_COL_F_WIDE),
	GPC_COL("detail", STR, struct row, detail, GPC_COL_F_CUT),
	GPC_COL("error", STR, struct row, error, GPC_COL_F_DATA),
	GPC_COL_LAST
};
static const struct gpc_table table = {"job", cols, sizeof(struct row)};

struct rows { struct row *v; size_t n, cap; };

static void row_clear(struct row *r)
{
	char *strings[] = {r->job, r->name, r->state, r->reason, r->owner,
		r->provider, r->detail, r->error};

	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		free(strings[i]);
	*r = (struct row){0};
}

static void rows_clear(struct rows *x)
{
	gpc_vec_each(r, x)
		row_clear(r);
	gpc_vec_free(x);
}
GPC_CLEANUP_VALUE(rows);

static int64_t rounded(int64_t ms)
{
	return ms > 10000 ? ms - ms % 1000 : ms;
}

/* What costs nothing is still an amount. */
static struct gpc_money amount(struct gpc_money m)
{
	if (!m.currency[0])
		memcpy(m.currency, "USD", 4);
	return m;
}

/* --- rows ------------------------------------------------------------------ */
static void set_end(struct row *r, enum gpc_job_status status,
	enum gpc_reason reason)
{
	r->state = gpc_strdup(gpc_job_status_to_str(status));
	if (reason != GPC_REASON_NONE)
		r->reason = gpc_strdup(gpc_reason_to_str(reason));
}

/* One phrase for people: why it ended, or what it waits for. A node that is held
 * after the end is worth a word, for it may cost; at first it is on its way. */
static char *detail(const struct gpc_view *v, int held)
{
	const struct gpc_job_state *st = &v->state;
	gpc_autostr *why = NULL;

	if (!gpc_job_status_is_end(st->status))
		return gpc_strdup(v->note);
	why = gpc_phrase_reason(st->reason, st->code, st->signal, st->rank,
		st->num_nodes);
	if (v->note && *v->note) {
		gpc_autostr *more = gpc_format("%s: %s", why, v->note);
		free(why);
		why = gpc_steal(&more);
	}
	if (!held)
		return gpc_steal(&why);
	if (gpc_wall_ms() - st->ended_ms < RELEASE_MS)
		return gpc_format("%s; %d node%s being given back (gpucloud release "
			"%s waits for that)", why, held, held == 1 ? "" : "s",
			v->job.id);
	return gpc_format("%s; %d node%s still held (gpucloud release %s gives "
		"%s back)", why, held, held == 1 ? "" : "s", v->job.id,
		held == 1 ? "it" : "them");
}

static void from_view(struct row *r, const struct gpc_view *v)
{
	const struct gpc_job_state *st = &v->state;

	set_end(r, st->status, st->reason);
	if (v->job.original_name)
		gpc_set_str(&r->name, v->job.original_name);
	r->attempt = st->attempt;
	r->nodes = st->num_nodes;
	gpc_vec_each(n, &st->nodes) {
		r->nodes_held += n->status != GPC_NODE_RELEASED &&
			n->status != GPC_NODE_INTENDED;
		gpc_set_str(&r->provider, n->provider);
	}
	r->submitted = st->submitted_ms;
	r->ended = st->ended_ms;
	r->ran = rounded(v->ran_ms);
	r->spent = amount(v->spent);
	r->rate = amount(v->rate);
	r->owner = gpc_format("%s@%s", v->job.owner.user, v->job.owner.host);
	r->detail = detail(v, r->nodes_held);
}

static void from_index(struct row *r, const struct gpc_index_entry *x)
{
	set_end(r, x->status, x->reason);
	r->attempt = x->attempt;
	r->submitted = x->start_ms;
	r->ended = x->end_ms;
	r->ran = -1;
	r->spent = amount(x->spent);
	r->owner = gpc_strdup(x->owner_hash);
	r->detail = gpc_strdup(gpc_reason_to_str(x->reason));
}

/* A done job's index entry says less than its journal, which costs some reads.
 * So of done jobs it is read for the newest ones of a day; *left: how many. */
static bool wants_view(const struct gpc_index_entry *x, int64_t now_ms,
	size_t *left)
{
	if (x->live)
		return true;
	if (x->end_ms <= now_ms - DAY_MS || *left == 0)
		return false;
	(*left)--;
	return true;
}

/* False: the entry is of a submit that never made a job. */
static bool fill(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_index_entry *x, size_t *left, struct row *r)
{
	const struct status *o = c->ctx;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err = {0};

	r->job = gpc_strdup(x->job);
	r->name = gpc_strdup(x->name);
	if (!wants_view(x, gpc_wall_ms(), left)) {
		from_index(r, x);
		r->done = true;
		return true;
	}
	int rc = gpc_view_load_done(s, x, &v, &err);
	if (rc == -GPC_ENOTFOUND)
		return false;
	if (rc) {
		if (!o->watch)
			gpc_log(&c->log, GPC_WARN, "%s", err.msg);
		r->state = gpc_strdup("UNREADABLE");
		r->error = gpc_strdup(err.msg);
		r->detail = gpc_strdup(err.msg);
		r->submitted = x->start_ms;
		r->ran = -1;
		return true;
	}
	from_view(r, &v);
	r->done = !x->live && !r->nodes_held;
	return true;
}

/* What is done does not change: its row of the last look is taken over. *at:
 * where the search begins; the order is nearly the same each time. */
static bool take_over(struct rows *before, const struct gpc_index_entry *x,
	size_t *at, struct row *ret_row)
{
	for (size_t i = 0; !x->live && i < before->n; i++) {
		struct row *r = &before->v[(*at + i) % before->n];

		if (!r->done || r->error || r->attempt != x->attempt ||
			!gpc_eq(r->job, x->job))
			continue;
		*at += i + 1;
		*ret_row = *r;
		*r = (struct row){0};
		return true;
	}
	return false;
}

/* before: rows of the last look, or NULL. */
static int gather(struct gpc_cmd *c, struct gpc_session *s,
	struct rows *before, struct rows *rows, struct gpc_error *err)
{
	const struct status *o = c->ctx;
	gpc_auto(gpc_index) struct gpc_index index = {0};
	size_t at = 0, left = s->store && !gpc_store_is_far(s->store) ?
		VIEWS_LOCAL : VIEWS_FAR;
	int r = s->store ? gpc_index_list(s->store, o->all ? 0 :
		gpc_wall_ms() - DAY_MS, &index, err) : 0;

	if (r)
		return r;
	for (size_t i = 0; i < index.n; i++) {
		struct row *row;

		if (!o->all_users && !gpc_eq(index.v[i].owner_hash,
			s->place.owner.hash))
			continue;
		row = gpc_vec_push(rows);
		if (before && take_over(before, &index.v[i], &at, row))
			continue;
		if (!fill(c, s, &index.v[i], &left, row)) {
			row_clear(row);
			rows->n--;
		}
	}
	return 0;
}

/* Owned. */
static char *no_jobs(const struct gpc_cmd *c, const struct gpc_session *s)
{
	const struct status *o = c->ctx;

	if (!s->store)
		return gpc_format("no jobs: there is no store at %s",
			c->store_url);
	return gpc_strdup(o->all ? "no jobs" : "no jobs that are unfinished "
		"or ended within 24 hours (--all shows older ones)");
}

static int list(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_error *err)
{
	gpc_auto(rows) struct rows rows = {0};
	int r = gather(c, s, NULL, &rows, err);

	if (!r)
		r = gpc_out_rows(&c->out, &table, rows.v, rows.n, err);
	if (!r && !rows.n && c->out.format <= GPC_OUT_WIDE) {
		gpc_autostr *none = no_jobs(c, s);

		gpc_say(&c->talk, "%s", none);
	}
	return r;
}

/* --- again and again ------------------------------------------------------- */
struct watched {
	struct gpc_session *session;    /* owned */
	char job[GPC_JOB_ID_SIZE];      /* "" = the list */
	struct gpc_watching watching;
	struct rows rows;
};

/* Everything but what changes as time goes by. */
static void mark_row(struct gpc_buf *mark, const struct row *r)
{
	const char *words[] = {r->job, r->state, r->reason, r->provider,
		r->detail};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		gpc_buf_addf(mark, "%s\t", words[i] ? words[i] : "");
	gpc_buf_addf(mark, "%d %d %d\n", r->attempt, r->nodes, r->nodes_held);
}

/* On one line, so that a reader gets a document at each change. */
static int list_event(struct gpc_cmd *c, const struct rows *rows,
	struct gpc_error *err)
{
	struct gpc_json *j = gpc_json_object(), *list = gpc_json_array();

	gpc_vec_each(r, rows)
		gpc_json_add(list, gpc_out_row_json(&table, r));
	gpc_json_set(j, "rows", list);
	return gpc_out_event(&c->out, "job", j, err);
}

/* The first job may be submitted while one looks on, and makes the store. */
static int find_store(struct gpc_cmd *c, struct watched *w,
	struct gpc_error *err)
{
	struct gpc_session *s = NULL;
	int r = w->session->store ? 0 :
		gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);

	if (s) {
		gpc_session_free(w->session);
		w->session = s;
	}
	return r == -GPC_ENOTFOUND ? 0 : r;
}

static int look_at_list(struct gpc_cmd *c, void *arg, struct gpc_buf *mark,
	bool *ret_over, struct gpc_error *err)
{
	struct watched *w = arg;
	gpc_auto(rows) struct rows rows = {0};
	int r = find_store(c, w, err);

	if (!r)
		r = gather(c, w->session, &w->rows, &rows, err);
	*ret_over = false;
	if (r)
		return r;
	rows_clear(&w->rows);
	w->rows = rows;
	rows = (struct rows){0};
	gpc_vec_each(row, &w->rows)
		mark_row(mark, row);
	if (c->out.format == GPC_OUT_JSON)
		return list_event(c, &w->rows, err);
	if (!w->rows.n && c->out.format <= GPC_OUT_WIDE) {
		gpc_autostr *none = no_jobs(c, w->session);

		return gpc_out_print(&c->out, err, "%s\n", none);
	}
	return gpc_out_rows(&c->out, &table, w->rows.v, w->rows.n, err);
}

/* --- one job --------------------------------------------------------------- */
static int show_csv(struct gpc_cmd *c, const struct gpc_view *v,
	struct gpc_error *err)
{
	struct rows rows = {0};
	struct row *r = gpc_vec_push(&rows);

	r->job = gpc_strdup(v->job.id);
	r->name = gpc_strdup(v->job.name);
	from_view(r, v);
	int rc = gpc_out_rows(&c->out, &table, r, 1, err);
	rows_clear(&rows);
	return rc;
}

static int show_json(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_view *v, struct gpc_error *err)
{
	const struct status *o = c->ctx;
	gpc_auto(gpc_metric_list) struct gpc_metric_list metrics = {0};
	struct gpc_json *j = gpc_view_json(s, v);

	if (gpc_metrics_newest(s->store, v->job.id, v->state.attempt,
		v->state.num_nodes, &metrics, NULL) == 0)
		gpc_json_set(j, "metrics", gpc_metrics_json(&metrics));
	return o->watch ? gpc_out_event(&c->out, "job", j, err) :
		gpc_out_json(&c->out, "job", j, err);
}

static int show(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	const struct gpc_view *v, struct gpc_error *err)
{
	switch (c->out.format) {
	case GPC_OUT_JSON:
		return show_json(c, s, v, err);
	case GPC_OUT_NAME:
		return gpc_out_print(&c->out, err, "%s\n", job);
	case GPC_OUT_CSV:
		return show_csv(c, v, err);
	default:
		return gpc_job_detail(c, s, v, err);
	}
}

static int look_at_job(struct gpc_cmd *c, void *arg, struct gpc_buf *mark,
	bool *ret_over, struct gpc_error *err)
{
	struct watched *w = arg;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r = gpc_view_load(w->session, w->job, &v, err);

	if (r)
		return r;
	w->watching.one = gpc_log_leads(v.state.num_nodes);
	gpc_watching_renew(&w->watching, w->session->store, w->job);
	*ret_over = gpc_job_status_is_end(v.state.status);
	gpc_buf_addf(mark, "%lld %d %s", (long long)v.state.n,
		(int)v.state.status, v.note ? v.note : "");
	return show(c, w->session, w->job, &v, err);
}

static int show_one(struct gpc_cmd *c, struct watched *w,
	struct gpc_error *err)
{
	const struct status *o = c->ctx;
	struct gpc_session *s = w->session;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r;

	if (!s->store)
		return gpc_fail(err, GPC_ENOTFOUND, "there is no job \"%s\", and "
			"no store at %s", c->argv[0], c->store_url);
	if (!o->watch)
		r = gpc_view_find(s, c->argv[0], &v, err);
	else
		r = gpc_job_find(s, c->argv[0], false, w->job, err);
	if (!r && o->watch)
		return gpc_watch(c, o->watch, look_at_job, w, err);
	if (!r)
		memcpy(w->job, v.job.id, strlen(v.job.id) + 1);
	return r ? r : show(c, s, w->job, &v, err);
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct status *o = c->ctx;
	struct watched w = {0};
	int r = gpc_cmd_given(c, "watch") && o->watch <= 0 ?
		gpc_fail(err, GPC_EUSAGE, "--watch: expected a time") : 0;

	if (!r)
		r = gpc_cmd_session(c, GPC_STORE_MAY_BE_KNOWN, &w.session, err);
	if (r)
		return r;
	if (c->argc)
		r = show_one(c, &w, err);
	else if (o->watch)
		r = gpc_watch(c, o->watch, look_at_list, &w, err);
	else
		r = list(c, w.session, err);
	gpc_session_free(w.session);
	rows_clear(&w.rows);
	return r;
}

const struct gpc_command gpc_command_status = {
	.name = "status",
	.summary = "show jobs, or one in detail",
	.usage = "[OPTION]... [JOB]",
	.about = "Without JOB lists this user's jobs that are unfinished or "
		"ended within 24 hours, newest first. It reads only.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct status),
	.max_args = 1,
	.complete = GPC_COMPLETE_JOB,
	.run = run,
};
