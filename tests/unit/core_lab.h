/* A place to drive lib/core in: a store, a state folder, the pretend cloud, a
 * clock that tests move, and the agents' part played by hand.
 *
 * The clock: gpc_boot_ms and gpc_wall_ms are wrapped by the linker, so the code
 * under test has no hook for it; gpc_sleep_ms moves the clock instead of
 * sleeping, unless lab_real_sleep is set. */
#pragma once
#include "test.h"

#include "core/session.h"
#include "core/supervise.h"
#include "dep/json.h"
#include "model/job.h"
#include "model/node.h"
#include "store/fault.h"

#define MINUTE ((int64_t)60000)

struct lab {
	char *dir;                    /* scratch */
	struct gpc_log log;
	struct gpc_cancel cancel;
	struct gpc_session *s;
	struct gpc_store *inner;      /* behind s->store when that is a fault store */
	int64_t beats;
};
enum {                        /* else mem:// and no faults */
	LAB_FILE = 1, LAB_FAULTY = 2,
	LAB_KNOWN = 4,        /* with LAB_FILE: nobody races for a new store */
};
struct lab *lab_new(unsigned flags);
void lab_free(struct lab *lab);
/* The store without faults. */
struct gpc_store *lab_inner(struct lab *lab);
/* The ways in which an operation of the store may fail; the last one's code is 0. */
extern const struct gpc_fault lab_store_faults[];
/* Another session on the same store and state, as another process has. */
struct gpc_session *lab_session(struct lab *lab);

void lab_advance(int64_t ms);
void lab_real_sleep(bool on);
/* Called after each sleep that moves the clock, also inside of what is under
 * test: the rest of the world has its turn. NULL = nobody. */
void lab_on_sleep(void (*turn)(void *arg), void *arg);

/* A job on the pretend cloud: members are further members of the spec, such
 * as "\"num_nodes\":2". Owned id. */
char *lab_job(struct lab *lab, const char *members);
/* The same spec as plain data. */
void lab_spec(const char *members, struct gpc_spec *ret_spec);

/* --- the pretend cloud ---------------------------------------------------- */
void lab_script(struct lab *lab, const char *json);
/* What the ledger says of calls. */
struct lab_ledger {
	int creates, made;            /* calls; nodes that were bought */
	int destroys, ended;
	int max_of_a_token;           /* most nodes that one token bought */
	int tokens;                   /* that bought something */
};
struct lab_ledger lab_ledger(struct lab *lab);
/* Nodes that run now, whoever's. */
int lab_running(struct lab *lab);

/* A job's nodes go, as those do that release themselves. */
void lab_leave(struct lab *lab, const char *job);

/* --- agents ----------------------------------------------------------------- */
void lab_beat(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_phase phase);
void lab_exit(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_reason reason, int code, int signal);
void lab_verdict(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_reason reason, int code);
void lab_log(struct lab *lab, const char *job, int attempt, int rank,
	const char *text);
void lab_checkpoint(struct lab *lab, const char *job, int attempt, int n,
	const char *label);

/* --- the supervisor ----------------------------------------------------------- */
struct gpc_supervision *lab_supervise(struct gpc_session *s, const char *job);
/* Steps until there is nothing to do now; whether the job is done. */
bool lab_step(struct gpc_supervision *sv);
/* Steps and lets time pass until it is done, at most `ms` of the clock. */
void lab_finish(struct gpc_supervision *sv, int64_t ms);
const struct gpc_job_state *lab_state(const struct gpc_supervision *sv);
/* The agents' part of a job that runs well: whatever the state needs next. */
void lab_play(struct lab *lab, const char *job,
	const struct gpc_job_state *st);
/* Brings that attempt of a job to RUNNING. */
void lab_run(struct lab *lab, struct gpc_supervision *sv, const char *job,
	int attempt);
/* Events of a type in the journal. */
int lab_events(struct lab *lab, const char *job, const char *type);
/* The journal replays to its folds; nothing runs; the ledger shows that each
 * token bought no more than `nodes`, and that all that was made was ended. */
void lab_check(struct lab *lab, const char *job, int nodes);

#define assert_status(sv, want) \
	assert_string_equal(gpc_job_status_to_str(lab_state(sv)->status), want)
#define assert_reason(sv, want) \
	assert_string_equal(gpc_reason_to_str(lab_state(sv)->reason), want)
