/* Facts are plain objects of the agents. They may be absent, stale or (from a
 * hostile or broken node) nonsense. Nonsense keeps nobody from going on: an agent
 * that lives puts its own words there in the end, and of one that is gone it
 * means that it failed. */
#include "record/facts.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "record/checkpoint.h"
#include "record/keys.h"
#include "record/roll.h"

#define FACT_MAX ((size_t)256 << 10)

static int get_fact(struct gpc_store *s, const char *key, struct gpc_buf *b,
	bool *ret_found, struct gpc_error *err)
{
	int r = gpc_store_get(s, key, FACT_MAX, b, err);

	*ret_found = r == 0;
	return r == -GPC_ENOTFOUND ? 0 : r;
}

int gpc_facts_beat(struct gpc_store *s, const char *job, int attempt, int rank,
	struct gpc_beat *ret_b, bool *ret_found, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_key key;
	int r;

	gpc_key_beat(key, job, attempt, rank);
	r = get_fact(s, key, &b, ret_found, err);
	if (r == 0 && *ret_found)
		r = gpc_beat_parse(b.data, b.len, ret_b, err);
	if (r == -GPC_EPROTO) {         /* the next one is better */
		*ret_found = false;
		return 0;
	}
	return gpc_wrap(err, r, "%s", key);
}

/* rank < 0: the attempt's verdict. A damaged one is not found, and *damaged says
 * so, unless something was there before. */
static int get_exit(struct gpc_store *s, const char *job, int attempt, int rank,
	struct gpc_exit *ret_x, bool *ret_found, char **damaged,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error why = {0};
	gpc_key key;
	int r;

	if (rank < 0)
		gpc_key_attempt(key, job, attempt, "verdict.json");
	else
		gpc_key_rank(key, job, attempt, rank, "exit.json");
	r = get_fact(s, key, &b, ret_found, &why);
	if (r == 0 && *ret_found)
		r = gpc_exit_parse(b.data, b.len, ret_x, &why);
	if (r == -GPC_EPROTO) {
		*ret_found = false;
		if (!*damaged)
			*damaged = gpc_format("%s is damaged: %s", key, why.msg);
		return 0;
	}
	if (r < 0 && err)
		*err = why;
	return gpc_wrap(err, r, "%s", key);
}

int gpc_facts_beat_age(struct gpc_store *s, const char *job, int attempt, int rank,
	int64_t *ret_ms, struct gpc_error *err)
{
	struct gpc_object o;
	gpc_key key;
	int r;

	gpc_key_beat(key, job, attempt, rank);
	r = gpc_store_head(s, key, &o, err);
	if (r == 0 && !(o.modified_ms && o.now_ms))
		r = gpc_fail(err, GPC_ENOTFOUND, "%s: the store does not say when "
			"it was put", key);
	if (r == 0)
		*ret_ms = o.now_ms - o.modified_ms;
	return r;
}

int gpc_facts_has_exit(struct gpc_store *s, const char *job, int attempt,
	int rank, bool *ret_has, struct gpc_error *err)
{
	struct gpc_object o;
	gpc_key key;
	int r;

	gpc_key_rank(key, job, attempt, rank, "exit.json");
	r = gpc_store_head(s, key, &o, err);
	*ret_has = r == 0;
	return r == -GPC_ENOTFOUND ? 0 : r;
}

static void swap_cut(struct gpc_exit *a, struct gpc_exit *b)
{
	char *cut = a->log_cut;

	a->log_cut = b->log_cut;
	b->log_cut = cut;
}

/* A log without its end is told of, whoever's end is the attempt's. */
static void keep_worse(struct gpc_exit *best, bool *has, struct gpc_exit *x)
{
	bool fails = x->reason != GPC_REASON_COMPLETED;
	bool best_fails = *has && best->reason != GPC_REASON_COMPLETED;

	if (!best->log_cut)
		swap_cut(best, x);
	if (!*has || (fails && (!best_fails || x->at_ms < best->at_ms))) {
		swap_cut(best, x);
		gpc_exit_clear(best);
		*best = *x;
		*x = (struct gpc_exit) {0};
		*has = true;
	} else if (!fails && !best_fails && x->at_ms > best->at_ms) {
		best->at_ms = x->at_ms;         /* done when all are */
		best->ran_ms = x->ran_ms;
	}
}

/* A rank that is gone without having said how it ended. */
static void failed_agent(struct gpc_exit *x, char **damaged)
{
	x->reason = GPC_REASON_AGENT_FAILED;
	x->at_ms = INT64_MAX;           /* whoever can be read was before it */
	x->detail = gpc_steal(damaged);
}

/* The exits that are asked for, as one. */
struct outcome {
	struct gpc_store *s;
	const char *job;
	int attempt;
	bool partial;
	struct gpc_exit best;
	bool has, all;
	char *damaged;
};

static int take_exit(struct outcome *o, int rank, struct gpc_error *err)
{
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	gpc_autostr *broken = NULL;
	bool found = false;
	int r = get_exit(o->s, o->job, o->attempt, rank, &x, &found, &broken,
		err);

	if (r < 0)
		return r;
	if (broken && o->partial) {
		failed_agent(&x, &broken);
		found = true;
	}
	if (broken && !o->damaged)
		o->damaged = gpc_steal(&broken);
	if (!found) {
		o->all = false;
		return 0;
	}
	x.rank = rank;
	keep_worse(&o->best, &o->has, &x);
	return 0;
}

static int take_each(struct outcome *o, int num_nodes, struct gpc_error *err)
{
	int r = 0;

	for (int rank = 0; r == 0 && rank < num_nodes; rank++)
		r = take_exit(o, rank, err);
	return r;
}

static bool is_failure(const struct outcome *o)
{
	return o->has && o->best.reason != GPC_REASON_COMPLETED;
}

/* The first of a large gang's whose log lacks its end. */
static int take_cut(struct outcome *o, const struct gpc_roll *exits,
	struct gpc_error *err)
{
	for (int i = 0; !o->best.log_cut && i < exits->num_nodes; i++) {
		gpc_auto(gpc_exit) struct gpc_exit x = {0};
		gpc_autostr *damaged = NULL;
		bool found = false;
		int r;

		if (!exits->values[i] || !*exits->values[i])
			continue;
		r = get_exit(o->s, o->job, o->attempt, i, &x, &found, &damaged,
			err);
		if (r < 0)
			return r;
		if (found)
			swap_cut(&o->best, &x);
	}
	return 0;
}

/* Of a large gang the roll names those whose words count: the first that failed, or
 * the last one when all ended well. partial: and those that died before they were
 * through. */
static int take_called(struct outcome *o, int num_nodes, struct gpc_error *err)
{
	gpc_auto(gpc_roll) struct gpc_roll ends = {0}, exits = {0};
	enum gpc_reason reason = GPC_REASON_NONE;
	int64_t at_ms = 0;
	int r = gpc_roll_call(o->s, o->job, o->attempt, num_nodes,
		GPC_ROLL_EXIT, &exits, err);
	bool through = exits.n == num_nodes;
	int rank;

	o->all = false;
	if (r < 0 || (!through && !o->partial))
		return r;
	r = gpc_roll_call(o->s, o->job, o->attempt, num_nodes, GPC_ROLL_END,
		&ends, err);
	if (r < 0)
		return r;
	rank = gpc_roll_first_failed(&ends, &at_ms, &reason);
	if (rank < 0 && through)
		rank = gpc_roll_last_ended(&ends);
	if (rank >= 0)
		r = take_exit(o, rank, err);
	o->all = through && o->has;
	if (r == 0 && o->has)
		r = take_cut(o, &exits, err);
	for (int i = 0; r == 0 && !o->all && !is_failure(o) && i < num_nodes; i++)
		if (ends.values[i] && !exits.values[i] && i != rank)
			r = take_exit(o, i, err);
	return r;
}

int gpc_facts_outcome(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, bool partial, struct gpc_exit *ret_x, bool *ret_found,
	struct gpc_error *err)
{
	struct outcome o = { .s = s, .job = job, .attempt = attempt,
		.partial = partial, .all = true };
	int r = get_exit(s, job, attempt, -1, ret_x, ret_found, &o.damaged, err);

	if (r == 0 && !*ret_found) {
		r = gpc_roll_is_kept(num_nodes) ?
			take_called(&o, num_nodes, err) :
			take_each(&o, num_nodes, err);
		if (r == 0)
			*ret_found = o.has && (o.all || (partial && is_failure(&o)));
		if (r == 0 && *ret_found) {
			*ret_x = o.best;
			o.best = (struct gpc_exit) {0};
		} else if (r == 0) {
			ret_x->detail = gpc_steal(&o.damaged);
		}
	}
	gpc_exit_clear(&o.best);
	free(o.damaged);
	return r;
}

int gpc_facts_newest_checkpoint(struct gpc_store *s, const char *job,
	int attempt, char **ret_id, struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	const char *newest = NULL;
	int r = gpc_checkpoint_list(s, job, &ids, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ids.n; i++) {
		if (ids.v[i].attempt <= attempt)
			newest = ids.v[i].id;
	}
	*ret_id = gpc_strdup(newest);
	return 0;
}
