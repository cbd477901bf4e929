/* See prune.h. The event comes first, then heads, then blobs, then `pruned`: a
 * crash after the event leaves a prune that anybody can finish from the event
 * alone, and until then the job is not resumed. */
#include "core/prune.h"

#include <string.h>

#include "base/crash.h"
#include "base/str.h"
#include "core/remains.h"
#include "core/submit.h"
#include "model/spec.h"
#include "record/job.h"

#define TRIES 100

void gpc_prune_result_clear(struct gpc_prune_result *x)
{
	gpc_strv_clear(&x->removed);
	*x = (struct gpc_prune_result){0};
}

bool gpc_prune_may(const struct gpc_job_state *st)
{
	gpc_vec_each(n, &st->nodes)
		if (n->status != GPC_NODE_RELEASED)
			return false;
	return gpc_job_status_is_end(st->status) && st->intents.n == 0;
}

/* --- finishing ------------------------------------------------------------- */

static int take_drop(void *arg, const struct gpc_event *e)
{
	const struct gpc_json *all = gpc_json_get(e->data, "drop");

	for (const struct gpc_json *m = gpc_json_first(all); m;
		m = gpc_json_next(m))
		if (gpc_json_str(m))
			gpc_strv_add(arg, gpc_json_str(m));
	return 1;
}

/* Looking first and sweeping then finds the same twice. */
static void tell_once(struct gpc_session *s, struct gpc_strv *told,
	const char *job, const struct gpc_error *why)
{
	if (gpc_strv_has(told, why->msg))
		return;
	gpc_strv_add(told, why->msg);
	gpc_log(s->log, GPC_WARN, "%s: %s; its blobs stay", job, why->msg);
}

/* What cannot be read would make needed blobs look unneeded: that attempt keeps
 * all of them, and the job is not blocked by it. */
static int sweep_all(struct gpc_session *s, const struct gpc_job_state *st,
	const char *job, bool dry, const struct gpc_strv *without,
	struct gpc_strv *told, struct gpc_swept *swept, struct gpc_error *err)
{
	for (int i = 1; i <= st->attempt; i++) {
		struct gpc_error why = {0};
		int r = gpc_prune_sweep(s->store, job, i, dry, without,
			s->cancel, swept, &why);

		if (r == 0)
			continue;
		if (r == -GPC_EPROTO || r == -GPC_ENOTFOUND) {
			tell_once(s, told, job, &why);
			continue;
		}
		if (err)
			*err = why;
		return r;
	}
	return 0;
}

/* Adds to drop what was decided to go, whoever deleted it. */
static int finish(struct gpc_session *s, struct gpc_journal *j,
	struct gpc_strv *told, struct gpc_strv *drop, struct gpc_swept *swept,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &j->state;
	int64_t mine = st->pruning_n;
	int r = 0;

	if (!st->pruning || st->removing)
		return 0;
	r = gpc_journal_read(s->store, j->job, mine - 1, take_drop, drop, err);
	if (r == 0)
		r = gpc_prune_heads(s->store, j->job, drop, err);
	GPC_CRASH("prune.heads");
	if (r == 0)
		r = sweep_all(s, st, j->job, false, NULL, told, swept, err);
	GPC_CRASH("prune.swept");
	/* Facts may come between; another one may have been faster. */
	for (int i = 0; r == 0 && st->pruning_n == mine && i < TRIES; i++) {
		r = gpc_journal_append(j, GPC_EVENT_PRUNED, NULL, err);
		if (r == -GPC_ECONFLICT)
			r = 0;
	}
	return gpc_wrap(err, r, "prune %s", j->job);
}

int gpc_prune_finish(struct gpc_session *s, struct gpc_journal *j,
	struct gpc_swept *swept, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv told = {0}, drop = {0};

	return finish(s, j, &told, &drop, swept, err);
}

/* --- deciding -------------------------------------------------------------- */

struct deciding {
	struct gpc_session *s;
	const char *job;
	const struct gpc_prune_options *o;
	int keep;
	struct gpc_journal j;
	struct gpc_prune_result *x;
	struct gpc_strv told;         /* what has been warned of */
	struct gpc_prune_result before;   /* of a prune that was cut short */
	bool again;                   /* somebody else was first */
};

static int open_job(struct deciding *d, struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_autostr *by = gpc_session_by(d->s, "client");
	int r = gpc_job_get_spec(d->s->store, d->job, &job, &spec, err);

	if (r < 0)
		return gpc_wrap(err, r, "job %s", d->job);
	d->keep = d->o->keep > 0 ? d->o->keep : spec.checkpoint.keep;
	gpc_journal_init(&d->j, d->s->store, d->job, by);
	r = gpc_journal_refresh(&d->j, NULL, err);
	if (r != -GPC_ENOTFOUND)
		return r;
	r = gpc_submit_finish(d->s, d->job, err);
	return r < 0 ? r : gpc_journal_refresh(&d->j, NULL, err);
}

/* What an attempt resumes from, and what the next one would. */
static void pin(const struct gpc_job_state *st, struct gpc_strv *pinned)
{
	if (st->checkpoint)
		gpc_strv_add(pinned, st->checkpoint);
	gpc_vec_each(t, &st->tries)
		if (t->n == st->attempt && t->resume_from)
			gpc_strv_add(pinned, t->resume_from);
}

static int choose(struct deciding *d, struct gpc_error *err)
{
	const struct gpc_job_state *st = &d->j.state;
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_auto(gpc_strv) struct gpc_strv pinned = {0};
	int r = gpc_checkpoint_list(d->s->store, d->job, &ids, err);

	gpc_prune_result_clear(d->x);
	if (r < 0)
		return r;
	pin(st, &pinned);
	gpc_prune_choose(&ids, d->keep, &pinned, &d->x->removed);
	/* What earlier crashes left of an ended job goes with it. */
	if (gpc_prune_may(st))
		r = sweep_all(d->s, st, d->job, true, &d->x->removed,
			&d->told, &d->x->swept, err);
	return r;
}

static int not_yet(const struct deciding *d, struct gpc_error *err)
{
	const struct gpc_job_state *st = &d->j.state;
	int r;

	if (st->removing) {
		r = gpc_fail(err, GPC_ECONFLICT, "job %s is being removed",
			d->job);
		gpc_hint(err, "`gpucloud prune` finishes that");
		return r;
	}
	r = gpc_fail(err, GPC_ECONFLICT, "job %s has ended, but a node of it is "
		"not released yet and may still save", d->job);
	gpc_hint(err, "`gpucloud release %s` waits for it", d->job);
	return r;
}

static int ask_agent(struct deciding *d, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();
	int r;

	gpc_json_set_int(data, "keep", d->keep);
	r = gpc_journal_append(&d->j, GPC_EVENT_PRUNE, data, err);
	d->again = r == -GPC_ECONFLICT;
	if (r < 0)
		return d->again ? 0 : r;
	d->x->how = GPC_PRUNE_ASKED;
	d->x->event = d->j.state.n;
	return 0;
}

static int prune_ended(struct deciding *d, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv drop = {0};
	struct gpc_json *data = gpc_json_object();
	int r;

	gpc_json_set(data, "drop", gpc_json_strings(&d->x->removed));
	gpc_json_set_int(data, "keep", d->keep);
	r = gpc_journal_append(&d->j, GPC_EVENT_PRUNING, data, err);
	GPC_CRASH("prune.won");
	d->again = r == -GPC_ECONFLICT;
	if (r < 0)
		return d->again ? 0 : r;
	d->x->swept = (struct gpc_swept){0};
	r = finish(d->s, &d->j, &d->told, &drop, &d->x->swept, err);
	if (r == -GPC_ECANCELED)
		gpc_hint(err, "the same again goes on with it; so does `gpucloud "
			"resume`");
	d->x->how = GPC_PRUNE_DONE;
	return r;
}

/* From the newest state; a lost race is decided again. */
static int decide(struct deciding *d, struct gpc_error *err)
{
	const struct gpc_job_state *st = &d->j.state;
	bool ended = gpc_job_status_is_end(st->status);
	int r = 0;

	if (st->removing || (ended && !gpc_prune_may(st)))
		return not_yet(d, err);
	if (st->pruning && !d->o->dry_run) {
		r = finish(d->s, &d->j, &d->told, &d->before.removed,
			&d->before.swept, err);
		d->before.how = GPC_PRUNE_DONE;
	}
	if (r == 0)
		r = choose(d, err);
	if (r < 0)
		return r;
	if (d->x->removed.n == 0 && d->x->swept.blobs == 0) {
		d->x->how = d->before.how;
		return 0;
	}
	if (d->o->dry_run) {
		d->x->how = GPC_PRUNE_WOULD;
		return 0;
	}
	return ended ? prune_ended(d, err) : ask_agent(d, err);
}

/* What a prune before this one had decided on is told as well: nobody has been
 * told yet. */
static void add_before(struct deciding *d)
{
	gpc_auto(gpc_strv) struct gpc_strv all = {0};

	gpc_strv_copy(&all, &d->before.removed);
	for (size_t i = 0; i < d->x->removed.n; i++)
		if (!gpc_strv_has(&all, d->x->removed.v[i]))
			gpc_strv_add(&all, d->x->removed.v[i]);
	gpc_strv_copy(&d->x->removed, &all);
	d->x->swept.blobs += d->before.swept.blobs;
	d->x->swept.bytes += d->before.swept.bytes;
}

static int drop_temps(struct deciding *d, struct gpc_error *err)
{
	struct gpc_remains left = {0};
	bool current;
	int r;

	if (!gpc_prune_may(&d->j.state))
		return 0;
	r = gpc_remains_temps(d->s, &d->j, d->o->dry_run, &current, &left, err);
	d->x->temps = left.temps;
	d->x->swept.bytes += left.temp_bytes;
	if (left.temps > 0 && d->x->how == GPC_PRUNE_NOTHING)
		d->x->how = d->o->dry_run ? GPC_PRUNE_WOULD : GPC_PRUNE_DONE;
	return r;
}

static void deciding_clear(struct deciding *d)
{
	gpc_journal_clear(&d->j);
	gpc_strv_clear(&d->told);
	gpc_prune_result_clear(&d->before);
}
GPC_CLEANUP_VALUE(deciding);

int gpc_prune_checkpoints(struct gpc_session *s, const char *job,
	const struct gpc_prune_options *options,
	struct gpc_prune_result *ret_x, struct gpc_error *err)
{
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};
	gpc_auto(deciding) struct deciding d = { .s = s, .job = job,
		.o = options, .x = &x };
	int r = open_job(&d, err);

	for (int i = 0; r == 0 && i < TRIES && (i == 0 || d.again); i++) {
		d.again = false;
		r = decide(&d, err);
	}
	if (r == 0 && d.again)
		r = gpc_fail(err, GPC_ECONFLICT, "job %s: its journal is too "
			"busy", job);
	if (r == 0)
		r = drop_temps(&d, err);
	if (r < 0)
		return r;
	add_before(&d);
	*ret_x = x;
	x = (struct gpc_prune_result){0};
	return 0;
}

int gpc_prune_served(struct gpc_session *s, const char *job, int64_t event,
	bool *ret_served, struct gpc_prune_result *x, struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int r;

	gpc_journal_init(&j, s->store, job, "");
	r = gpc_journal_refresh(&j, NULL, err);
	*ret_served = false;
	for (int i = j.state.attempt; r == 0 && i > 0 && !*ret_served; i--) {
		gpc_auto(gpc_prune_fact) struct gpc_prune_fact f = {0};

		r = gpc_prune_fact_get(s->store, job, i, &f, err);
		if (r < 0 || f.request < event)
			continue;
		*ret_served = true;
		gpc_strv_clear(&x->removed);
		gpc_strv_copy(&x->removed, &f.removed);
		x->swept = (struct gpc_swept){ (uint64_t)f.blobs,
			(uint64_t)f.bytes };
		x->how = GPC_PRUNE_DONE;
	}
	return r;
}
