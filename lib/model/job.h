/* Jobs as plain data: words, job.json, and the folded state that every event
 * of the journal carries. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/json.h"
#include "model/tariff.h"

/* --- words ------------------------------------------------------------ */
enum gpc_job_status {
	GPC_JOB_PENDING, GPC_JOB_PROVISIONING, GPC_JOB_STARTING, GPC_JOB_SETUP,
	GPC_JOB_RUNNING, GPC_JOB_STOPPING, GPC_JOB_RECOVERING,
	GPC_JOB_SUCCEEDED, GPC_JOB_FAILED, GPC_JOB_CANCELLED,
	GPC_JOB__COUNT,
};
enum gpc_node_status {
	GPC_NODE_INTENDED, GPC_NODE_CREATED, GPC_NODE_READY, GPC_NODE_DRAINING,
	GPC_NODE_RELEASED, GPC_NODE__COUNT,
};
enum gpc_reason {
	GPC_REASON_NONE,
	GPC_REASON_COMPLETED, GPC_REASON_EXIT_CODE, GPC_REASON_SETUP_FAILED,
	GPC_REASON_CANCELLED, GPC_REASON_TIME_LIMIT, GPC_REASON_DEADLINE,
	GPC_REASON_COST_LIMIT, GPC_REASON_PRICE_ABOVE_CAP, GPC_REASON_LIFETIME,
	GPC_REASON_SPOT_INTERRUPTED, GPC_REASON_PREEMPTED,
	GPC_REASON_HOST_MAINTENANCE, GPC_REASON_NODE_LOST,
	GPC_REASON_OUT_OF_MEMORY, GPC_REASON_DISK_FULL, GPC_REASON_GPU_ERROR,
	GPC_REASON_HANG, GPC_REASON_IMAGE_PULL_FAILED, GPC_REASON_NO_CAPACITY,
	GPC_REASON_QUOTA, GPC_REASON_AUTH, GPC_REASON_STORE_UNREACHABLE,
	GPC_REASON_NO_PROGRESS, GPC_REASON_SPEC_INVALID, GPC_REASON_IDLE,
	GPC_REASON_SKIPPED, GPC_REASON_AGENT_FAILED,
	GPC_REASON_CHECKPOINT_DAMAGED,
	GPC_REASON__COUNT,
};
/* What a reason means for the next attempt. */
enum gpc_retry {
	GPC_RETRY_NEVER,      /* the job ends */
	GPC_RETRY_RECOVER,    /* an interruption or a lost node: next attempt */
	GPC_RETRY_IF_ASKED,   /* only recovery.restarts or recovery.on_exit */
};
extern const char *const gpc_job_status_names[];   /* "PENDING", NULL-terminated */
extern const char *const gpc_node_status_names[];
extern const char *const gpc_reason_names[];       /* "" for NONE, "completed" */
const char *gpc_job_status_to_str(enum gpc_job_status s);
const char *gpc_reason_to_str(enum gpc_reason r);
bool gpc_job_status_is_end(enum gpc_job_status s);
enum gpc_retry gpc_reason_retry(enum gpc_reason r);
/* One line of advice for people, about this job, which has a checkpoint or not;
 * empty without a reason. Owned. */
char *gpc_reason_advice(enum gpc_reason r, const char *job,
	bool has_checkpoint);
/* Exit status of attached submit and wait (DESIGN section 9): the job's own
 * code, 128 + n for a signal, 137 out of memory, 124 limits, 125 the rest. */
int gpc_reason_exit(enum gpc_reason r, int code, int signal);
/* The state that an end with this reason gives. */
enum gpc_job_status gpc_reason_status(enum gpc_reason r);

/* --- job.json ---------------------------------------------------------- */
#define GPC_JOB_MAX_NODES 100000
#define GPC_JOB_MAX_ATTEMPTS 1000000
#define GPC_JOB_NAME_MAX 40
#define GPC_JOB_ID_SIZE 64

struct gpc_owner { char *hash, *user, *host; };    /* hash: 16 hex of user@host-independent id */
struct gpc_job_mount {                             /* one source of file_mounts */
	char *target;                              /* on the node, as in the spec */
	char *head;                                /* head blob */
	char *file;                                /* NULL = a folder; else the one file in it */
	struct gpc_json *rest;
};
struct gpc_job_bucket {                            /* one bucket of file_mounts */
	char *target, *source;                     /* as in the spec */
	char *mode;                                /* "COPY", "MOUNT_CACHED": as planned */
	struct gpc_json *rest;
};
/* Settings of this machine as the submitter had them: the plan that was shown is
 * what is bought, whoever buys it. home: "own", "user"; NULL = not known. */
struct gpc_job_local { struct gpc_money price_per_hour; char *home; };
struct gpc_job_git { char *url, *ref, *commit; };  /* of workdir: {url, ref} */
/* A job that is a supervisor's machine (core/machine.h): who it is there, and for
 * how long a machine of it may live. profile NULL = an ordinary job. */
struct gpc_job_supervisor { char *profile; int64_t life_ms; };
struct gpc_job {
	int v;
	char *id, *name, *original_name, *kind;    /* kind "job" */
	int64_t created_ms;
	struct gpc_owner owner;
	struct gpc_json *spec;                     /* resolved; no secret values */
	char *workspace;                           /* head blob, or NULL */
	char *workdir;                             /* where it was, for people */
	struct gpc_job_local local;
	struct gpc_job_git git;                    /* url NULL = none */
	struct gpc_job_supervisor supervisor;
	char *cloudwatch;                          /* namespace for its figures; or NULL */
	GPC_VEC(struct gpc_job_mount) mounts;      /* local ones, in order */
	GPC_VEC(struct gpc_job_bucket) buckets;    /* the others, in order */
	struct gpc_pairs bundles;                  /* architecture to sha256 */
	char *bundle, *group, *once_key;           /* bundle: of jobs without bundles */
	struct gpc_strv secrets;                   /* names */
	struct gpc_json *rest;
};
int gpc_job_parse(const char *text, size_t n, struct gpc_job *ret_job,
	struct gpc_error *err) gpc_must_check;
struct gpc_json *gpc_job_write(const struct gpc_job *job);
void gpc_job_clear(struct gpc_job *job);
GPC_CLEANUP_VALUE(gpc_job);
/* The DESIGN section 2 rule; name may be any text. */
void gpc_job_name_clean(const char *text, char ret_name[GPC_JOB_NAME_MAX + 1]);

/* --- folded state ------------------------------------------------------ */
struct gpc_node {
	int rank;
	int attempt;
	enum gpc_node_status status;
	int64_t intent;             /* number of its intent event */
	char *provider, *id, *address, *offer;
	char *opened;               /* where the spec's ports are reached; NULL = they
	                             * are not open (yet) */
	struct gpc_money rate;      /* per hour, of all that it costs */
	int64_t created_ms, released_ms, expires_ms;
	struct gpc_json *rest;
};
struct gpc_node_tariff {            /* of the nodes of one intent */
	int64_t intent;
	struct gpc_tariff tariff;
};
struct gpc_intent {                 /* not yet answered by `created` or `void` */
	int64_t n;
	int attempt;
	char *token;                /* UUID */
	int64_t at_ms;
	struct gpc_json *request;   /* the launch, byte for byte what is sent */
	struct gpc_json *rest;
};
/* Whether it asks for a group, in which the cloud starts a node again (provider.h):
 * such an intent stays open, and stands for the group, until that is gone. */
bool gpc_intent_is_group(const struct gpc_intent *i);
#define GPC_LAUNCH_GROUP "group"    /* in the request of one: its id */
struct gpc_try {                    /* one attempt, for status and cost */
	int n;
	int64_t started_ms, running_ms_at, ended_ms; /* running_ms_at: when run began */
	enum gpc_reason reason;     /* why it ended */
	int code, signal, rank;
	char *boot;                 /* the word of model/boot_failure.h; or NULL */
	char *log_cut;              /* why the end of its log is not there; or NULL */
	char *resume_from;
	char *checkpoint;           /* newest that it committed */
	struct gpc_strv damaged;    /* newer ones than resume_from, passed over */
	char *damage;               /* of the first of them, for people */
	struct gpc_json *rest;
};
/* An offer of which nothing could be had, or whose machine died before it ran. */
#define GPC_JOB_MAX_REFUSALS 16     /* that a state keeps: the newest */
#define GPC_JOB_REFUSAL_MAX 480     /* bytes of why */
struct gpc_refusal {
	int attempt;                /* that wanted it last */
	int times;                  /* that it was asked for */
	int64_t at_ms;              /* the last time */
	char *offer, *why;          /* PROVIDER/REGION/ZONE/TYPE/MARKET, and for people */
	struct gpc_json *rest;
};
struct gpc_job_state {
	int v;
	int64_t n;                  /* number of the event that made it */
	enum gpc_job_status status;
	enum gpc_reason reason;     /* of the end; of the stop while STOPPING */
	int code, signal, rank;     /* of the first failing rank */
	int attempt;                /* current or last; 0 = none yet */
	int num_nodes;
	int restarts;               /* counted against recovery.restarts */
	int no_progress;            /* attempts in a row without any */
	int64_t submitted_ms, started_ms, ended_ms;
	int64_t ran_ms;             /* running time of the attempts before this one */
	int64_t node_ms;            /* how long released nodes were held */
	struct gpc_money spent;     /* of released nodes */
	struct gpc_bill bill;       /* the same by part, as far as it is known */
	char *detail;               /* of the end, for people; NULL */
	char *checkpoint;           /* newest complete one: what an attempt resumes from */
	char *supervisor;           /* random id of the `supervisor` event that holds */
	char *secrets;              /* name of those of the newest resume
	                             * (record/secrets.h); NULL = those of the submit */
	bool cancel, cancel_now;    /* asked for */
	bool opened;                /* ways to its nodes may have been made, which
	                             * are closed once the last node is gone */
	bool pruning;               /* what goes stands in event pruning_n */
	int64_t pruning_n;
	bool removing;              /* the whole job goes: it can never be resumed */
	int64_t asked_n;            /* newest request event (save, signal, cancel, update) */
	int64_t prune_n;            /* newest `prune` request, and what it keeps */
	int prune_keep;
	struct gpc_money cost_limit;    /* by `update`; unset = the spec's */
	int64_t time_limit_ms;          /* the same; 0 = the spec's */
	int64_t cost_limit_n, time_limit_n;  /* the events that set them */
	int priority;               /* by `update`, when priority_n is not 0 */
	struct gpc_json *notify;    /* the same: a list; NULL = none */
	int64_t priority_n, notify_n;        /* the events that set them */
	GPC_VEC(struct gpc_node) nodes;      /* all not RELEASED, and this attempt's */
	GPC_VEC(struct gpc_node_tariff) tariffs;     /* of nodes */
	GPC_VEC(struct gpc_intent) intents;
	GPC_VEC(struct gpc_try) tries;
	GPC_VEC(struct gpc_refusal) refused; /* oldest first */
	struct gpc_json *rest;
};
int gpc_job_state_read(const struct gpc_json *j, struct gpc_job_state *ret_st,
	struct gpc_error *err) gpc_must_check;
struct gpc_json *gpc_job_state_write(const struct gpc_job_state *st);
void gpc_job_state_copy(struct gpc_job_state *to,
	const struct gpc_job_state *from);
void gpc_job_state_clear(struct gpc_job_state *st);
/* Ended, and nothing that it bought or may have bought is held. */
bool gpc_job_state_is_over(const struct gpc_job_state *st);
GPC_CLEANUP_VALUE(gpc_job_state);
struct gpc_try *gpc_job_state_try(struct gpc_job_state *st, int attempt); /* or NULL */
/* What one of its nodes costs that is paid for so long; by part into `to`, which may
 * be NULL. machine_free: see gpc_tariff_charge. */
struct gpc_money gpc_job_state_charge(const struct gpc_job_state *st,
	const struct gpc_node *n, int64_t ms, bool machine_free,
	struct gpc_bill *to);
