/* The local sources of file_mounts, as they are when a job is submitted. */
#pragma once
#include "core/session.h"
#include "model/spec.h"
#include "snapshot/snapshot.h"

struct gpc_mount {              /* one source */
	char *target;           /* on the node; of a file, with its name */
	char *source;           /* where it was, absolute */
	char *file;             /* a single file's name in tree; NULL = a folder */
	struct gpc_tree tree;
};
struct gpc_mounts { struct gpc_mount *v; size_t n, cap; };

/* Scans each local source of the resolved spec, in order, whole: neither ignore
 * files nor .git are special. What is missing or may not be read is an error
 * that names it; skip_unreadable leaves out what lies in a folder and may not be
 * read. gpucloud's own folders (own_folders.h) are left out; s may be NULL. */
int gpc_mounts_scan(struct gpc_session *s, const struct gpc_spec *spec,
	bool skip_unreadable, struct gpc_mounts *ret_m, struct gpc_error *err)
	gpc_must_check;
void gpc_mounts_clear(struct gpc_mounts *m);
GPC_CLEANUP_VALUE(gpc_mounts);
