/* `gpucloud prune`: removes old jobs that have ended, blobs that no job needs any
 * more, and copies of git repositories that nobody uses. It shows what would go
 * before it asks.
 */
#include <string.h>

#include "cmd/command.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "core/census.h"
#include "core/git_old.h"
#include "core/leftovers.h"
#include "core/remains.h"
#include "core/remove.h"
#include "core/sweep.h"

struct prune {
	int64_t older_than;
	bool jobs, blobs, dry_run, yes, all_users;
};

static const struct gpc_opt options[] = {
	GPC_OPT_DURATION(0, "older-than", struct prune, older_than, "TIME",
		"jobs that ended so long ago", .preset = "30d", .guarded = true),
	GPC_OPT_FLAG(0, "jobs", struct prune, jobs,
		"only jobs", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "blobs", struct prune, blobs,
		"only blobs", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "all-users", struct prune, all_users,
		"jobs of every user of this store", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('n', "dry-run", struct prune, dry_run,
		"only show what would go", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('y', "yes", struct prune, yes, "do not ask",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

/* A job, or all the blobs together, or all the repositories. */
struct row {
	const char *what;
	char *job, *result;
	int64_t ended, objects;
	uint64_t size;
};
static const struct gpc_col cols[] = {
	GPC_COL("what", STR, struct row, what, 0),
	GPC_COL("job", STR, struct row, job, GPC_COL_F_NAME),
	GPC_COL("ended", TIME, struct row, ended, 0),
	GPC_COL("objects", I64, struct row, objects, GPC_COL_F_DATA),
	GPC_COL("size", SIZE, struct row, size, 0),
	GPC_COL("result", STR, struct row, result, GPC_COL_F_CUT),
	GPC_COL_LAST
};
static const struct gpc_table table = {"prune", cols, sizeof(struct row)};

struct work {
	struct gpc_cmd *c;
	struct gpc_session *s;
	const struct prune *o;
	struct gpc_remove_options how;
	struct gpc_removals jobs;
	struct gpc_sweep_result blobs;
	bool swept;                   /* blobs were looked at */
	struct gpc_remains left;      /* of killed writers */
	struct gpc_git_olds git;
	size_t n_git;                 /* that go */
	uint64_t git_bytes;
	size_t n_jobs;                /* that go */
	uint64_t job_bytes;
	struct gpc_error first;       /* of what could not be done */
	int r;
};

/* --- what would go --------------------------------------------------------- */
static void show(void *arg, uint64_t done, uint64_t total)
{
	gpc_autostr *text = gpc_format("%llu of %llu", (unsigned long long)done,
		(unsigned long long)total);

	gpc_progress_text(arg, text);
}

static int sweep(struct work *w, bool dry, struct gpc_error *err)
{
	gpc_autoptr(gpc_progress) *p = gpc_progress_new(&w->c->talk,
		dry ? "looking at blobs" : "sweeping", 0);
	struct gpc_sweep_options o = { .dry_run = dry, .without = &w->jobs,
		.progress = show, .progress_arg = p };
	struct gpc_sweep_result x = {0};
	int r = gpc_sweep_blobs(w->s, &o, &x, err);

	if (!r)
		w->blobs = x;
	w->swept = !r;
	return r;
}

static int look(struct work *w, struct gpc_error *err)
{
	gpc_auto(gpc_census) struct gpc_census census = {0};
	bool both = !w->o->jobs && !w->o->blobs;
	int r = 0;

	/* First, as every list sweeps the oldest of them. */
	if (both)
		r = gpc_remains_temps_of_all(w->s, true, &w->left, err);
	if (!r && (w->o->jobs || both)) {
		r = gpc_census_take(w->s, &census, err);
		if (!r)
			r = gpc_remove_find(w->s, &census, &w->how, &w->jobs,
				err);
	}
	gpc_vec_each(x, &w->jobs) {
		w->n_jobs += !x->left;
		w->job_bytes += x->left ? 0 : x->bytes;
	}
	if (!r && (w->o->blobs || both))
		r = sweep(w, true, err);
	return r;
}

/* The cache is this user's own, whatever the store. */
static void look_at_git(struct work *w)
{
	if (w->o->jobs || w->o->blobs)
		return;
	gpc_git_old_find(w->s, &w->git);
	w->n_git = w->git.n;
	gpc_vec_each(x, &w->git)
		w->git_bytes += x->bytes;
}

/* --- telling --------------------------------------------------------------- */
static char *result_of(const struct gpc_removal *x)
{
	return x->left ? gpc_format("stays: %s", x->left) :
		gpc_strdup(x->done ? "removed" : "would be removed");
}

static int print(const struct work *w, bool dry, struct gpc_error *err)
{
	struct row *rows = gpc_array(w->jobs.n + 3, sizeof(*rows));
	size_t n = 0;
	int r;

	for (size_t i = 0; i < w->jobs.n; i++) {
		struct gpc_removal *x = &w->jobs.v[i];

		rows[n++] = (struct row){ .what = x->rest ? "rest" : "job",
			.job = x->job, .ended = x->ended_ms,
			.objects = (int64_t)x->objects, .size = x->bytes,
			.result = result_of(x) };
	}
	if (w->swept && w->blobs.blobs)
		rows[n++] = (struct row){ .what = "blobs",
			.objects = (int64_t)w->blobs.blobs, .size = w->blobs.bytes,
			.result = gpc_strdup(dry ? "would be removed" :
				"removed") };
	if (w->left.temps)
		rows[n++] = (struct row){ .what = "temporary",
			.objects = (int64_t)w->left.temps,
			.size = w->left.temp_bytes,
			.result = gpc_strdup(dry ? "would be removed" :
				"removed") };
	if (w->n_git)
		rows[n++] = (struct row){ .what = "git",
			.objects = (int64_t)w->n_git, .size = w->git_bytes,
			.result = gpc_strdup(dry ? "would be removed" :
				"removed") };
	r = gpc_out_rows(&w->c->out, &table, rows, n, err);
	for (size_t i = 0; i < n; i++)
		free(rows[i].result);
	free(rows);
	return r;
}

static bool has_work(const struct work *w)
{
	return w->n_jobs || w->blobs.blobs || w->left.temps || w->n_git;
}

static void say_git(const struct work *w, bool dry)
{
	gpc_autostr *size = gpc_phrase_size(w->git_bytes);
	bool one = w->n_git == 1;

	if (w->n_git)
		gpc_say(&w->c->talk, "gpucloud: %zu cached git repositor%s that "
			"no submit has used for 30 days%s, %s", w->n_git,
			one ? "y" : "ies", dry ? " would go" : " removed", size);
}

static void say_sums(const struct work *w, bool dry)
{
	struct gpc_talk *t = &w->c->talk;
	gpc_autostr *jobs = gpc_phrase_count(w->n_jobs, "job");
	gpc_autostr *size = gpc_phrase_size(w->job_bytes + w->blobs.bytes);
	gpc_autostr *blobs = gpc_phrase_count(w->blobs.blobs, "blob");
	gpc_autostr *temps = gpc_phrase_count(w->left.temps, "temporary file");
	gpc_autostr *temp_size = gpc_phrase_size(w->left.temp_bytes);
	gpc_autostr *young = gpc_phrase_count(w->blobs.young, "blob");
	gpc_autostr *rest = gpc_phrase_size(w->blobs.young_bytes);

	if (w->c->out.format > GPC_OUT_WIDE)
		return;
	if (!has_work(w))
		gpc_say(t, "gpucloud: nothing to remove");
	else if (w->n_jobs || w->blobs.blobs)
		gpc_say(t, "gpucloud: %s and %s%s, %s%s", jobs, blobs, dry ?
			" would go" : " removed", size, w->n_jobs ? dry ?
			"; with their checkpoints and artifacts" : "" : "");
	if (w->left.temps)
		gpc_say(t, "gpucloud: %s of killed writers%s, %s", temps,
			dry ? " would go" : " removed", temp_size);
	say_git(w, dry);
	if (w->blobs.young)
		gpc_say(t, "gpucloud: %s (%s) that nothing needs: kept until "
			"14 days old", young, rest);
}

static int ask(struct work *w, struct gpc_error *err)
{
	int r;

	if (w->o->yes || !has_work(w))
		return 0;
	if (gpc_can_ask(&w->c->talk)) {
		r = print(w, true, err);
		if (r)
			return r;
		say_sums(w, true);
		if (gpc_ask(&w->c->talk, "Remove all of this%s?",
			w->o->all_users ? " (every user's)" : ""))
			return 0;
		return gpc_fail(err, GPC_ECANCELED, "nothing was removed");
	}
	say_sums(w, true);
	r = gpc_fail(err, GPC_EUSAGE, "nothing was removed: there is no "
		"terminal to ask on");
	gpc_hint(err, "pass -y; --dry-run shows what would go");
	return r;
}

/* --- doing it -------------------------------------------------------------- */
static void note_failure(struct work *w, const struct gpc_error *err, int r)
{
	if (w->r)
		return;
	w->r = r;
	w->first = *err;
}

static int remove_jobs(struct work *w, struct gpc_error *err)
{
	gpc_autoptr(gpc_progress) *p = gpc_progress_new(&w->c->talk, "removing",
		0);

	w->n_jobs = 0;
	w->job_bytes = 0;
	gpc_vec_each(x, &w->jobs) {
		struct gpc_error why = {0};
		int r;

		if (gpc_canceled(w->c->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (x->left)
			continue;
		gpc_progress_text(p, x->job);
		r = gpc_remove_job(w->s, &w->how, x, &why);
		if (r == -GPC_ECANCELED) {
			*err = why;
			return r;
		}
		w->n_jobs += x->done;
		w->job_bytes += x->done ? x->bytes : 0;
		if (!r)
			continue;
		/* One that cannot be removed holds up no other. */
		note_failure(w, &why, r);
		gpc_set_str(&x->left, why.msg);
	}
	return 0;
}

static int drop_temps(struct work *w, struct gpc_error *err)
{
	if (!w->left.temps)
		return 0;
	w->left = (struct gpc_remains){0};
	return gpc_remains_temps_of_all(w->s, false, &w->left, err);
}

/* One that a submit uses again by now stays without a word. */
static void drop_git(struct work *w)
{
	w->n_git = 0;
	w->git_bytes = 0;
	gpc_vec_each(x, &w->git) {
		struct gpc_error why = {0};
		int r = gpc_git_old_drop(x, &why);

		w->n_git += r == 0;
		w->git_bytes += r == 0 ? x->bytes : 0;
		if (r < 0 && r != -GPC_ECONFLICT)
			note_failure(w, &why, r);
	}
}

static int remove_all(struct work *w, struct gpc_error *err)
{
	struct gpc_error why = {0};
	bool sweeps = w->swept;
	int r = drop_temps(w, err);

	if (!r)
		r = remove_jobs(w, err);
	if (!r && sweeps)
		r = sweep(w, false, err);
	if (!r && w->s->store && gpc_leftovers_sweep(w->s, &why) < 0)
		gpc_log(&w->c->log, GPC_WARN, "%s", why.msg);
	if (!r)
		drop_git(w);
	if (!r)
		r = print(w, false, err);
	if (!r)
		say_sums(w, false);
	if (!r && w->r) {
		*err = w->first;
		r = w->r;
	}
	return r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	struct work w = {.c = c, .o = c->ctx};
	gpc_autoptr(gpc_session) *s = NULL;
	int r = gpc_cmd_session(c, GPC_STORE_MAY_LACK, &s, err);

	w.s = s;
	w.how = (struct gpc_remove_options){ .older_ms = w.o->older_than,
		.all_users = w.o->all_users };
	if (!r && s->store)
		r = look(&w, err);
	if (!r)
		look_at_git(&w);
	if (!r && !w.o->dry_run)
		r = ask(&w, err);
	if (!r && !w.o->dry_run)
		r = remove_all(&w, err);
	else if (!r)
		r = print(&w, true, err);
	if (!r && w.o->dry_run)
		say_sums(&w, true);
	gpc_removals_clear(&w.jobs);
	gpc_git_olds_clear(&w.git);
	return r;
}

const struct gpc_command gpc_command_prune = {
	.name = "prune",
	.summary = "remove old jobs and what nothing needs any more",
	.usage = "[OPTION]...",
	.about = "Removes this user's jobs that ended long ago, with their "
		"logs, checkpoints and artifacts, blobs that no job needs and "
		"that are older than 14 days, and copies of git repositories "
		"that no submit has used for 30 days. Shows what would go and "
		"asks first.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct prune),
	.max_args = 0,
	.run = run,
};
