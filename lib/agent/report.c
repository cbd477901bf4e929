/* What is left at a rank's end: its log's tail and exit.json.
 *
 * A store out of reach is tried for as long as a node may drain. A full one gets
 * FULL_MS in which somebody may give room; what is missing then is told by
 * exit.json, for which room was kept, so that no log ends early in silence. */
#include "agent/report.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/facts.h"
#include "agent/publish.h"
#include "agent/reserve.h"
#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"

enum {
	FULL_MS = 10000,        /* no room for logs: then the job ends */
	PIPE_END_MS = 5000, RETRY_MS = 1000,
	FIGURES_MS = 10000,     /* for which the last ones are waited for */
};

/* Waiting may help: somebody may give room. */
static bool has_no_room(const struct gpc_error *why)
{
	return why->sys == ENOSPC || why->sys == EDQUOT;
}

/* How much is missing beside why. The streams beside the log may be cut alone. */
static char *cut_text(const struct gpc_agent *a, const struct gpc_error *why)
{
	size_t n = gpc_logs_missing(a->logs);
	gpc_autostr *rank = a->spec.num_nodes > 1 ?
		gpc_format("rank %d: ", a->rank) : gpc_strdup("");

	return n ? gpc_format("%s%zu bytes are missing: %s", rank, n, why->msg) :
		gpc_format("%sonly its times, figures or the agent's own words "
		"are missing: %s", rank, why->msg);
}

/* Success means that all of it can be read; the program's own failure stays. */
static void log_is_cut(struct gpc_agent *a, const struct gpc_error *why)
{
	free(a->exit.log_cut);
	a->exit.log_cut = cut_text(a, why);
	gpc_agent_note(a, "the log's end is lost: %s", a->exit.log_cut);
	if (a->exit.reason != GPC_REASON_COMPLETED)
		return;
	a->log_took_success = true;
	a->exit.reason = gpc_agent_reason_of(why);
	gpc_set_str(&a->exit.detail, why->msg);
}

/* Room came while not even exit.json found any: then nothing is missing. */
static void log_is_whole(struct gpc_agent *a)
{
	gpc_set_str(&a->exit.log_cut, NULL);
	if (!a->log_took_success)
		return;
	a->log_took_success = false;
	a->exit.reason = GPC_REASON_COMPLETED;
	gpc_set_str(&a->exit.detail, NULL);
}

/* What stands where our bytes belong is not ours: waiting does not help, as it
 * does while a store is full or out of reach. */
static bool log_is_spoiled(struct gpc_agent *a, const struct gpc_error *why)
{
	switch (why->sys) {
	case ENXIO:
	case EISDIR:
	case ENOTDIR:
	case ELOOP:
		return true;
	case ENOENT:
		return gpc_store_head(a->store, "store.json", NULL, NULL) == 0;
	default:
		return why->code == GPC_ECONFLICT || why->code == GPC_EPROTO;
	}
}

/* What the program left in its pipes while the store took nothing is read once it
 * takes it; what somebody who escaped goes on writing is no part of the log. */
static bool pipes_are_read(struct gpc_agent *a, int64_t now_ms)
{
	if (!gpc_logs_unread(a->logs))
		return true;
	if (!a->unread_since_ms)
		a->unread_since_ms = now_ms;
	return now_ms - a->unread_since_ms >= PIPE_END_MS;
}

bool gpc_report_made(struct gpc_agent *a, int64_t now_ms)
{
	int64_t since = now_ms - a->report_since_ms;
	struct gpc_error err = {0};
	bool full;

	if (atomic_load(&a->store->lost))
		return true;            /* there is nobody to report to */
	if (!gpc_logs_ended(a->logs) && since < PIPE_END_MS)
		return false;
	if (now_ms < a->retry_ms)
		return false;
	a->retry_ms = now_ms + RETRY_MS;
	if (a->metrics)
		gpc_metrics_tick(a->metrics);
	if (!gpc_publish_ended(a, now_ms) && since < FIGURES_MS)
		return false;
	full = !gpc_logs_flush(a->logs, &err);
	GPC_CRASH("agent.log_flushed");
	if (!full && !pipes_are_read(a, now_ms))
		return false;
	if (full && !has_no_room(&err) && !log_is_spoiled(a, &err)
		&& since < GPC_AGENT_DRAIN_MS)
		return false;
	if (full && since < FULL_MS)
		return false;
	if (full)
		log_is_cut(a, &err);
	else
		log_is_whole(a);
	gpc_reserve_free(a);
	if (gpc_agent_put_exit(a, &err) < 0) {
		gpc_agent_say(a, GPC_WARN, "exit.json: %s", err.msg);
		return a->abandoned || since >= GPC_AGENT_DRAIN_MS;
	}
	GPC_CRASH("agent.exit_put");
	a->retry_ms = 0;
	return true;
}

void gpc_report_watch_room(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_error err = {0};
	int64_t since = gpc_logs_failing_since(a->logs, &err);

	if (since && now_ms - since >= FULL_MS && !a->log_told) {
		a->log_told = true;
		gpc_agent_note(a, "the log cannot be stored: %s", err.msg);
	}
	if (since && has_no_room(&err) && now_ms - since >= FULL_MS
		&& !a->stop.asked)
		gpc_agent_stop(a, GPC_REASON_DISK_FULL,
			a->spec.checkpoint.grace_ms, NULL, err.msg);
}
