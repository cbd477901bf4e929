/* What cp and sync have in common: handing files to the engine, saying how far it is,
 * and what came of it. One file that fails holds up no other; when the first sixteen
 * all fail, the next hundred thousand would as well, and nothing more is tried. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "base/time.h"
#include "cmd/data_verbs.h"
#include "cmd/phrase.h"
#include "transfer/walk.h"

enum { SHOWN = 5, HOPELESS = 16, STEP_MS = 50, SAY_MS = 10000 };

/* --- saying it --------------------------------------------------------------- */

static struct gpc_json *json_text(const char *s)
{
	gpc_autostr *shown = NULL;

	if (!s || gpc_utf8_valid(s, strlen(s)))
		return gpc_json_string(s);
	shown = gpc_str_printable(s, strlen(s));
	return gpc_json_string(shown);
}

static void note_out(struct gpc_data_run *x, int r, const struct gpc_error *err)
{
	if (!r || x->out_r)
		return;
	x->out_r = r;
	x->out_err = *err;
}

static void put_event(struct gpc_data_run *x, const char *type,
	const char *from, const char *to, struct gpc_json *taken)
{
	struct gpc_json *j = gpc_json_object();
	gpc_autoptr(gpc_json) *more = taken;
	struct gpc_error err = {0};

	gpc_json_set_str(j, "type", type);
	if (from)
		gpc_json_set(j, "from", json_text(from));
	if (to)
		gpc_json_set(j, "to", json_text(to));
	if (x->o->dry_run)
		gpc_json_set(j, "dry_run", gpc_json_bool(true));
	for (const struct gpc_json *m = gpc_json_first(more); m;
	     m = gpc_json_next(m))
		gpc_json_set(j, gpc_json_key(m), gpc_json_copy(m));
	note_out(x, gpc_out_event(&x->c->out, "data", j, &err), &err);
}

static void print_line(struct gpc_data_run *x, const char *from, const char *to)
{
	gpc_autostr *shown_from = from ? gpc_str_printable(from,
		strlen(from)) : NULL;
	gpc_autostr *shown_to = gpc_str_printable(to, strlen(to));
	struct gpc_error err = {0};
	int r = from ? gpc_out_print(&x->c->out, &err, "copy %s to %s\n",
		shown_from, shown_to) : gpc_out_print(&x->c->out, &err,
		"delete %s\n", shown_to);

	note_out(x, r, &err);
}

/* Names alone, unless -q only meant that nothing is to be said. */
static bool wants_names(const struct gpc_data_run *x)
{
	return x->c->out.format == GPC_OUT_NAME && (x->o->dry_run ||
		gpc_opt_given(&x->c->args, "output"));
}

void gpc_data_did(struct gpc_data_run *x, const char *from, const char *to,
	uint64_t size)
{
	struct gpc_error err = {0};

	if (x->c->out.format == GPC_OUT_JSON) {
		struct gpc_json *j = gpc_json_object();

		gpc_json_set_int(j, "size_bytes", (int64_t)size);
		put_event(x, from ? "copied" : "removed", from, to, j);
	} else if (wants_names(x)) {
		gpc_autostr *shown = gpc_str_printable(to, strlen(to));

		note_out(x, gpc_out_print(&x->c->out, &err, "%s\n", shown),
			&err);
	} else if (x->o->dry_run) {
		print_line(x, from, to);
	} else {
		gpc_log(&x->c->log, GPC_VERBOSE, "%s%s%s", from ? from :
			"deleted ", from ? " -> " : "", to);
	}
}

/* The only one of its command is that command's error, and not said twice. */
static void warn(struct gpc_data_run *x, const struct gpc_error *why)
{
	gpc_autostr *text = gpc_error_words(why);

	if (x->alone)
		return;
	if (x->n.failed <= SHOWN)
		gpc_log(&x->c->log, GPC_WARN, "%s", text);
	else if (x->n.failed == SHOWN + 1)
		gpc_log(&x->c->log, GPC_WARN, "more have failed, which are not "
			"named; --json names all");
}

void gpc_data_failed(struct gpc_data_run *x, const char *from, const char *to,
	const struct gpc_error *why)
{
	if (!x->n.failed++)
		x->first = *why;
	if (x->c->out.format == GPC_OUT_JSON) {
		struct gpc_json *j = gpc_json_object();
		const char *advice = gpc_error_advice(why);

		gpc_json_set(j, "error", json_text(why->msg));
		gpc_json_set(j, "hint", json_text(*advice ? advice : NULL));
		gpc_json_set(j, "request_id", json_text(why->request_id[0] ?
			why->request_id : NULL));
		put_event(x, "failed", from, to, j);
	}
	warn(x, why);
}

/* --- how far ----------------------------------------------------------------- */

/* Where stderr is no terminal: a line now and then, for logs. */
static void say_progress(struct gpc_data_run *x, uint64_t bytes,
	uint64_t all_bytes, const char *files)
{
	int64_t now = gpc_boot_ms(), took = now - x->said_ms;
	gpc_autostr *done = NULL, *all = NULL, *rate = NULL;

	if (x->c->talk.tty || took < SAY_MS)
		return;
	done = gpc_phrase_size(bytes);
	all = gpc_phrase_size(all_bytes);
	rate = gpc_phrase_size((bytes > x->said_bytes ? bytes - x->said_bytes :
		0) * 1000 / (uint64_t)took);
	gpc_say(&x->c->talk, "gpucloud: %s of %s, %s, %s/s", done, all, files,
		rate);
	x->said_ms = now;
	x->said_bytes = bytes;
}

/* "waiting for HOST (12s), "; owned. */
static char *waiting(const struct gpc_data_run *x)
{
	struct gpc_net_outage o;
	gpc_autostr *lasts = NULL;

	if (!gpc_net_outage(gpc_transfer_net(x->transfer), &o) || o.over)
		return gpc_strdup("");
	lasts = gpc_phrase_duration(o.lasts_ms);
	return gpc_format("waiting for %s (%s), ", o.host, lasts);
}

static void show(void *arg, const struct gpc_transfer_counts *n)
{
	struct gpc_data_run *x = arg;
	struct gpc_feed_counts ahead = {0};
	uint64_t all_files = n->all_files, all_bytes = n->all_bytes;
	bool complete = true;
	gpc_autostr *wait = waiting(x);
	gpc_autostr *files = NULL;

	if (x->feed) {
		gpc_feed_counts(x->feed, &ahead);
		all_files += ahead.files - x->fed_files;
		all_bytes += ahead.bytes - x->fed_bytes;
		complete = ahead.complete;
	}
	files = gpc_format("%s%" PRIu64 " of %" PRIu64 "%s files", wait,
		n->files + n->failed, all_files, complete ? "" : "+");
	gpc_progress_bytes(x->progress, n->bytes, all_bytes);
	gpc_progress_text(x->progress, files);
	say_progress(x, n->bytes, all_bytes, files);
}

static void show_now(struct gpc_data_run *x)
{
	struct gpc_transfer_counts n;

	gpc_transfer_counts(x->transfer, &n);
	show(x, &n);
}

/* --- ends -------------------------------------------------------------------- */

/* For people; owned. */
static char *end_name(const struct gpc_transfer_end *e)
{
	if (e->objects)
		return gpc_objects_name(e->objects, e->key);
	return e->below ? gpc_format("%s%s%s", e->path,
		gpc_ends_with(e->path, "/") ? "" : "/", e->below) :
		gpc_strdup(e->path);
}

static void done(void *arg, const struct gpc_transfer_item *item, int r,
	const struct gpc_error *err)
{
	struct gpc_data_run *x = arg;
	gpc_autostr *from = end_name(&item->from), *to = end_name(&item->to);

	if (r < 0) {
		gpc_data_failed(x, from, to, err);
		return;
	}
	x->n.files++;
	x->n.bytes += item->size > 0 ? (uint64_t)item->size : 0;
	gpc_data_did(x, from, to, item->size > 0 ? (uint64_t)item->size : 0);
}

/* What is borrowed from the location or from *keep, which the caller frees. */
static struct gpc_transfer_end end_of(const struct gpc_location *l,
	const char *below, char **keep)
{
	struct gpc_transfer_end e = { .objects = l->objects };

	if (l->path) {
		e.path = l->path;
		e.below = below;
		return e;
	}
	e.key = *keep = gpc_location_at(l, below);
	return e;
}

/* Where it comes from is ours to read, links and all. */
static struct gpc_transfer_end source_of(const struct gpc_location *l,
	const char *below, char **keep)
{
	struct gpc_transfer_end e = end_of(l, below, keep);

	if (l->path && below) {
		e.path = *keep = gpc_location_at(l, below);
		e.below = NULL;
	}
	return e;
}

/* --- life -------------------------------------------------------------------- */

static int make_transfer(struct gpc_data_run *x)
{
	const struct gpc_transfer_settings how = {
		.at_once = x->o->at_once,
		.storage_class = x->o->storage_class,
		.state_dir = x->state_dir,
		.ca_file = x->c->ca_file,
		.patience_ms = x->hurried ? 0 : x->o->patience_ms,
		.cancel = x->c->cancel,
		.log = &x->c->log,
		.done = done,
		.progress = show,
		.arg = x,
	};

	x->transfer = gpc_transfer_new(&how);
	return 0;
}

int gpc_data_open(struct gpc_data_run *x, struct gpc_error *err)
{
	int r;

	x->o = x->c->ctx;
	x->began_ms = x->said_ms = gpc_boot_ms();
	r = gpc_filter_new(&x->o->patterns, &x->filter, err);
	if (!r && x->o->shard)
		r = gpc_shard_parse(x->o->shard, getenv, &x->shard, err);
	if (!r)
		r = gpc_xdg(GPC_XDG_STATE, "transfers", &x->state_dir, err);
	if (!r)
		r = make_transfer(x);
	return r;
}

void gpc_data_cut(struct gpc_data_run *x)
{
	if (x->transfer)
		gpc_transfer_cut(x->transfer);
	gpc_progress_free(x->progress);
	x->progress = NULL;
}

void gpc_data_run_clear(struct gpc_data_run *x)
{
	gpc_data_cut(x);
	gpc_transfer_free(x->transfer);
	gpc_filter_free(x->filter);
	free(x->state_dir);
	x->transfer = NULL;
	x->filter = NULL;
	x->state_dir = NULL;
}

int gpc_data_location(struct gpc_data_run *x, const char *word,
	struct gpc_location *ret_l, struct gpc_error *err)
{
	return gpc_location_open(word, gpc_transfer_net(x->transfer),
		&x->c->log, x->c->cancel, ret_l, err);
}

/* --- moving ------------------------------------------------------------------ */

static int say_move(struct gpc_data_run *x, const struct gpc_data_move *m)
{
	gpc_autostr *from = gpc_location_name(m->from, m->from_below);
	gpc_autostr *to = gpc_location_name(m->to, m->to_below);

	x->n.files++;
	x->n.bytes += m->size;
	gpc_data_did(x, from, to, m->size);
	return 0;
}

/* The error of all: that of the first, of which was told before, unless -q. */
static int sum_up(const struct gpc_data_run *x, struct gpc_error *err,
	const char *what)
{
	*err = x->first;
	if (x->c->talk.quiet)
		return gpc_wrap(err, -(int)err->code, "%s; the first", what);
	gpc_fail(err, x->first.code, "%s", what);
	err->sys = x->first.sys;
	gpc_hint(err, "%s", gpc_error_advice(&x->first));
	return -(int)err->code;
}

/* What already shows that there is no use in going on. */
static int check(struct gpc_data_run *x, struct gpc_error *err)
{
	if (x->out_r) {
		*err = x->out_err;
		return x->out_r;
	}
	if (x->n.failed < HOPELESS || x->n.files)
		return 0;
	gpc_autostr *what = gpc_format("given up after %" PRIu64 " failures and "
		"no success", x->n.failed);
	return sum_up(x, err, what);
}

int gpc_data_add(struct gpc_data_run *x, const struct gpc_data_move *m,
	struct gpc_error *err)
{
	gpc_autostr *keep_from = NULL, *keep_to = NULL;
	struct gpc_transfer_item item = {
		.size = (int64_t)m->size, .modified_ms = m->modified_ms,
	};
	int r;

	if (x->o->dry_run) {
		say_move(x, m);
		return check(x, err);
	}
	if (!x->progress)
		x->progress = gpc_progress_new(&x->c->talk, "copying", 0);
	item.from = source_of(m->from, m->from_below, &keep_from);
	item.to = end_of(m->to, m->to_below, &keep_to);
	r = gpc_transfer_add(x->transfer, &item, err);
	return r ? r : check(x, err);
}

static void take_note(struct gpc_data_run *x, const struct gpc_location *l,
	const struct gpc_listed *note)
{
	gpc_autostr *name = gpc_location_name(l, note->key);
	struct gpc_error why = {0};

	if (!(note->flags & GPC_LISTED_UNREADABLE)) {
		gpc_log(&x->c->log, GPC_WARN, "%s is passed over: %s", name,
			gpc_walk_note(note));
		return;
	}
	if (note->size == ENOENT)
		gpc_fail(&why, GPC_ENOTFOUND, "%s: %s", name,
			gpc_walk_note(note));
	else
		gpc_fail_sys(&why, (int)note->size, "%s cannot be read", name);
	gpc_data_failed(x, name, NULL, &why);
}

static int take(struct gpc_data_run *x, const struct gpc_data_tree *tree,
	const struct gpc_listed *l, struct gpc_error *err)
{
	bool surplus = l->flags & GPC_LISTED_SURPLUS;
	gpc_autostr *below = NULL;

	if (l->flags & GPC_LISTED_NOTE) {
		take_note(x, surplus ? tree->to : tree->from, l);
		return check(x, err);
	}
	x->fed_files++;
	x->fed_bytes += l->size;
	if (surplus)
		return tree->surplus ? tree->surplus(tree->arg, l, err) : 0;
	below = gpc_format("%s%s", tree->to_prefix, l->key);
	const struct gpc_data_move m = { tree->from, tree->to, l->key, below,
		l->size, l->modified_ms };
	return gpc_data_add(x, &m, err);
}

/* The list may wait for its server while what was added goes on. */
static int next(struct gpc_data_run *x, struct gpc_feed *f,
	enum gpc_feed_state *ret_state, struct gpc_listed *ret_l,
	struct gpc_error *err)
{
	for (;;) {
		int64_t began = gpc_boot_ms();
		int r = gpc_feed_next(f, 0, ret_state, ret_l, err);

		if (r || *ret_state != GPC_FEED_LATER)
			return r;
		r = gpc_transfer_step(x->transfer, STEP_MS, err);
		if (!r)
			r = check(x, err);
		if (!r && gpc_boot_ms() - began < STEP_MS)
			r = gpc_feed_next(f, STEP_MS, ret_state, ret_l, err);
		if (r || *ret_state != GPC_FEED_LATER)
			return r;
		show_now(x);
	}
}

int gpc_data_add_feed(struct gpc_data_run *x, struct gpc_feed *f,
	const struct gpc_data_tree *tree, struct gpc_error *err)
{
	enum gpc_feed_state state = GPC_FEED_LATER;
	struct gpc_listed l;
	int r = 0;

	x->feed = f;
	x->fed_files = x->fed_bytes = 0;
	if (!x->progress && !x->o->dry_run)
		x->progress = gpc_progress_new(&x->c->talk, "copying", 0);
	while (!r && state != GPC_FEED_END) {
		r = next(x, f, &state, &l, err);
		if (!r && state == GPC_FEED_ONE)
			r = take(x, tree, &l, err);
	}
	x->feed = NULL;
	return r;
}

int gpc_data_wait(struct gpc_data_run *x, struct gpc_error *err)
{
	int r = gpc_transfer_finish(x->transfer, err);

	gpc_progress_free(x->progress);
	x->progress = NULL;
	if (!r && x->out_r) {
		*err = x->out_err;
		r = x->out_r;
	}
	return r;
}

/* --- the end ----------------------------------------------------------------- */

static void put_summary(struct gpc_data_run *x, int64_t took_ms,
	uint64_t resumed)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_int(j, "files", (int64_t)x->n.files);
	gpc_json_set_int(j, "size_bytes", (int64_t)x->n.bytes);
	gpc_json_set_int(j, "removed", (int64_t)x->n.removed);
	gpc_json_set_int(j, "failed", (int64_t)x->n.failed);
	gpc_json_set_int(j, "resumed_bytes", (int64_t)resumed);
	gpc_json_set_int(j, "took_ms", took_ms);
	put_event(x, "end", NULL, NULL, j);
}

/* "3 files, 1.2 GiB in 12s (100 MiB/s), 20 MiB of it by an earlier try, 2 deleted" */
static void say_summary(struct gpc_data_run *x, int64_t took_ms,
	uint64_t resumed)
{
	bool dry = x->o->dry_run;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *files = gpc_phrase_count(x->n.files, "file");
	gpc_autostr *size = gpc_phrase_size(x->n.bytes);
	gpc_autostr *took = gpc_phrase_duration(took_ms < 100 ? 100 : took_ms);
	gpc_autostr *rate = gpc_phrase_size((x->n.bytes - (resumed <
		x->n.bytes ? resumed : x->n.bytes)) * 1000 /
		(uint64_t)(took_ms ? took_ms : 1));

	if (!x->n.files && !x->n.removed && !x->n.failed) {
		gpc_say(&x->c->talk, "gpucloud: nothing to do");
		return;
	}
	gpc_buf_addf(&b, "%s%s, %s", dry ? "would copy " : "", files, size);
	if (!dry && x->n.files)
		gpc_buf_addf(&b, " in %s (%s/s)", took, rate);
	if (resumed) {
		gpc_autostr *earlier = gpc_phrase_size(resumed);

		gpc_buf_addf(&b, ", %s of it moved by an earlier try", earlier);
	}
	if (x->n.removed)
		gpc_buf_addf(&b, "; %s%" PRIu64 " deleted", dry ?
			"would have " : "", x->n.removed);
	gpc_say(&x->c->talk, "gpucloud: %s", gpc_buf_str(&b));
}

static int fail_some(struct gpc_data_run *x, struct gpc_error *err)
{
	uint64_t all = x->n.files + x->n.removed + x->n.failed;
	gpc_autostr *what = gpc_format("%" PRIu64 " of %" PRIu64 " failed",
		x->n.failed, all);

	if (all > x->n.failed)
		x->c->exit_status = 1;
	if (!x->alone)
		return sum_up(x, err, what);
	*err = x->first;
	return -(int)err->code;
}

int gpc_data_end(struct gpc_data_run *x, int r, struct gpc_error *err)
{
	int64_t took = gpc_boot_ms() - x->began_ms;
	struct gpc_transfer_counts n = {0};

	gpc_data_cut(x);
	gpc_transfer_counts(x->transfer, &n);
	if (r == -GPC_ECANCELED && gpc_canceled(x->c->cancel) && !x->piped) {
		gpc_autostr *files = gpc_phrase_count(x->n.files, "file");

		gpc_fail(err, GPC_ECANCELED, "interrupted after %s", files);
		gpc_hint(err, "the same command goes on where this one was");
		return r;
	}
	/* that of the one file has its name */
	if (r < 0 && x->alone && x->n.failed) {
		*err = x->first;
		r = -(int)err->code;
	}
	if (r < 0 && err->passes && !x->piped && (n.kept || x->n.files))
		gpc_hint_then(err, "the same command goes on where this one was");
	if (x->out_r)
		return r;
	if (x->c->out.format == GPC_OUT_JSON)
		put_summary(x, took, n.resumed);
	else if (x->n.files || (!r && !x->alone))
		say_summary(x, took, n.resumed);
	if (!r && x->out_r) {
		*err = x->out_err;
		r = x->out_r;
	}
	return !r && x->n.failed ? fail_some(x, err) : r;
}
