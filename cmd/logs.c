/* `gpucloud logs`: what a job wrote, byte for byte, the same command before,
 * during and after its run. The job's stdout goes to stdout and its stderr to
 * stderr, as attached submit does it.
 */
#include "core/logs.h"

#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/follow_say.h"
#include "cmd/pause.h"
#include "cmd/session_open.h"
#include "cmd/through.h"
#include "core/view.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/watching.h"

enum {
	PAUSE_MS = 80, LEAST_MS = 15, ENSURE_MS = 2000,
	VIEW_MS = 300, VIEW_FAR_MS = 15000,
};

struct logs {
	bool follow, timestamps, only_stderr, only_stdout, all_ranks;
	int rank, attempt, tail;
	int64_t since;
};

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG('f', "follow", struct logs, follow,
		"go on until the job has ended"),
	GPC_OPT_INT(0, "rank", struct logs, rank, "N", "only this rank",
		.complete = GPC_COMPLETE_RANK, .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "all-ranks", struct logs, all_ranks,
		"all, of 13 nodes and more as well", .key = GPC_OPT_NO_KEY),
	GPC_OPT_INT(0, "attempt", struct logs, attempt, "N",
		"only this attempt; by default all, in order", .min = 1,
		.max = 1000000, .complete = GPC_COMPLETE_ATTEMPT,
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_INT('n', "tail", struct logs, tail, "N",
		"start at the last N lines of each rank"),
	GPC_OPT_TIME(0, "since", struct logs, since, "TIME",
		"start at this time, or this long ago"),
	GPC_OPT_FLAG('t', "timestamps", struct logs, timestamps,
		"put the time before each line"),
	GPC_OPT_FLAG(0, "stdout", struct logs, only_stdout,
		"only what the job wrote to stdout", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "stderr", struct logs, only_stderr,
		"only what the job wrote to stderr, on stdout",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

struct reading {
	struct gpc_cmd *c;
	struct gpc_session *s;
	const struct logs *o;
	char job[GPC_JOB_ID_SIZE];
	struct gpc_log_reader *reader;
	struct gpc_view view;
	bool lead;              /* only some ranks are shown */
};

static int put(void *arg, int rank, int source, const void *data, size_t n,
	struct gpc_error *err)
{
	struct reading *x = arg;
	struct gpc_cmd *c = x->c;

	if (!n)
		return 0;
	/* a flood may keep the reader busy for long */
	if (gpc_canceled(c->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	if (c->out.format == GPC_OUT_JSON)
		return gpc_out_event(&c->out, "event", gpc_follow_log_json(
			x->job, rank, source, data, n), err);
	if (source != 2 || x->o->only_stderr)
		return gpc_through_stdout(&c->out, data, n, c->cancel, err);
	return gpc_through_stderr(data, n, c->cancel, err);
}

static int load(struct reading *x, struct gpc_error *err)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r = gpc_view_load(x->s, x->job, &v, err);

	if (r)
		return r;
	gpc_view_clear(&x->view);
	x->view = v;
	v = (struct gpc_view){0};
	if (x->reader)
		gpc_log_note(x->reader, &x->view.state);
	return 0;
}

static int pump(struct reading *x, bool at_end, bool *ret_any,
	struct gpc_error *err)
{
	return gpc_log_pump(x->reader, x->view.state.attempt,
		x->view.state.num_nodes, at_end, put, x, ret_any, err);
}

/* All that is there; an unfinished last line is a part of it. */
static int read_all(struct reading *x, struct gpc_error *err)
{
	bool any;
	int r;

	do {
		r = pump(x, true, &any, err);
		if (!r && gpc_canceled(x->c->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
	} while (!r && any);
	return r;
}

/* An attempt that is asked for is over when a later one runs. */
static bool is_over(const struct reading *x)
{
	return gpc_job_status_is_end(x->view.state.status) ||
		(x->o->attempt && x->view.state.attempt > x->o->attempt);
}

static void set_pace(const struct reading *x, struct gpc_pace *p)
{
	bool runs = x->view.state.status == GPC_JOB_RUNNING;

	gpc_pace_set(p, runs ? GPC_PAUSE_MS : GPC_PAUSE_BUSY_MS,
		runs ? GPC_PAUSE_MOST_MS : GPC_PAUSE_BUSY_MOST_MS);
}

static int note_event(void *arg, const struct gpc_event *e)
{
	(void)e;
	*(bool *)arg = true;
	return 1;
}

/* A view takes several requests; whether there is an event more takes one. */
static int view_is_due(struct reading *x, int64_t since_ms, bool *ret_due,
	struct gpc_error *err)
{
	bool far = gpc_cmd_is_far(x->s);

	*ret_due = since_ms >= (far ? VIEW_FAR_MS : VIEW_MS);
	return *ret_due || !far ? 0 : gpc_journal_read(x->s->store, x->job,
		x->view.state.n, note_event, ret_due, err);
}

static int follow(struct reading *x, struct gpc_error *err)
{
	int64_t viewed = gpc_boot_ms(), ensured = 0;
	struct gpc_watching watching = { .rank = x->lead ? 0 : x->o->rank,
		.one = x->lead || gpc_cmd_given(x->c, "rank") };
	struct gpc_pace pace = {0};
	gpc_key folder;

	gpc_key_job_file(folder, x->job, "");
	while (!is_over(x)) {
		int64_t now = gpc_boot_ms(), spent, events = x->view.state.n;
		bool any, due = false;
		int r;

		gpc_watching_renew(&watching, x->s->store, x->job);
		r = pump(x, false, &any, err);
		if (!r)
			r = view_is_due(x, now - viewed, &due, err);
		if (!r && due) {
			viewed = now;
			r = load(x, err);
		}
		if (r)
			return r;
		if (!ensured || now - ensured >= ENSURE_MS) {
			ensured = now;
			gpc_cmd_ensure_supervisor(x->c, x->s);
		}
		if (gpc_canceled(x->c->cancel))
			return gpc_fail(err, GPC_ECANCELED,
				"interrupted; %s runs on", x->job);
		set_pace(x, &pace);
		/* A view that shows what the last one did is no news. */
		gpc_cmd_pause(x->c, x->s, folder, PAUSE_MS, &pace,
			any || x->view.state.n != events);
		spent = gpc_boot_ms() - now;
		if (spent < LEAST_MS)
			gpc_sleep_ms(LEAST_MS - spent);
	}
	return read_all(x, err);
}

/* Bytes that never came into the store cannot be shown; that they are missing can. */
static int tell_cut(struct reading *x, struct gpc_error *err)
{
	gpc_vec_each(t, &x->view.state.tries) {
		int r = 0;

		if (!t->log_cut || (x->o->attempt && t->n != x->o->attempt))
			continue;
		if (x->c->out.format == GPC_OUT_JSON)
			r = gpc_out_event(&x->c->out, "event",
				gpc_follow_cut_json(x->job, t->n, t->log_cut),
				err);
		if (r)
			return r;
		gpc_autostr *why = gpc_str_printable(t->log_cut, strlen(t->log_cut));

		gpc_say(&x->c->talk, "gpucloud: the end of attempt %d's log could not "
			"be stored: %s", t->n, why);
		x->c->exit_status = 1;
	}
	return 0;
}

static int check(const struct gpc_cmd *c, const struct reading *x,
	struct gpc_error *err)
{
	const struct logs *o = c->ctx;
	int nodes = x->view.state.num_nodes;

	if (gpc_cmd_given(c, "rank") && nodes > 0 && o->rank >= nodes)
		return gpc_fail(err, GPC_EUSAGE, "--rank %d: the highest rank "
			"of %s is %d", o->rank, x->job, nodes - 1);
	if (o->attempt > x->view.state.attempt && !o->follow)
		return gpc_fail(err, GPC_ENOTFOUND, "%s has no attempt %d: its "
			"last one is %d", x->job, o->attempt,
			x->view.state.attempt);
	return 0;
}

static void open_reader(struct reading *x)
{
	const struct logs *o = x->o;
	bool one_rank = gpc_cmd_given(x->c, "rank");

	x->lead = !one_rank && !o->all_ranks &&
		gpc_log_leads(x->view.state.num_nodes);
	struct gpc_log_options how = {
		.attempt = o->attempt,
		.rank = one_rank ? o->rank : -1,
		.lead = x->lead,
		.tail = gpc_cmd_given(x->c, "tail") ? o->tail : -1,
		.since_ms = o->since,
		.timestamps = o->timestamps,
		.only_stderr = o->only_stderr,
		.only_stdout = o->only_stdout,
		.prefix = !one_rank && x->view.state.num_nodes > 1 &&
			x->c->out.format != GPC_OUT_JSON,
	};

	x->reader = gpc_log_reader_new(x->s, x->job, &how);
	gpc_log_note(x->reader, &x->view.state);
	if (x->lead) {
		gpc_autostr *text = gpc_log_leads_text(x->view.state.num_nodes);

		gpc_say(&x->c->talk, "gpucloud: %s", text);
	}
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_autoptr(gpc_session) *s = NULL;
	struct reading x = {.c = c, .o = c->ctx};
	int r;

	if (x.o->only_stdout && x.o->only_stderr)
		return gpc_fail(err, GPC_EUSAGE,
			"--stdout and --stderr exclude each other");
	r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);
	x.s = s;
	if (!r)
		r = gpc_job_find(s, gpc_cmd_job_word(c->argv[0]), false, x.job,
			err);
	if (!r)
		r = load(&x, err);
	if (!r)
		r = check(c, &x, err);
	if (!r) {
		open_reader(&x);
		r = x.o->follow ? follow(&x, err) : read_all(&x, err);
	}
	if (!r)
		r = tell_cut(&x, err);
	gpc_log_reader_free(x.reader);
	gpc_view_clear(&x.view);
	return r;
}

const struct gpc_command gpc_command_logs = {
	.name = "logs",
	.summary = "show what a job wrote",
	.usage = "[OPTION]... [JOB]",
	.about = "Prints the output of JOB (by default the newest one), its "
		"stdout on stdout and its stderr on stderr, byte for byte. "
		"With several ranks each line begins with its [rank].",
	.group = GPC_GROUP_LIFE,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct logs),
	.max_args = 1,
	.complete = GPC_COMPLETE_JOB,
	.run = run,
};
