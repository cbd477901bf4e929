/* The cloud is asked in a thread of its own: its answer may take seconds, and the
 * program's output does not wait. */
#include "agent/notice.h"

#include "base/str.h"
#include "base/time.h"
#include "provider/provider.h"

enum {
	EVERY_MS = 5000,        /* as AWS advises */
	SAVE_MS = 30000,        /* what a save may need after the program's end */
};

struct gpc_notice {
	struct gpc_worker *worker;
	struct gpc_provider_context ctx;
	struct gpc_provider *provider;
	int64_t due_ms, at_ms;
	bool told;              /* that the cloud does not answer */
};

int gpc_notice_open(struct gpc_agent *a, struct gpc_error *err)
{
	const char *name = a->node->provider;
	struct gpc_notice *n;
	int r;

	if (!name || !gpc_eq(a->node->market, "spot"))
		return 0;
	n = gpc_alloc(sizeof(*n));
	n->ctx = (struct gpc_provider_context){ .log = &a->log, .store_id = "",
		.state_dir = a->options->node_dir };
	a->notice = n;
	r = gpc_provider_open(name, &n->ctx, &n->provider, err);
	if (r == 0 && !n->provider->ops->notice) {
		gpc_notice_close(a);
		return 0;
	}
	if (r == 0)
		r = gpc_worker_new(&n->worker, err);
	if (r < 0)
		gpc_notice_close(a);
	return r;
}

void gpc_notice_close(struct gpc_agent *a)
{
	struct gpc_notice *n = a->notice;

	if (!n)
		return;
	gpc_worker_free(n->worker);
	gpc_provider_free(n->provider);
	free(n);
	a->notice = NULL;
}

static int ask(void *arg, const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct gpc_notice *n = arg;

	(void)cancel;           /* it is short */
	return n->provider->ops->notice(n->provider, &n->at_ms, err);
}

void gpc_notice_came(struct gpc_agent *a, int64_t left_ms)
{
	int64_t grace = a->spec.checkpoint.grace_ms;

	/* What the program takes is not there for the save any more. */
	if (grace > left_ms - SAVE_MS)
		grace = left_ms - SAVE_MS;
	gpc_agent_stop(a, GPC_REASON_SPOT_INTERRUPTED, grace > 0 ? grace : 0,
		"notice", "notice of interruption");
}

static void take(struct gpc_agent *a)
{
	struct gpc_notice *n = a->notice;
	struct gpc_error err = {0};
	int r = 0;

	if (!gpc_worker_take(n->worker, &r, &err))
		return;
	if (r < 0 && !n->told)
		gpc_agent_say(a, GPC_WARN, "a notice of interruption would not be "
			"heard: %s", err.msg);
	n->told = r < 0;
	if (r == 0 && n->at_ms && !a->stop.asked)
		gpc_notice_came(a, n->at_ms - gpc_wall_ms());
}

void gpc_notice_tick(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_notice *n = a->notice;
	struct gpc_error err = {0};

	if (!n)
		return;
	take(a);
	if (now_ms < n->due_ms || gpc_worker_busy(n->worker))
		return;
	n->due_ms = now_ms + EVERY_MS;
	if (gpc_worker_start(n->worker, ask, n, &err) < 0)
		gpc_agent_say(a, GPC_VERBOSE, "%s", err.msg);
}
