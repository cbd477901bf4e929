/* Birth: which attempt and rank this node is, by the journal alone.
 *
 * The intent stands in the journal before a node can exist. So a node that is
 * named by neither an open intent nor a live attempt has been given up (void,
 * a twin, an ended job), and must not run. Until the answer is in, it waits,
 * at most ten minutes from its creation. */
#include "agent/birth.h"

#include <string.h>

#include "agent/claim.h"
#include "base/crash.h"
#include "base/pace.h"
#include "base/str.h"
#include "base/time.h"
#include "model/boot_failure.h"
#include "record/job.h"
#include "record/journal.h"
#include "record/keys.h"

enum { BIRTH_MAX_MS = 10 * 60 * 1000, LOOK_MS = 1000,
	/* What names it is mostly there already, or comes at once; each look is one
	 * request where that costs money. */
	FAR_LEAST_MS = 200, FAR_MOST_MS = 5000,
	LOOKS_WITHOUT = 2, /* in a row: given up */
	/* What no time mends, as far as it is seen: a role or a bucket that is new takes
	 * some. */
	FIRM_MS = 60000 };

static int64_t deadline_ms(const struct gpc_agent *a)
{
	return a->node->created_boot_ms + BIRTH_MAX_MS;
}

static int open_store(struct gpc_agent *a, struct gpc_error *err)
{
	const char *want = gpc_pairs_get(&a->node->tags, "gpucloud-store");
	int64_t began = gpc_boot_ms(), now;
	int r;

	for (;;) {
		r = gpc_store_open(a->node->store_url, 0, &a->log, &a->store,
			err);
		if (r == 0)
			r = gpc_store_identify(a->store, 0, err);
		now = gpc_boot_ms();
		if (r == 0 || now >= deadline_ms(a) || (now - began >= FIRM_MS &&
			!gpc_code_retryable(err->code)))
			break;
		gpc_agent_say(a, GPC_WARN, "%s", err->msg);
		gpc_store_free(a->store);
		a->store = NULL;
		gpc_sleep_ms(LOOK_MS);
	}
	if (r == 0 && want && !gpc_eq(want, a->store->id))
		return gpc_fail(err, GPC_ECONFLICT, "%s is store %s, this node "
			"belongs to %s", a->store->url, a->store->id, want);
	return r;
}

enum look { LOOK_WAIT, LOOK_FOUND, LOOK_NONE };

static enum look look(struct gpc_agent *a, const struct gpc_job_state *st)
{
	if (gpc_job_status_is_end(st->status))
		return LOOK_NONE;
	for (size_t i = 0; i < st->nodes.n; i++) {
		const struct gpc_node *n = &st->nodes.v[i];

		if (!gpc_eq(n->id, a->node->id))
			continue;
		if (n->attempt != st->attempt || n->status == GPC_NODE_DRAINING
			|| n->status == GPC_NODE_RELEASED)
			return LOOK_NONE;
		a->attempt = n->attempt;
		a->rank = n->rank;
		a->seen_n = n->intent;
		return LOOK_FOUND;
	}
	for (size_t i = 0; i < st->intents.n; i++)
		if (gpc_eq(st->intents.v[i].token, a->node->token))
			return LOOK_WAIT;
	return LOOK_NONE;
}

static int find_rank(struct gpc_agent *a, struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_pace pace = { FAR_LEAST_MS, FAR_MOST_MS, 0 };
	bool far = gpc_store_is_far(a->store);
	gpc_key events;
	int without = 0;

	gpc_journal_init(&j, a->store, a->node->job, "agent");
	gpc_key_job_file(events, a->node->job, "events/");
	while (gpc_boot_ms() < deadline_ms(a)) {
		int r = gpc_journal_refresh(&j, NULL, err);
		enum look l = r == 0 ? look(a, &j.state) : LOOK_WAIT;

		if (l == LOOK_FOUND) {
			gpc_job_state_copy(&a->state, &j.state);
			return 0;
		}
		if (r == -GPC_EUNSUPPORTED)
			return r;
		without = l == LOOK_NONE || r == -GPC_ENOTFOUND ? without + 1 : 0;
		if (without >= LOOKS_WITHOUT)
			return gpc_fail(err, GPC_ENOTFOUND, "no live attempt of "
				"job %s names node %s", a->node->job,
				a->node->id);
		if (without)
			gpc_sleep_ms(LOOK_MS);
		else
			gpc_store_wait(a->store, events, far ?
				(int)gpc_pace_next(&pace, false) : LOOK_MS);
	}
	return gpc_fail(err, GPC_ETIMEOUT, "no event of job %s named node %s "
		"within 10 minutes", a->node->job, a->node->id);
}

static int read_job(struct gpc_agent *a, struct gpc_error *err)
{
	int r;

	do {
		r = gpc_job_get(a->store, a->node->job, &a->job, err);
		if (r < 0 && gpc_code_retryable(err->code))
			gpc_sleep_ms(LOOK_MS);
		else
			break;
	} while (gpc_boot_ms() < deadline_ms(a));
	return r;
}

/* Nobody reads the store's side of it, but a supervisor the machine's console. */
static int failed(struct gpc_agent *a, int r, const struct gpc_error *err)
{
	if (r < 0)
		gpc_agent_say(a, GPC_ERROR, GPC_BOOT_MARK "%s: %s",
			gpc_boot_failure_word(err), err->msg);
	return r;
}

int gpc_agent_birth(struct gpc_agent *a, struct gpc_error *err)
{
	int r = failed(a, open_store(a, err), err);

	if (r < 0 && a->node->group)
		a->parting = GPC_PART_END;  /* the next one would not fare better */
	if (r == 0)
		r = a->node->group ? gpc_claim_rank(a, deadline_ms(a), err) :
			find_rank(a, err);
	GPC_CRASH("agent.born");
	if (r == 0)
		r = failed(a, read_job(a, err), err);
	if (r == 0) {
		struct gpc_try *t = gpc_job_state_try(&a->state, a->attempt);

		if (t)
			gpc_set_str(&a->resume_from, t->resume_from);
	}
	return r;
}
