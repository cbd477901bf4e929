/* What passes between those who buy nodes, the nodes' agents, and readers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/json.h"
#include "model/job.h"
#include "model/offer.h"

/* --- launch: the whole request of an intent, kept in the journal -------- */
struct gpc_launch {
	int v;
	char *token;                 /* UUID; the same token = the same nodes */
	char *job, *name;
	int attempt, count;          /* nodes to create; their ranks by `created` */
	char *provider;
	struct gpc_offer offer;
	struct gpc_pairs tags;       /* gpucloud-store, -job, -owner, -expires */
	int64_t expires_ms;          /* wall; 0 = no lifetime (local, ssh) */
	char *store_url;             /* as the node reaches it */
	struct gpc_strv buckets;     /* URLs of what else it reaches: file_mounts */
	/* limits of a node, from the spec; 0 = none */
	double cpus; bool cpus_at_least;
	int64_t memory_bytes; bool memory_at_least;
	int gpus;
	struct gpc_json *rest;
};
struct gpc_json *gpc_launch_write(const struct gpc_launch *l);
int gpc_launch_read(const struct gpc_json *j, struct gpc_launch *ret_l,
	struct gpc_error *err) gpc_must_check;
void gpc_launch_clear(struct gpc_launch *l);
GPC_CLEANUP_VALUE(gpc_launch);

/* --- instances: what a provider says there is --------------------------- */
enum gpc_instance_state { GPC_INSTANCE_STARTING, GPC_INSTANCE_RUNNING,
	GPC_INSTANCE_STOPPING, GPC_INSTANCE_GONE };
struct gpc_instance {
	char *id, *token, *address;
	enum gpc_instance_state state;
	struct gpc_pairs tags;
	int64_t created_ms, expires_ms;
	int64_t ended_ms;            /* when it ceased to be paid for, by the clock
	                              * that created_ms is from; 0 = not said */
	int64_t machine_free_ms;     /* only what belongs to it is paid for if it
	                              * lasted less than that */
	char *why;                   /* why it is gone, if the provider knows; of a
	                              * group: why it could start no node just now */
	enum gpc_code why_code;      /* of a group: the class of that failure */
	bool group;                  /* no machine: what starts machines (keep), which
	                              * have its token */
	enum gpc_code never_ran;     /* of a GONE one: it died before it could boot, as
	                              * a create that fails so; 0 = not known to */
	bool unpaid;                 /* of a GONE one: it ended before it was paid for */
};
struct gpc_instances { struct gpc_instance *v; size_t n, cap; };
void gpc_instances_clear(struct gpc_instances *x);
GPC_CLEANUP_VALUE(gpc_instances);

/* --- facts that agents write ------------------------------------------- */
enum gpc_phase { GPC_PHASE_BOOT, GPC_PHASE_RESTORE, GPC_PHASE_SETUP,
	GPC_PHASE_RUN, GPC_PHASE_SAVE, GPC_PHASE_DRAIN, GPC_PHASE_DONE,
	GPC_PHASE__COUNT };
extern const char *const gpc_phase_names[];   /* "boot", ... NULL */
struct gpc_beat {                /* jobs/J/A/beats/R */
	int v;
	int64_t n;                   /* grows with each beat */
	char *boot, *instance, *address;
	enum gpc_phase phase;
	int gpus;
	int pid;
	int64_t run_started_ms;      /* when `run` began; 0 = not yet */
	int master_port;             /* rank 0: a free port that it found */
	char *note;                  /* last thing worth telling people, or NULL */
	struct gpc_json *rest;
};
struct gpc_exit {                /* jobs/J/A/R/exit.json and verdict.json */
	int v;
	enum gpc_phase phase;        /* where the job's process ended */
	int code, signal;
	enum gpc_reason reason;
	int rank;                    /* whose end it was */
	int64_t at_ms, run_started_ms;
	int64_t ran_ms;              /* of `run`, by a clock that never jumps */
	char *detail;                /* text for people, or NULL */
	char *boot;                  /* why the node did not come so far as to run:
	                              * a word of model/boot_failure.h, or NULL */
	char *log_cut;               /* why the end of a rank's log could not be
	                              * stored, for people; NULL if it is whole */
	struct gpc_json *rest;
};
/* Where a rank listens on the machine at hand: Linux answers for all of 127.0.0.0/8, so
 * that each can listen on the same ports; elsewhere only 127.0.0.1 does. Owned. */
char *gpc_rank_here(int rank);
struct gpc_peer { int rank; char *address, *instance; };
struct gpc_peers {               /* jobs/J/A/peers.json */
	int v;
	int master_port;
	GPC_VEC(struct gpc_peer) nodes;
	struct gpc_json *rest;
};
/* All four: parse from text, write to a tree, clear. */
#define GPC_NODE_RECORD(name) \
	int gpc_##name##_parse(const char *text, size_t n, \
		struct gpc_##name *ret, struct gpc_error *err) gpc_must_check; \
	struct gpc_json *gpc_##name##_write(const struct gpc_##name *x); \
	void gpc_##name##_clear(struct gpc_##name *x); \
	GPC_CLEANUP_VALUE(gpc_##name)
GPC_NODE_RECORD(beat);
GPC_NODE_RECORD(exit);
GPC_NODE_RECORD(peers);
