/* The folded state of a job as JSON: every event carries one, so that the newest
 * event suffices. Members that a newer gpucloud adds are kept on the way. */
#include "model/job.h"

#include "dep/bind.h"

static const struct gpc_bind node_fields[] = {
	GPC_BIND(gpc_node, rank, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_node, attempt, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_node, status, ENUM, .flags = GPC_BIND_REQUIRED,
		.names = gpc_node_status_names),
	GPC_BIND(gpc_node, intent, I53),
	GPC_BIND(gpc_node, provider, STR),
	GPC_BIND(gpc_node, id, STR),
	GPC_BIND(gpc_node, address, STR),
	GPC_BIND(gpc_node, opened, STR),
	GPC_BIND(gpc_node, offer, STR),
	GPC_BIND(gpc_node, rate, MONEY),
	GPC_BIND(gpc_node, created_ms, I53),
	GPC_BIND(gpc_node, released_ms, I53),
	GPC_BIND(gpc_node, expires_ms, I53),
	GPC_BIND(gpc_node, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind node_tariff_fields[] = {
	GPC_BIND(gpc_node_tariff, intent, I53, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_node_tariff, tariff, OBJECT, .sub = gpc_tariff_fields),
	GPC_BIND_LAST
};
static const struct gpc_bind intent_fields[] = {
	GPC_BIND(gpc_intent, n, I53, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_intent, attempt, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_intent, token, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_intent, at_ms, I53),
	GPC_BIND(gpc_intent, request, JSON),
	GPC_BIND(gpc_intent, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind try_fields[] = {
	GPC_BIND(gpc_try, n, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_try, started_ms, I53),
	GPC_BIND(gpc_try, running_ms_at, I53),
	GPC_BIND(gpc_try, ended_ms, I53),
	GPC_BIND(gpc_try, reason, ENUM, .names = gpc_reason_names),
	GPC_BIND(gpc_try, code, INT),
	GPC_BIND(gpc_try, signal, INT),
	GPC_BIND(gpc_try, rank, INT),
	GPC_BIND(gpc_try, boot, STR),
	GPC_BIND(gpc_try, log_cut, STR),
	GPC_BIND(gpc_try, resume_from, STR),
	GPC_BIND(gpc_try, checkpoint, STR),
	GPC_BIND(gpc_try, damaged, STRV),
	GPC_BIND(gpc_try, damage, STR),
	GPC_BIND(gpc_try, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind refusal_fields[] = {
	GPC_BIND(gpc_refusal, attempt, INT),
	GPC_BIND(gpc_refusal, times, INT),
	GPC_BIND(gpc_refusal, at_ms, I53),
	GPC_BIND(gpc_refusal, offer, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_refusal, why, STR),
	GPC_BIND(gpc_refusal, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind state_fields[] = {
	GPC_BIND(gpc_job_state, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job_state, n, I53, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job_state, status, ENUM, .flags = GPC_BIND_REQUIRED,
		.names = gpc_job_status_names),
	GPC_BIND(gpc_job_state, reason, ENUM, .names = gpc_reason_names),
	GPC_BIND(gpc_job_state, code, INT),
	GPC_BIND(gpc_job_state, signal, INT),
	GPC_BIND(gpc_job_state, rank, INT),
	GPC_BIND(gpc_job_state, detail, STR),
	GPC_BIND(gpc_job_state, attempt, INT, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND(gpc_job_state, num_nodes, INT, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND(gpc_job_state, restarts, INT),
	GPC_BIND(gpc_job_state, no_progress, INT),
	GPC_BIND(gpc_job_state, submitted_ms, I53),
	GPC_BIND(gpc_job_state, started_ms, I53),
	GPC_BIND(gpc_job_state, ended_ms, I53),
	GPC_BIND(gpc_job_state, ran_ms, I53),
	GPC_BIND(gpc_job_state, node_ms, I53),
	GPC_BIND(gpc_job_state, spent, MONEY),
	GPC_BIND(gpc_job_state, bill, VEC, .sub = gpc_bill_part_fields,
		.sub_size = sizeof(struct gpc_bill_part)),
	GPC_BIND(gpc_job_state, checkpoint, STR),
	GPC_BIND(gpc_job_state, supervisor, STR),
	GPC_BIND(gpc_job_state, secrets, STR),
	GPC_BIND(gpc_job_state, cancel, BOOL),
	GPC_BIND(gpc_job_state, cancel_now, BOOL),
	GPC_BIND(gpc_job_state, opened, BOOL),
	GPC_BIND(gpc_job_state, pruning, BOOL),
	GPC_BIND(gpc_job_state, pruning_n, I53),
	GPC_BIND(gpc_job_state, removing, BOOL),
	GPC_BIND(gpc_job_state, asked_n, I53),
	GPC_BIND(gpc_job_state, prune_n, I53),
	GPC_BIND(gpc_job_state, prune_keep, INT),
	GPC_BIND(gpc_job_state, cost_limit, MONEY),
	GPC_BIND(gpc_job_state, time_limit_ms, I53),
	GPC_BIND(gpc_job_state, cost_limit_n, I53),
	GPC_BIND(gpc_job_state, time_limit_n, I53),
	GPC_BIND(gpc_job_state, priority, INT),
	GPC_BIND(gpc_job_state, priority_n, I53),
	GPC_BIND(gpc_job_state, notify, JSON),
	GPC_BIND(gpc_job_state, notify_n, I53),
	GPC_BIND(gpc_job_state, nodes, VEC, .sub = node_fields,
		.sub_size = sizeof(struct gpc_node)),
	GPC_BIND(gpc_job_state, tariffs, VEC, .sub = node_tariff_fields,
		.sub_size = sizeof(struct gpc_node_tariff)),
	GPC_BIND(gpc_job_state, intents, VEC, .sub = intent_fields,
		.sub_size = sizeof(struct gpc_intent)),
	GPC_BIND(gpc_job_state, tries, VEC, .sub = try_fields,
		.sub_size = sizeof(struct gpc_try)),
	GPC_BIND(gpc_job_state, refused, VEC, .sub = refusal_fields,
		.sub_size = sizeof(struct gpc_refusal)),
	GPC_BIND(gpc_job_state, rest, REST),
	GPC_BIND_LAST
};

/* What others take for granted: they count with these and use ranks as places. */
static int check_ranges(const struct gpc_job_state *st, struct gpc_error *err)
{
	if (st->n < 0 || st->num_nodes < 0 || st->num_nodes > GPC_JOB_MAX_NODES)
		return gpc_fail(err, GPC_EPROTO, "$.num_nodes: out of range");
	if (st->attempt < 0 || st->attempt > GPC_JOB_MAX_ATTEMPTS)
		return gpc_fail(err, GPC_EPROTO, "$.attempt: out of range");
	if (st->restarts < 0 || st->restarts > st->attempt
		|| st->no_progress < 0 || st->no_progress > st->attempt)
		return gpc_fail(err, GPC_EPROTO,
			"$.restarts: more than attempts");
	gpc_vec_each(n, &st->nodes)
		if (n->rank < 0 || n->rank >= st->num_nodes || !n->id
			|| !n->provider)
			return gpc_fail(err, GPC_EPROTO,
				"$.nodes: a rank is out of range, or an id missing");
	return 0;
}

int gpc_job_state_read(const struct gpc_json *j, struct gpc_job_state *ret_st,
	struct gpc_error *err)
{
	gpc_auto(gpc_job_state) struct gpc_job_state st = {0};
	int r = gpc_bind_read(j, state_fields, &st, err);

	if (r == 0)
		r = check_ranges(&st, err);
	if (r < 0)
		return r;
	*ret_st = st;
	st = (struct gpc_job_state){0};
	return 0;
}

struct gpc_json *gpc_job_state_write(const struct gpc_job_state *st)
{
	return gpc_bind_write(state_fields, st);
}

void gpc_job_state_copy(struct gpc_job_state *to,
	const struct gpc_job_state *from)
{
	gpc_bind_copy(state_fields, to, from);
}

bool gpc_intent_is_group(const struct gpc_intent *i)
{
	return gpc_json_get(i->request, GPC_LAUNCH_GROUP) != NULL;
}

bool gpc_job_state_is_over(const struct gpc_job_state *st)
{
	if (!gpc_job_status_is_end(st->status) || st->intents.n > 0)
		return false;
	gpc_vec_each(n, &st->nodes)
		if (n->status != GPC_NODE_RELEASED)
			return false;
	return true;
}

void gpc_job_state_clear(struct gpc_job_state *st)
{
	gpc_bind_clear(state_fields, st);
}

struct gpc_try *gpc_job_state_try(struct gpc_job_state *st, int attempt)
{
	gpc_vec_each(t, &st->tries)
		if (t->n == attempt)
			return t;
	return NULL;
}

/* A rate that was read back since the machine was bought is what counts. */
static const struct gpc_tariff *tariff_of(const struct gpc_job_state *st,
	const struct gpc_node *n)
{
	gpc_vec_each(t, &st->tariffs) {
		struct gpc_money hourly = gpc_tariff_hourly(&t->tariff);

		if (t->intent == n->intent && hourly.micros == n->rate.micros &&
			gpc_eq(hourly.currency, n->rate.currency))
			return &t->tariff;
	}
	return NULL;
}

struct gpc_money gpc_job_state_charge(const struct gpc_job_state *st,
	const struct gpc_node *n, int64_t ms, bool machine_free,
	struct gpc_bill *to)
{
	const struct gpc_tariff *t = tariff_of(st, n);
	struct gpc_money sum = {0};

	if (t)
		return gpc_tariff_charge(t, ms, 1, machine_free, to);
	if (!n->rate.currency[0])
		return sum;
	sum = gpc_money_for(n->rate, machine_free ? 0 : ms);
	if (to)
		gpc_bill_add(to, GPC_TARIFF_MACHINE, sum);
	return sum;
}
