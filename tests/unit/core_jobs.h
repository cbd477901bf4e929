/* Jobs that are submitted, saved, ended and removed, with real bytes in the store
 * but with nobody who runs them. */
#pragma once
#include "core_lab.h"

#include "core/remove.h"
#include "model/event.h"
#include "store_keys.h"

#define DAY (INT64_C(24) * 60 * MINUTE)

/* A folder with a file that is the same for all, and one of its own; owned. */
char *lab_folder(struct lab *lab, const char *name, const char *text);
/* The job has a secret and checkpoints. once may be NULL. */
int lab_submit(struct gpc_session *s, const char *workdir, const char *once,
	char job[GPC_JOB_ID_SIZE], struct gpc_error *err) gpc_must_check;
/* Appends to the journal; text: the event's data. */
void lab_event(struct lab *lab, const char *job, enum gpc_event_type type,
	const char *text);
void lab_attempt(struct lab *lab, const char *job, int n);
/* A whole checkpoint of attempt a whose bytes are there. */
void lab_save(struct lab *lab, const char *job, int a, int n);
/* For lack of capacity. */
void lab_end(struct lab *lab, const char *job);
/* A job that ended with so many checkpoints. */
void lab_ended(struct lab *lab, int checkpoints, char job[GPC_JOB_ID_SIZE]);
int lab_resume(struct gpc_session *s, const char *job, const char *from,
	struct gpc_error *err) gpc_must_check;
/* Jobs that ended so long ago, as `prune --jobs` does. */
int lab_remove_all(struct gpc_session *s, int64_t older_ms, bool all_users,
	struct gpc_removals *x, struct gpc_error *err) gpc_must_check;

/* For gpc_snapshot_blobs: collects them in a struct gpc_map. */
int lab_mark_blob(void *arg, const char *hex, uint64_t size,
	struct gpc_error *err);
/* Every head's blobs are there, and with `exact` no other one. */
void assert_whole(struct lab *lab, const char *job, int a, bool exact);

/* What another client does in the middle of something. */
struct meanwhile {
	struct lab *lab;
	struct gpc_session *s;        /* that client's */
	const char *job;
	bool resume;                  /* in core_prune.c: as well */
	int calls;
};
