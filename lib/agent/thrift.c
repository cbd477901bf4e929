/* A store bills requests, and a job must not pay more for them than 1 % of its
 * machines. A put is counted as 5 millionths of a unit of the machine's currency:
 * what S3 asks in dollars, and more than OSS asks in yuan; a get as a twelfth of
 * that. What a node does anyway (beats, its slow streams, looks at the journal) is
 * taken off first; the log gets the rest. */
#include "agent/thrift.h"

#include "base/time.h"
#include "record/roll.h"

enum {
	HOUR_MS = 3600 * 1000,
	LOG_MS = 10000, LOG_WATCHED_MS = 1000, LOG_MOST_MS = 120000,
	PUT_MICROS = 5, PUTS_AN_INTERVAL = 2,      /* log and marks */
	/* An hour's 120 beats and 120 puts of slow streams, and 1440 gets. */
	FIXED_MICROS = 240 * PUT_MICROS + 576,
	/* Of several nodes: 720 looks at rank 0's beat, and a share of what rank 0
	 * and the supervisor look at: as many again, or, of a large gang, some 1,700
	 * lists for all of it. */
	PEERS_MICROS = 288, LISTS_MICROS = 1700 * PUT_MICROS,
	PERCENT = 1, PERCENT_WATCHED = 5,
	POLL_LOCAL_MS = 500, PEERS_LOCAL_MS = 1000,
	POLL_LEAST_MS = 2000, POLL_MS = 5000, POLL_MOST_MS = 10000,
	PEERS_FAR_MS = 5000,
};

static int64_t fixed_micros(int num_nodes)
{
	if (num_nodes < 2)
		return FIXED_MICROS;
	return FIXED_MICROS + PEERS_MICROS + (gpc_roll_is_kept(num_nodes) ?
		LISTS_MICROS / num_nodes : PEERS_MICROS);
}

int64_t gpc_thrift_log_ms(int64_t micros_per_hour, int num_nodes, bool watched)
{
	int64_t least = watched ? LOG_WATCHED_MS : LOG_MS;
	int64_t left, ms;

	if (micros_per_hour <= 0)
		return least;
	left = micros_per_hour / 100 * (watched ? PERCENT_WATCHED : PERCENT) -
		fixed_micros(num_nodes);
	if (left <= 0)
		return LOG_MOST_MS;
	ms = ((int64_t)PUT_MICROS * PUTS_AN_INTERVAL * HOUR_MS + left - 1) / left;
	return ms < least ? least : ms > LOG_MOST_MS ? LOG_MOST_MS : ms;
}

static int64_t own_rate(const struct gpc_agent *a)
{
	gpc_vec_each(n, &a->state.nodes) {
		if (gpc_eq(n->id, a->node->id))
			return n->rate.micros;
	}
	return 0;
}

void gpc_thrift_tick(struct gpc_agent *a, int64_t now_ms)
{
	bool watched;

	if (a->store->caps & GPC_STORE_APPEND)
		return;
	watched = gpc_watchers_fresh(&a->watchers, a->store, a->job.id,
		a->rank, now_ms);
	if (watched && !a->watched)
		a->poll_due_ms = 0;     /* such a one may want something, too */
	a->watched = watched;
	gpc_logs_set_interval(a->logs, gpc_thrift_log_ms(own_rate(a),
		a->spec.num_nodes, watched));
}

int64_t gpc_thrift_poll_ms(struct gpc_agent *a)
{
	if (!gpc_store_is_far(a->store))
		return POLL_LOCAL_MS;
	if (a->watched || a->stop.asked || a->step != GPC_STEP_RUN)
		gpc_pace_set(&a->pace, POLL_LEAST_MS, POLL_LEAST_MS);
	else
		gpc_pace_set(&a->pace, POLL_MS, POLL_MOST_MS);
	return gpc_pace_next(&a->pace, a->polled_n != a->seen_n);
}

int64_t gpc_thrift_peers_ms(const struct gpc_agent *a)
{
	return gpc_store_is_far(a->store) ? PEERS_FAR_MS : PEERS_LOCAL_MS;
}
