/* Facts into events: beats become `ready` and `phase`, committed checkpoints
 * `checkpoint`, an end `ended` or `lost`, a machine that is gone `lost`. */
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "core/cost.h"
#include "core/supervision.h"
#include "record/checkpoint.h"
#include "record/facts.h"
#include "record/keys.h"
#include "record/recover.h"
#include "record/roll.h"

#define BEAT_STALE_MS 180000
#define BEAT_SILENT_MS 75000    /* two beats have not come: worth a word */
#define BIRTH_STALE_MS 660000   /* machines take minutes to boot, and then wait for
                                 * their birth at most 10 */
#define LIST_MS 1000
#define LIST_GANG_MS 10000      /* a page for each 1,000 of them */
#define CHECKPOINTS_MS 1000
#define CHECKPOINTS_FAR_MS 30000
#define OUTCOME_FAR_MS 15000    /* for an end of which no beat tells */
#define CANCEL_MARGIN_MS 60000
#define CAUSE_MS 10000
#define CAUSE_LIST_MS 100

/* Those of a large gang that begin at about the same time are one event, since each
 * carries the state of all. */
static bool may_wait_for_more(const struct gpc_supervision *sv, size_t n)
{
	const struct gpc_job_state *st = &sv->journal.state;
	size_t left = 0;

	gpc_vec_each(x, &st->nodes)
		left += x->attempt == st->attempt && x->status == GPC_NODE_CREATED;
	return gpc_roll_is_kept(st->num_nodes) && n < left &&
		gpc_boot_ms() - sv->ready_ms < GPC_TOGETHER_MS;
}

static int note_ready(struct gpc_supervision *sv, struct gpc_json *ranks,
	size_t n, bool *progressed, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *all = ranks;
	struct gpc_json *data;

	if (!n || may_wait_for_more(sv, n))
		return 0;
	sv->ready_ms = gpc_boot_ms();
	sv->wait_since_ms = 0;          /* it was to be had, and lives */
	gpc_pairs_clear(&sv->refused);
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", sv->journal.state.attempt);
	gpc_json_set_int(data, "rank", gpc_json_int_or(gpc_json_first(all), 0));
	if (n > 1)
		gpc_json_set(data, "ranks", gpc_steal(&all));
	return gpc_supervision_append(sv, GPC_EVENT_READY, data, progressed, err);
}

static int note_phase(struct gpc_supervision *sv, const char *phase,
	bool *progressed, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "attempt", sv->journal.state.attempt);
	gpc_json_set_str(data, "phase", phase);
	return gpc_supervision_append(sv, GPC_EVENT_PHASE, data, progressed, err);
}

/* The job is in a phase when every rank has come that far. */
static int watch_phase(struct gpc_supervision *sv, enum gpc_phase least,
	bool *progressed, struct gpc_error *err)
{
	enum gpc_job_status now = sv->journal.state.status;

	if (least >= GPC_PHASE_RUN && least < GPC_PHASE_SAVE &&
		(now == GPC_JOB_STARTING || now == GPC_JOB_SETUP))
		return note_phase(sv, "running", progressed, err);
	if (least == GPC_PHASE_SETUP && now == GPC_JOB_STARTING)
		return note_phase(sv, "setup", progressed, err);
	return 0;
}

static int watch_beats(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	enum gpc_phase least = GPC_PHASE_DONE;
	gpc_autoptr(gpc_json) *ranks = gpc_json_array();
	size_t ready = 0;
	int r;

	for (size_t i = 0; i < st->nodes.n; i++) {
		const struct gpc_node *n = &st->nodes.v[i];
		struct gpc_pulse *p = NULL;

		if (n->attempt != st->attempt || n->status == GPC_NODE_RELEASED)
			continue;
		r = gpc_supervision_read_pulse(sv, n->rank, &p, err);
		if (r < 0)
			return r;
		if (p->phase < least || p->beat_n < 0)
			least = p->beat_n < 0 ? GPC_PHASE_BOOT : p->phase;
		if (p->beat_n < 0 || n->status != GPC_NODE_CREATED)
			continue;
		gpc_json_add(ranks, gpc_json_int(n->rank));
		ready++;
	}
	r = note_ready(sv, gpc_steal(&ranks), ready, progressed, err);
	return r < 0 || *progressed ? r : watch_phase(sv, least, progressed, err);
}

int gpc_supervision_note_checkpoint(struct gpc_supervision *sv,
	bool *progressed, struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	struct gpc_try *try = gpc_job_state_try(&sv->journal.state, st->attempt);
	gpc_autostr *newest = NULL;
	struct gpc_json *data;
	int attempt = 0, n = 0, r;
	char label[25];

	if (st->attempt == 0 || (gpc_store_is_far(sv->session->store) &&
		!sv->spec.checkpoint.path))
		return 0;
	r = gpc_facts_newest_checkpoint(sv->session->store, sv->job.id,
		st->attempt, &newest, err);
	if (r < 0 || !newest || gpc_eq(newest, st->checkpoint))
		return r;
	/* A resume may have pinned an older one: only this attempt's own are
	 * news. */
	if (!gpc_checkpoint_id_parse(newest, &attempt, &n, label) ||
		attempt != st->attempt ||
		(try && gpc_eq(newest, try->checkpoint)))
		return 0;
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", attempt);
	gpc_json_set_str(data, "checkpoint", newest);
	return gpc_supervision_append(sv, GPC_EVENT_CHECKPOINT, data,
		progressed, err);
}

/* In large gangs by the roll as it was called last: the program's end is known
 * before its words are. */
static int has_ended(struct gpc_supervision *sv, int rank, bool *ret_has,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;

	if (!gpc_roll_is_kept(st->num_nodes))
		return gpc_facts_has_exit(sv->session->store, sv->job.id,
			st->attempt, rank, ret_has, err);
	*ret_has = gpc_supervision_pulse(sv, st->attempt, rank)->phase >=
		GPC_PHASE_SAVE;
	return 0;
}

/* A rank's program fails soon after another rank's machine went away: that is
 * a lost node, not the program's error. So a failure of several ranks is only
 * believed once the others said how they ended, or had time to. */
static int look_for_cause(struct gpc_supervision *sv, struct gpc_exit *x,
	bool *ret_wait, struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	int r = 0;

	*ret_wait = false;
	if (st->num_nodes < 2 || gpc_reason_retry(x->reason) != GPC_RETRY_IF_ASKED)
		return 0;
	for (size_t i = 0; i < st->nodes.n; i++) {
		const struct gpc_node *n = &st->nodes.v[i];
		struct gpc_sight sight = {0};
		bool said = false;

		if (n->attempt != st->attempt || n->rank == x->rank)
			continue;
		r = has_ended(sv, n->rank, &said, err);
		if (r == 0 && said)
			continue;
		if (r == 0)
			r = gpc_supervision_find(sv, n, CAUSE_LIST_MS, &sight,
				err);
		if (r < 0)
			return r;
		if (!sight.gone) {
			*ret_wait = true;
			continue;
		}
		x->reason = GPC_REASON_NODE_LOST;
		x->rank = n->rank;
		x->code = x->signal = 0;
		gpc_set_str(&x->detail, "another rank's machine is gone");
		*ret_wait = false;
		return 0;
	}
	return 0;
}

static int watch_outcome(struct gpc_supervision *sv, bool partial,
	bool *ret_settled, bool *progressed, struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	int64_t now = gpc_boot_ms();
	bool wait = false;
	int r = gpc_facts_outcome(sv->session->store, sv->job.id, st->attempt,
		st->num_nodes, partial, &x, ret_settled, err);

	if (r < 0 || !*ret_settled)
		return r;
	gpc_recover_name_end(st, &x);
	r = look_for_cause(sv, &x, &wait, err);
	if (r < 0)
		return r;
	if (!sv->failed_ms || sv->failed_attempt != st->attempt) {
		sv->failed_ms = now;
		sv->failed_attempt = st->attempt;
	}
	if (wait && now - sv->failed_ms < CAUSE_MS)
		return 0;
	return gpc_supervision_settle(sv, &x, progressed, err);
}

int gpc_supervision_cancelled(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	bool found = false;
	int r = 0;

	if (st->status >= GPC_JOB_STARTING && st->status <= GPC_JOB_STOPPING)
		r = gpc_facts_outcome(sv->session->store, sv->job.id,
			st->attempt, st->num_nodes, false, &x, &found, err);
	if (r == 0 && found && x.reason == GPC_REASON_COMPLETED)
		return gpc_supervision_settle(sv, &x, progressed, err);
	return r < 0 ? r : gpc_supervision_end(sv, GPC_REASON_CANCELLED, 0, 0,
		0, progressed, err);
}

static int node_is_gone(struct gpc_supervision *sv, const struct gpc_node *n,
	const char *why, bool *progressed, struct gpc_error *err)
{
	gpc_auto(gpc_exit) struct gpc_exit x = {
		.reason = GPC_REASON_NODE_LOST, .rank = n->rank,
		.detail = gpc_format("rank %d: %s", n->rank,
			why ? why : "its machine is gone"),
	};
	bool settled = false, wait = false;
	/* Its last words may have been written just before it went. */
	int r = watch_outcome(sv, true, &settled, progressed, err);

	if (r < 0 || settled)
		return r;
	gpc_supervision_last_words(sv, n, true, &x, &wait);
	return wait ? 0 : gpc_supervision_settle(sv, &x, progressed, err);
}

/* Readers see it until it beats again; what comes after that is an event. */
static void note_silence(struct gpc_supervision *sv, const struct gpc_node *n,
	const struct gpc_pulse *p, int64_t silent_ms)
{
	bool silent = p->beat_n >= 0 && silent_ms >= BEAT_SILENT_MS;
	gpc_autostr *text = NULL;

	if (silent == (sv->silent_rank == n->rank + 1) || (silent &&
		sv->silent_rank))
		return;
	sv->silent_rank = silent ? n->rank + 1 : 0;
	if (silent)
		text = gpc_format("rank %d has shown no sign of life for more than "
			"a minute: after 3 minutes it counts as lost", n->rank);
	gpc_supervision_tell(sv, &sv->node_note, text);
}

/* Silent, and still there: it may have said why, and not been able to end itself. */
static int watch_silence(struct gpc_supervision *sv, const struct gpc_node *n,
	bool *progressed, struct gpc_error *err)
{
	const struct gpc_pulse *p = gpc_supervision_pulse(sv, n->attempt, n->rank);
	int64_t silent_ms = gpc_boot_ms() - p->changed_ms;
	bool unborn = p->beat_n < 0 && n->status == GPC_NODE_CREATED &&
		!(gpc_provider_caps(n->provider) & GPC_PROVIDER_THIS_HOST);
	char text[32];
	gpc_auto(gpc_exit) struct gpc_exit x = {
		.reason = GPC_REASON_NODE_LOST, .rank = n->rank,
		.detail = gpc_format("rank %d: no sign of life for %s", n->rank,
			gpc_format_duration(silent_ms / 1000 * 1000, text,
			sizeof(text))),
	};
	bool wait = false, settled = false;
	int r;

	note_silence(sv, n, p, silent_ms);
	if (!gpc_supervision_last_words(sv, n, false, &x, &wait) &&
		silent_ms < (unborn ? BIRTH_STALE_MS : BEAT_STALE_MS))
		return 0;
	r = gpc_supervision_destroy(sv, n, err);
	if (r == 0)
		r = watch_outcome(sv, true, &settled, progressed, err);
	return r < 0 || settled ? r :
		gpc_supervision_settle(sv, &x, progressed, err);
}

static int watch_machines(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	int64_t list_ms = gpc_roll_is_kept(st->num_nodes) ? LIST_GANG_MS : LIST_MS;
	int64_t now = gpc_boot_ms();
	int r = 0;

	if (gpc_roll_is_kept(st->num_nodes) && now - sv->machines_ms < LIST_MS)
		return 0;
	sv->machines_ms = now;
	for (size_t i = 0; r == 0 && i < st->nodes.n; i++) {
		const struct gpc_node *n = &st->nodes.v[i];
		struct gpc_sight sight = {0};
		int64_t before = st->n;

		if (n->attempt != st->attempt)
			continue;
		if (n->status == GPC_NODE_RELEASED)
			return node_is_gone(sv, n, "it was released", progressed,
				err);
		r = gpc_supervision_find(sv, n, list_ms, &sight, err);
		if (r < 0)
			return r;
		if (sight.gone && sight.instance && sight.instance->never_ran
			&& n->status == GPC_NODE_CREATED)
			return gpc_supervision_stillborn(sv, n,
				sight.instance, progressed, err);
		if (sight.gone)
			return node_is_gone(sv, n, sight.instance ?
				sight.instance->why : NULL, progressed, err);
		r = watch_silence(sv, n, progressed, err);
		if (st->n != before)
			break;          /* n may be no more */
	}
	return r;
}

/* The agent saves and stops by itself; this is for one that does not. */
static int watch_cancel(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();
	int64_t limit = sv->journal.state.cancel_now ? 10000 :
		sv->spec.checkpoint.grace_ms + CANCEL_MARGIN_MS;

	if (!sv->journal.state.cancel)
		return 0;
	if (!sv->cancel_seen_ms)
		sv->cancel_seen_ms = now;
	if (now - sv->cancel_seen_ms < limit)
		return 0;
	return gpc_supervision_cancelled(sv, progressed, err);
}

static int watch_cost(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	struct gpc_money cap = sv->spec.limits.cost;
	struct gpc_money spent = gpc_cost_spent(&sv->journal.state,
		gpc_wall_ms());

	if (!cap.currency[0] || spent.micros < cap.micros)
		return 0;
	return gpc_supervision_end(sv, GPC_REASON_COST_LIMIT, 0, 0, 0,
		progressed, err);
}

/* Beats tell of each phase, so an end is looked for once a rank has come that
 * far; one that died without a word is found all the same. */
static int outcome_is_due(struct gpc_supervision *sv, bool *ret_due,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	int64_t now = gpc_boot_ms();

	*ret_due = !gpc_store_is_far(sv->session->store) ||
		now - sv->outcome_ms >= OUTCOME_FAR_MS;
	for (int rank = 0; !*ret_due && rank < st->num_nodes; rank++) {
		struct gpc_pulse *p = NULL;
		int r = gpc_supervision_read_pulse(sv, rank, &p, err);

		if (r < 0)
			return r;
		*ret_due = p->beat_n >= 0 && p->phase >= GPC_PHASE_SAVE;
	}
	if (*ret_due)
		sv->outcome_ms = now;
	return 0;
}

static bool checkpoints_are_due(const struct gpc_supervision *sv, int64_t now)
{
	if (!gpc_store_is_far(sv->session->store))
		return now - sv->checkpoints_ms >= CHECKPOINTS_MS;
	return sv->spec.checkpoint.path &&
		now - sv->checkpoints_ms >= CHECKPOINTS_FAR_MS;
}

int gpc_supervision_watch(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	static int (*const parts[])(struct gpc_supervision *, bool *,
		struct gpc_error *) = {
		gpc_supervision_open_ports, watch_beats, watch_machines,
		watch_cancel, watch_cost,
	};
	int64_t now = gpc_boot_ms();
	bool settled = false, due = false;
	int r = outcome_is_due(sv, &due, err);

	if (r == 0 && due)
		r = watch_outcome(sv, false, &settled, progressed, err);
	for (size_t i = 0; r == 0 && !settled && !*progressed &&
		i < sizeof(parts) / sizeof(parts[0]); i++)
		r = parts[i](sv, progressed, err);
	if (r == 0 && !settled && !*progressed &&
		checkpoints_are_due(sv, now)) {
		sv->checkpoints_ms = now;
		r = gpc_supervision_note_checkpoint(sv, progressed, err);
	}
	return r;
}
