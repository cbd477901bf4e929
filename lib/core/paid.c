/* Until when a node was paid for. The provider's own times count where it tells them;
 * else when this process saw it go; and whoever looks later takes its last sign of
 * life, after which nothing of ours can have run for long. */
#include "base/time.h"
#include "core/supervision.h"
#include "record/facts.h"

#define WATCHED_MS 60000        /* seen running so shortly before: seen going */
#define SIGN_MS 60000           /* a beat, and then some */

/* By our wall clock, of the age that the store's own two clocks say. */
static bool last_sign(struct gpc_supervision *sv, const struct gpc_node *n,
	int64_t now_ms, int64_t *ret_ms)
{
	int64_t age = 0;

	if (gpc_facts_beat_age(sv->session->store, sv->job.id, n->attempt,
		n->rank, &age, NULL) < 0 || age < 0 || age > now_ms)
		return false;
	*ret_ms = now_ms - age;
	return true;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t until(struct gpc_supervision *sv, const struct gpc_node *n,
	const struct gpc_seen *seen, int64_t now_ms)
{
	int64_t end = seen && seen->ended_ms ? seen->ended_ms : now_ms, sign;

	if (!(seen && seen->running_ms && end - seen->running_ms <= WATCHED_MS) &&
		last_sign(sv, n, now_ms, &sign))
		end = least(end, sign + SIGN_MS);
	if (n->expires_ms > 0)
		end = least(end, n->expires_ms);
	return end;
}

void gpc_supervision_paid(struct gpc_supervision *sv, const struct gpc_node *n,
	const struct gpc_sight *sight, struct gpc_paid *ret)
{
	const struct gpc_instance *x = sight->instance;
	int64_t now = gpc_wall_ms();

	*ret = (struct gpc_paid){ .at_ms = now, .unpaid = x && x->unpaid };
	if (ret->unpaid)
		return;
	if (x && x->ended_ms > 0 && x->created_ms > 0 &&
		x->ended_ms >= x->created_ms) {
		ret->ms = x->ended_ms - x->created_ms;
	} else {
		ret->at_ms = until(sv, n, gpc_supervision_seen(sv, n), now);
		ret->ms = ret->at_ms > n->created_ms ?
			ret->at_ms - n->created_ms : 0;
	}
	ret->machine_free = x && ret->ms < x->machine_free_ms;
}
