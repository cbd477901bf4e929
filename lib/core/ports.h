/* The spec's ports: who may reach them, and where they are reached. */
#pragma once
#include "core/plan.h"
#include "core/session.h"
#include "model/job.h"
#include "model/spec.h"

/* Where a provider of the plan guards nodes, and the spec names ports but nobody who
 * may reach them: the address by which this machine is seen, which the spec then says,
 * so that every attempt lets in the same. */
int gpc_ports_allow_caller(struct gpc_session *s, struct gpc_spec *spec,
	const struct gpc_plan *plan, struct gpc_error *err) gpc_must_check;
/* Those of the spec that are taken on this machine now, as words; *ret_here: its nodes
 * are this machine's, and not guarded. */
void gpc_ports_taken(const struct gpc_spec *spec, const char *provider,
	bool *ret_here, struct gpc_strv *to);

/* A node's word of the spec, and where it is reached. */
struct gpc_port_at {
	int rank;
	char *ports;            /* "8080" or "8000-8010" */
	char *address;          /* NULL = not (yet) */
	char *at;               /* "http://192.0.2.7:8080", "[2001:db8::7]:8000-8010" */
};
struct gpc_ports_at { struct gpc_port_at *v; size_t n, cap; };
void gpc_ports_at_clear(struct gpc_ports_at *x);
GPC_CLEANUP_VALUE(gpc_ports_at);
/* Of the nodes of this attempt that are there. */
void gpc_ports_where(const struct gpc_spec *spec, const struct gpc_job_state *st,
	struct gpc_ports_at *to);
/* For programs, into j: the same as *ports*, nowhere if the job is over, and *allow*, who
 * may reach them. Of a spec without ports nothing. */
void gpc_ports_json(const struct gpc_spec *spec, const struct gpc_job_state *st,
	bool over, struct gpc_json *j);
