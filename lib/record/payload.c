/* The members of every event's payload, as tables: reading one checks it. */
#include "record/payload.h"

const char *const gpc_phase_event_names[] = {
	[GPC_PHASE_EVENT_SETUP] = "setup",
	[GPC_PHASE_EVENT_RUNNING] = "running",
	[GPC_PHASE_EVENT_STOPPING] = "stopping",
	[GPC_PHASE_EVENT__COUNT] = NULL,
};

#define NEED .flags = GPC_BIND_REQUIRED
#define FIELD(name, ...) GPC_BIND(gpc_payload, name, __VA_ARGS__)
#define REASON(...) FIELD(reason, ENUM, .names = gpc_reason_names, __VA_ARGS__)

static const struct gpc_bind no_fields[] = { GPC_BIND_LAST };
static const struct gpc_bind submitted_fields[] = {
	FIELD(num_nodes, INT, NEED), GPC_BIND_LAST
};
static const struct gpc_bind attempt_fields[] = {
	FIELD(attempt, INT, NEED), FIELD(resume_from, STR),
	FIELD(uncounted, BOOL), FIELD(damaged, STRV), FIELD(damage, STR),
	GPC_BIND_LAST
};
static const struct gpc_bind passed_fields[] = {
	GPC_BIND(gpc_refusal, offer, STR, NEED),
	GPC_BIND(gpc_refusal, why, STR),
	GPC_BIND(gpc_refusal, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind intent_fields[] = {
	FIELD(attempt, INT, NEED), FIELD(token, STR, NEED),
	FIELD(request, JSON, NEED),
	FIELD(passed, VEC, .sub = passed_fields,
		.sub_size = sizeof(struct gpc_refusal)), GPC_BIND_LAST
};
static const struct gpc_bind void_fields[] = {
	FIELD(intent, I53, NEED), FIELD(offer, STR), FIELD(detail, STR),
	GPC_BIND_LAST
};
static const struct gpc_bind created_node_fields[] = {
	GPC_BIND(gpc_node, rank, INT, NEED),
	GPC_BIND(gpc_node, id, STR, NEED),
	GPC_BIND(gpc_node, provider, STR, NEED),
	GPC_BIND(gpc_node, address, STR),
	GPC_BIND(gpc_node, offer, STR),
	GPC_BIND(gpc_node, rate, MONEY),
	GPC_BIND(gpc_node, created_ms, I53),
	GPC_BIND(gpc_node, expires_ms, I53),
	GPC_BIND(gpc_node, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind created_fields[] = {
	FIELD(intent, I53, NEED),
	FIELD(nodes, VEC, NEED, .sub = created_node_fields,
		.sub_size = sizeof(struct gpc_node)),
	FIELD(tariff, OBJECT, .sub = gpc_tariff_fields),
	GPC_BIND_LAST
};
static const struct gpc_bind rate_fields[] = {
	FIELD(attempt, INT, NEED), FIELD(rank, INT, NEED), FIELD(id, STR),
	FIELD(rate, MONEY, NEED), GPC_BIND_LAST
};
static const struct gpc_bind ready_fields[] = {
	FIELD(attempt, INT, NEED), FIELD(rank, INT, NEED), FIELD(id, STR),
	FIELD(address, STR), FIELD(ranks, JSON), GPC_BIND_LAST
};
static const struct gpc_bind phase_fields[] = {
	FIELD(attempt, INT, NEED),
	FIELD(phase, ENUM, NEED, .names = gpc_phase_event_names),
	FIELD(at_ms, I53), REASON(), GPC_BIND_LAST
};
static const struct gpc_bind lost_fields[] = {
	FIELD(attempt, INT, NEED), FIELD(rank, INT), REASON(NEED),
	FIELD(code, INT), FIELD(signal, INT), FIELD(at_ms, I53),
	FIELD(ran_ms, I53), FIELD(boot, STR), FIELD(offer, STR),
	FIELD(log_cut, STR),
	FIELD(detail, STR), GPC_BIND_LAST
};
#define ALSO(name, ...) GPC_BIND(gpc_payload_also, name, __VA_ARGS__)
static const struct gpc_bind gone_fields[] = {
	ALSO(attempt, INT, NEED), ALSO(rank, INT, NEED), ALSO(id, STR, NEED),
	ALSO(at_ms, I53), ALSO(paid_ms, I53), ALSO(machine_free, BOOL),
	ALSO(unpaid, BOOL), GPC_BIND_LAST
};
static const struct gpc_bind released_fields[] = {
	FIELD(attempt, INT, NEED), FIELD(rank, INT, NEED), FIELD(id, STR, NEED),
	FIELD(at_ms, I53), FIELD(paid_ms, I53), FIELD(machine_free, BOOL),
	FIELD(unpaid, BOOL),
	FIELD(also, VEC, .sub = gone_fields,
		.sub_size = sizeof(struct gpc_payload_also)),
	GPC_BIND_LAST
};
static const struct gpc_bind supervisor_fields[] = {
	FIELD(supervisor, STR, NEED), GPC_BIND_LAST
};
static const struct gpc_bind checkpoint_fields[] = {
	FIELD(attempt, INT, NEED), FIELD(checkpoint, STR, NEED), GPC_BIND_LAST
};
static const struct gpc_bind cancel_fields[] = {
	FIELD(now, BOOL), GPC_BIND_LAST
};
static const struct gpc_bind resume_fields[] = {
	FIELD(checkpoint, STR), FIELD(secrets, STR), GPC_BIND_LAST
};
static const struct gpc_bind update_fields[] = {
	FIELD(cost, MONEY), FIELD(time_ms, I53), FIELD(priority, INT),
	FIELD(notify, JSON), GPC_BIND_LAST
};
static const struct gpc_bind prune_fields[] = {
	FIELD(keep, INT), GPC_BIND_LAST
};
static const struct gpc_bind pruning_fields[] = {
	FIELD(drop, STRV), FIELD(keep, INT), FIELD(remove, BOOL), GPC_BIND_LAST
};
static const struct gpc_bind ended_fields[] = {
	REASON(NEED), FIELD(code, INT), FIELD(signal, INT), FIELD(rank, INT),
	FIELD(detail, STR), FIELD(at_ms, I53), FIELD(ran_ms, I53),
	FIELD(boot, STR), FIELD(log_cut, STR),
	GPC_BIND_LAST
};
static const struct gpc_bind ssh_fields[] = {
	FIELD(rank, INT), FIELD(key, STR, NEED), FIELD(opens, BOOL),
	GPC_BIND_LAST
};

static const struct gpc_bind open_too_fields[] = {
	ALSO(rank, INT, NEED), ALSO(id, STR, NEED), ALSO(address, STR, NEED),
	GPC_BIND_LAST
};
static const struct gpc_bind opened_fields[] = {
	FIELD(attempt, INT, NEED), FIELD(rank, INT, NEED), FIELD(id, STR, NEED),
	FIELD(address, STR, NEED),
	FIELD(also, VEC, .sub = open_too_fields,
		.sub_size = sizeof(struct gpc_payload_also)),
	GPC_BIND_LAST
};

static const struct gpc_bind *const all[GPC_EVENT__COUNT] = {
	[GPC_EVENT_SUBMITTED] = submitted_fields,
	[GPC_EVENT_ATTEMPT] = attempt_fields,
	[GPC_EVENT_INTENT] = intent_fields,
	[GPC_EVENT_VOID] = void_fields,
	[GPC_EVENT_CREATED] = created_fields,
	[GPC_EVENT_RATE] = rate_fields,
	[GPC_EVENT_READY] = ready_fields,
	[GPC_EVENT_PHASE] = phase_fields,
	[GPC_EVENT_LOST] = lost_fields,
	[GPC_EVENT_RELEASED] = released_fields,
	[GPC_EVENT_SUPERVISOR] = supervisor_fields,
	[GPC_EVENT_CHECKPOINT] = checkpoint_fields,
	[GPC_EVENT_CANCEL] = cancel_fields,
	[GPC_EVENT_SAVE] = no_fields,
	[GPC_EVENT_SIGNAL] = no_fields,
	[GPC_EVENT_UPDATE] = update_fields,
	[GPC_EVENT_RESUME] = resume_fields,
	[GPC_EVENT_PRUNE] = prune_fields,
	[GPC_EVENT_PRUNING] = pruning_fields,
	[GPC_EVENT_PRUNED] = no_fields,
	[GPC_EVENT_ENDED] = ended_fields,
	[GPC_EVENT_SSH] = ssh_fields,
	[GPC_EVENT_OPENED] = opened_fields,
};

const struct gpc_bind *gpc_payload_fields(enum gpc_event_type type)
{
	return all[type];
}
