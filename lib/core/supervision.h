/* What the parts of one job's supervision share: step.c decides, start.c says from
 * which checkpoint an attempt goes on, buy.c makes nodes, group.c what makes nodes,
 * refuse.c passes over what cannot be had, and
 * crew.c says whose turn that is, source.c asks providers what became of them, watch.c
 * turns facts into events, drain.c gives nodes back, paid.c says how long
 * they were there, notify.c tells others. */
#pragma once
#include "core/crew.h"
#include "core/notify.h"
#include "core/supervise.h"
#include "base/pace.h"
#include "core/session.h"
#include "core/vendor.h"
#include "model/node.h"
#include "model/spec.h"
#include "record/journal.h"
#include "record/state.h"
#include "record/tether.h"

/* A node's beat as this process saw it change, by its own boot clock. */
struct gpc_pulse {
	int attempt, rank;
	int64_t beat_n;               /* -1 = none seen yet */
	int64_t changed_ms;
	int64_t read_ms;              /* last look */
	enum gpc_phase phase;
	int64_t gone_ms;              /* its machine was first seen to be gone */
	int64_t console_due_ms;       /* when its console is asked for; 0 = unset */
	int consoles;                 /* how often it was */
};
/* When this process first saw a node that has to go; when it was last told to
 * (0 = not yet). Boot clock. */
struct gpc_leaving { char *id; int64_t since_ms, destroyed_ms; };
/* When a node of this job's was shown running for the last time, and first shown as
 * ending or not any more; wall clock, 0 = never. */
struct gpc_seen { char *id; int64_t running_ms, ended_ms; };
/* A provider in use, as this job sees it. The counts are of its vendor's lists. */
struct gpc_source {
	char *name;
	struct gpc_vendor *vendor;       /* the session's */
	struct gpc_provider *provider;   /* the vendor's */
	int64_t opened;                  /* lists when this job came */
	int64_t after;                   /* only a later one counts */
	int64_t noted;                   /* the last one in `seen` */
	GPC_VEC(struct gpc_seen) seen;   /* nodes of this job's that were shown */
};
/* How a provider shows a node. */
struct gpc_sight {
	const struct gpc_instance *instance; /* NULL = not; until the next list */
	bool gone;                       /* for sure, not just unseen */
};

struct gpc_supervision {
	struct gpc_session *session;  /* own */
	struct gpc_session own;       /* the gang's, with the job's settings */
	struct gpc_job job;
	struct gpc_spec spec;
	struct gpc_journal journal;
	struct gpc_recovery_policy policy;

	const char *machine;          /* gpc_supervise_how's; borrowed */
	char id[17];                  /* ours, in `supervisor` events */
	char *seen;                   /* the holder's record as last read */
	int64_t seen_ms;              /* boot clock: since when it is the same */
	bool silent;                  /* and that is longer than it should be */
	int64_t renewed_ms;           /* boot clock: our own record's last put */
	int64_t followed_n;           /* events up to it have their copies */
	int64_t checked_ms;           /* boot clock: job.json was last there */
	int64_t renewals;
	int64_t ran_ms;               /* as the rank that ended says; else 0 */
	int64_t over_ms;              /* wall clock: when, as it says; else 0 */
	const char *boot;             /* why the node that ended did not boot */
	const char *log_cut;          /* why the end of its log is not there */
	char *note;                   /* what the job waits for; shown by status */
	bool note_waits;              /* it says no more than that */
	char *node_note;              /* what rank 0 says, where a look costs money:
	                               * so status need not ask each rank */

	GPC_VEC(struct gpc_source *) sources;
	struct gpc_pairs refused;     /* offers of which nothing could be had just
	                               * now (gpc_plan_offer_key), and why */
	enum gpc_code refused_code;   /* of the last one */
	bool may_wait;                /* one of them may be had later */
	int64_t retry_ms;             /* boot clock: no buying before it */
	int64_t wait_since_ms;        /* boot clock: no capacity since then */
	struct gpc_crew *crew;        /* of all jobs here, or our own */
	struct gpc_crew alone;
	struct gpc_row *row;          /* where it waits to buy; NULL = it does not */
	int row_count;                /* nodes that it waits for there */
	int64_t row_round;            /* when it came */
	bool wants_more;              /* in this step */
	int64_t group_made_n;         /* intents whose group this process has made, */
	int64_t group_given_up_n;     /* and gives up; group.c */
	int64_t group_ended_ms;       /* boot clock: told to end last; 0 = never */
	int64_t group_ended_n;        /* the intent whose group was */
	int64_t stuck_since_ms;       /* boot clock: since when this machine's
	                               * disk takes no node; 0 = it does */
	int64_t cancel_seen_ms;       /* boot clock; 0 = not asked */
	int64_t failed_ms;            /* boot clock: a failure of failed_attempt
	                               * was seen first */
	int failed_attempt;
	int64_t checkpoints_ms;       /* boot clock of the last list */
	int64_t outcome_ms;           /* boot clock: ends were looked for */
	int64_t beats_ms, leader_ms;  /* boot clock, of a large gang: all beats were
	                               * listed, rank 0's was read, */
	int told_attempt;             /* whose first failing rank node_note names */
	int64_t machines_ms;          /* what providers show was looked at, */
	int64_t drained_ms;           /* those that have to go were looked at, */
	int64_t ready_ms, gone_ms;    /* and nodes came or went */
	struct gpc_pace pace;         /* where each look costs money */
	int64_t paced_n, paced_ms;    /* the state and the newest sign of life
	                               * at the step before */
	struct gpc_tether_watch tether;
	GPC_VEC(struct gpc_pulse) pulses;
	GPC_VEC(struct gpc_leaving) leaving;
	int64_t reopened_ms;          /* boot clock: listed although closed */
	bool closed;                  /* index says done */
	bool secrets_gone;
	bool ways_closed;             /* ways.c: nothing is left, or it is given up */
	int64_t ways_since_ms, ways_ms; /* boot clock: first and next try */
	int silent_rank;              /* + 1: of whom node_note says that; 0 = nobody */
	char *ports_note;             /* why ports are not open yet; or NULL */
	int64_t ports_ms, ports_pause_ms; /* boot clock: next try; 0 = now */
	struct gpc_pairs ports_open;  /* not in the journal yet: address by id */
	int64_t opened_ms;            /* boot clock: the last event of that */
	struct gpc_notifier notifier;
};

/* background.c: files of the one supervisor of this user, host and store, by
 * their last word (owned), and the right to be that one: GPC_ECONFLICT when
 * another process has it and is at work. Closing the descriptor gives it back. */
char *gpc_supervisor_file(struct gpc_session *s, const char *suffix);
int gpc_supervisor_lock(struct gpc_session *s, const char *path, int *ret_fd,
	struct gpc_error *err) gpc_must_check;
/* Its holder shows that it is at work; false when somebody else has taken over. */
bool gpc_supervisor_renew(const struct gpc_session *s, int fd,
	const char *path);

/* supervisor.c: sets one of the notes above, NULL for none; readers see it at the next
 * look. True: it was another one. */
bool gpc_supervision_tell(struct gpc_supervision *sv, char **note, const char *text);
/* opening.c: opens the spec's ports of nodes that run, where something guards them. */
int gpc_supervision_open_ports(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err) gpc_must_check;
/* ways.c: True once nothing of what was opened to its nodes is left, or no more is
 * tried. Of a job that is over. */
bool gpc_supervision_close_ways(struct gpc_supervision *sv);

/* supervisor.c: the right to act on this job. */
int gpc_supervision_hold(struct gpc_supervision *sv, int64_t now_ms,
	bool *ret_holding, struct gpc_error *err) gpc_must_check;
/* Another one's job, whose holder is silent: it may be ours soon. Does not last. */
bool gpc_supervision_awaits(const struct gpc_supervision *sv);
/* Removes our record, so that whoever comes next (after a resume) need not wait
 * until it is stale. */
int gpc_supervision_let_go(struct gpc_supervision *sv,
	struct gpc_error *err) gpc_must_check;
void gpc_supervision_note(struct gpc_supervision *sv, const char *fmt, ...)
	gpc_printf(2, 3);             /* NULL clears it */

/* Appends; *progressed also when somebody else was first (decide again). */
int gpc_supervision_append(struct gpc_supervision *sv,
	enum gpc_event_type type, struct gpc_json *data, bool *progressed,
	struct gpc_error *err) gpc_must_check;
int gpc_supervision_end(struct gpc_supervision *sv, enum gpc_reason reason,
	int code, int signal, int rank, bool *progressed,
	struct gpc_error *err) gpc_must_check;

/* start.c */
/* uncounted: it does not use up recovery.restarts. */
int gpc_supervision_attempt(struct gpc_supervision *sv, bool uncounted,
	bool *progressed, struct gpc_error *err) gpc_must_check;

/* buy.c */
int gpc_supervision_intend(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err) gpc_must_check;
int gpc_supervision_create(struct gpc_supervision *sv, size_t intent,
	bool *progressed, struct gpc_error *err) gpc_must_check;
int gpc_supervision_void(struct gpc_supervision *sv, size_t intent,
	bool *progressed, struct gpc_error *err) gpc_must_check;

/* A guard before what costs money; else *progressed, with the newer state. */
int gpc_supervision_is_current(struct gpc_supervision *sv, bool *ret_current,
	bool *progressed, struct gpc_error *err) gpc_must_check;
/* What a create without success means for the job. */
int gpc_supervision_create_failed(struct gpc_supervision *sv, size_t intent,
	const struct gpc_launch *l, bool *progressed,
	const struct gpc_error *why, struct gpc_error *err) gpc_must_check;
/* Journals the nodes that an intent has brought. */
int gpc_supervision_created(struct gpc_supervision *sv,
	const struct gpc_intent *x, const struct gpc_launch *l,
	const struct gpc_instances *made, bool *progressed,
	struct gpc_error *err) gpc_must_check;

/* group.c: intents that ask for a group. */
int gpc_supervision_keep(struct gpc_supervision *sv, size_t intent,
	const struct gpc_launch *l, bool *progressed, struct gpc_error *err)
	gpc_must_check;
/* Ends it with its nodes, by its name, whatever a list shows; *ret_gone: no list after
 * that shows it. One that came into being later is ended by its node, whose birth no
 * intent stands for. */
int gpc_supervision_end_group(struct gpc_supervision *sv,
	const struct gpc_intent *x, bool *ret_gone, struct gpc_error *err)
	gpc_must_check;
/* The open intent of the group that has started a node, or NULL. */
const struct gpc_intent *gpc_supervision_group_of(
	const struct gpc_supervision *sv, const struct gpc_node *n);

/* refuse.c: this offer cannot be had: the next one is tried at once. */
void gpc_supervision_refuse(struct gpc_supervision *sv,
	const struct gpc_offer *o, const struct gpc_error *why);
/* Writes into a node of `created` of which offer it is. */
void gpc_supervision_name_offer(const struct gpc_offer *o, struct gpc_json *to);
/* A node whose machine x died before it ran (x->never_ran): what else there is, is
 * tried by an attempt that counts nowhere; or the job ends, if only a person helps. */
int gpc_supervision_stillborn(struct gpc_supervision *sv,
	const struct gpc_node *n, const struct gpc_instance *x,
	bool *progressed, struct gpc_error *err) gpc_must_check;

/* watch.c */
int gpc_supervision_watch(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err) gpc_must_check;
/* settle.c: the running attempt ended so. */
int gpc_supervision_settle(struct gpc_supervision *sv, const struct gpc_exit *x,
	bool *progressed, struct gpc_error *err) gpc_must_check;
/* Ends a job that is to be cancelled without more waiting: as completed, if its
 * nodes have said so. */
int gpc_supervision_cancelled(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err) gpc_must_check;
/* Journals the newest complete checkpoint, if it is newer than the state's. */
int gpc_supervision_note_checkpoint(struct gpc_supervision *sv,
	bool *progressed, struct gpc_error *err) gpc_must_check;

/* last_words.c: whether a node that never showed a sign of life, and is gone or
 * silent, has said why it did not boot; x->rank is whose it is, reason and detail are
 * set then. *ret_wait: it is gone, and may still be heard of: ask again. */
bool gpc_supervision_last_words(struct gpc_supervision *sv,
	const struct gpc_node *n, bool gone, struct gpc_exit *x, bool *ret_wait);

/* drain.c: all nodes that have to go, as these actions name them. */
int gpc_supervision_release(struct gpc_supervision *sv,
	const struct gpc_action *actions, size_t n_actions, bool *progressed,
	struct gpc_error *err) gpc_must_check;

/* source.c */
int gpc_supervision_source(struct gpc_supervision *sv, const char *provider,
	struct gpc_source **ret_s, struct gpc_error *err) gpc_must_check;
/* Something was made or ended: what was listed before does not count any more. */
void gpc_source_spoil(struct gpc_source *s);
/* Its vendor's instances, from a list that is at most max_age_ms old. */
int gpc_supervision_list(struct gpc_supervision *sv, const char *provider,
	int64_t max_age_ms, struct gpc_source **ret_s, struct gpc_error *err)
	gpc_must_check;
int gpc_supervision_find(struct gpc_supervision *sv, const struct gpc_node *n,
	int64_t max_age_ms, struct gpc_sight *ret_sight,
	struct gpc_error *err) gpc_must_check;
int gpc_supervision_destroy(struct gpc_supervision *sv,
	const struct gpc_node *n, struct gpc_error *err) gpc_must_check;
/* Nodes of one provider, in one call of it. */
int gpc_supervision_destroy_all(struct gpc_supervision *sv,
	const char *provider, const struct gpc_strv *ids, struct gpc_error *err)
	gpc_must_check;
void gpc_supervision_close_sources(struct gpc_supervision *sv);

/* What lists have shown of a node; NULL = nothing. */
const struct gpc_seen *gpc_supervision_seen(struct gpc_supervision *sv,
	const struct gpc_node *n);

/* paid.c: how long a node that is gone is paid for. */
struct gpc_paid {
	int64_t at_ms;                /* when it was gone, by our wall clock */
	int64_t ms;                   /* how long it was there */
	bool machine_free;            /* only what belongs to it is paid */
	bool unpaid;                  /* nothing is: it ended before it ran */
};
void gpc_supervision_paid(struct gpc_supervision *sv, const struct gpc_node *n,
	const struct gpc_sight *sight, struct gpc_paid *ret);

/* pulses.c: what is known of a rank of that attempt; valid until one of another
 * attempt is asked for. */
struct gpc_pulse *gpc_supervision_pulse(struct gpc_supervision *sv,
	int attempt, int rank);
/* The same of this attempt's, with a look at the store. */
int gpc_supervision_read_pulse(struct gpc_supervision *sv, int rank,
	struct gpc_pulse **ret_p, struct gpc_error *err) gpc_must_check;
/* Of a node of a large gang that has to go; of any attempt. Never fails: what cannot
 * be looked at stays as it was known. */
const struct gpc_pulse *gpc_supervision_drained(struct gpc_supervision *sv,
	const struct gpc_node *n);
/* How long a large gang's news of the same kind are gathered for one event. */
#define GPC_TOGETHER_MS 10000
