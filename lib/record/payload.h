/* Payloads of events as one struct: which members each type has, and which it
 * must have (model/event.h lists them). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/money.h"
#include "base/vec.h"
#include "dep/bind.h"
#include "model/event.h"

/* Phases that are events. */
enum gpc_phase_event {
	GPC_PHASE_EVENT_SETUP, GPC_PHASE_EVENT_RUNNING,
	GPC_PHASE_EVENT_STOPPING, GPC_PHASE_EVENT__COUNT,
};
extern const char *const gpc_phase_event_names[];

/* A node that an event is of besides its first. */
struct gpc_payload_also {
	int attempt, rank;
	char *id, *address;
	int64_t at_ms, paid_ms;
	bool machine_free, unpaid;
};

struct gpc_payload {
	int attempt, rank, code, signal, num_nodes;
	int64_t intent, at_ms, ran_ms, paid_ms;
	char *id, *address, *checkpoint, *supervisor, *token, *resume_from;
	char *detail, *damage, *boot, *log_cut, *key, *offer, *secrets;
	enum gpc_phase_event phase;
	enum gpc_reason reason;
	bool now, uncounted, remove, opens, machine_free, unpaid;
	int keep;
	int64_t time_ms;
	struct gpc_money rate, cost;
	struct gpc_tariff tariff;
	struct gpc_strv drop, damaged;
	int priority;
	struct gpc_json *request, *notify, *ranks;
	GPC_VEC(struct gpc_node) nodes;
	GPC_VEC(struct gpc_refusal) passed;
	GPC_VEC(struct gpc_payload_also) also;
};
/* How a payload of this type is read, and cleared. */
const struct gpc_bind *gpc_payload_fields(enum gpc_event_type type);
