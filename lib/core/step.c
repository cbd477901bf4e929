/* One job's supervision: refresh the state, hold the right to act, ask the
 * state machine for actions, do them until only waiting is left. Every action
 * may be done again: a crash anywhere repeats, never doubles. */
#include <string.h>

#include "base/crash.h"
#include "base/parse.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "core/bundle_other.h"
#include "core/remains.h"
#include "core/ssh.h"
#include "core/supervision.h"
#include "record/facts.h"
#include "record/index.h"
#include "record/job.h"
#include "record/keys.h"
#include "record/recover.h"
#include "record/roll.h"
#include "record/secrets.h"
#include "record/update.h"

#define MAX_ACTIONS 4200
#define MAX_ROUNDS 64
#define CHECK_MS 15000
#define CHECK_FAR_MS 60000
/* Where each look costs money: while nothing runs yet, and later. */
#define FAR_LEAST_MS 300
#define FAR_MOST_MS 2000
#define FAR_BESIDE_MS 4000      /* while somebody else holds it */
#define FAR_RUN_LEAST_MS 1000
#define FAR_RUN_MOST_MS 5000
#define FAR_GANG_LEAST_MS 3000  /* each look is a list, of one page or more */
#define REOPENED_MS 10000
#define STEP_MS 2000

/* --- life ------------------------------------------------------------------ */
static int load(struct gpc_supervision *sv, const char *job,
	struct gpc_error *err)
{
	int r = gpc_job_get_spec(sv->session->store, job, &sv->job, &sv->spec,
		err);

	if (r == 0)
		sv->own = gpc_session_with_local(sv->session, &sv->job.local);
	/* The job's bundles count, not those that lie here. */
	if (r == 0)
		sv->own.archs = gpc_bundle_archs_of(&sv->job);
	sv->session = &sv->own;
	if (r == 0)
		sv->spec.life_ms = sv->job.supervisor.life_ms;
	if (r == 0 && sv->spec.checkpoint.grace_ms == 0)
		sv->spec.checkpoint.grace_ms = GPC_SPEC_GRACE_DEFAULT_MS;
	return gpc_wrap(err, r, "job %s", job);
}

int gpc_supervision_new(struct gpc_session *s, const char *job,
	struct gpc_supervision **ret_sv, struct gpc_error *err)
{
	gpc_autoptr(gpc_supervision) *sv = gpc_alloc(sizeof(*sv));
	gpc_autostr *by = gpc_session_by(s, "supervisor");
	int r;

	sv->session = s;
	sv->crew = &sv->alone;
	gpc_rand_base32(sv->id, sizeof(sv->id) - 1);
	r = load(sv, job, err);
	if (r < 0)
		return r;
	sv->checked_ms = gpc_boot_ms();
	sv->policy = gpc_recover_policy(&sv->spec);
	gpc_journal_init(&sv->journal, s->store, job, by);
	*ret_sv = gpc_steal(&sv);
	return 0;
}

void gpc_supervision_free(struct gpc_supervision *sv)
{
	if (!sv)
		return;
	gpc_row_leave(sv);
	gpc_crew_clear(&sv->alone);
	gpc_notify_clear(sv);
	gpc_job_clear(&sv->job);
	gpc_spec_clear(&sv->spec);
	gpc_journal_clear(&sv->journal);
	gpc_supervision_close_sources(sv);
	gpc_pairs_clear(&sv->refused);
	gpc_vec_each(l, &sv->leaving)
		free(l->id);
	gpc_vec_free(&sv->leaving);
	gpc_vec_free(&sv->pulses);
	free(sv->seen);
	free(sv->note);
	free(sv->node_note);
	free(sv->ports_note);
	gpc_pairs_clear(&sv->ports_open);
	free(sv);
}

const struct gpc_job_state *gpc_supervision_state(
	const struct gpc_supervision *sv)
{
	return &sv->journal.state;
}

/* --- events ---------------------------------------------------------------- */
static bool knows_node(const struct gpc_job_state *st,
	const struct gpc_json *data)
{
	const struct gpc_json *n = gpc_json_first(gpc_json_get(data, "nodes"));
	const char *id = gpc_json_get_str(n, "id");

	gpc_vec_each(x, &st->nodes) {
		if (id && gpc_eq(x->id, id))
			return true;
	}
	return false;
}

static bool released_already(const struct gpc_job_state *st,
	const struct gpc_json *data)
{
	const char *id = gpc_json_get_str(data, "id");
	const struct gpc_json *also = gpc_json_first(gpc_json_get(data, "also"));

	gpc_vec_each(x, &st->nodes) {
		if (id && gpc_eq(x->id, id) && x->status != GPC_NODE_RELEASED)
			return false;
	}
	for (; also; also = gpc_json_next(also))
		if (!released_already(st, also))
			return false;
	return true;
}

/* What happened happened: facts are recorded whatever others wrote meanwhile,
 * unless they recorded the same. Decisions are made again instead. */
static bool is_unrecorded_fact(const struct gpc_job_state *st,
	enum gpc_event_type type, const struct gpc_json *data)
{
	if (type == GPC_EVENT_CREATED)
		return !knows_node(st, data);
	if (type == GPC_EVENT_RELEASED)
		return !released_already(st, data);
	return false;
}

int gpc_supervision_append(struct gpc_supervision *sv,
	enum gpc_event_type type, struct gpc_json *data, bool *progressed,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *payload = data;
	int r;

	do {
		r = gpc_journal_append(&sv->journal, type,
			gpc_json_copy(payload), err);
	} while (r == -GPC_ECONFLICT &&
		is_unrecorded_fact(&sv->journal.state, type, payload));
	if (r == 0)
		gpc_log(sv->session->log, GPC_VERBOSE, "%s: %s -> %s",
			sv->job.id, gpc_event_type_names[type],
			gpc_job_status_to_str(sv->journal.state.status));
	if (r == 0 && type == GPC_EVENT_RELEASED)
		gpc_crew_freed(sv->crew);
	*progressed = true;
	return r == -GPC_ECONFLICT ? 0 : r;
}

/* Whoever slept when the job ended, or gave it up, has its end from the nodes if
 * they wrote it; what they did not write is as of now. A clock that would have
 * it end before it ran, or later than now, is not believed. */
static void set_end_times(struct gpc_supervision *sv, struct gpc_json *data)
{
	struct gpc_job_state *st = &sv->journal.state;
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);
	int64_t ran_ms = sv->ran_ms, over_ms = sv->over_ms;
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	bool found = false;

	if (!t || t->ended_ms)
		return;
	if (!ran_ms && !over_ms && gpc_facts_outcome(sv->session->store,
		sv->job.id, st->attempt, st->num_nodes, false, &x, &found,
		NULL) == 0 && found) {
		ran_ms = x.ran_ms;
		over_ms = x.at_ms;
	}
	if (ran_ms)
		gpc_json_set_int(data, "ran_ms", ran_ms);
	if (over_ms > t->started_ms && over_ms > t->running_ms_at &&
		over_ms <= gpc_wall_ms())
		gpc_json_set_int(data, "at_ms", over_ms);
}

int gpc_supervision_end(struct gpc_supervision *sv, enum gpc_reason reason,
	int code, int signal, int rank, bool *progressed, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_str(data, "reason", gpc_reason_to_str(reason));
	if (code)
		gpc_json_set_int(data, "code", code);
	if (signal)
		gpc_json_set_int(data, "signal", signal);
	gpc_json_set_int(data, "rank", rank);
	set_end_times(sv, data);
	/* Who cancels it does not ask what it was waiting for. */
	gpc_json_set_str(data, "boot", sv->boot);
	gpc_json_set_str(data, "log_cut", sv->log_cut);
	if (sv->note && !(sv->note_waits && reason == GPC_REASON_CANCELLED))
		gpc_json_set_str(data, "detail", sv->note);
	return gpc_supervision_append(sv, GPC_EVENT_ENDED, data, progressed, err);
}

/* --- step ------------------------------------------------------------------ */
/* done: kinds that were done for all nodes with the first of them. */
static int act(struct gpc_supervision *sv, const struct gpc_action *a,
	size_t n, unsigned *done, bool *progressed, struct gpc_error *err)
{
	if (*done & 1u << a->kind)
		return 0;
	switch (a->kind) {
	case GPC_ACTION_ATTEMPT:
		return gpc_supervision_attempt(sv, a->uncounted, progressed,
			err);
	case GPC_ACTION_INTENT:
		return gpc_supervision_intend(sv, progressed, err);
	case GPC_ACTION_CREATE:
		return gpc_supervision_create(sv, a->index, progressed, err);
	case GPC_ACTION_VOID:
		return gpc_supervision_void(sv, a->index, progressed, err);
	case GPC_ACTION_RELEASE:
		*done |= 1u << a->kind;
		return gpc_supervision_release(sv, a, n, progressed, err);
	case GPC_ACTION_END:
		if (a->reason == GPC_REASON_CANCELLED)
			return gpc_supervision_cancelled(sv, progressed, err);
		return gpc_supervision_end(sv, a->reason, a->code, a->signal,
			a->rank, progressed, err);
	case GPC_ACTION_WATCH:
		*done |= 1u << a->kind;
		return gpc_supervision_watch(sv, progressed, err);
	}
	return 0;
}

static int act_on_all(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	struct gpc_action *actions = gpc_array(MAX_ACTIONS, sizeof(*actions));
	size_t n = gpc_state_next(&sv->journal.state, &sv->policy,
		gpc_wall_ms(), actions, MAX_ACTIONS);
	unsigned done = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n && !*progressed; i++)
		r = act(sv, &actions[i], n - i, &done, progressed, err);
	free(actions);
	return r;
}

/* A job that was closed before and is listed again is about to be resumed: its
 * entry is left alone, for a while. */
static int look_closed(struct gpc_supervision *sv, bool *ret_closed,
	bool *ret_reopened, struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();
	bool done = false, live = false;
	int r = gpc_index_look(sv->session->store, &sv->job,
		&sv->journal.state, &done, &live, err);

	*ret_closed = done && !live;
	*ret_reopened = done && live;
	if (r < 0 || !*ret_reopened)
		return r;
	if (!sv->reopened_ms)
		sv->reopened_ms = now;
	*ret_reopened = now - sv->reopened_ms < REOPENED_MS;
	return 0;
}

bool gpc_supervision_may_reopen(const struct gpc_supervision *sv)
{
	/* one step more than that, in which it is closed */
	return sv->reopened_ms && !sv->closed &&
		gpc_boot_ms() - sv->reopened_ms < REOPENED_MS + STEP_MS;
}

/* Whether this end is still the newest that is known of the job. Whoever was
 * stopped after its last look may find it resumed, with an entry that must stay. */
static int is_end_current(struct gpc_supervision *sv, bool *ret_current,
	struct gpc_error *err)
{
	GPC_CRASH("close.looked");
	return gpc_journal_is_current(&sv->journal, ret_current, err);
}

/* Those of a resume under way, which we may know nothing of, are not among them. */
static int drop_secrets(struct gpc_supervision *sv, struct gpc_error *err)
{
	int r = 0;

	if (sv->job.secrets.n > 0 && !sv->secrets_gone)
		r = gpc_secrets_drop_all(sv->session->store, sv->job.id,
			sv->journal.state.n, err);
	GPC_CRASH("close.secrets_deleted");
	sv->secrets_gone = r == 0;
	return r;
}

/* While somebody is still told of the end, its secrets go already. */
static int close_later(struct gpc_supervision *sv, struct gpc_error *err)
{
	bool closed = false, reopened = false, current = false;
	int r = 0;

	if (sv->secrets_gone)
		return 0;
	r = look_closed(sv, &closed, &reopened, err);
	if (r == 0 && !closed && !reopened)
		r = is_end_current(sv, &current, err);
	return r == 0 && current ? drop_secrets(sv, err) : r;
}

/* What cannot be swept does not keep a job open: `prune` finds it again. */
static void sweep_remains(struct gpc_supervision *sv)
{
	struct gpc_remains x = {0};
	struct gpc_error why = {0};
	bool current;

	if (gpc_remains_close(sv->session, &sv->journal,
		sv->spec.checkpoint.path, &current, &x, &why) < 0)
		gpc_log(sv->session->log, GPC_WARN, "%s: %s", sv->job.id,
			why.msg);
	if (x.temps || x.swept.blobs)
		gpc_log(sv->session->log, GPC_INFO, "%s: removed what killed "
			"writers left: %llu temporary files and %llu blobs, "
			"%llu bytes", sv->job.id, (unsigned long long)x.temps,
			(unsigned long long)x.swept.blobs, (unsigned long long)
			(x.temp_bytes + x.swept.bytes));
}

/* Ended and nothing held: what killed writers left, secrets and our record go, the
 * index entry moves. */
static int close_job(struct gpc_supervision *sv, bool *ret_done,
	struct gpc_error *err)
{
	bool reopened = false, current = false;
	int r;

	*ret_done = sv->closed;
	if (sv->closed)
		return 0;
	r = look_closed(sv, &sv->closed, &reopened, err);
	*ret_done = sv->closed;
	if (r < 0 || sv->closed || reopened)
		return r;
	if (!gpc_supervision_close_ways(sv))
		return 0;
	gpc_ssh_forget(sv->session, sv->job.id);
	sweep_remains(sv);              /* which may take a while */
	r = is_end_current(sv, &current, err);
	if (r < 0 || !current)
		return r;
	r = drop_secrets(sv, err);
	if (r == 0)
		r = gpc_supervision_let_go(sv, err);
	GPC_CRASH("close.let_go");
	if (r == 0)
		r = gpc_index_put_done(sv->session->store, &sv->job,
			&sv->journal.state, err);
	GPC_CRASH("close.index_done");
	*ret_done = sv->closed = r == 0;
	return r;
}

/* A submit that died between job.json and its first event is completed. */
static int refresh(struct gpc_supervision *sv, struct gpc_error *err)
{
	struct gpc_json *data;
	int r = gpc_journal_refresh(&sv->journal, NULL, err);

	if (r != -GPC_ENOTFOUND)
		return r;
	data = gpc_json_object();
	gpc_json_set_int(data, "num_nodes", sv->spec.num_nodes);
	r = gpc_journal_append(&sv->journal, GPC_EVENT_SUBMITTED, data, err);
	return r == -GPC_ECONFLICT ? 0 : r;
}

/* A job whose folder somebody has deleted is nobody's to go on with: what we
 * write would make half of it anew. */
static int check_job(struct gpc_supervision *sv, struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();
	gpc_key key;
	int r;

	if (sv->checked_ms && now - sv->checked_ms <
		(gpc_store_is_far(sv->session->store) ? CHECK_FAR_MS : CHECK_MS))
		return 0;
	r = gpc_store_head(sv->session->store, gpc_key_job(key, sv->job.id),
		NULL, err);
	if (r == 0)
		sv->checked_ms = now;
	return gpc_wrap(err, r, "job %s", sv->job.id);
}

/* The agent sees to it as well; this is for a job that has no node. */
static int check_tether(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	char text[32];

	if (st->cancel || gpc_job_status_is_end(st->status) ||
		!gpc_tether_silent(&sv->tether, sv->session->store, sv->job.id,
		gpc_boot_ms()))
		return 0;
	gpc_supervision_note(sv, "its client has been silent for %s",
		gpc_format_duration(sv->tether.within_ms, text, sizeof(text)));
	return gpc_supervision_append(sv, GPC_EVENT_CANCEL, gpc_json_object(),
		progressed, err);
}

static int64_t far_pause_ms(struct gpc_supervision *sv)
{
	bool runs = sv->journal.state.status == GPC_JOB_RUNNING;
	int64_t run_ms = gpc_roll_is_kept(sv->journal.state.num_nodes) ?
		FAR_GANG_LEAST_MS : FAR_RUN_LEAST_MS;
	int64_t sign = 0;
	bool news;

	gpc_vec_each(p, &sv->pulses) {
		if (p->changed_ms > sign)
			sign = p->changed_ms;
	}
	news = sign != sv->paced_ms || sv->journal.state.n != sv->paced_n;
	sv->paced_ms = sign;
	sv->paced_n = sv->journal.state.n;
	gpc_pace_set(&sv->pace, runs ? run_ms : FAR_LEAST_MS,
		runs ? FAR_RUN_MOST_MS : FAR_MOST_MS);
	return gpc_pace_next(&sv->pace, news);
}

static int64_t wake_ms(struct gpc_supervision *sv)
{
	int64_t ms = sv->journal.state.status == GPC_JOB_RUNNING ? 250 : 50;

	/* It has just come and may be the first: the others are heard now. */
	if (sv->row && sv->crew->round && sv->row_round == sv->crew->round)
		return 0;
	return gpc_store_is_far(sv->session->store) ? far_pause_ms(sv) : ms;
}

/* Whoever appended an event may have died before it was copied to where nodes read
 * it. Trouble with that is no trouble of the job's: the next step tries again. */
static void follow(struct gpc_supervision *sv)
{
	int64_t n = sv->journal.state.n;
	struct gpc_error why = {0};
	gpc_key key;

	if (sv->followed_n == n)
		return;
	if (gpc_store_follow(sv->session->store, gpc_key_event(key, sv->job.id,
		n), &why) < 0)
		gpc_log(sv->session->log, GPC_VERBOSE, "%s: %s", sv->job.id,
			why.msg);
	else
		sv->followed_n = n;
}

/* The job's part of the world as it is now; *ret_over: it needs nobody. */
static int look(struct gpc_supervision *sv, bool *ret_over,
	struct gpc_error *err)
{
	int r = check_job(sv, err);

	if (r == 0)
		r = refresh(sv, err);
	if (r < 0)
		return r;
	follow(sv);
	gpc_update_spec(&sv->spec, &sv->journal.state);
	if (!gpc_job_status_is_end(sv->journal.state.status))
		sv->secrets_gone = false;
	*ret_over = gpc_job_state_is_over(&sv->journal.state);
	if (*ret_over && gpc_notify_look(sv))
		*ret_over = false;
	return 0;
}

static int act_all_rounds(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	int r = 0;

	*progressed = true;
	for (int i = 0; r == 0 && *progressed && i < MAX_ROUNDS; i++) {
		*progressed = false;
		r = check_tether(sv, progressed, err);
		if (r == 0 && !*progressed)
			r = act_on_all(sv, progressed, err);
		if (!gpc_eq(sv->journal.state.supervisor, sv->id))
			break;          /* somebody took over meanwhile */
	}
	return r;
}

static int step(struct gpc_supervision *sv, bool *ret_done,
	int64_t *ret_wake_ms, struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	bool holding = false, progressed = true, over = false, telling;
	int r = look(sv, &over, err);

	if (r == 0 && over)
		return close_job(sv, ret_done, err);
	if (r == 0)
		r = gpc_supervision_hold(sv, gpc_boot_ms(), &holding, err);
	if (!holding && gpc_store_is_far(sv->session->store))
		*ret_wake_ms = FAR_BESIDE_MS;
	if (r < 0 || !holding)
		return r;
	r = act_all_rounds(sv, &progressed, err);
	if (!gpc_eq(st->supervisor, sv->id))
		return r;
	*ret_wake_ms = progressed ? 0 : wake_ms(sv);
	telling = gpc_notify_step(sv);
	if (r == 0 && gpc_job_state_is_over(st))
		r = telling ? close_later(sv, err) :
			close_job(sv, ret_done, err);
	return r;
}

int gpc_supervision_step(struct gpc_supervision *sv, bool *ret_done,
	int64_t *ret_wake_ms, struct gpc_error *err)
{
	int r;

	*ret_done = false;
	*ret_wake_ms = 1000;
	sv->wants_more = false;
	r = step(sv, ret_done, ret_wake_ms, err);
	if (!sv->wants_more)
		gpc_row_leave(sv);
	return r;
}
