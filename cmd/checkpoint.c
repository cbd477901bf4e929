/* `gpucloud checkpoint`: save one now, list them, fetch one, and in files of
 * their own verify and prune. Inside a job the job itself is meant, so that a
 * program can say when it is worth saving.
 */
#include "cmd/checkpoint_verbs.h"

#include <stdlib.h>
#include <string.h>

#include "agent/ask.h"
#include "base/time.h"
#include "cmd/pause.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "core/fetch.h"
#include "core/request.h"
#include "core/view.h"
#include "record/checkpoint.h"
#include "record/journal.h"
#include "record/keys.h"

enum { PAUSE_MS = 100, VIEW_MS = 500, VIEW_FAR_MS = 3000, ENSURE_MS = 2000 };

static const char *const verbs[] = {
	"save", "list", "pull", "verify", "prune", NULL
};

static const struct gpc_opt options[] = {
	GPC_OPT_STR(0, "label", struct checkpoint, label, "WORD",
		"save: what its id ends in", .preset = "user"),
	GPC_OPT_DURATION(0, "timeout", struct checkpoint, timeout, "TIME",
		"save, prune: give up waiting after this"),
	GPC_OPT_INT(0, "rank", struct checkpoint, rank, "N",
		"pull: only the part of this rank",
		.complete = GPC_COMPLETE_RANK, .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "overwrite", struct checkpoint, overwrite,
		"pull: replace files that exist", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('a', "all", struct checkpoint, all,
		"verify: every checkpoint of the job", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "workspace", struct checkpoint, workspace,
		"verify: also what was submitted", .key = GPC_OPT_NO_KEY),
	GPC_OPT_INT(0, "keep", struct checkpoint, keep, "N",
		"prune: how many stay, at least 2", .guarded = true),
	GPC_OPT_FLAG('n', "dry-run", struct checkpoint, dry_run,
		"prune: only show what would go", .key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

static int find_job(struct gpc_session *s, const char *word,
	char job[GPC_JOB_ID_SIZE], struct gpc_error *err)
{
	return gpc_job_find(s, gpc_cmd_job_word(word), false, job, err);
}

/* --- save ------------------------------------------------------------------ */
static bool label_ok(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= 24 &&
		strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static bool newer(const struct gpc_checkpoint_id *a, int attempt, int n)
{
	return a->attempt > attempt || (a->attempt == attempt && a->n > n);
}

struct saving {
	struct gpc_cmd *c;
	struct gpc_session *s;
	const char *job;
	int attempt, n;              /* the newest one before we asked */
	int64_t event;               /* of what we asked */
	struct gpc_progress *progress;
	int64_t start_ms;
	char *said;                  /* the last note that was told */
};

/* The first one after ours was asked for that bears the label. */
static int look(const struct saving *x, char ret_id[64], struct gpc_error *err)
{
	const struct checkpoint *o = x->c->ctx;
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	int r = gpc_checkpoint_list(x->s->store, x->job, &ids, err);

	*ret_id = '\0';
	for (size_t i = 0; !r && i < ids.n; i++) {
		char label[25];
		int attempt, n;

		if (!newer(&ids.v[i], x->attempt, x->n) ||
			!gpc_checkpoint_id_parse(ids.v[i].id, &attempt, &n,
				label) || !gpc_eq(label, o->label))
			continue;
		memcpy(ret_id, ids.v[i].id, sizeof(ids.v[i].id));
		break;
	}
	return r;
}

/* An agent hears what was asked since its machine was wanted, not what an
 * earlier one did not come to. */
static bool was_missed(const struct saving *x, const struct gpc_job_state *st)
{
	gpc_vec_each(n, &st->nodes)
		if (n->attempt == st->attempt && n->rank == 0 &&
			n->intent > x->event)
			return true;
	return false;
}

static int check_alive(struct saving *x, struct gpc_error *err)
{
	const struct checkpoint *o = x->c->ctx;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r = gpc_view_load(x->s, x->job, &v, err);

	if (r)
		return r;
	if (gpc_job_status_is_end(v.state.status)) {
		gpc_autostr *state = gpc_phrase_state(&v.state);
		return gpc_fail(err, GPC_ECONFLICT, "%s ended before it was "
			"saved (%s)", x->job, state);
	}
	/* such as that saving fails, and why */
	if (v.note && !gpc_eq(v.note, x->said)) {
		gpc_set_str(&x->said, v.note);
		gpc_say(&x->c->talk, "gpucloud: %s", v.note);
	}
	gpc_progress_text(x->progress, gpc_job_status_to_str(v.state.status));
	return was_missed(x, &v.state) ? gpc_request_save(x->s, x->job, o->label,
		&x->event, err) : 0;
}

static int wait_for_it(struct saving *x, char ret_id[64], struct gpc_error *err)
{
	const struct checkpoint *o = x->c->ctx;
	int64_t viewed = 0, ensured = 0;
	int64_t view_ms = gpc_cmd_is_far(x->s) ? VIEW_FAR_MS : VIEW_MS;
	struct gpc_pace pace = { GPC_PAUSE_BUSY_MS, GPC_PAUSE_BUSY_MOST_MS, 0 };
	gpc_key folder;

	gpc_key_job_file(folder, x->job, "checkpoints/");
	for (;;) {
		int64_t now = gpc_boot_ms();
		int r = look(x, ret_id, err);

		if (!r && *ret_id)
			return 0;
		if (!r && now - viewed >= view_ms) {
			viewed = now;
			r = check_alive(x, err);
		}
		if (r)
			return r;
		if (now - ensured >= ENSURE_MS) {
			ensured = now;
			gpc_cmd_ensure_supervisor(x->c, x->s);
		}
		if (gpc_canceled(x->c->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted; %s "
				"saves all the same", x->job);
		if (o->timeout && now - x->start_ms >= o->timeout)
			return gpc_fail(err, GPC_ETIMEOUT,
				"%s is not saved yet", x->job);
		gpc_progress_text(x->progress, NULL);
		gpc_cmd_pause(x->c, x->s, folder, PAUSE_MS, &pace, false);
	}
}

static int check_label(const struct checkpoint *o, struct gpc_error *err)
{
	return label_ok(o->label) ? 0 : gpc_fail(err, GPC_EUSAGE, "--label "
		"\"%s\": use up to 24 of a-z, 0-9 and -", o->label);
}

/* What can be told before anything is asked of the job. */
static int check_save(struct saving *x, struct gpc_error *err)
{
	const struct checkpoint *o = x->c->ctx;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	int r;

	r = check_label(o, err);
	if (!r)
		r = gpc_view_load(x->s, x->job, &v, err);
	if (r)
		return r;
	if (!gpc_json_get_str(gpc_json_get(v.job.spec, "checkpoint"), "path")) {
		r = gpc_fail(err, GPC_ECONFLICT, "%s has no checkpoints: its "
			"spec names no checkpoint.path", x->job);
		gpc_hint(err, "checkpoint: {path: FOLDER} in the spec says "
			"what is saved");
		return r;
	}
	r = gpc_checkpoint_list(x->s->store, x->job, &ids, err);
	if (!r && ids.n) {
		x->attempt = ids.v[ids.n - 1].attempt;
		x->n = ids.v[ids.n - 1].n;
	}
	return r;
}

static int show_id(struct gpc_cmd *c, const char *job, const char *id,
	struct gpc_error *err)
{
	struct gpc_json *j;

	if (c->out.format != GPC_OUT_JSON)
		return gpc_out_print(&c->out, err, "%s\n", id);
	j = gpc_json_object();
	gpc_json_set_str(j, "job", job);
	gpc_json_set_str(j, "id", id);
	return gpc_out_json(&c->out, "checkpoint", j, err);
}

static int save(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	struct gpc_error *err)
{
	const struct checkpoint *o = c->ctx;
	struct saving x = {.c = c, .s = s, .job = job,
		.start_ms = gpc_boot_ms()};
	gpc_autoptr(gpc_progress) *p = gpc_progress_new(&c->talk, "saving", 0);
	char id[64];
	int r = check_save(&x, err);

	x.progress = p;
	if (!r)
		r = gpc_request_save(s, job, o->label, &x.event, err);
	if (!r)
		r = wait_for_it(&x, id, err);
	free(x.said);
	gpc_talk_clear_line(&c->talk);
	return r ? r : show_id(c, job, id, err);
}

/* In a job its own agent is asked, which costs no request and needs no
 * credentials. GPC_ENOTFOUND: that is not possible here. */
static int save_here(struct gpc_cmd *c, const char *word, struct gpc_error *err)
{
	const struct checkpoint *o = c->ctx;
	const char *job = getenv("GPUCLOUD_JOB_ID");
	const char *rank = getenv("GPUCLOUD_NODE_RANK");
	const char *path = getenv(GPC_ASK_ENV);
	char id[64];
	int r;

	if (!path || !*path || !job || !rank || !gpc_eq(rank, "0") ||
		(word && !gpc_eq(word, job)))
		return -GPC_ENOTFOUND;
	r = check_label(o, err);
	if (!r)
		r = gpc_ask_save(path, o->label, o->timeout, c->cancel, id, err);
	return r ? r : show_id(c, job, id, err);
}

/* --- list ------------------------------------------------------------------ */
struct row {
	const char *job;
	char *id, *label;
	int attempt, n, ranks;
	int64_t at, files;
	uint64_t size;
	bool quiet, newest, passed_over;
};
static const struct gpc_col cols[] = {
	GPC_COL("id", STR, struct row, id, GPC_COL_F_NAME),
	GPC_COL("attempt", INT, struct row, attempt, 0),
	GPC_COL("n", INT, struct row, n, GPC_COL_F_DATA),
	GPC_COL("label", STR, struct row, label, GPC_COL_F_DATA),
	GPC_COL("at", TIME, struct row, at, 0, .title = "saved"),
	GPC_COL("files", I64, struct row, files, 0),
	GPC_COL("size", SIZE, struct row, size, 0),
	GPC_COL("ranks", INT, struct row, ranks, GPC_COL_F_WIDE),
	GPC_COL("quiet", BOOL, struct row, quiet, 0),
	GPC_COL("newest", BOOL, struct row, newest, GPC_COL_F_DATA),
	GPC_COL("passed_over", BOOL, struct row, passed_over, GPC_COL_F_DATA),
	GPC_COL("job", STR, struct row, job, GPC_COL_F_DATA),
	GPC_COL_LAST
};
static const struct gpc_table table = {"checkpoint", cols, sizeof(struct row)};

static int fill(struct gpc_session *s, const char *job,
	const struct gpc_checkpoint_id *id, struct row *row,
	struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint k = {0};
	int r = gpc_checkpoint_get(s->store, job, id->id, &k, err);

	if (r)
		return r;
	*row = (struct row){
		.job = job, .id = gpc_strdup(k.id), .label = gpc_strdup(k.label),
		.attempt = k.attempt, .n = k.n, .ranks = (int)k.parts.n,
		.at = k.at_ms, .files = k.files, .size = (uint64_t)k.bytes,
		.quiet = k.quiet,
	};
	return 0;
}

/* What attempts found damaged: it is listed, but nothing starts from it. */
static void mark_passed_over(struct gpc_cmd *c, struct gpc_session *s,
	const char *job, struct row *rows, size_t n)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};

	gpc_journal_init(&j, s->store, job, "");
	if (!n || gpc_journal_refresh(&j, NULL, NULL))
		return;
	gpc_vec_each(t, &j.state.tries) {
		gpc_autostr *text = gpc_phrase_passed_over(t);

		for (size_t i = 0; i < n; i++)
			rows[i].passed_over |= gpc_strv_has(&t->damaged,
				rows[i].id);
		if (text && c->out.format <= GPC_OUT_WIDE)
			gpc_say(&c->talk, "gpucloud: %s by attempt %d", text,
				t->n);
	}
}

static int list(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	int r = gpc_checkpoint_list(s->store, job, &ids, err);

	if (r)
		return r;
	struct row *rows = gpc_array(ids.n ? ids.n : 1, sizeof(*rows));
	size_t n = 0;
	int bad = 0;
	for (size_t i = 0; i < ids.n; i++) {
		struct gpc_error why;
		int one = fill(s, job, &ids.v[i], &rows[n], &why);

		if (!one) {
			n++;
		} else if (one != -GPC_ENOTFOUND && !bad) {
			/* not found: pruned while we looked */
			bad = one;
			*err = why;
		}
	}
	if (n)
		rows[n - 1].newest = true;
	mark_passed_over(c, s, job, rows, n);
	/* One that cannot be read does not hide the others. */
	if (n || !bad)
		r = gpc_out_rows(&c->out, &table, rows, n, bad ? NULL : err);
	if (bad)
		r = bad;
	if (!r && !n && c->out.format <= GPC_OUT_WIDE)
		gpc_say(&c->talk, "gpucloud: %s has no checkpoint", job);
	for (size_t i = 0; i < n; i++) {
		free(rows[i].id);
		free(rows[i].label);
	}
	free(rows);
	return r;
}

/* --- pull ------------------------------------------------------------------ */
struct want { const char *job, *id, *dir; };

/* [JOB] [ID] [DIR]: an id is known by its form, a folder by a slash or by its
 * place behind the job. */
static int sort_words(const struct gpc_cmd *c, struct want *w,
	struct gpc_error *err)
{
	for (int i = 1; i < c->argc; i++) {
		const char *word = c->argv[i];
		char label[25];
		int attempt, n;

		if (!w->id && gpc_checkpoint_id_parse(word, &attempt, &n, label))
			w->id = word;
		else if (!w->dir && (strchr(word, '/') || *word == '.' ||
			w->job))
			w->dir = word;
		else if (!w->job && !w->dir)
			w->job = word;
		else
			return gpc_fail(err, GPC_EUSAGE, "checkpoint pull: one "
				"argument too many: \"%s\"", word);
	}
	return 0;
}

static int pull(struct gpc_cmd *c, struct gpc_session *s, struct gpc_error *err)
{
	const struct checkpoint *o = c->ctx;
	struct want w = {0};
	char job[GPC_JOB_ID_SIZE];
	struct gpc_fetched got = {0};
	int r = sort_words(c, &w, err);

	if (!r)
		r = find_job(s, w.job, job, err);
	if (r)
		return r;
	gpc_autostr *dir = w.dir ? gpc_strdup(w.dir) :
		gpc_format("%s-checkpoint", job);
	r = gpc_fetch_checkpoint(s, job, w.id, gpc_cmd_given(c, "rank") ?
		o->rank : -1, dir, o->overwrite, &got, err);
	if (r)
		return r;
	if (c->out.format == GPC_OUT_NAME)
		return gpc_out_print(&c->out, err, "%s\n", dir);
	if (c->out.format == GPC_OUT_JSON) {
		struct gpc_json *j = gpc_json_object();
		gpc_json_set_str(j, "job", job);
		gpc_json_set(j, "id", gpc_json_string(w.id));
		gpc_json_set_str(j, "dir", dir);
		gpc_json_set_int(j, "files", (int64_t)got.files);
		gpc_json_set_int(j, "size_bytes", (int64_t)got.bytes);
		return gpc_out_json(&c->out, "pull", j, err);
	}
	gpc_autostr *files = gpc_phrase_count(got.files, "file");
	gpc_autostr *size = gpc_phrase_size(got.bytes);
	if (got.files || o->overwrite) {
		gpc_say(&c->talk, "gpucloud: %s, %s in %s", files, size, dir);
		return 0;
	}
	gpc_say(&c->talk, "gpucloud: nothing new to fetch from %s", job);
	gpc_say(&c->talk, "  hint: what exists in %s is kept; --overwrite "
		"replaces it", dir);
	return 0;
}

static int unknown_verb(const char *word, struct gpc_error *err)
{
	const char *near = gpc_nearest(word, verbs, 5);
	int r = gpc_fail(err, GPC_EUSAGE, "there is no \"checkpoint %s\": "
		"use save, list, pull, verify or prune", word);

	if (near)
		gpc_hint(err, "did you mean %s?", near);
	return r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_autoptr(gpc_session) *s = NULL;
	char job[GPC_JOB_ID_SIZE];
	const char *verb = c->argv[0];
	bool is_pull = gpc_eq(verb, "pull"), is_save = gpc_eq(verb, "save");
	bool is_verify = gpc_eq(verb, "verify"), is_prune = gpc_eq(verb, "prune");

	if (!is_pull && !is_save && !is_verify && !is_prune &&
		!gpc_eq(verb, "list"))
		return unknown_verb(verb, err);
	if ((is_pull && c->argc > 4) || (!is_pull && !is_verify && c->argc > 2))
		return gpc_fail(err, GPC_EUSAGE, "checkpoint %s: one argument "
			"too many: \"%s\"", verb, c->argv[is_pull ? 4 : 2]);
	int r = is_prune ? gpc_checkpoint_prune_check(c, err) :
		is_save ? save_here(c, c->argc > 1 ? c->argv[1] : NULL, err) : 0;
	if (is_save && r != -GPC_ENOTFOUND)
		return r;
	if (!r || is_save)
		r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);
	if (!r && is_pull)
		return pull(c, s, err);
	if (!r && is_verify)
		return gpc_checkpoint_verify(c, s, err);
	if (!r)
		r = find_job(s, c->argc > 1 ? c->argv[1] : NULL, job, err);
	if (r)
		return r;
	return is_prune ? gpc_checkpoint_prune(c, s, job, err) :
		is_save ? save(c, s, job, err) : list(c, s, job, err);
}

static enum gpc_complete next(const char *const *words, int n)
{
	bool is_pull = n > 0 && gpc_eq(words[0], "pull");
	bool is_verify = n > 0 && gpc_eq(words[0], "verify");
	char label[25];
	int attempt, number;

	if (n == 0)
		return GPC_COMPLETE_WORDS;
	if (n == 1)
		return is_pull || is_verify ? GPC_COMPLETE_JOB_OR_CHECKPOINT :
			gpc_eq(words[0], "save") ? GPC_COMPLETE_LIVE_JOB :
			GPC_COMPLETE_JOB;
	if (is_verify)
		return GPC_COMPLETE_CHECKPOINT;
	if (n == 2 && is_pull && !gpc_checkpoint_id_parse(words[1], &attempt,
		&number, label))
		return GPC_COMPLETE_CHECKPOINT;
	return is_pull ? GPC_COMPLETE_DIR : GPC_COMPLETE_NONE;
}

const struct gpc_command gpc_command_checkpoint = {
	.name = "checkpoint",
	.summary = "save, list, fetch, verify or prune checkpoints",
	.usage = "save [OPTION]... [JOB]\n"
		"list [OPTION]... [JOB]\n"
		"pull [OPTION]... [JOB] [ID] [DIR]\n"
		"verify [OPTION]... [JOB] [ID]...\n"
		"prune [OPTION]... [JOB]",
	.about = "save asks JOB for a checkpoint, waits until it is complete "
		"and prints its id. list shows them, oldest first. pull fetches "
		"one (by default the newest) into DIR. verify reads every byte "
		"of the newest one, or of those that are named. prune removes "
		"all but the newest ones. JOB is by default the "
		"job that this runs in, else the newest one.",
	.group = GPC_GROUP_LIFE,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct checkpoint),
	.min_args = 1,
	.max_args = -1,
	.complete_next = next,
	.words = verbs,
	.run = run,
};
