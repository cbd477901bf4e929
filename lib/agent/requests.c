/* Requests reach a node as events of its job's journal, which it only reads.
 * The same events tell that somebody has given the node up: then nothing that
 * it does counts any more, and it leaves. So it does when the store itself is lost,
 * since nobody else could ever find it. */
#include "agent/requests.h"

#include <string.h>

#include "agent/checkpoint.h"
#include "agent/notice.h"
#include "agent/ssh.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "model/job_signal.h"
#include "record/journal.h"
#include "record/update.h"

enum {
	NOW_GRACE_MS = 2000,        /* cancel --now: no time to save */
	LEAVE_GRACE_MS = 5000,      /* the attempt is over */
	NOTICE_MS = 120000,         /* what a cloud gives before it takes back */
};

static void on_cancel(struct gpc_agent *a, const struct gpc_event *e)
{
	bool now = gpc_json_bool_or(gpc_json_get(e->data, "now"), false);

	if (gpc_job_status_is_end(e->state.status))
		return; /* nothing is left to stop but the keeping, see loop.c */
	gpc_agent_stop(a, GPC_REASON_CANCELLED, now ? NOW_GRACE_MS
		: a->spec.checkpoint.grace_ms, now ? NULL : "final", NULL);
}

static void on_signal(struct gpc_agent *a, const struct gpc_event *e)
{
	const char *name = gpc_json_get_str(e->data, "signal");
	int64_t rank = gpc_json_get_int(e->data, "rank", -1);
	int number;

	if (!name || (rank >= 0 && rank != a->rank))
		return;
	if (gpc_eq_nocase(name, "interrupt")) {
		gpc_notice_came(a, NOTICE_MS);
		return;
	}
	number = gpc_job_signal(name, NULL);
	if (number && a->child > 0)
		gpc_agent_signal(a, number);
	gpc_agent_say(a, GPC_INFO, "signal %s %s", name, !number ? "is unknown"
		: a->child > 0 ? "sent" : "came while nothing ran");
}

/* This attempt is over for the others: what we do is not awaited. */
static void leave(struct gpc_agent *a, enum gpc_reason reason, bool save,
	const char *why)
{
	if (a->abandoned)
		return;
	a->abandoned = true;
	gpc_agent_stop(a, reason, LEAVE_GRACE_MS, save ? "notice" : NULL, why);
}

static void on_released(struct gpc_agent *a, const struct gpc_event *e)
{
	const struct gpc_json *x = gpc_json_first(gpc_json_get(e->data, "also"));
	bool ours = gpc_eq(gpc_json_get_str(e->data, "id"), a->node->id);

	for (; !ours && x; x = gpc_json_next(x))
		ours = gpc_eq(gpc_json_get_str(x, "id"), a->node->id);
	if (ours)
		leave(a, GPC_REASON_NODE_LOST, false, "this node was released");
}

static int on_event(void *arg, const struct gpc_event *e)
{
	struct gpc_agent *a = arg;
	int64_t attempt = gpc_json_get_int(e->data, "attempt", a->attempt);

	a->seen_n = e->n;
	gpc_job_state_clear(&a->state);
	gpc_job_state_copy(&a->state, &e->state);
	gpc_update_spec(&a->spec, &a->state);
	switch (e->type) {
	case GPC_EVENT_CANCEL:
		on_cancel(a, e);
		break;
	case GPC_EVENT_SAVE:
		gpc_saver_ask(a, gpc_json_get_str(e->data, "label"), e->n);
		break;
	case GPC_EVENT_SIGNAL:
		on_signal(a, e);
		break;
	case GPC_EVENT_SSH:
		gpc_agent_ssh_ask(a, e);
		break;
	case GPC_EVENT_LOST:
		if (attempt == a->attempt)
			leave(a, GPC_REASON_NODE_LOST, true,
				"another rank was lost");
		break;
	case GPC_EVENT_ATTEMPT:
		if (attempt > a->attempt)
			leave(a, GPC_REASON_NODE_LOST, false,
				"a later attempt has begun");
		break;
	case GPC_EVENT_ENDED:
		if (a->step < GPC_STEP_KEEP)
			leave(a, GPC_REASON_CANCELLED, false,
				"the job has ended");
		break;
	case GPC_EVENT_RELEASED:
		on_released(a, e);
		break;
	default:
		break;
	}
	return 0;
}

void gpc_requests_watch_store(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_error why = {0};

	if (gpc_lost_look(&a->lost, a->store, now_ms, &why) == 0 ||
		!atomic_load(&a->store->lost))
		return;
	gpc_agent_say(a, GPC_ERROR, "this node ends: %s", why.msg);
	a->parting = GPC_PART_END;
	leave(a, GPC_REASON_STORE_UNREACHABLE, false, why.msg);
}

void gpc_requests_poll(struct gpc_agent *a)
{
	struct gpc_error err = {0};
	int r = gpc_journal_read(a->store, a->job.id, a->seen_n, on_event, a,
		&err);

	if (r == -GPC_EUNSUPPORTED && !a->journal_told) {
		a->journal_told = true;
		gpc_agent_say(a, GPC_WARN, "a newer gpucloud writes this "
			"journal; requests are not seen: %s", err.msg);
	} else if (r < 0 && r != -GPC_EUNSUPPORTED) {
		gpc_agent_say(a, GPC_VERBOSE, "journal: %s", err.msg);
	}
}
