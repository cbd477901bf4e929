/* `gpucloud release`: nothing is held any more when this returns 0.
 *
 * A named job is asked to end and waited for until its nodes are given back.
 * --all and --orphans go by the tags that every node bears, so they find what
 * no journal knows. What is left over makes the exit status non-zero.
 */
#include "core/release.h"

#include <limits.h>
#include <string.h>

#include "base/time.h"
#include "cmd/command.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "core/request.h"
#include "core/view.h"
#include "record/index.h"

enum { MEND_MS = 4000, MEND_STEP_MS = 200 };

struct release {
	bool all, all_users, orphans, foreign, dry_run, now, yes;
	int64_t timeout;
};

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG('a', "all", struct release, all,
		"all of this user's jobs and nodes", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "all-users", struct release, all_users,
		"those of every user of this store", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "orphans", struct release, orphans,
		"nodes that no unfinished job needs", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "foreign", struct release, foreign,
		"with --orphans: also expired ones of other users",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('n', "dry-run", struct release, dry_run,
		"only show what would be released", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "now", struct release, now,
		"do not save a checkpoint first", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('y', "yes", struct release, yes,
		"do not ask", .key = GPC_OPT_NO_KEY),
	GPC_OPT_DURATION(0, "timeout", struct release, timeout, "TIME",
		"give up waiting after this", .preset = "10m"),
	GPC_OPT_END
};

/* A job to end, a node that an ended one still holds, or a node without a job. */
struct row {
	char *job, *node, *provider, *why, *result;
	struct gpc_money rate;
	int64_t since_ms;            /* wall clock: held since then; 0 = not said */
	bool live;                   /* the job's nodes are waited for */
	bool ended;                  /* it need not be asked to end */
	struct gpc_held *held;       /* a node to end by its tags */
};
static const struct gpc_col cols[] = {
	GPC_COL("job", STR, struct row, job, GPC_COL_F_NAME),
	GPC_COL("provider", STR, struct row, provider, 0),
	GPC_COL("node", STR, struct row, node, 0),
	GPC_COL("rate_per_hour", MONEY, struct row, rate, 0,
		.title = "PER HOUR"),
	GPC_COL("since", TIME, struct row, since_ms, 0),
	GPC_COL("why", STR, struct row, why, GPC_COL_F_CUT),
	GPC_COL("result", STR, struct row, result,
		GPC_COL_F_CUT | GPC_COL_F_KEEP),
	GPC_COL_LAST
};
static const struct gpc_table table = {"release", cols, sizeof(struct row)};

struct work {
	struct gpc_cmd *c;
	struct gpc_session *s;
	const struct release *o;
	GPC_VEC(struct row) rows;
	struct gpc_held_list held;
	struct gpc_error first;      /* of what is left */
	int r;
};

static void work_clear(struct work *w)
{
	gpc_vec_each(r, &w->rows) {
		free(r->job);
		free(r->node);
		free(r->provider);
		free(r->why);
		free(r->result);
	}
	gpc_vec_free(&w->rows);
	gpc_held_clear(&w->held);
}

/* --- what there is to do --------------------------------------------------- */
/* As a whole, all of its nodes. */
static bool has_job(const struct work *w, const char *job)
{
	for (size_t i = 0; i < w->rows.n; i++) {
		const struct row *r = &w->rows.v[i];

		if (r->live && !r->node && gpc_eq(r->job, job))
			return true;
	}
	return false;
}

static void add_job(struct work *w, const char *job, bool ended,
	const char *why)
{
	if (has_job(w, job))
		return;
	struct row *r = gpc_vec_push(&w->rows);
	r->job = gpc_strdup(job);
	r->why = gpc_strdup(why);
	r->live = true;
	r->ended = ended;
}

/* Why an ended job's node is not given back: its supervisor would do that. */
static char *why_held(const struct gpc_held *h)
{
	gpc_autostr *since = NULL;

	if (!h->draining || h->silent_ms == 0)
		return gpc_strdup(h->why);
	if (h->silent_ms < 0)
		return gpc_format("%s, and nobody supervises it", h->why);
	since = gpc_phrase_time(h->silent_ms);
	return gpc_format("%s; its supervisor is silent since %s", h->why,
		since);
}

static void add_held(struct work *w, struct gpc_held *h, bool touch)
{
	struct row *r;

	if (h->job && has_job(w, h->job))
		return;
	r = gpc_vec_push(&w->rows);
	r->job = gpc_strdup(h->job);
	r->node = gpc_strdup(h->id);
	r->provider = gpc_strdup(h->provider);
	r->rate = h->rate;
	r->since_ms = h->created_ms;
	r->why = why_held(h);
	/* A supervisor gives this one back: it is waited for. */
	r->live = r->ended = touch && h->draining && h->job;
	if (touch && !r->live)
		r->held = h;
	else if (!touch)
		r->result = gpc_strdup("left: another user's (--foreign once "
			"it has expired)");
}

static int add_named(struct work *w, struct gpc_error *err)
{
	for (int i = 0; i < w->c->argc; i++) {
		char job[GPC_JOB_ID_SIZE];
		int r = gpc_job_find(w->s, w->c->argv[i], true, job, err);

		if (r)
			return r;
		add_job(w, job, false, "named");
	}
	return 0;
}

/* The index may be out of reach; tags still say what is held. */
static void add_live(struct work *w)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	struct gpc_error err = {0};

	if (gpc_index_list(w->s->store, INT64_MAX, &index, &err)) {
		gpc_log(&w->c->log, GPC_WARN, "%s; going by tags alone",
			err.msg);
		return;
	}
	for (size_t i = 0; i < index.n; i++) {
		gpc_auto(gpc_view) struct gpc_view v = {0};

		if (!index.v[i].live || (!w->o->all_users && !gpc_eq(
			index.v[i].owner_hash, w->s->place.owner.hash)))
			continue;
		/* a submit that never made its job holds nothing */
		if (gpc_view_load(w->s, index.v[i].job, &v, NULL) ==
			-GPC_ENOTFOUND)
			continue;
		add_job(w, index.v[i].job,
			gpc_job_status_is_end(v.state.status), "unfinished");
	}
}

/* The same holds for what only the journals name. */
static void add_ended(struct work *w)
{
	struct gpc_error err = {0};

	if (gpc_held_add_ended(w->s, &w->held, &err) < 0)
		gpc_log(&w->c->log, GPC_WARN, "%s; going by tags alone",
			err.msg);
}

static bool expired(const struct gpc_held *h)
{
	return h->expires_ms && h->expires_ms < gpc_wall_ms();
}

static bool in_scope(const struct release *o, const struct gpc_held *h,
	bool *ret_touch)
{
	bool all = o->all || o->all_users;

	*ret_touch = !h->foreign || o->all_users ||
		(o->foreign && expired(h));
	if (all)
		return *ret_touch;
	return h->orphan;
}

/* What a job needs stands in the store, and in no tag. */
static int cannot_tell(struct work *w, struct gpc_error *err)
{
	gpc_autostr *nodes = gpc_phrase_count(w->held.n, "node");
	int r = gpc_fail(err, GPC_ENOTFOUND, "%s of this store %s held, and "
		"without the store it cannot be told which are needed", nodes,
		w->held.n == 1 ? "is" : "are");

	gpc_hint(err, "`gpucloud release --all` ends them by their tags");
	return r;
}

static void note_left(struct work *w, const struct gpc_error *err, int r)
{
	if (w->r)
		return;
	w->r = r;
	w->first = *err;
}

static int collect(struct work *w, struct gpc_error *err)
{
	const struct release *o = w->o;
	struct gpc_error why = {0};
	int r;

	if (w->c->argc)
		return add_named(w, err);
	if (w->s->store && (o->all || o->all_users))
		add_live(w);
	r = gpc_held_find(w->s, true, &w->held, &why);
	if (r == -GPC_ECANCELED) {
		if (err)
			*err = why;
		return r;
	}
	/* what was not found now is told at the end */
	if (r < 0)
		note_left(w, &why, r);
	r = 0;
	if (!w->s->store && o->orphans && w->held.n)
		return cannot_tell(w, err);
	if (w->s->store && o->orphans)
		add_ended(w);
	gpc_held_look(w->s, &w->held);
	for (size_t i = 0; i < w->held.n; i++) {
		struct gpc_held *h = &w->held.v[i];
		bool touch;

		if (in_scope(o, h, &touch))
			add_held(w, h, touch);
	}
	return r;
}

/* --- doing it -------------------------------------------------------------- */
static void note_failure(struct work *w, struct row *row,
	const struct gpc_error *err, int r)
{
	row->result = gpc_strdup(err->msg);
	note_left(w, err, r);
}

static int left_ms(int64_t until_ms)
{
	int64_t left = until_ms - gpc_boot_ms();

	return left > 0 ? (int)(left < INT_MAX ? left : INT_MAX) : 0;
}

/* What may be written by the next try, or is not ours to write. */
static bool is_broken(int r)
{
	return r != -GPC_ECONFLICT && r != -GPC_ECANCELED &&
		r != -GPC_EUNSUPPORTED && r != -GPC_EUSAGE;
}

/* Ends the nodes of a job whose journal cannot be used. */
static int release_by_tags(struct work *w, const char *job, int64_t until_ms,
	struct gpc_error *err)
{
	struct gpc_held_list held = {0};
	const struct gpc_held **go = NULL;
	bool *left = NULL;
	size_t n = 0;
	int r = gpc_held_find(w->s, true, &held, err), q;

	go = gpc_array(held.n + 1, sizeof(const struct gpc_held *));
	left = gpc_array(held.n + 1, sizeof(*left));
	gpc_vec_each(h, &held)
		if (gpc_eq(h->job, job))
			go[n++] = h;
	q = gpc_held_release_all(w->s, go, n, left_ms(until_ms), left,
		r ? NULL : err);
	r = r ? r : q;
	free(go);
	free(left);
	gpc_held_clear(&held);
	return r;
}

/* A supervisor that still knows the job records the loss of its nodes, and with
 * that the journal may be whole again: then the job can be ended after all. */
static int end_after_all(struct work *w, const char *job, int64_t until_ms,
	struct gpc_error *err)
{
	int64_t end = gpc_boot_ms() + MEND_MS;
	bool ended;
	int r;

	do {
		r = gpc_request_cancel(w->s, job, w->o->now, &ended, err);
		if (!r)
			return gpc_release_finish(w->s, job, w->o->now,
				left_ms(until_ms), err);
		gpc_sleep_ms(MEND_STEP_MS);
	} while (is_broken(r) && gpc_boot_ms() < end);
	return r;
}

static void cancel_row(struct work *w, struct row *row, int64_t until_ms)
{
	struct gpc_error err = {0}, why = {0};
	bool ended;
	int r = gpc_request_cancel(w->s, row->job, w->o->now, &ended, &err);

	if (r && is_broken(r) && release_by_tags(w, row->job, until_ms,
		&why)) {
		gpc_log(&w->c->log, GPC_WARN, "%s: %s", row->job, why.msg);
	} else if (r && is_broken(r)) {
		r = end_after_all(w, row->job, until_ms, &err);
		if (r)
			gpc_wrap(&err, r, "its nodes are released, but it is "
				"not ended");
	}
	if (r)
		note_failure(w, row, &err, r);
}

static void cancel_all(struct work *w, int64_t until_ms)
{
	gpc_vec_each(row, &w->rows) {
		if (row->live && !row->ended)
			cancel_row(w, row, until_ms);
	}
	if (w->s->store)
		gpc_cmd_ensure_supervisor(w->c, w->s);
}

static void finish_row(struct work *w, struct row *row, int64_t until_ms)
{
	struct gpc_error err = {0};
	int r = 0;

	if (row->result)
		return;
	if (row->live)
		r = gpc_release_finish(w->s, row->job, w->o->now,
			left_ms(until_ms), &err);
	if (r)
		note_failure(w, row, &err, r);
	else
		row->result = gpc_strdup("released");
}

/* Nodes that are ended by their tags, all at once. */
static void release_held(struct work *w, int64_t until_ms)
{
	const struct gpc_held **held = gpc_array(w->rows.n + 1,
		sizeof(const struct gpc_held *));
	struct row **rows = gpc_array(w->rows.n + 1, sizeof(struct row *));
	bool *left = gpc_array(w->rows.n + 1, sizeof(*left));
	struct gpc_error err = {0};
	size_t n = 0;
	int r;

	gpc_vec_each(row, &w->rows) {
		if (row->result || row->live || !row->held)
			continue;
		rows[n] = row;
		held[n++] = row->held;
	}
	r = gpc_held_release_all(w->s, held, n, left_ms(until_ms), left, &err);
	for (size_t i = 0; i < n; i++)
		if (left[i])
			note_failure(w, rows[i], &err, r);
		else
			rows[i]->result = gpc_strdup("released");
	free(held);
	free(rows);
	free(left);
}

static void release_all(struct work *w)
{
	int64_t until = gpc_boot_ms() + w->o->timeout;
	gpc_autoptr(gpc_progress) *p = gpc_progress_new(&w->c->talk,
		"releasing", 0);

	if (!w->s->store && w->rows.n)
		gpc_log(&w->c->log, GPC_WARN, "no job is ended: whoever "
			"supervises one starts it again once the store is back");
	cancel_all(w, until);
	release_held(w, until);
	gpc_vec_each(row, &w->rows) {
		gpc_progress_text(p, row->job ? row->job : row->node);
		finish_row(w, row, until);
	}
}

/* Groups and the like that no machine uses any more: they cost nothing. */
static void tidy(struct work *w)
{
	struct gpc_error err = {0};
	size_t n = 0;
	int r;

	if (!w->o->all && !w->o->all_users && !w->o->orphans)
		return;
	r = gpc_held_tidy(w->s, &n, &err);
	if (r < 0)
		note_left(w, &err, r);
	else if (n)
		gpc_log(&w->c->log, GPC_INFO, "%zu groups beside machines are "
			"ended too", n);
}

static int ask(struct work *w, struct gpc_error *err)
{
	int r;

	if ((!w->o->all && !w->o->all_users) || w->o->yes || !w->rows.n)
		return 0;
	if (gpc_can_ask(&w->c->talk)) {
		gpc_vec_each(row, &w->rows)
			gpc_say(&w->c->talk, "  %s", row->job ? row->job :
				row->node);
		if (gpc_ask(&w->c->talk, "End all of this%s?",
			w->o->all_users ? " (every user's)" : ""))
			return 0;
		return gpc_fail(err, GPC_ECANCELED, "nothing was released");
	}
	r = gpc_fail(err, GPC_EUSAGE, "release --all would end %zu job%s or "
		"node%s, and there is no terminal to ask on", w->rows.n,
		w->rows.n == 1 ? "" : "s", w->rows.n == 1 ? "" : "s");
	gpc_hint(err, "pass -y; --dry-run shows what it would end");
	return r;
}

static int show(struct work *w, struct gpc_error *err)
{
	struct gpc_cmd *c = w->c;

	if (w->o->dry_run) {
		gpc_vec_each(row, &w->rows) {
			if (!row->result)
				row->result = gpc_strdup("would be released");
		}
	}
	if (!w->rows.n && w->r < 0)
		return 0;       /* and who knows what is held */
	if (!w->rows.n && c->out.format <= GPC_OUT_WIDE) {
		gpc_say(&c->talk, w->o->orphans && !w->o->all ?
			"gpucloud: no orphans are held" :
			"gpucloud: nothing is held");
		return 0;
	}
	return gpc_out_rows(&c->out, &table, w->rows.v, w->rows.n, err);
}

static int work(struct work *w, struct gpc_error *err)
{
	int r = collect(w, err);

	if (!r && !w->o->dry_run)
		r = ask(w, err);
	if (r)
		return r;
	if (!w->o->dry_run) {
		release_all(w);
		tidy(w);
	}
	r = show(w, err);
	if (!r && w->r) {
		*err = w->first;
		return w->r;
	}
	return r;
}

static int check_options(const struct gpc_cmd *c, struct gpc_error *err)
{
	const struct release *o = c->ctx;
	bool scope = o->all || o->all_users || o->orphans;
	int r;

	if (c->argc && (scope || o->foreign))
		return gpc_fail(err, GPC_EUSAGE, "release: name jobs, or give "
			"--all or --orphans, not both");
	if (c->argc || scope)
		return 0;
	r = gpc_fail(err, GPC_EUSAGE, "release: what?");
	gpc_hint(err, "name a job, or give --all or --orphans");
	return r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_autoptr(gpc_session) *s = NULL;
	int r = check_options(c, err);

	if (!r)
		r = gpc_cmd_session(c, c->argc ? GPC_STORE_MUST_BE :
			GPC_STORE_MAY_FAIL, &s, err);
	if (r)
		return r;
	struct work w = {.c = c, .s = s, .o = c->ctx};
	r = s->store || s->known_id ? work(&w, err) : show(&w, err);
	work_clear(&w);
	return r;
}

const struct gpc_command gpc_command_release = {
	.name = "release",
	.summary = "end jobs and wait until nothing is held any more",
	.usage = "[OPTION]... JOB...\n"
		"[OPTION]... --all | --all-users | --orphans",
	.about = "Ends each JOB, if it has not ended, and waits until all of "
		"its nodes are given back. --orphans finds nodes of this store "
		"that nothing needs. The exit status is 0 only when nothing of "
		"it is left.",
	.group = GPC_GROUP_LIFE,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct release),
	.max_args = -1,
	.complete = GPC_COMPLETE_LIVE_JOB,
	.run = run,
};
