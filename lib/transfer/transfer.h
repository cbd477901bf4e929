/* Files and objects, moved: up, down, from bucket to bucket, and from folder to folder,
 * from one event loop.
 *
 * Large ones go in ranges and parts, several at a time; how many requests run at once
 * follows what the link and the server bear. Memory is bounded whatever is moved. A
 * download is written beside its place and renamed when all of it is there and its
 * checksum is right; an upload becomes visible with its last request. What fails leaves
 * nothing; what is cut short by a signal, a crash or a lost machine, or because a
 * service was out of reach for too long or credentials ended (err->passes), goes on
 * where it was when the same is asked again. */
#pragma once
#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/objects.h"

struct gpc_transfer;                    /* opaque; belongs to one thread */

/* One end: a file (path), or an object (objects and key). Objects are borrowed until
 * the item was told as done, or the transfer is freed. */
struct gpc_transfer_end {
	const char *path;
	/* Of a downloaded file whose name comes from outside (a key): relative to path,
	 * which is then a folder of the user's. Missing folders are made; one that would
	 * lead out (`..`, an empty part, a link in the way) is refused. NULL: path is the
	 * file. */
	const char *below;
	struct gpc_objects *objects;
	const char *key;
};
struct gpc_transfer_item {
	struct gpc_transfer_end from, to;       /* copied; not what they point to but
	                                         * path and key, which are copied too */
	int64_t size;                   /* of the source; < 0: not known */
	/* Of a downloaded file; one that is copied on this machine has its source's. */
	int64_t modified_ms;            /* 0: the object's */
	unsigned mode;                  /* 0: by the umask */
};

struct gpc_transfer_counts {
	uint64_t files, bytes;          /* done; bytes move while a file is under way */
	uint64_t all_files, all_bytes;  /* added so far */
	uint64_t resumed;               /* bytes that an earlier try had moved */
	uint64_t failed;                /* files */
	uint64_t kept;                  /* bytes of those, that the next try has */
	int at_once;                    /* requests now */
	int64_t began_ms;               /* by the boot clock */
};

struct gpc_transfer_settings {
	int at_once;                    /* most requests at a time; 0 = chosen */
	uint64_t part_size;             /* 0 = chosen by size */
	uint64_t memory;                /* most bytes held; 0 = 64 MiB */
	const char *storage_class;      /* of what is written to buckets; or NULL */
	const char *state_dir;          /* where uploads note what they have done; NULL:
	                                 * nothing goes on after an interruption */
	const char *ca_file;            /* as gpc_net_settings */
	int64_t patience_ms;            /* the same: with services out of reach */
	const struct gpc_cancel *cancel;
	const struct gpc_log *log;
	/* Each item that came to an end, once, from within a call below (none of which
	 * it may call); r < 0: it failed, and err names the source. What is cut short by
	 * a cancel or by gpc_transfer_free is not told. */
	void (*done)(void *arg, const struct gpc_transfer_item *item, int r,
		const struct gpc_error *err);
	/* Some times a second, from within a call below; may be NULL. */
	void (*progress)(void *arg, const struct gpc_transfer_counts *counts);
	void *arg;
};
struct gpc_transfer *gpc_transfer_new(const struct gpc_transfer_settings *settings);
/* Ends what still runs: partial downloads and uploads that can go on stay, with their
 * notes; others are removed. */
void gpc_transfer_free(struct gpc_transfer *t);
GPC_CLEANUP_POINTER(gpc_transfer);

/* For gpc_objects_open of what it is to move: those are closed before t is freed, and
 * after gpc_transfer_finish or gpc_transfer_cut. */
struct gpc_net *gpc_transfer_net(struct gpc_transfer *t);
/* What gpc_transfer_free says of what still runs; nothing can be added afterwards. */
void gpc_transfer_cut(struct gpc_transfer *t);
/* Moves the others forward while too many wait. Fails only when nothing can go on
 * (cancelled, no credentials, a full disk, the patience is over); a bad item is told by
 * `done`. */
int gpc_transfer_add(struct gpc_transfer *t, const struct gpc_transfer_item *item,
	struct gpc_error *err) gpc_must_check;
/* Moves what was added forward for up to timeout_ms; returns at once when nothing is
 * under way: for whoever waits for what is to be added next. */
int gpc_transfer_step(struct gpc_transfer *t, int timeout_ms,
	struct gpc_error *err) gpc_must_check;
/* The same until one more was told, however long that takes: for whoever wants few of
 * them under way, one after the other. */
int gpc_transfer_next(struct gpc_transfer *t, struct gpc_error *err) gpc_must_check;
/* Until all were told. 0 also when some failed: counts say so. Otherwise as add. */
int gpc_transfer_finish(struct gpc_transfer *t, struct gpc_error *err) gpc_must_check;
/* What was promised of all to come, for progress: added to all_files and all_bytes as
 * known before. */
void gpc_transfer_expect(struct gpc_transfer *t, uint64_t files, uint64_t bytes);
void gpc_transfer_counts(const struct gpc_transfer *t, struct gpc_transfer_counts *ret_c);
