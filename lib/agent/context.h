/* What the parts of the agent share: one value, made by loop.c, lent to all. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/agent.h"
#include "agent/logs.h"
#include "agent/metrics.h"
#include "agent/worker.h"
#include "base/log.h"
#include "base/map.h"
#include "base/pace.h"
#include "dep/nvml.h"
#include "model/job.h"
#include "model/node.h"
#include "model/spec.h"
#include "provider/cgroup.h"
#include "provider/node_file.h"
#include "record/tether.h"
#include "record/watching.h"
#include "store/lost.h"
#include "store/store.h"

enum {
	GPC_AGENT_BEAT_MS = 30000,
	GPC_AGENT_DRAIN_MS = 60 * 60 * 1000,    /* how long an end is tried */
	GPC_AGENT_STALE_MS = 5 * 60 * 1000,     /* rank 0's beat: given up */
};

/* Where the node is in its life, in this order. */
enum gpc_step {
	GPC_STEP_RESTORE,      /* worker: workspace, mounts, checkpoint */
	GPC_STEP_PEERS,        /* the others' addresses */
	GPC_STEP_SETUP,
	GPC_STEP_BARRIER,      /* recovery.barrier: every rank is ready */
	GPC_STEP_RUN,
	GPC_STEP_CLEAR,        /* the program has ended: no process is left */
	GPC_STEP_SAVE,         /* worker: final save */
	GPC_STEP_ARTIFACTS,    /* worker */
	GPC_STEP_REPORT,       /* logs flushed, exit.json */
	GPC_STEP_VERDICT,      /* all ranks have ended */
	GPC_STEP_KEEP,         /* limits.keep_on_failure */
	GPC_STEP_DONE,
};

/* Somebody wants the program to end: the first reason stays. */
struct gpc_stop {
	bool asked;
	enum gpc_reason reason;
	bool save;             /* a final save, labelled so */
	const char *label;
	int64_t term_ms;       /* boot clock: when SIGTERM is sent; 0 = it was */
	int64_t kill_ms;       /* boot clock: when SIGKILL follows */
	bool killed;
	char *detail;
};

/* What a node does to the group that started it, when it ends. */
enum gpc_part {
	GPC_PART_STAY,         /* nothing: another one follows it */
	GPC_PART_END,          /* the job needs no node any more */
	GPC_PART_LEAVE,        /* it is one too many */
};

struct gpc_saver;
struct gpc_mirrors;
struct gpc_agent_ssh;
struct gpc_agent_group;

struct gpc_agent {
	const struct gpc_agent_options *options;
	const struct gpc_node_file *node;
	struct gpc_log log;
	struct gpc_store *store;
	struct gpc_job job;
	struct gpc_spec spec;
	struct gpc_pairs secrets;

	/* by the journal */
	int attempt, rank;
	int64_t seen_n;               /* newest event that was looked at */
	bool journal_told;            /* that it cannot be read any more */
	struct gpc_job_state state;   /* after it */
	char *resume_from;            /* checkpoint that this attempt pins */
	bool abandoned;               /* lost, superseded or ended by others */

	struct gpc_peers peers;
	char address[64];
	int master_port;

	/* places */
	char *home, *workdir, *checkpoint_dir, *bin_dir, *metrics_path;
	char *job_home;               /* what the job sees as HOME */
	bool restored;                /* a checkpoint was restored */

	/* parts */
	struct gpc_logs *logs;
	struct gpc_metrics *metrics;
	struct gpc_worker *worker;
	struct gpc_publish *publish;  /* publish.c; NULL: nobody wants them */
	struct gpc_notice *notice;    /* notice.c; NULL: nobody tells */
	struct gpc_saver *saver;
	struct gpc_mirrors *mirrors;  /* NULL: no bucket gets anything back */
	struct gpc_agent_ssh *ssh;    /* ssh.h; NULL: nobody asked for it */
	struct gpc_cgroup *cgroup;
	struct gpc_nvml *nvml;
	struct gpc_json *gpus;        /* the job's, by NVML's numbers: an array, or
	                               * NULL */
	const struct gpc_boot_failure *boot;  /* why it cannot begin here */
	struct gpc_agent_group *keeper; /* group.c; NULL: not asked yet, or none */
	enum gpc_part parting;

	/* the program */
	enum gpc_step step;
	enum gpc_phase phase;
	pid_t child;                  /* leader of its group; 0 = none runs */
	pid_t group;                  /* last leader, for its group's rest */
	int64_t child_started_ms;     /* boot clock */
	int64_t run_started_boot_ms, run_started_ms;
	int64_t cleared_ms;           /* boot clock: SIGKILL for the rest */
	bool leftovers_told;          /* SIGTERM went to what outlived it */
	bool writing_when_killed;     /* its newest files may be half-written */
	struct gpc_stop stop;
	struct gpc_exit exit;
	bool exit_set;
	bool artifacts_begun, log_told;

	/* facts under way */
	int64_t beat_n, beat_due_ms;
	int64_t poll_due_ms, tick_due_ms, ask_due_ms;
	int ask_fd;                   /* ask.h; -1 = none */
	char *ask_path;
	int64_t retry_ms;             /* boot clock: a failed fact's next try */
	int64_t step_since_ms, report_since_ms;  /* boot clock */
	bool reserved;                /* room is kept in the store */
	bool log_took_success;        /* its end is missing: so exit says failure */
	int64_t unread_since_ms;      /* boot clock: the log's end is stored, and a
	                               * pipe still has bytes; 0 = not so */
	char *note;
	unsigned rolled;              /* bits of enum gpc_roll_word that are put */
	enum gpc_reason rolled_end;   /* what END said */
	struct gpc_json *beat_extra;  /* further members of our beats */
	int failed_rank;              /* another's, that ended us; -1 = none */
	struct gpc_exit first_failed; /* rank 0: its exit; v = 0: none */
	int64_t leader_n, leader_seen_ms;   /* rank 0's beat */
	int64_t idle_since_ms;        /* boot clock; 0 = not idle */
	int64_t sample_due_ms;
	struct gpc_tether_watch tether;
	struct gpc_watchers watchers;
	struct gpc_lost lost;         /* whether the store still is */
	bool watched;                 /* somebody reads along */
	struct gpc_pace pace;         /* of looks at the journal */
	int64_t polled_n;             /* seen_n at the look before */
	int64_t peers_due_ms;
};

/* Says it in the agent's stream (and in its log until there is one). */
#define gpc_agent_say(a, level, ...) gpc_log(&(a)->log, level, __VA_ARGS__)
/* What status shows beside this rank; owned by the agent. */
void gpc_agent_note(struct gpc_agent *a, const char *fmt, ...)
	gpc_printf(2, 3);

/* stop.c: the way to an end. detail is copied; may be NULL. */
void gpc_agent_stop(struct gpc_agent *a, enum gpc_reason reason,
	int64_t grace_ms, const char *save_label, const char *detail);
/* The result of this rank, unless it is known already. */
void gpc_agent_set_exit(struct gpc_agent *a, enum gpc_phase phase,
	enum gpc_reason reason, int code, int signal, const char *detail);
/* A signal for the program itself rather than for the shell around it. */
void gpc_agent_signal(struct gpc_agent *a, int signal);
/* Whether any process of the program handles it. */
bool gpc_agent_handles(const struct gpc_agent *a, int signal);
/* Sends SIGTERM and SIGKILL when their time has come. */
void gpc_agent_stop_tick(struct gpc_agent *a, int64_t now_ms);
/* Takes in every child that ended; fills exit for the leader. */
void gpc_agent_reap(struct gpc_agent *a);
/* True once nothing of the job runs; ends what is left, first gently. */
bool gpc_agent_cleared(struct gpc_agent *a, int64_t now_ms);

/* An unclear answer of the store that may be clear next time. */
bool gpc_agent_may_retry(const struct gpc_error *err);
/* The reason that an error of the agent's own work gives the job. */
enum gpc_reason gpc_agent_reason_of(const struct gpc_error *err);

/* A path of the spec on this node: below the workdir, ~/... or absolute inside
 * the node's home. GPC_ECONFIG for one outside. Owned. */
int gpc_agent_path(const struct gpc_agent *a, const char *text,
	const char *what, char **ret_path, struct gpc_error *err) gpc_must_check;
