/* The attached view of one job: the journal gives its states, the log reader
 * its bytes, the view its end. The job's stdout and stderr pass through exactly
 * as they are; our own lines are kept apart from a line that the job has not
 * finished yet.
 */
#include "cmd/follow.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "cmd/follow_pieces.h"
#include "cmd/follow_say.h"
#include "cmd/pause.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "cmd/through.h"
#include "core/logs.h"
#include "core/machine.h"
#include "core/request.h"
#include "core/supervise.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/watching.h"

enum {
	PAUSE_MS = 80,          /* the longest a line waits for us */
	LEAST_MS = 15,          /* a flood is taken in pieces of this */
	VIEW_MS = 300, VIEW_FAR_MS = 15000,
	ENSURE_MS = 2000,
	LISTED_MS = 4000,       /* a job that nobody sees is rare */
	RELEASE_MS = 60000,
	PATIENCE_MS = 600000,   /* with a store that answers nothing of use */
};

struct gpc_follow {
	struct gpc_cmd *c;
	struct gpc_session *s;
	struct gpc_follow_options o;
	char *job;
	gpc_key folder;
	struct gpc_view view;
	struct gpc_log_reader *reader;
	int64_t last_event;
	enum gpc_job_status status;     /* last one that was told */
	char *note;                     /* last one that was told */
	bool note_is_last;              /* and nothing has been shown since */
	int attempt, num_nodes;
	int64_t viewed_ms, ensured_ms, stepped_ms;   /* boot clock */
	int64_t failing_ms;             /* boot clock: the store, since then */
	bool saw_event, ended;
	bool far, news;                 /* each look is billed; the last one
	                                 * found something */
	struct gpc_pace pace;
	struct gpc_watching watching;
	bool listed;                    /* for the supervisors, once more */
	bool midline;                   /* the job's line on stderr is open */
	bool wrote_log;
	struct gpc_pieces pieces;
	struct gpc_progress *progress;
	int64_t started_ms;
};

/* --- our own lines --------------------------------------------------------- */
static void end_job_line(struct gpc_follow *f)
{
	if (f->midline)
		fputc('\n', f->c->talk.to);
	f->midline = false;
}

static void say(struct gpc_follow *f, const char *text)
{
	if (f->o.json || f->c->talk.quiet)
		return;
	end_job_line(f);
	f->note_is_last = false;
	if (f->o.name_lines)
		gpc_say(&f->c->talk, "gpucloud: %s %s", f->job, text);
	else
		gpc_say(&f->c->talk, "gpucloud: %s", text);
}

/* Something that has to be read even with -q. */
static void say_always(struct gpc_follow *f, const char *text)
{
	struct gpc_talk *t = &f->c->talk;
	bool quiet = t->quiet;

	end_job_line(f);
	t->quiet = false;
	gpc_say(t, "%s", text);
	t->quiet = quiet;
}

static void spin(struct gpc_follow *f)
{
	const struct gpc_job_state *st = &f->view.state;
	bool output_flows = f->o.log && f->wrote_log;

	if (output_flows || f->o.json) {
		gpc_progress_free(f->progress);
		f->progress = NULL;
		return;
	}
	if (!f->progress)
		f->progress = gpc_progress_new(&f->c->talk, f->job, 0);
	gpc_autostr *text = gpc_format("%s %" PRId64 "s%s%s",
		gpc_job_status_to_str(st->status),
		(gpc_boot_ms() - f->started_ms) / 1000,
		f->view.note ? ": " : "", f->view.note ? f->view.note : "");
	gpc_progress_text(f->progress, text);
}

/* --- the job's output ------------------------------------------------------ */
static int put_log(void *arg, int rank, int source, const void *data,
	size_t n, struct gpc_error *err)
{
	struct gpc_follow *f = arg;
	struct gpc_talk *t = &f->c->talk;

	if (!n)
		return 0;
	/* a flood may keep the reader busy for long */
	if (gpc_canceled(f->c->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	if (f->o.json)
		return gpc_pieces_put(&f->pieces, f->job, &f->c->out, rank,
			source, (struct gpc_str){ data, n }, f->ended, err);
	f->wrote_log = true;
	f->note_is_last = false;
	gpc_talk_clear_line(t);
	bool open = ((const char *)data)[n - 1] != '\n';
	/* on one terminal an open line of stdout is in our way too */
	if (source == 2 || (t->tty && f->c->out.width))
		f->midline = open;
	if (source != 2)
		return gpc_through_stdout(&f->c->out, data, n, f->c->cancel,
			err);
	return gpc_through_stderr(data, n, f->c->cancel, err);
}

static int pump(struct gpc_follow *f, bool at_end, bool *ret_any,
	struct gpc_error *err)
{
	*ret_any = false;
	if (!f->reader)
		return 0;
	gpc_log_note(f->reader, &f->view.state);
	return gpc_log_pump(f->reader, f->attempt, f->num_nodes, at_end,
		put_log, f, ret_any, err);
}

/* --- states ---------------------------------------------------------------- */
struct events { struct gpc_follow *f; struct gpc_error *err; int r; };

static int take_event(void *arg, const struct gpc_event *e)
{
	struct events *x = arg;
	struct gpc_follow *f = x->f;

	f->last_event = e->n;
	f->attempt = e->state.attempt;
	f->num_nodes = e->state.num_nodes;
	f->saw_event = true;
	gpc_job_state_clear(&f->view.state);
	gpc_job_state_copy(&f->view.state, &e->state);
	if (f->o.json) {
		x->r = gpc_out_event(&f->c->out, "event",
			gpc_follow_event_json(f->job, e), x->err);
	} else {
		gpc_autostr *text = gpc_follow_event_text(e, f->status,
			f->c->global.verbose > 0);
		if (text)
			say(f, text);
	}
	f->status = e->state.status;
	return x->r;
}

static int read_events(struct gpc_follow *f, struct gpc_error *err)
{
	struct events x = {f, err, 0};
	int r = gpc_journal_read(f->s->store, f->job, f->last_event,
		take_event, &x, err);

	return x.r ? x.r : r;
}

/* What the job waits for; its end says by itself why. */
static void say_note(struct gpc_follow *f)
{
	const char *note = f->view.note;

	if (!note || gpc_job_status_is_end(f->view.state.status) ||
		(f->note && gpc_eq(f->note, note)))
		return;
	gpc_set_str(&f->note, note);
	say(f, note);
	f->note_is_last = !f->o.json && !f->c->talk.quiet;
}

static int load_view(struct gpc_follow *f, struct gpc_error *err)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r = gpc_view_load(f->s, f->job, &v, err);

	if (r)
		return r;
	gpc_view_clear(&f->view);
	f->view = v;
	v = (struct gpc_view){0};
	f->viewed_ms = gpc_boot_ms();
	f->attempt = f->view.state.attempt;
	f->num_nodes = f->view.state.num_nodes;
	say_note(f);
	return 0;
}

int gpc_follow_new(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	const struct gpc_follow_options *options, struct gpc_follow **ret_f,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_follow) *f = gpc_alloc(sizeof(*f));

	f->c = c;
	f->s = s;
	f->o = *options;
	f->job = gpc_strdup(job);
	f->started_ms = gpc_boot_ms();
	f->far = gpc_cmd_is_far(s);
	gpc_key_job_file(f->folder, job, "");
	int r = load_view(f, err);
	if (r)
		return r;
	f->last_event = options->after_event;
	f->status = GPC_JOB_PENDING;
	if (!options->fresh) {
		f->last_event = f->view.state.n;
		f->status = f->view.state.status;
	}
	if (options->log) {
		struct gpc_log_options log = {
			.rank = -1, .tail = -1,
			.from_attempt = options->from_attempt,
			.lead = gpc_log_leads(f->num_nodes),
			.prefix = f->num_nodes > 1 && !options->json,
		};

		f->watching.one = log.lead;
		f->reader = gpc_log_reader_new(s, job, &log);
	}
	*ret_f = gpc_steal(&f);
	return 0;
}

void gpc_follow_free(struct gpc_follow *f)
{
	if (!f)
		return;
	gpc_progress_free(f->progress);
	gpc_log_reader_free(f->reader);
	gpc_view_clear(&f->view);
	gpc_vec_free(&f->pieces);
	free(f->job);
	free(f->note);
	free(f);
}

const struct gpc_view *gpc_follow_view(const struct gpc_follow *f)
{
	return &f->view;
}

/* --- stepping -------------------------------------------------------------- */
static void ensure(struct gpc_follow *f, int64_t now_ms)
{
	if (f->ensured_ms && now_ms - f->ensured_ms < ENSURE_MS)
		return;
	if (f->ensured_ms && !f->listed && now_ms - f->started_ms >= LISTED_MS) {
		f->listed = true;
		gpc_request_attention(f->s, &f->view);
	}
	f->ensured_ms = now_ms;
	gpc_cmd_ensure_supervisor(f->c, f->s);
}

static bool all_over(const struct gpc_follow *f)
{
	return gpc_job_status_is_end(f->view.state.status);
}

static int drain_log(struct gpc_follow *f, struct gpc_error *err)
{
	bool any;
	int r;

	do {
		r = pump(f, true, &any, err);
	} while (!r && any);
	return r ? r : gpc_pieces_flush(&f->pieces, f->job, &f->c->out, err);
}

/* Where it costs, events tell what a view would, but for an end that nobody has
 * recorded, and for notes. */
static bool view_is_due(const struct gpc_follow *f, int64_t now)
{
	if (!f->far)
		return f->saw_event || now - f->viewed_ms >= VIEW_MS;
	return (f->saw_event && all_over(f)) ||
		now - f->viewed_ms >= VIEW_FAR_MS;
}

/* What follows the look: signs of life for others. */
static void tell_others(struct gpc_follow *f, int64_t now)
{
	ensure(f, now);
	if (f->o.tether)
		gpc_tether_renew(f->o.tether, f->s->store, f->job);
	if (f->o.log)
		gpc_watching_renew(&f->watching, f->s->store, f->job);
}

static int look(struct gpc_follow *f, int64_t now, struct gpc_error *err)
{
	bool any = false;
	int r;

	r = read_events(f, err);
	if (!r)
		r = pump(f, false, &any, err);
	f->news = any || f->saw_event;
	if (!r && view_is_due(f, now))
		r = load_view(f, err);
	if (r)
		return r;
	f->saw_event = false;
	if (!all_over(f))
		return 0;
	r = drain_log(f, err);
	f->ended = r == 0;
	return r;
}

/* Nothing is lost by looking again: what was shown is known. The job goes on without
 * us anyway, so that leaving helps nobody. */
static bool may_look_again(struct gpc_follow *f, int64_t now,
	const struct gpc_error *why)
{
	if (why->code != GPC_ENET && why->code != GPC_ERATE &&
		why->code != GPC_ETIMEOUT)
		return false;
	f->news = false;
	if (f->failing_ms)
		return now - f->failing_ms < PATIENCE_MS;
	f->failing_ms = now;
	gpc_log(&f->c->log, GPC_VERBOSE, "%s: %s; looks again", f->job, why->msg);
	return true;
}

int gpc_follow_step(struct gpc_follow *f, bool *ret_ended,
	struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();
	struct gpc_error why = {0};
	int r;

	*ret_ended = f->ended;
	if (f->ended)
		return 0;
	f->stepped_ms = now;
	r = look(f, now, &why);
	if (r < 0 && may_look_again(f, now, &why))
		return 0;
	f->failing_ms = 0;
	if (r < 0 && err)
		*err = why;
	*ret_ended = f->ended;
	if (r < 0 || f->ended) {
		gpc_progress_free(f->progress);
		f->progress = NULL;
		return r;
	}
	tell_others(f, now);
	spin(f);
	return 0;
}

static void set_pace(struct gpc_follow *f)
{
	bool runs = f->view.state.status == GPC_JOB_RUNNING;
	int64_t most = runs ? GPC_PAUSE_MOST_MS : GPC_PAUSE_BUSY_MOST_MS;

	/* A tether wants to be renewed eight times in its time. */
	if (f->o.tether && f->o.tether->within_ms &&
		f->o.tether->within_ms / 8 < most)
		most = f->o.tether->within_ms / 8;
	gpc_pace_set(&f->pace, runs && most >= GPC_PAUSE_MS ? GPC_PAUSE_MS :
		GPC_PAUSE_BUSY_MS, most);
}

static void pause_far(struct gpc_follow *f)
{
	int64_t left;

	set_pace(f);
	left = gpc_pace_next(&f->pace, f->news);
	for (; left > 0 && !gpc_canceled(f->c->cancel); left -= PAUSE_MS) {
		gpc_sleep_ms(left < PAUSE_MS ? left : PAUSE_MS);
		spin(f);
	}
}

void gpc_follow_pause(struct gpc_follow *f)
{
	int64_t spent;

	if (gpc_canceled(f->c->cancel))
		return;
	if (f->far) {
		pause_far(f);
		return;
	}
	gpc_store_wait(f->s->store, f->folder, PAUSE_MS);
	spent = gpc_boot_ms() - f->stepped_ms;
	if (spent < LEAST_MS && !gpc_canceled(f->c->cancel))
		gpc_sleep_ms(LEAST_MS - spent);
}

int gpc_follow_run(struct gpc_follow *f, int64_t timeout_ms,
	struct gpc_error *err)
{
	int64_t start = gpc_boot_ms();
	bool ended = false;

	for (;;) {
		int r = gpc_follow_step(f, &ended, err);

		if (r || ended || (f->o.until_runs &&
			f->view.state.status == GPC_JOB_RUNNING))
			return r;
		if (gpc_canceled(f->c->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (timeout_ms && gpc_boot_ms() - start >= timeout_ms)
			return gpc_fail(err, GPC_ETIMEOUT, "%s is still %s",
				f->job, gpc_job_status_to_str(
				f->view.state.status));
		gpc_follow_pause(f);
	}
}

/* --- after the end --------------------------------------------------------- */
static size_t nodes_left(const struct gpc_view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->state.nodes.n; i++)
		n += v->state.nodes.v[i].status != GPC_NODE_RELEASED;
	return n + v->state.intents.n;
}

static bool released(struct gpc_follow *f)
{
	return gpc_view_is_over(&f->view) && !f->view.derived;
}

void gpc_follow_release(struct gpc_follow *f)
{
	int64_t start = gpc_boot_ms();
	gpc_autoptr(gpc_progress) *p = NULL;
	struct gpc_pace pace = { GPC_PAUSE_BUSY_MS, GPC_PAUSE_BUSY_MOST_MS, 0 };
	struct gpc_error err = {0};

	if (!f->o.json && f->c->talk.tty && !f->c->talk.quiet) {
		end_job_line(f);      /* the progress line would wipe it out */
		p = gpc_progress_new(&f->c->talk, "giving the node back", 0);
	}
	while (!released(f) && !gpc_canceled(f->c->cancel) &&
		gpc_boot_ms() - start < RELEASE_MS) {
		ensure(f, gpc_boot_ms());
		gpc_progress_text(p, NULL);
		gpc_cmd_pause(f->c, f->s, f->folder, PAUSE_MS, &pace, false);
		gpc_sleep_ms(LEAST_MS);
		if (load_view(f, &err)) {
			gpc_log(&f->c->log, GPC_WARN, "%s", err.msg);
			break;
		}
	}
	if (released(f))
		return;
	gpc_progress_free(p);
	p = NULL;
	end_job_line(f);
	gpc_log(&f->c->log, GPC_WARN, "%s: %zu node%s not released yet; the "
		"supervisor goes on (`gpucloud release %s` waits for it)",
		f->job, nodes_left(&f->view),
		nodes_left(&f->view) == 1 ? " is" : "s are", f->job);
}

int gpc_follow_end(struct gpc_follow *f)
{
	const struct gpc_job_state *st = &f->view.state;
	int status = gpc_reason_exit(st->reason, st->code, st->signal);

	if (f->o.json) {
		if (gpc_out_event(&f->c->out, "event",
			gpc_follow_end_json(&f->view), NULL))
			return status ? status : 1;
		return status;
	}
	gpc_autostr *text = gpc_follow_end_text(&f->view);
	gpc_autostr *line = gpc_format("gpucloud: job %s %s", f->job, text);
	if (status == 0) {
		if (!f->c->talk.quiet)
			end_job_line(f);
		gpc_say(&f->c->talk, "%s", line);
		return 0;
	}
	gpc_autostr *advice = gpc_reason_advice(st->reason, f->job,
		st->checkpoint);
	if (f->view.note && *f->view.note &&
		!(f->note_is_last && gpc_eq(f->note, f->view.note))) {
		gpc_autostr *why = gpc_format("gpucloud: %s", f->view.note);
		say_always(f, why);
	}
	/* what the program said was seen */
	if (*advice && !(f->o.log && st->reason == GPC_REASON_EXIT_CODE)) {
		gpc_autostr *hint = gpc_format("  hint: %s", advice);
		say_always(f, hint);
	}
	say_always(f, line);
	return status;
}

/* Whoever goes away makes sure that somebody stays; that one may not have taken
 * the job up yet. */
static char *who_stays(struct gpc_follow *f)
{
	struct gpc_error err = {0};
	int r = gpc_cmd_inside_job() ? 0 : gpc_supervisor_ensure(f->s, &err);
	gpc_autostr *who = gpc_supervisor_describe(f->s, f->job);
	gpc_autostr *machine = gpc_machine_standby(f->s);

	if (r)
		gpc_set_str(&who, "nobody here");
	else if (gpc_starts_with(who, "nobody") && !gpc_cmd_inside_job())
		gpc_set_str(&who, "a background process on this machine, "
			"which starts now");
	if (r && !machine)
		return gpc_format("nobody: %s", err.msg);
	return machine && !strstr(who, machine) && !gpc_eq(machine, f->job) ?
		gpc_format("%s; %s, when it is gone", who, machine) :
		gpc_steal(&who);
}

void gpc_follow_tell(struct gpc_follow *f, const char *text)
{
	gpc_autostr *line = gpc_format("gpucloud: %s %s", f->job, text);

	/* the terminal shows ^C on a line of its own */
	if (f->c->talk.tty)
		f->midline = true;
	say_always(f, line);
}

/* Before there is a machine its price says nothing. */
static char *costs_now(const struct gpc_follow *f)
{
	const struct gpc_job_state *st = &f->view.state;
	gpc_autostr *rate = NULL, *spent = NULL;

	if (st->nodes.n == 0)
		return gpc_strdup(st->intents.n ?
			"nothing so far: a machine is being asked for" :
			"nothing so far: no machine is bought yet");
	rate = gpc_phrase_rate(f->view.rate);
	spent = gpc_phrase_money(f->view.spent);
	return gpc_format("%s (so far %s)", rate, spent);
}

void gpc_follow_detach(struct gpc_follow *f)
{
	gpc_autostr *costs = costs_now(f);
	gpc_autostr *who = who_stays(f);
	gpc_autostr *text = gpc_format(
		"gpucloud: detached; %s runs on\n"
		"  costs       %s\n"
		"  supervisor  %s\n"
		"  watch it    gpucloud logs -f %s\n"
		"  end it      gpucloud cancel %s",
		f->job, costs, who, f->job, f->job);

	gpc_progress_free(f->progress);
	f->progress = NULL;
	/* the terminal shows ^C on a line of its own */
	if (f->c->talk.tty && f->c->cancel->signal == SIGINT)
		f->midline = true;
	say_always(f, text);
}
