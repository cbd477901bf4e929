/* Inside the mirrors: mirror.c decides when, mirror_look.c finds what has changed, and
 * mirror_send.c brings it to the bucket. */
#pragma once
#include <stdatomic.h>

#include "agent/context.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

/* One file that was ever seen, or that the bucket has. */
struct gpc_mirror_stat { uint64_t size, ino; int64_t mtime_ns; };
struct gpc_mirror_file {
	char *path;                     /* below the folder */
	uint64_t look;                  /* the newest that saw it, and how it was */
	struct gpc_mirror_stat now;
	bool up;                        /* the bucket has it, from this: */
	struct gpc_mirror_stat sent;
	bool fetched;                   /* it came from there: same time */
};

enum { GPC_MIRROR_NAMES = 3 };          /* that are told */

struct gpc_mirror {
	/* fixed */
	struct gpc_agent *agent;        /* borrowed; NULL in tests */
	const struct gpc_log *log;      /* borrowed */
	char *target, *url;             /* as in the spec */
	char *root;                     /* the folder, without links */
	char *notes_dir;                /* of uploads that can go on */
	struct gpc_strv except;         /* folders in it that are mounts of their own */
	int transfers;                  /* files under way at a time */

	/* the task's, while the worker is busy */
	struct gpc_map files;           /* path -> struct gpc_mirror_file */
	uint64_t looks;
	bool last;                      /* nobody writes any more */
	struct gpc_strv torn;           /* paths: being written when it was killed */
	bool leave_torn;                /* an attempt that goes on does without them */
	struct gpc_strv stuck;          /* the first few names that failed */
	uint64_t n_stuck, n_sent, n_deleted;
	int64_t look_ms;                /* that the newest look took */
	bool links_told, torn_told, gone_told;
	_Atomic uint64_t waiting, waiting_bytes;

	/* the loop's */
	struct gpc_worker *worker;
	enum gpc_mirror_task {
		GPC_MIRROR_IDLE, GPC_MIRROR_LOOK, GPC_MIRROR_LAST, GPC_MIRROR_RESCUE,
	} task;
	int64_t due_ms;                 /* boot clock */
	bool over, rescued, noted;
	struct gpc_strv torn_next;      /* torn, for the last look */
	struct gpc_error err;           /* of the newest that failed */
};

/* url and target are copied; root is a folder that is there. */
struct gpc_mirror *gpc_mirror_new(const char *target, const char *url,
	const char *root, const struct gpc_log *log);
void gpc_mirror_free(struct gpc_mirror *m);

/* What a look finds, the oldest first; borrowed from the mirror. */
struct gpc_mirror_changes {
	GPC_VEC(struct gpc_mirror_file *) due, gone;
};
void gpc_mirror_changes_clear(struct gpc_mirror_changes *c);
GPC_CLEANUP_VALUE(gpc_mirror_changes);
/* Takes all that is there as what the bucket has. */
int gpc_mirror_take(struct gpc_mirror *m, const struct gpc_cancel *cancel,
	struct gpc_error *err) gpc_must_check;
/* due: what the bucket lacks and has come to rest: two looks see the same, and nobody
 * has it open for writing; at the last look, everything. Rests of what must wait are
 * counted in `waiting`. gone: what the bucket has and two looks did not find. A
 * folder that is gone itself is no change. */
int gpc_mirror_look(struct gpc_mirror *m, struct gpc_mirror_changes *ret_c,
	const struct gpc_cancel *cancel, struct gpc_error *err) gpc_must_check;
/* Adds a name to those that failed. */
void gpc_mirror_add_stuck(struct gpc_mirror *m, const char *path);
/* The absolute path; owned. */
char *gpc_mirror_path(const struct gpc_mirror *m, const struct gpc_mirror_file *f);
/* How it is now; false: it is no file any more. */
bool gpc_mirror_stat(const struct gpc_mirror *m, const struct gpc_mirror_file *f,
	struct gpc_mirror_stat *ret_s);

/* Uploads what is due, in order, `transfers` at a time, then deletes what is gone.
 * A failure that time may heal ends it, so that nothing overtakes what failed;
 * others are counted in n_stuck, the rest goes on, and the first of them is returned. */
int gpc_mirror_send(struct gpc_mirror *m, const struct gpc_mirror_changes *c,
	const struct gpc_cancel *cancel, struct gpc_error *err) gpc_must_check;
/* A look and what follows from it: a task, whose arg is the mirror. */
int gpc_mirror_round(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err);
