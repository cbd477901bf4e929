/* Signs of life of a job's ranks, as this process saw them change: each one's beat,
 * or, of a large gang, two or three lists that tell of all. */
#include <stdlib.h>

#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "record/facts.h"
#include "record/roll.h"

#define PULSE_FAR_MS 250        /* one look of a step serves all of it */
#define CALL_MS 500             /* likewise, of a large gang */
#define BEATS_MS 15000          /* once all have begun */
#define DRAINED_MS 2000
#define LEADER_MS 5000          /* rank 0's own words */

/* An attempt's ranks lie side by side, in their order. */
struct gpc_pulse *gpc_supervision_pulse(struct gpc_supervision *sv,
	int attempt, int rank)
{
	int n = sv->journal.state.num_nodes;
	size_t base;

	for (base = 0; base < sv->pulses.n; base += (size_t)n)
		if (sv->pulses.v[base].attempt == attempt)
			return &sv->pulses.v[base + (size_t)rank];
	for (int i = 0; i < n; i++) {
		struct gpc_pulse *p = gpc_vec_push(&sv->pulses);

		p->attempt = attempt;
		p->rank = i;
		p->beat_n = -1;
		p->changed_ms = gpc_boot_ms();
	}
	return &sv->pulses.v[base + (size_t)rank];
}

static void take_note(struct gpc_supervision *sv, const struct gpc_beat *beat,
	int rank)
{
	if (gpc_store_is_far(sv->session->store) && (beat->note || !rank))
		gpc_supervision_tell(sv, &sv->node_note, beat->note);
}

static int read_one(struct gpc_supervision *sv, int rank, struct gpc_pulse *p,
	struct gpc_error *err)
{
	gpc_auto(gpc_beat) struct gpc_beat beat = {0};
	bool found = false;
	int r;

	if (gpc_store_is_far(sv->session->store) && p->read_ms &&
		gpc_boot_ms() - p->read_ms < PULSE_FAR_MS)
		return 0;
	r = gpc_facts_beat(sv->session->store, sv->job.id, p->attempt, rank,
		&beat, &found, err);

	if (r == 0)
		p->read_ms = gpc_boot_ms();
	if (r < 0 || !found || beat.n == p->beat_n)
		return r;
	p->beat_n = beat.n;
	p->changed_ms = gpc_boot_ms();
	p->phase = beat.phase;
	take_note(sv, &beat, rank);
	return 0;
}

/* --- large gangs ---------------------------------------------------------------- */

static int list_beats(struct gpc_supervision *sv, int attempt,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	int64_t now = gpc_boot_ms();
	int64_t *ms = gpc_array((size_t)st->num_nodes, sizeof(*ms));
	struct gpc_pulse *all = gpc_supervision_pulse(sv, attempt, 0);
	int r = gpc_roll_beats(sv->session->store, sv->job.id, attempt,
		st->num_nodes, ms, err);

	for (int i = 0; r == 0 && i < st->num_nodes; i++) {
		if (!ms[i] || ms[i] == all[i].beat_n)
			continue;
		all[i].beat_n = ms[i];
		all[i].changed_ms = now;
	}
	free(ms);
	return r;
}

/* Whoever is on the roll has come to that phase. */
static int call(struct gpc_supervision *sv, int attempt,
	enum gpc_roll_word word, enum gpc_phase phase, struct gpc_roll *ret,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	struct gpc_pulse *all = gpc_supervision_pulse(sv, attempt, 0);
	int r = gpc_roll_call(sv->session->store, sv->job.id, attempt,
		st->num_nodes, word, ret, err);

	for (int i = 0; r == 0 && i < st->num_nodes; i++)
		if (ret->values[i] && all[i].phase < phase)
			all[i].phase = phase;
	return r;
}

/* The first that failed is told to readers at once; the verdict comes when the
 * others have ended. */
static void tell_failed(struct gpc_supervision *sv, const struct gpc_roll *ends)
{
	enum gpc_reason reason = GPC_REASON_NONE;
	int64_t at_ms = 0;
	int rank = gpc_roll_first_failed(ends, &at_ms, &reason);
	gpc_autostr *text = NULL;

	if (rank < 0 || sv->journal.state.cancel)
		return;
	text = gpc_format("rank %d failed first: %s; the others are being "
		"stopped", rank, gpc_reason_to_str(reason));
	if (!gpc_supervision_tell(sv, &sv->node_note, text))
		return;
	sv->told_attempt = sv->journal.state.attempt;
	gpc_log(sv->session->log, GPC_INFO, "%s: %s", sv->job.id, text);
}

/* What only a beat tells: that a setup runs, and what there is to note. */
static int read_leader(struct gpc_supervision *sv, enum gpc_phase *ret_phase,
	struct gpc_error *err)
{
	gpc_auto(gpc_beat) struct gpc_beat beat = {0};
	bool found = false;
	int r = gpc_facts_beat(sv->session->store, sv->job.id,
		sv->journal.state.attempt, 0, &beat, &found, err);

	if (r < 0 || !found)
		return r;
	*ret_phase = beat.phase;
	if (sv->told_attempt != sv->journal.state.attempt)
		take_note(sv, &beat, 0);
	return 0;
}

static bool all_have(const struct gpc_supervision *sv,
	const struct gpc_pulse *all, enum gpc_phase phase)
{
	for (int i = 0; i < sv->journal.state.num_nodes; i++)
		if (all[i].beat_n < 0 || all[i].phase < phase)
			return false;
	return true;
}

/* Before they run. */
static int call_starting(struct gpc_supervision *sv, struct gpc_error *err)
{
	gpc_auto(gpc_roll) struct gpc_roll roll = {0};
	enum gpc_phase leader = GPC_PHASE_BOOT;
	int attempt = sv->journal.state.attempt;
	struct gpc_pulse *all = gpc_supervision_pulse(sv, attempt, 0);
	int r = call(sv, attempt, GPC_ROLL_RUN, GPC_PHASE_RUN, &roll, err);

	if (r == 0)
		r = read_leader(sv, &leader, err);
	if (r < 0 || leader < GPC_PHASE_SETUP || roll.n)
		return r;
	/* Rank 0 has met all others. */
	for (int i = 0; i < sv->journal.state.num_nodes; i++)
		if (all[i].phase < GPC_PHASE_SETUP)
			all[i].phase = GPC_PHASE_SETUP;
	return 0;
}

static int call_roll(struct gpc_supervision *sv, struct gpc_error *err)
{
	gpc_auto(gpc_roll) struct gpc_roll ends = {0};
	int64_t now = gpc_boot_ms();
	int attempt = sv->journal.state.attempt;
	struct gpc_pulse *all = gpc_supervision_pulse(sv, attempt, 0);
	bool begun = all_have(sv, all, GPC_PHASE_BOOT);
	enum gpc_phase leader;
	int r = 0;

	if (all->read_ms && now - all->read_ms < CALL_MS)
		return 0;
	if (sv->told_attempt && sv->told_attempt != attempt) {
		gpc_set_str(&sv->node_note, NULL);
		sv->told_attempt = 0;
	}
	if (!begun || now - sv->beats_ms >= BEATS_MS) {
		r = list_beats(sv, attempt, err);
		sv->beats_ms = now;
	}
	if (r == 0 && !all_have(sv, all, GPC_PHASE_RUN))
		r = call_starting(sv, err);
	if (r == 0)
		r = call(sv, attempt, GPC_ROLL_END, GPC_PHASE_SAVE, &ends,
			err);
	if (r < 0)
		return r;
	tell_failed(sv, &ends);
	if (now - sv->leader_ms >= LEADER_MS) {
		sv->leader_ms = now;
		r = read_leader(sv, &leader, err);
	}
	all->read_ms = gpc_boot_ms();
	return r;
}

/* At most one look a second serves all that have to go. */
const struct gpc_pulse *gpc_supervision_drained(struct gpc_supervision *sv,
	const struct gpc_node *n)
{
	gpc_auto(gpc_roll) struct gpc_roll roll = {0};
	int64_t now = gpc_boot_ms();
	struct gpc_pulse *first = gpc_supervision_pulse(sv, n->attempt, 0);
	struct gpc_error why = {0};
	int r = 0;

	if (!sv->drained_ms || now - sv->drained_ms >= DRAINED_MS) {
		sv->drained_ms = now;
		r = list_beats(sv, n->attempt, &why);
		if (r == 0)
			r = call(sv, n->attempt, GPC_ROLL_END, GPC_PHASE_SAVE,
				&roll, &why);
		if (r == 0)
			r = call(sv, n->attempt, GPC_ROLL_DONE, GPC_PHASE_DONE,
				&roll, &why);
		if (r < 0)
			gpc_log(sv->session->log, GPC_VERBOSE, "%s: %s",
				sv->job.id, why.msg);
	}
	return first + n->rank;
}

int gpc_supervision_read_pulse(struct gpc_supervision *sv, int rank,
	struct gpc_pulse **ret_p, struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	bool large = gpc_roll_is_kept(st->num_nodes);
	int r = large ? call_roll(sv, err) : 0;

	*ret_p = gpc_supervision_pulse(sv, st->attempt, rank);
	return large ? r : read_one(sv, rank, *ret_p, err);
}
