/* `gpucloud checkpoint verify`: reads every byte of checkpoints and says which
 * are what they should be.
 */
#include "cmd/checkpoint_verbs.h"

#include <string.h>

#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "core/verify.h"
#include "core/view.h"
#include "record/checkpoint.h"

enum { SHOWN = 3 };

struct verifying {
	struct gpc_cmd *c;
	struct gpc_session *s;
	const char *job;
	struct gpc_verify_options how;
	struct gpc_verdicts all;
	struct gpc_progress *progress;
};

static void verifying_clear(struct verifying *x)
{
	gpc_verdicts_clear(&x->all);
	gpc_verified_free(x->how.known);
	gpc_progress_free(x->progress);
}
GPC_CLEANUP_VALUE(verifying);

static void show(void *arg, uint64_t done, uint64_t total)
{
	gpc_progress_bytes(arg, done, total);
}

static bool is_id(const char *word)
{
	char label[25];
	int attempt, n;

	return gpc_checkpoint_id_parse(word, &attempt, &n, label);
}

/* --- looking --------------------------------------------------------------- */
static int one(struct verifying *x, const char *id, struct gpc_error *err)
{
	gpc_autostr *what = gpc_format("verifying %s", id);
	int r;

	gpc_progress_free(x->progress);
	x->progress = gpc_progress_new(&x->c->talk, what, 0);
	x->how.progress_arg = x->progress;
	r = gpc_verify_checkpoint(x->s, x->job, id, &x->how, &x->all, err);
	gpc_progress_free(x->progress);
	x->progress = NULL;
	return r;
}

/* The named ones; all; or the newest, which an attempt would start from. */
static int checkpoints(struct verifying *x, int from, struct gpc_error *err)
{
	const struct checkpoint *o = x->c->ctx;
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	int r = 0;

	for (int i = from; !r && i < x->c->argc; i++)
		r = one(x, x->c->argv[i], err);
	if (r || from < x->c->argc)
		return r;
	r = gpc_checkpoint_list(x->s->store, x->job, &ids, err);
	for (size_t i = 0; !r && i < ids.n; i++) {
		if (!o->all && i + 1 < ids.n)
			continue;
		r = one(x, ids.v[i].id, err);
		if (r == -GPC_ENOTFOUND)
			r = 0;           /* pruned while we looked */
	}
	if (!r && !x->all.n && !o->workspace)
		gpc_say(&x->c->talk, "gpucloud: %s has no checkpoint", x->job);
	return r;
}

static int workspace(struct verifying *x, struct gpc_error *err)
{
	const struct checkpoint *o = x->c->ctx;
	int r;

	if (!o->workspace)
		return 0;
	x->progress = gpc_progress_new(&x->c->talk, "verifying the workspace",
		0);
	x->how.progress_arg = x->progress;
	r = gpc_verify_workspace(x->s, x->job, &x->how, &x->all, err);
	gpc_progress_free(x->progress);
	x->progress = NULL;
	return r;
}

/* --- telling --------------------------------------------------------------- */
struct row {
	char *id;
	const char *result;
	int64_t files, damages;
	uint64_t size;
	struct gpc_strv first;
};
static const struct gpc_col cols[] = {
	GPC_COL("id", STR, struct row, id, GPC_COL_F_NAME),
	GPC_COL("result", STR, struct row, result, 0),
	GPC_COL("files", I64, struct row, files, 0),
	GPC_COL("size", SIZE, struct row, size, 0),
	GPC_COL("damages", I64, struct row, damages, GPC_COL_F_DATA),
	GPC_COL("first_damages", STRV, struct row, first, GPC_COL_F_DATA),
	GPC_COL_LAST
};
static const struct gpc_table table = {"verify", cols, sizeof(struct row)};

static void say_damages(struct verifying *x, const struct gpc_verdict *v)
{
	bool more = x->c->global.verbose > 0;

	for (size_t i = 0; i < v->damages.n && (more || i < SHOWN); i++) {
		gpc_autostr *safe = gpc_str_printable(v->damages.v[i],
			strlen(v->damages.v[i]));

		gpc_say(&x->c->talk, "gpucloud: %s: %s", v->id, safe);
	}
	if (!more && v->n_damages > SHOWN)
		gpc_say(&x->c->talk, "gpucloud: %s: and %zu more (-v)", v->id,
			v->n_damages - SHOWN);
}

static int print(struct verifying *x, struct gpc_error *err)
{
	struct row *rows = gpc_array(x->all.n ? x->all.n : 1, sizeof(*rows));
	int r;

	for (size_t i = 0; i < x->all.n; i++) {
		struct gpc_verdict *v = &x->all.v[i];

		rows[i] = (struct row){ .id = v->id, .files = v->files,
			.size = (uint64_t)v->bytes, .first = v->damages,
			.damages = (int64_t)v->n_damages,
			.result = v->gone ? "pruned" : v->sound ? "ok" :
			"damaged" };
	}
	r = gpc_out_rows(&x->c->out, &table, rows, x->all.n, err);
	free(rows);
	return r;
}

/* What to do depends on what is left. */
static int verdict(struct verifying *x, struct gpc_error *err)
{
	const struct checkpoint *o = x->c->ctx;
	size_t bad = 0, sound = 0;
	const char *good = NULL;
	int r;

	gpc_vec_each(v, &x->all) {
		if (v->gone)
			continue;
		bad += !v->sound;
		sound += v->sound;
		if (v->sound && is_id(v->id))
			good = v->id;
		if (!v->sound)
			say_damages(x, v);
	}
	if (!bad)
		return 0;
	r = gpc_fail(err, GPC_EPROTO, "%s: %zu of %zu damaged", x->job, bad,
		bad + sound);
	if (!good && o->all)
		gpc_hint(err, "put the blobs back from a copy, or submit the job "
			"again");
	else if (good)
		gpc_hint(err, "`gpucloud resume %s --checkpoint %s` starts from "
			"a sound one", x->job, good);
	else
		gpc_hint(err, "`gpucloud checkpoint verify %s --all` looks for a "
			"sound one; put lost blobs back from a copy", x->job);
	return r;
}

static int not_an_id(const char *word, const char *job, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_EUSAGE, "checkpoint verify: \"%s\" is not the "
		"id of a checkpoint", word);

	gpc_hint(err, "`gpucloud checkpoint list%s%s` shows them", job ? " " : "",
		job ? job : "");
	return r;
}

int gpc_checkpoint_verify(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_error *err)
{
	const struct checkpoint *o = c->ctx;
	gpc_auto(verifying) struct verifying x = {.c = c, .s = s};
	char job[GPC_JOB_ID_SIZE];
	bool named = c->argc > 1 && !is_id(c->argv[1]);
	int from = named ? 2 : 1, r = 0;

	for (int i = from; !r && i < c->argc; i++)
		if (!is_id(c->argv[i]))
			r = not_an_id(c->argv[i], named ? c->argv[1] : NULL, err);
	if (!r && o->all && from < c->argc)
		r = gpc_fail(err, GPC_EUSAGE, "checkpoint verify: name "
			"checkpoints, or give --all, not both");
	if (!r)
		r = gpc_job_find(s, gpc_cmd_job_word(named ? c->argv[1] : NULL),
			false, job, err);
	if (r)
		return r;
	x.job = job;
	x.how = (struct gpc_verify_options){ .cancel = c->cancel,
		.known = gpc_verified_new(), .progress = show };
	r = workspace(&x, err);
	if (!r)
		r = checkpoints(&x, from, err);
	if (!r)
		r = print(&x, err);
	return r ? r : verdict(&x, err);
}
