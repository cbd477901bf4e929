/* What people ask of a job, and what else is told of it beside its attempts: who
 * supervises it, and what it has saved. Called by state.c for events that its table
 * allows.
 */
#include "record/state_parts.h"

#include "base/str.h"
#include "model/ssh.h"
#include "record/checkpoint.h"
#include "record/secrets.h"

int gpc_on_supervisor(struct gpc_step *s, struct gpc_error *err)
{
	(void)err;
	gpc_set_str(&s->st->supervisor, s->p->supervisor);
	return 0;
}

/* What an attempt commits after a later one began is stray. */
int gpc_on_checkpoint(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_try *t = gpc_job_state_try(s->st, s->st->attempt);
	char label[25];
	int attempt, n;
	int r = gpc_step_check_attempt(s, err);

	if (r < 0)
		return r;
	if (!gpc_checkpoint_id_parse(s->p->checkpoint, &attempt, &n, label) ||
		attempt != s->st->attempt || !t)
		return gpc_fail(err, GPC_EPROTO,
			"$.checkpoint: not a checkpoint of attempt %d",
			s->st->attempt);
	gpc_set_str(&t->checkpoint, s->p->checkpoint);
	gpc_set_str(&s->st->checkpoint, s->p->checkpoint);
	s->st->no_progress = 0;
	return 0;
}

/* Of a job that has ended: no node of it is to be kept any longer. */
int gpc_on_cancel(struct gpc_step *s, struct gpc_error *err)
{
	(void)err;
	s->st->cancel = true;
	s->st->cancel_now = s->st->cancel_now || s->p->now;
	s->st->asked_n = s->e->n;
	if (s->to == GPC_JOB_STOPPING || s->st->status == GPC_JOB_STOPPING)
		s->st->reason = GPC_REASON_CANCELLED;
	return 0;
}

int gpc_on_request(struct gpc_step *s, struct gpc_error *err)
{
	(void)err;
	s->st->asked_n = s->e->n;
	return 0;
}

int gpc_on_resume(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	char label[25];
	int attempt, n;
	int64_t of;

	if (st->pruning)
		return gpc_fail(err, GPC_EPROTO, st->removing ? "it is being "
			"removed" : "its checkpoints are being pruned");
	if (s->p->checkpoint &&
		!gpc_checkpoint_id_parse(s->p->checkpoint, &attempt, &n, label))
		return gpc_fail(err, GPC_EPROTO, "$.checkpoint: not an id");
	if (s->p->secrets && (!gpc_secrets_name_parse(s->p->secrets, &of) ||
		of != s->e->n))
		return gpc_fail(err, GPC_EPROTO, "$.secrets: not a name of this "
			"event's");
	if (s->p->checkpoint)
		gpc_set_str(&st->checkpoint, s->p->checkpoint);
	gpc_set_str(&st->secrets, s->p->secrets);
	gpc_step_set_reason(s);          /* an empty payload: clears them */
	st->cancel = st->cancel_now = false;
	st->restarts = st->no_progress = 0;
	st->ended_ms = 0;
	st->prune_n = st->prune_keep = 0; /* asked of those that have left */
	return 0;
}

/* A limit is more than 0; what is not there leaves the other as it is. */
static int check_update(const struct gpc_step *s, bool priority,
	struct gpc_error *err)
{
	const struct gpc_payload *p = s->p;
	bool cost = p->cost.currency[0] != '\0';

	if ((cost && p->cost.micros <= 0) || p->time_ms < 0 ||
		(!cost && !p->time_ms && !priority && !p->notify))
		return gpc_fail(err, GPC_EPROTO, "no limit, or none above 0");
	if (p->notify && !gpc_json_is_array(p->notify))
		return gpc_fail(err, GPC_EPROTO, "$.notify: not a list");
	return 0;
}

int gpc_on_update(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;
	bool priority = gpc_json_get(s->e->data, "priority") != NULL;
	int r = check_update(s, priority, err);

	if (r < 0)
		return r;
	if (s->p->cost.currency[0]) {
		st->cost_limit = s->p->cost;
		st->cost_limit_n = s->e->n;
	}
	if (s->p->time_ms > 0) {
		st->time_limit_ms = s->p->time_ms;
		st->time_limit_n = s->e->n;
	}
	if (priority) {
		st->priority = s->p->priority;
		st->priority_n = s->e->n;
	}
	if (s->p->notify) {
		gpc_json_free(st->notify);
		st->notify = gpc_json_first(s->p->notify) ?
			gpc_steal(&s->p->notify) : NULL;
		st->notify_n = s->e->n;
	}
	return gpc_on_request(s, err);
}

int gpc_on_prune(struct gpc_step *s, struct gpc_error *err)
{
	s->st->prune_n = s->e->n;
	s->st->prune_keep = s->p->keep;
	return gpc_on_request(s, err);
}

/* Who deletes must know that nobody writes there any more. A job may be removed
 * while its checkpoints are being pruned. */
int gpc_on_pruning(struct gpc_step *s, struct gpc_error *err)
{
	struct gpc_job_state *st = s->st;

	if (st->removing || (st->pruning && !s->p->remove))
		return gpc_fail(err, GPC_EPROTO, "it is being %s already",
			st->removing ? "removed" : "pruned");
	gpc_vec_each(n, &st->nodes)
		if (n->status != GPC_NODE_RELEASED)
			return gpc_fail(err, GPC_EPROTO,
				"not all of its nodes are released");
	if (st->intents.n > 0)
		return gpc_fail(err, GPC_EPROTO, "an intent is still open");
	st->pruning = true;
	st->pruning_n = s->e->n;
	st->removing = s->p->remove;
	return 0;
}

int gpc_on_pruned(struct gpc_step *s, struct gpc_error *err)
{
	if (!s->st->pruning || s->st->removing)
		return gpc_fail(err, GPC_EPROTO, "its checkpoints are not "
			"being pruned");
	s->st->pruning = false;
	s->st->pruning_n = 0;
	return 0;
}

/* The node's agent judges once more; here it must only not be nonsense. */
int gpc_on_ssh(struct gpc_step *s, struct gpc_error *err)
{
	if (!gpc_ssh_key_valid(s->p->key))
		return gpc_fail(err, GPC_EPROTO, "$.key: no key of Ed25519");
	if (s->p->rank < 0 || s->p->rank >= s->st->num_nodes)
		return gpc_fail(err, GPC_EPROTO, "$.rank: out of range");
	s->st->opened = s->st->opened || s->p->opens;
	return gpc_on_request(s, err);
}
