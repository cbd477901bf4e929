/* A plan for people and for programs. */
#pragma once
#include "cmd/command.h"
#include "cmd/sent.h"
#include "core/plan.h"
#include "model/spec.h"
#include "snapshot/snapshot.h"

struct gpc_plan_text {                /* all borrowed */
	const struct gpc_spec *spec;  /* resolved */
	const struct gpc_sent *sent;  /* NULL = not scanned */
	const struct gpc_plan *plan;
	bool list_files;              /* every file and every excluded one */
	const char *supervisor;       /* who moves it; NULL = the usual one */
	int64_t tether_ms;            /* it ends with this client; 0 = it does not */
};
/* Says it on the talk stream. */
void gpc_plan_say(struct gpc_cmd *c, const struct gpc_plan_text *t);
/* Members of the object that --dry-run --json and `cost SPEC --json` print:
 * offer, nodes, hourly, ends_at, at_most, workspace, mounts ...; owned. */
struct gpc_json *gpc_plan_json(const struct gpc_plan_text *t);
