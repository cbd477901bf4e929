/* A supervisor on a machine of its own (`supervise --on INFRA`). It is a job like any
 * other, called "supervisor", whose program is `gpucloud supervise`: so its machine is
 * planned, bought exactly once, shown, paid, found as an orphan and given back by what
 * does so for all jobs. What is different stands in job.json under `supervisor`: who the
 * machine is, and that it may live for longer than a day. It ends when no other job of
 * its owner is left that it can move. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/session.h"
#include "model/job.h"
#include "model/spec.h"

#define GPC_MACHINE_PROFILE "gpucloud-supervisor"  /* `setup aws` makes it */
#define GPC_MACHINE_LIFE_MS ((int64_t)7 * 24 * 3600 * 1000)
#define GPC_MACHINE_LIFE_LEAST_MS ((int64_t)3600 * 1000)

struct gpc_machine_wish {
	const char *infra;            /* "aws", "aws/us-east-1" */
	struct gpc_money cost;        /* most that it may cost; "" = no such limit */
	const struct gpc_pairs *envs; /* configuration that it works by */
};
/* The job of such a machine, still to be resolved: the smallest machine that is sold
 * there, with a disk for its system alone. */
void gpc_machine_spec(const struct gpc_machine_wish *w, struct gpc_spec *ret_spec);

/* Whether a supervisor's machine can move this job: not what runs, or may run, on a
 * machine of the user's own, whose processes only that one sees, nor another
 * supervisor, which needs nobody to wait for it. */
bool gpc_machine_serves(const struct gpc_job *job, const struct gpc_spec *spec);

struct gpc_machine_look {
	char machine[GPC_JOB_ID_SIZE];  /* the newest supervisor's job that has not
	                                 * ended; "" = there is none */
	size_t jobs;                    /* live ones that it can move */
};
/* This owner's, from the index: a list and a look at each live job. */
int gpc_machine_look(struct gpc_session *s, struct gpc_machine_look *ret_l,
	struct gpc_error *err) gpc_must_check;

/* This computer remembers the machine that it started, so that plans and the words at
 * detaching can name it without reading the index. */
void gpc_machine_remember(struct gpc_session *s, const char *job);
/* The job's id while it has not ended; NULL = none is known. Owned. */
char *gpc_machine_standby(struct gpc_session *s);
