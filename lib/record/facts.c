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

	gpc_key_rank(key, job, attempt, rank, "beat");
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

	gpc_key_rank(key, job, attempt, rank, "beat");
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

int gpc_facts_outcome(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, bool partial, struct gpc_exit *ret_x, bool *ret_found,
	struct gpc_error *err)
{
	gpc_auto(gpc_exit) struct gpc_exit best = {0};
	gpc_autostr *damaged = NULL;
	bool has = false, all = true;
	int r = get_exit(s, job, attempt, -1, ret_x, ret_found, &damaged, err);

	if (r < 0 || *ret_found)
		return r;
	for (int rank = 0; rank < num_nodes; rank++) {
		gpc_auto(gpc_exit) struct gpc_exit x = {0};
		gpc_autostr *broken = NULL;
		bool found = false;

		r = get_exit(s, job, attempt, rank, &x, &found, &broken, err);
		if (r < 0)
			return r;
		if (broken && partial) {
			failed_agent(&x, &broken);
			found = true;
		}
		if (broken && !damaged)
			damaged = gpc_steal(&broken);
		if (!found) {
			all = false;
			continue;
		}
		x.rank = rank;
		keep_worse(&best, &has, &x);
	}
	*ret_found = has && (all ||
		(partial && best.reason != GPC_REASON_COMPLETED));
	if (*ret_found) {
		*ret_x = best;
		best = (struct gpc_exit) {0};
	} else {
		ret_x->detail = gpc_steal(&damaged);
	}
	return 0;
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
