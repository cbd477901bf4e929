/* When checkpoints are saved.
 *
 * Rank 0 looks at the folder every upload_every; a change that has come to rest
 * is saved. Requests, the program's end and a stop save as well. Other ranks
 * save their part, with ranks: all, when rank 0's save.json names a number. */
#include "agent/checkpoint.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/saver.h"
#include "agent/system.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "record/keys.h"

enum {
	LOOK_DEFAULT_MS = 60000, CONFIRM_MS = 1000, FOLLOW_MS = 1000,
	/* Then a moment without open files will do. */
	RESTLESS_MIN_MS = 2000, RESTLESS_MAX_MS = 5000,
	ALWAYS_RESTLESS_MS = 60000, /* then also one that changes while it is read */
	RETRY_MS = 5000, SMALL = 64 * 1024,
	EMPTY_MS = 1000,            /* until a first file is looked for again */
	GONE_MS = 2000,             /* for parts that are on their way */
	FULL_MS = 10000,            /* no room for the last save: then the job fails */
};

struct gpc_saver *gpc_saver_new(struct gpc_agent *a)
{
	const struct gpc_spec_checkpoint *c = &a->spec.checkpoint;
	struct gpc_saver *s = gpc_alloc(sizeof(*s));
	gpc_key prefix;
	uint64_t n;

	s->store = a->store;
	s->log = &a->log;
	s->job = a->job.id;
	s->dir = a->checkpoint_dir;
	s->prefix = gpc_strdup(gpc_key_attempt(prefix, a->job.id, a->attempt,
		"blobs/"));
	s->pinned = gpc_strdup(a->resume_from);
	s->cache_path = gpc_path_join(a->options->node_dir, "checkpoint.cache");
	s->attempt = a->attempt;
	s->rank = a->rank;
	s->num_nodes = a->spec.num_nodes;
	s->keep = c->keep;
	s->all_ranks = c->all_ranks && s->num_nodes > 1;
	s->leads = a->rank == 0;
	s->patience_ms = c->grace_ms > 0 ? c->grace_ms
		: GPC_SPEC_GRACE_DEFAULT_MS;
	s->n = 1;
	if (s->leads)
		s->prune_served_n = gpc_saver_prunes_served(a);
	/* What was restored need not be saved again. */
	if (a->restored)
		if (gpc_saver_print(s, NULL, &s->saved_print, &n, NULL) < 0)
			s->saved_print = 0;
	return s;
}

void gpc_saver_free(struct gpc_saver *s)
{
	if (!s)
		return;
	free(s->prefix);
	free(s->pinned);
	free(s->cache_path);
	gpc_vec_free(&s->asked);
	gpc_json_free(s->base);
	free(s);
}

static bool label_ok(const char *label)
{
	return label && *label && strlen(label) < 25
		&& !label[strspn(label, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

void gpc_saver_ask(struct gpc_agent *a, const char *label, int64_t number)
{
	struct gpc_saver *s = a->saver;
	struct gpc_request *q;

	/* Before there is anything to save, or after the last save. */
	if (!s || !s->leads || s->finished)
		return;
	q = gpc_vec_push(&s->asked);
	memcpy(q->label, label_ok(label) ? label : "user",
		strlen(label_ok(label) ? label : "user"));
	q->number = number;
}

static int cannot_save(const struct gpc_agent *a, struct gpc_error *err)
{
	const struct gpc_saver *s = a->saver;
	int r;

	if (!a->spec.checkpoint.path) {
		r = gpc_fail(err, GPC_ECONFLICT, "%s has no checkpoints: its "
			"spec names no checkpoint.path", a->job.id);
		gpc_hint(err, "checkpoint: {path: FOLDER} in the spec says "
			"what is saved");
		return r;
	}
	if (s && !s->leads)
		return gpc_fail(err, GPC_EUNSUPPORTED, "rank %d cannot ask "
			"here: rank 0 saves, for all", a->rank);
	if (!s || s->finished)
		return gpc_fail(err, GPC_ECONFLICT, "%s is not running: it was "
			"not saved", a->job.id);
	return 0;
}

void gpc_saver_ask_here(struct gpc_agent *a, const char *label,
	const char *token)
{
	struct gpc_request *q;
	struct gpc_error err = {0};

	if (cannot_save(a, &err) < 0) {
		gpc_ask_answer(a, token, NULL, &err);
		return;
	}
	gpc_saver_ask(a, label, 0);
	q = &a->saver->asked.v[a->saver->asked.n - 1];
	memcpy(q->token, token, strnlen(token, sizeof(q->token) - 1));
}

/* n: the number that the save had, or would have had. */
static void answer(struct gpc_agent *a, int n, int r,
	const struct gpc_error *err)
{
	struct gpc_saver *s = a->saver;
	gpc_autostr *id = gpc_format("%d-%d-%s", s->attempt, n,
		s->request.label);
	struct gpc_error why = {0};

	if (!s->request.token[0])
		return;
	if (r == 0 && s->saved) {
		gpc_ask_answer(a, s->request.token, id, NULL);
	} else if (r == 0) {
		gpc_fail(&why, GPC_ECONFLICT, "nothing to save: %s has no file "
			"yet", s->dir);
		gpc_ask_answer(a, s->request.token, NULL, &why);
	} else {
		gpc_ask_answer(a, s->request.token, NULL, err);
	}
}

bool gpc_saver_works(const struct gpc_agent *a)
{
	return a->saver && a->saver->task != GPC_SAVER_IDLE;
}

void gpc_saver_close(struct gpc_agent *a)
{
	if (a->saver)
		a->saver->finished = true;
}

/* --- starting ------------------------------------------------------------- */

static bool start(struct gpc_agent *a, enum gpc_saver_task task)
{
	struct gpc_saver *s = a->saver;
	struct gpc_error err = {0};

	s->task = task;
	if (gpc_worker_start(a->worker, task == GPC_SAVER_PRUNE
		? gpc_saver_task_prune : gpc_saver_task_save, s, &err) == 0)
		return true;
	s->task = GPC_SAVER_IDLE;
	gpc_agent_say(a, GPC_WARN, "%s", err.msg);
	return false;
}

static void set_label(struct gpc_saver *s, const char *label)
{
	s->request = (struct gpc_request){0};
	memcpy(s->request.label, label, strlen(label));
}

static void start_asked(struct gpc_agent *a)
{
	struct gpc_saver *s = a->saver;

	s->request = s->asked.v[0];
	gpc_vec_remove(&s->asked, 0);
	s->wait_change = false;
	if (a->spec.checkpoint.ask_signal && a->step == GPC_STEP_RUN
		&& gpc_agent_handles(a, a->spec.checkpoint.ask_signal)) {
		gpc_agent_signal(a, a->spec.checkpoint.ask_signal);
		s->wait_change = true;
	}
	start(a, GPC_SAVER_FORCE);
}

/* The oldest attempt but ours of which a node may still be there. */
static int held_attempt(const struct gpc_agent *a)
{
	int held = a->attempt;

	for (size_t i = 0; i < a->state.nodes.n; i++) {
		const struct gpc_node *n = &a->state.nodes.v[i];

		if (n->status != GPC_NODE_RELEASED && n->attempt < held)
			held = n->attempt;
	}
	return held;
}

/* Not when our attempt is over for the others: the next one may go on from what
 * we would remove. Its agent serves the request. */
static bool prune_is_due(const struct gpc_agent *a, int64_t now_ms)
{
	return !a->abandoned && a->state.prune_n > a->saver->prune_served_n &&
		now_ms >= a->saver->prune_due_ms;
}

static void start_prune(struct gpc_agent *a)
{
	struct gpc_saver *s = a->saver;

	s->prune_n = a->state.prune_n;
	s->prune_keep = a->state.prune_keep;
	s->held_attempt = held_attempt(a);
	start(a, GPC_SAVER_PRUNE);
}

static int64_t look_every_ms(const struct gpc_agent *a)
{
	int64_t every = a->spec.checkpoint.upload_every_ms;

	return every > 0 ? every : LOOK_DEFAULT_MS;
}

static void start_look(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_saver *s = a->saver;

	int64_t restless = 2 * look_every_ms(a);

	restless = restless < RESTLESS_MIN_MS ? RESTLESS_MIN_MS : restless;
	restless = restless > RESTLESS_MAX_MS ? RESTLESS_MAX_MS : restless;
	set_label(s, "auto");
	s->insist = s->unquiet_since_ms
		&& now_ms - s->unquiet_since_ms >= restless;
	s->any_state = s->unquiet_since_ms
		&& now_ms - s->unquiet_since_ms >= ALWAYS_RESTLESS_MS;
	start(a, GPC_SAVER_LOOK);
}

/* ranks: all, other ranks: the number that rank 0 is saving, if it is new. */
static void follow(struct gpc_agent *a)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_saver *s = a->saver;
	const char *label;
	gpc_key key;
	int n;

	gpc_key_rank(key, s->job, s->attempt, 0, "save.json");
	if (gpc_store_get(s->store, key, SMALL, &b, NULL) < 0
		|| gpc_json_parse(b.data, b.len, &j, NULL) < 0)
		return;
	n = (int)gpc_json_get_int(j, "n", 0);
	label = gpc_json_get_str(j, "label");
	if (n <= s->follow_n || !label_ok(label))
		return;
	set_label(s, label);
	s->n = n;
	s->wait_change = false;
	start(a, GPC_SAVER_FORCE);
}

static void ask_program(struct gpc_agent *a, int64_t now_ms)
{
	const struct gpc_spec_checkpoint *c = &a->spec.checkpoint;
	struct gpc_saver *s = a->saver;

	if (!c->ask_signal || c->ask_every_ms <= 0 || a->step != GPC_STEP_RUN
		|| a->child <= 0 || a->stop.asked)
		return;
	if (s->ask_due_ms && now_ms >= s->ask_due_ms
		&& gpc_agent_handles(a, c->ask_signal))
		gpc_agent_signal(a, c->ask_signal);
	if (!s->ask_due_ms || now_ms >= s->ask_due_ms)
		s->ask_due_ms = now_ms + c->ask_every_ms;
}

void gpc_saver_tick(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_saver *s = a->saver;

	if (!s || s->finished || gpc_worker_busy(a->worker)
		|| s->task != GPC_SAVER_IDLE)
		return;
	ask_program(a, now_ms);
	if (!s->leads) {
		if (s->all_ranks && now_ms >= s->follow_due_ms) {
			s->follow_due_ms = now_ms + FOLLOW_MS;
			follow(a);
		}
		return;
	}
	if (s->asked.n && now_ms >= s->asked.v[0].due_ms) {
		start_asked(a);
	} else if (prune_is_due(a, now_ms)) {
		start_prune(a);
	} else if (!s->finishing && now_ms >= s->look_due_ms) {
		if (!s->look_due_ms)          /* the first one */
			s->look_due_ms = now_ms + look_every_ms(a);
		else
			start_look(a, now_ms);
	}
}

/* --- ends ----------------------------------------------------------------- */

static bool died_badly(const struct gpc_agent *a)
{
	int code = a->exit.code;

	if (a->stop.killed)
		return true;
	if (a->exit.signal && a->exit.signal != SIGTERM)
		return true;
	return code == 128 + SIGKILL || code == 128 + SIGSEGV
		|| code == 128 + SIGABRT || code == 128 + SIGBUS
		|| code == 128 + SIGFPE;
}

static bool lacks_a_rank(const struct gpc_agent *a)
{
	return a->saver->all_ranks && a->stop.asked &&
		a->stop.reason == GPC_REASON_NODE_LOST;
}

/* A save that began before the end may wait for the part of a rank that is gone,
 * and with it all that comes after. */
static void stop_waiting(struct gpc_agent *a)
{
	int64_t patience = lacks_a_rank(a) ? GONE_MS :
		a->saver->patience_ms + PART_SPARE_MS;

	if (atomic_load(&a->saver->in_parts) &&
		gpc_boot_ms() - a->step_since_ms >= patience)
		gpc_worker_cancel(a->worker);
}

bool gpc_saver_finish(struct gpc_agent *a, const char *label)
{
	struct gpc_saver *s = a->saver;

	if (!s || s->finished)
		return false;
	if (gpc_worker_busy(a->worker) || s->task != GPC_SAVER_IDLE) {
		stop_waiting(a);
		return true;
	}
	if (s->last_again && !a->abandoned && (!a->stop.asked || a->stop.save)) {
		if (gpc_boot_ms() < s->look_due_ms)
			return true;
		s->last_again = false;
		return start(a, GPC_SAVER_FINAL);
	}
	if (s->finishing || !s->leads) {
		s->finished = s->leads;   /* others serve until the verdict */
		return false;
	}
	if (s->asked.n) {             /* saved by the same stroke */
		start_asked(a);
		return true;
	}
	s->finishing = true;
	if (lacks_a_rank(a)) {
		gpc_agent_note(a, "not saved at the end: a rank that owns a part "
			"is gone");
		s->finished = true;
		return false;
	}
	if (a->writing_when_killed) {
		gpc_agent_note(a, "not saved at the end: a checkpoint file was "
			"being written when the program was killed");
		s->finished = true;
		return false;
	}
	s->suspect = died_badly(a);
	set_label(s, label);
	return start(a, GPC_SAVER_FINAL);
}

/* The last save is tried as long as it can help. A program that ended well but
 * whose last state could not be kept has not succeeded. */
static void last_failed(struct gpc_agent *a, const struct gpc_error *err)
{
	bool full = err->sys == ENOSPC || err->sys == EDQUOT;
	int64_t now = gpc_boot_ms();
	int64_t until = a->step_since_ms + (full ? FULL_MS :
		gpc_agent_may_retry(err) ? GPC_AGENT_DRAIN_MS : 0);

	if (a->stop.asked && a->stop.kill_ms < until)
		until = a->stop.kill_ms;
	a->saver->last_again = now < until;
	if (a->saver->last_again)
		return;
	if (a->exit.reason == GPC_REASON_COMPLETED)
		a->exit.reason = gpc_agent_reason_of(err);
	if (!a->exit.detail)
		a->exit.detail = gpc_format("the last checkpoint could not be "
			"saved: %s", err->msg);
}

static void after_failure(struct gpc_agent *a, int r,
	const struct gpc_error *err)
{
	struct gpc_saver *s = a->saver;

	gpc_agent_note(a, "checkpoint %d-%d-%s: %s", s->attempt, s->n,
		s->request.label, err->msg);
	s->look_due_ms = gpc_boot_ms() + RETRY_MS;
	if (s->task == GPC_SAVER_FINAL && r != -GPC_ECANCELED)
		last_failed(a, err);
	else if (err->sys == ENOSPC && !a->stop.asked)
		gpc_agent_stop(a, GPC_REASON_DISK_FULL,
			a->spec.checkpoint.grace_ms, NULL, err->msg);
	/* The record may be there although its answer was lost: a number is
	 * never used twice. */
	if (s->leads && r != -GPC_ECANCELED)
		s->n++;
}

static void prune_done(struct gpc_agent *a, int r, const struct gpc_error *err)
{
	struct gpc_saver *s = a->saver;

	s->task = GPC_SAVER_IDLE;
	if (r == 0) {
		s->prune_served_n = s->prune_n;
		return;
	}
	s->prune_due_ms = gpc_boot_ms() + RETRY_MS;
	gpc_agent_note(a, "old checkpoints stay for now: %s", err->msg);
}

/* Who asked by an event waits for a checkpoint, which the program may still begin. */
static void ask_later(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_saver *s = a->saver;

	if (!s->request.due_ms)
		gpc_agent_note(a, "nothing to save: %s has no file yet", s->dir);
	if (s->request.token[0] || s->finishing || a->stop.asked)
		return;
	s->request.due_ms = now_ms + EMPTY_MS;
	*gpc_vec_push(&s->asked) = s->request;
}

void gpc_saver_done(struct gpc_agent *a, int r, const struct gpc_error *err)
{
	struct gpc_saver *s = a->saver;
	enum gpc_saver_task task = s->task;
	int64_t now = gpc_boot_ms();
	int number = s->n;

	if (task == GPC_SAVER_PRUNE) {
		prune_done(a, r, err);
		return;
	}
	if (!s->leads && task == GPC_SAVER_FORCE && r == 0)
		s->follow_n = s->n;
	if (r < 0) {
		after_failure(a, r, err);
	} else if (s->saved) {
		s->unquiet_since_ms = 0;
		s->look_due_ms = now + look_every_ms(a);
		s->n += s->leads;
		if (s->request.due_ms)        /* what was noted is over */
			gpc_set_str(&a->note, NULL);
	} else if (task == GPC_SAVER_LOOK && s->changed) {
		if (!s->unquiet_since_ms)
			s->unquiet_since_ms = now;
		s->look_due_ms = now + CONFIRM_MS;
	} else {
		s->look_due_ms = now + look_every_ms(a);
	}
	if (r == 0 && s->empty && task == GPC_SAVER_FORCE)
		ask_later(a, now);
	if (task == GPC_SAVER_FORCE)
		answer(a, number, r, err);
	s->task = GPC_SAVER_IDLE;
	gpc_trim_memory();
}
