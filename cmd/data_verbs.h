/* What the verbs of `gpucloud data` share: options, and moving things while it is said
 * how far that is. */
#pragma once
#include "cmd/command.h"
#include "transfer/feed.h"
#include "transfer/filter.h"
#include "transfer/location.h"
#include "transfer/shard.h"
#include "transfer/transfer.h"

struct data {
	bool recursive, remove, dry_run, yes;
	struct gpc_strv patterns;       /* of a gpc_filter */
	const char *shard, *storage_class;
	int at_once;
	int64_t patience_ms;
};
/* argv without the verb. */
int gpc_data_cp(struct gpc_cmd *c, const char *const *argv, int argc,
	struct gpc_error *err) gpc_must_check;
/* One of the two words is "-". */
int gpc_data_pipe(struct gpc_cmd *c, const char *from, const char *to,
	struct gpc_error *err) gpc_must_check;
int gpc_data_sync(struct gpc_cmd *c, const char *from, const char *to,
	struct gpc_error *err) gpc_must_check;
int gpc_data_ls(struct gpc_cmd *c, const char *word, struct gpc_error *err)
	gpc_must_check;

/* --- data_run.c: things on their way ------------------------------------------ */

struct gpc_data_counts {
	uint64_t files, bytes;          /* that were moved, or would be */
	uint64_t removed;
	uint64_t failed;                /* of either, and what could not be read */
};
struct gpc_data_run {
	struct gpc_cmd *c;
	const struct data *o;
	struct gpc_filter *filter;
	struct gpc_shard shard;
	char *state_dir;
	struct gpc_transfer *transfer;
	struct gpc_progress *progress;
	struct gpc_data_counts n;
	bool alone;                     /* one file is all there is */
	bool piped;                     /* it cannot go on after an interruption */
	bool hurried;                   /* somebody waits for it: no patience */
	struct gpc_error first;         /* of what failed */
	int out_r;                      /* of stdout, and its error */
	struct gpc_error out_err;
	struct gpc_feed *feed;          /* where more comes from; borrowed */
	uint64_t fed_files, fed_bytes;  /* of that: taken so far */
	int64_t began_ms, said_ms;
	uint64_t said_bytes;            /* when the last line was said */
};
/* x->c is set, all else zero. */
int gpc_data_open(struct gpc_data_run *x, struct gpc_error *err) gpc_must_check;
/* Ends what still runs; locations are cleared after it, and then x. */
void gpc_data_cut(struct gpc_data_run *x);
void gpc_data_run_clear(struct gpc_data_run *x);
GPC_CLEANUP_VALUE(gpc_data_run);
/* A location of this run. */
int gpc_data_location(struct gpc_data_run *x, const char *word,
	struct gpc_location *ret_l, struct gpc_error *err) gpc_must_check;

/* From and to: what lies below these locations, NULL: they themselves. */
struct gpc_data_move {
	const struct gpc_location *from, *to;
	const char *from_below, *to_below;
	uint64_t size;
	int64_t modified_ms;            /* that a downloaded file gets */
};
/* One file; with --dry-run it is only said. */
int gpc_data_add(struct gpc_data_run *x, const struct gpc_data_move *m,
	struct gpc_error *err) gpc_must_check;
/* All that a feed gives, to the same keys below `to_prefix` (which ends in "/" or is
 * empty) of `to`. What is surplus in the target is given to `surplus`, or dropped when
 * that is NULL. */
typedef int gpc_data_surplus_fn(void *arg, const struct gpc_listed *l,
	struct gpc_error *err);
struct gpc_data_tree {
	const struct gpc_location *from, *to;
	const char *to_prefix;
	gpc_data_surplus_fn *surplus;
	void *arg;
};
int gpc_data_add_feed(struct gpc_data_run *x, struct gpc_feed *f,
	const struct gpc_data_tree *tree, struct gpc_error *err) gpc_must_check;
/* Until all of it has arrived. */
int gpc_data_wait(struct gpc_data_run *x, struct gpc_error *err) gpc_must_check;
/* The summary; fails when something did not succeed. r, err: how the rest went. */
int gpc_data_end(struct gpc_data_run *x, int r, struct gpc_error *err)
	gpc_must_check;

/* Notes a failure, and shows the first few. */
void gpc_data_failed(struct gpc_data_run *x, const char *from, const char *to,
	const struct gpc_error *why);
/* Says what is done with `to`, or would be: "copied" (from NULL: "removed"). */
void gpc_data_did(struct gpc_data_run *x, const char *from, const char *to,
	uint64_t size);
