/* Lists: the lines of a snapshot in path order, as zstd blobs named by its head.
 * Written and read a line at a time. */
#pragma once
#include <stdint.h>

#include "base/buf.h"
#include "dep/archive.h"
#include "snapshot/blob.h"
#include "snapshot/entry.h"

/* --- writing --- */
struct gpc_list_writer {
	struct gpc_sender *sender;
	struct gpc_spool *spool;        /* borrowed; used until finish */
	struct gpc_archive_writer *zstd;
	struct gpc_json *lists;         /* what the head says of them */
	struct gpc_buf text;            /* lines not yet compressed */
	uint64_t lines, bytes;          /* of the list at hand */
};
void gpc_list_writer_init(struct gpc_list_writer *w, struct gpc_sender *sender,
	struct gpc_spool *spool);
void gpc_list_writer_clear(struct gpc_list_writer *w);
GPC_CLEANUP_VALUE(gpc_list_writer);
/* Where one list ends depends on the paths, so that a change leaves most of
 * them as they were. */
int gpc_list_add(struct gpc_list_writer *w, const struct gpc_line *line,
	struct gpc_error *err) gpc_must_check;
/* The head's "lists"; owned by the caller. */
int gpc_list_finish(struct gpc_list_writer *w, struct gpc_json **ret_lists,
	struct gpc_error *err) gpc_must_check;

/* --- reading --- */
/* line is borrowed; what is moved out of it is left NULL. */
typedef int gpc_line_fn(void *arg, struct gpc_line *line,
	struct gpc_error *err);
/* Every line of a head, in order; hostile bytes end in GPC_EPROTO. on_list, if
 * not NULL, is called for each list before its lines. */
int gpc_lists_read(struct gpc_store *store, const struct gpc_json *head,
	const char *prefix, gpc_blob_fn *on_list, gpc_line_fn *on_line,
	void *arg, struct gpc_error *err) gpc_must_check;
