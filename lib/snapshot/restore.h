/* What the files of one restore share: restore.c reads the lists and hands out
 * work, unpack.c makes files of packs and pieces in worker threads, finish.c
 * adds links and the modes of folders at the end. */
#pragma once
#include <stdatomic.h>

#include "base/draft.h"
#include "base/vec.h"
#include "snapshot/arena.h"
#include "snapshot/beneath.h"
#include "snapshot/blob.h"
#include "snapshot/entry.h"
#include "snapshot/snapshot.h"

struct gpc_restore_worker {
	struct gpc_beneath top;
	struct gpc_spool spool;
	struct gpc_sha256 *hash;
	char *piece;
};
/* Folders and links wait for the end: a link that does not exist yet cannot be
 * followed, and a folder that may not be written to can be filled. */
struct gpc_later { char *path, *target; int64_t mtime_ns; uint16_t mode; };

struct gpc_restore {
	struct gpc_store *store;
	const char *prefix;
	const char *target;
	const struct gpc_restore_options *o;
	unsigned threads;
	struct gpc_spool_budget memory;
	struct gpc_restore_worker *workers;     /* threads + 1 for the caller */
	struct gpc_arena *arena;
	GPC_VEC(struct gpc_later) dirs, links;
	_Atomic uint64_t done_bytes, kept_files, kept_bytes;
	uint64_t total_bytes;
};

/* A large file on its way, shared by the tasks of its pieces. It keeps its own
 * descriptors, so that whoever ends it last can name it or take it away. */
struct gpc_assembly {
	struct gpc_line line;
	_Atomic uint64_t left;          /* holders: pieces, and the reader */
	_Atomic bool failed;
	struct gpc_draft draft;
	int dir;
	const char *name;               /* in dir; of line.path */
};
struct gpc_restore_task {
	GPC_VEC(struct gpc_line) members;       /* of one pack, in order; or */
	struct gpc_assembly *assembly;          /* one piece of a file: */
	struct gpc_chunk chunk;
	uint64_t number;
};
/* A task that will not run: what it belongs to is given up. */
void gpc_restore_task_drop(void *task);
void gpc_restore_task_free(struct gpc_restore_task *t);

/* Makes the file, of the right size and not yet under its name, and moves line
 * into it. *ret_a = NULL when the file exists and is kept. */
int gpc_assembly_open(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_line *line, struct gpc_assembly **ret_a,
	struct gpc_error *err) gpc_must_check;
/* Ends one holder; the last one names the file, or removes it after a failure. */
int gpc_assembly_release(struct gpc_assembly *a, struct gpc_error *err)
	gpc_must_check;
void gpc_assembly_give_up(struct gpc_assembly *a);

/* What a worker does. */
int gpc_restore_pack(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_restore_task *t, struct gpc_error *err) gpc_must_check;
int gpc_restore_chunk(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_restore_task *t, struct gpc_error *err) gpc_must_check;

/* Makes the folder; its mode and time wait for finish. */
int gpc_restore_dir(struct gpc_restore *x, struct gpc_restore_worker *w,
	const struct gpc_line *line, struct gpc_error *err) gpc_must_check;
int gpc_restore_finish(struct gpc_restore *x, struct gpc_restore_worker *w,
	struct gpc_error *err) gpc_must_check;

/* Names what could not be restored, and why. */
int gpc_restore_fail(const char *path, int sys, struct gpc_error *err);
/* The folder that path belongs in, made when it is missing. */
int gpc_restore_parent(struct gpc_restore *x, struct gpc_restore_worker *w,
	const char *path, int *ret_fd, const char **ret_name,
	struct gpc_error *err) gpc_must_check;
/* Whether something of that name is there and is to be kept. */
int gpc_restore_keeps(const struct gpc_restore *x, int dir, const char *name,
	const char *path, bool *ret_keeps, struct gpc_error *err)
	gpc_must_check;
