/* `gpucloud setup`: prepares an account for jobs, once. What is there, what will be made
 * and what differs is shown before anything is asked, and a second call has nothing to
 * do. The same can be had as a template, for those who make such things otherwise.
 */
#include "core/setup.h"

#include <string.h>

#include "cmd/command.h"
#include "cmd/session_open.h"

struct setup {
	bool dry_run, yes, undo, delete_objects, supervisor, groups;
	struct gpc_strv sources;
	const char *export;
};

static const char *const formats[] = {"cloudformation", NULL};

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG('n', "dry-run", struct setup, dry_run,
		"only show what would be made", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('y', "yes", struct setup, yes, "do not ask",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "supervisor-role", struct setup, supervisor,
		"also a role that may buy and end nodes", .guarded = true),
	GPC_OPT_FLAG(0, "auto-scaling", struct setup, groups,
		"nodes may use recovery.by: cloud", .guarded = true),
	GPC_OPT_LIST(0, "source-ip", struct setup, sources, "CIDR",
		"people reach the store from there alone", .guarded = true),
	GPC_OPT_STR(0, "export", struct setup, export, "FORMAT",
		"write it as a template, make nothing", .words = formats,
		.complete = GPC_COMPLETE_WORDS, .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "undo", struct setup, undo,
		"take away what it made", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "delete-objects", struct setup, delete_objects,
		"with --undo: also all that is in the bucket",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

static const char *const states[] = {"exists", "missing", "differs", "kept", NULL};

struct row {
	const char *kind;
	enum gpc_setup_state state;
	char *name, *detail, *result;
};
static const struct gpc_col cols[] = {
	GPC_COL("kind", STR, struct row, kind, 0, .title = "what"),
	GPC_COL("name", STR, struct row, name, GPC_COL_F_NAME),
	GPC_COL("state", ENUM, struct row, state, 0, .names = states),
	GPC_COL("detail", STR, struct row, detail, GPC_COL_F_CUT),
	GPC_COL("result", STR, struct row, result, GPC_COL_F_CUT),
	GPC_COL_LAST
};
static const struct gpc_table table = {"setup", cols, sizeof(struct row)};

struct work {
	struct gpc_cmd *c;
	const struct setup *o;
	struct gpc_provider *p;
	struct gpc_setup_wish wish;
	struct gpc_setup_items items;
	struct row *rows;               /* one for each item */
	struct gpc_progress *progress;
};

static void work_clear(struct work *w)
{
	for (size_t i = 0; w->rows && i < w->items.n; i++)
		free(w->rows[i].result);
	free(w->rows);
	gpc_setup_items_clear(&w->items);
	gpc_provider_free(w->p);
}

/* --- showing ----------------------------------------------------------------- */

/* What has to be done with it; NULL: nothing. */
static const char *to_do(const struct work *w, const struct gpc_setup_item *i)
{
	if (w->o->undo)
		return i->state == GPC_SETUP_KEPT ? NULL : "removed";
	return i->state == GPC_SETUP_MISSING ? "made" :
		i->state == GPC_SETUP_DIFFERS ? "changed" : NULL;
}

static bool has_work(const struct work *w)
{
	for (size_t i = 0; i < w->items.n; i++)
		if (to_do(w, &w->items.v[i]))
			return true;
	return false;
}

static void make_rows(struct work *w)
{
	w->rows = gpc_array(w->items.n + 1, sizeof(*w->rows));
	for (size_t i = 0; i < w->items.n; i++) {
		const struct gpc_setup_item *x = &w->items.v[i];
		const char *todo = to_do(w, x);

		w->rows[i] = (struct row){ x->kind, x->state, x->name, x->detail,
			todo ? gpc_format("would be %s", todo) : NULL };
	}
}

static int show(struct work *w, struct gpc_error *err)
{
	return gpc_out_rows(&w->c->out, &table, w->rows, w->items.n, err);
}

static void say_plan(struct work *w)
{
	for (size_t i = 0; i < w->items.n; i++)
		gpc_say(&w->c->talk, "  %-20s %-24s %-8s %s", w->rows[i].kind,
			w->rows[i].name, w->rows[i].result ?
			w->rows[i].result + strlen("would be ") :
			states[w->rows[i].state], w->rows[i].detail ?
			w->rows[i].detail : "");
}

static void tell(void *arg, const struct gpc_setup_item *item, int r,
	const struct gpc_error *err)
{
	struct work *w = arg;
	struct row *row = &w->rows[item - w->items.v];

	if (r > 0) {
		gpc_progress_text(w->progress, item->kind);
		return;
	}
	free(row->result);
	row->result = gpc_strdup(r < 0 ? err->msg : to_do(w, item));
}

/* --- doing ------------------------------------------------------------------- */

static int ask(struct work *w, struct gpc_error *err)
{
	const char *what = w->o->undo ? "Take all of this away" :
		"Make all of this";
	int r;

	if (w->o->yes)
		return 0;
	say_plan(w);
	if (gpc_can_ask(&w->c->talk))
		return gpc_ask(&w->c->talk, "%s?", what) ? 0 : gpc_fail(err,
			GPC_ECANCELED, "nothing was %s", w->o->undo ? "removed" :
			"made");
	r = gpc_fail(err, GPC_EUSAGE, "nothing was %s: there is no terminal to ask "
		"on", w->o->undo ? "removed" : "made");
	gpc_hint(err, "pass -y; --dry-run shows what would be %s", w->o->undo ?
		"removed" : "made");
	return r;
}

static int do_it(struct work *w, struct gpc_error *err)
{
	gpc_autoptr(gpc_progress) *p = gpc_progress_new(&w->c->talk, w->o->undo ?
		"removing" : "making", 0);
	const struct gpc_setup_work how = { .p = w->p, .wish = &w->wish,
		.cancel = w->c->cancel, .tell = tell, .arg = w };
	struct gpc_error why = {0};
	int r;

	w->progress = p;
	r = w->o->undo ? gpc_setup_unmake(&how, &w->items, &why) :
		gpc_setup_make(&how, &w->items, &why);
	gpc_progress_text(p, NULL);
	/* What was done before a failure is shown all the same. */
	if (show(w, r < 0 ? NULL : err) < 0 && r == 0)
		return -(int)err->code;
	if (r < 0 && err)
		*err = why;
	return r;
}

static int nothing_to_do(struct work *w, struct gpc_error *err)
{
	if (w->c->out.format <= GPC_OUT_WIDE)
		gpc_say(&w->c->talk, "gpucloud: nothing is to be %s",
			w->o->undo ? "removed" : "made");
	return show(w, err);
}

/* For people who set up a store that is not their usual one. */
static void say_store(const struct work *w)
{
	const char *set = gpc_config_str(&w->c->config, GPC_CONFIG_STORE);

	if (!w->o->undo && !gpc_eq(set, w->wish.store_url))
		gpc_say(&w->c->talk, "gpucloud: `gpucloud config set store %s` makes "
			"it the usual store", w->wish.store_url);
}

static int work(struct work *w, struct gpc_error *err)
{
	const struct gpc_setup_ops *ops = w->p->ops->setup;
	int r = w->o->undo ? ops->look_back(w->p, &w->wish, &w->items, err) :
		ops->look(w->p, &w->wish, &w->items, err);

	if (r == 0)
		make_rows(w);
	if (r == 0 && w->o->undo && w->p->ctx->store_id[0])
		r = gpc_setup_may_unmake(w->p, err);
	if (r < 0)
		return r;
	if (!has_work(w))
		return nothing_to_do(w, err);
	if (w->o->dry_run)
		return show(w, err);
	r = ask(w, err);
	if (r == 0)
		r = do_it(w, err);
	if (r == 0)
		say_store(w);
	return r;
}

static int write_template(struct work *w, struct gpc_error *err)
{
	gpc_autostr *text = NULL;
	int r = w->p->ops->setup->export(w->p, &w->wish, &text, err);

	return r < 0 ? r : gpc_out_print(&w->c->out, err, "%s\n", text);
}

/* --- the command ------------------------------------------------------------- */

static int check_options(const struct gpc_cmd *c, struct gpc_error *err)
{
	const struct setup *o = c->ctx;

	if (strcmp(c->argv[0], "aws") != 0) {
		int r = gpc_fail(err, GPC_EUSAGE, "setup knows nothing of \"%s\"",
			c->argv[0]);

		gpc_hint(err, "it can prepare: aws");
		return r;
	}
	if (o->export && strcmp(o->export, formats[0]) != 0) {
		int r = gpc_fail(err, GPC_EUSAGE, "--export: \"%s\" is no format",
			o->export);

		gpc_hint(err, "it can be: %s", formats[0]);
		return r;
	}
	if (o->delete_objects && !o->undo)
		return gpc_fail(err, GPC_EUSAGE, "--delete-objects goes with --undo "
			"alone");
	if (o->export && (o->undo || o->dry_run))
		return gpc_fail(err, GPC_EUSAGE, "--export makes and removes "
			"nothing: leave --%s out", o->undo ? "undo" : "dry-run");
	return 0;
}

/* Only nodes that bear the store's id are of it; a store that was never made has
 * none. */
static int open_session(struct gpc_cmd *c, struct gpc_session **ret_s,
	struct gpc_error *err)
{
	const struct setup *o = c->ctx;
	int r = o->undo ? gpc_cmd_session(c, GPC_STORE_MAY_FAIL, ret_s, err) :
		-GPC_ENOTFOUND;

	return r == -GPC_ENOTFOUND || r == -GPC_ECONFIG ?
		gpc_cmd_session(c, GPC_STORE_UNSEEN, ret_s, err) : r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_autoptr(gpc_session) *s = NULL;
	const struct setup *o = c->ctx;
	struct gpc_provider_context ctx;
	struct work w = { .c = c, .o = o, .wish = { .store_url = c->store_url,
		.sources = &o->sources, .supervisor = o->supervisor,
		.groups = o->groups,
		.figures = gpc_config_str(&c->config, GPC_CONFIG_AWS_CLOUDWATCH),
		.drop_objects = o->delete_objects } };
	int r = check_options(c, err);

	if (r == 0)
		r = open_session(c, &s, err);
	if (r == 0)
		r = gpc_session_provider(s, c->argv[0], &ctx, &w.p, err);
	if (r == 0)
		r = o->export ? write_template(&w, err) : work(&w, err);
	work_clear(&w);
	return r;
}

static const char *const providers[] = {"aws", NULL};

const struct gpc_command gpc_command_setup = {
	.name = "setup",
	.summary = "prepare an account of a cloud, once",
	.usage = "[OPTION]... PROVIDER",
	.about = "Shows what jobs at PROVIDER need of its account, and makes it: the "
		"bucket of the store (--store, or store in the configuration), and "
		"a role by which nodes reach it and nothing else. What exists stays "
		"as it is, so that a second call makes nothing.\n"
		"--undo takes away what setup made, while no node of the store is "
		"held; a bucket that holds objects stays unless --delete-objects "
		"is given.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct setup),
	.min_args = 1,
	.max_args = 1,
	.words = providers,
	.complete = GPC_COMPLETE_WORDS,
	.run = run,
};
