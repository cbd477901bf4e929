/* Opening what lies below a folder without ever following a link: every part of
 * a path is opened by itself, so that a link put in its place by somebody else
 * is an error and not a way out. Paths are relative, without `.` and `..`. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

/* The folder opened last is kept: neighbours in path order cost one open. Not
 * shared by threads. */
struct gpc_beneath {
	int root;               /* owned once opened */
	int fd;                 /* of dir; -1 = none */
	char *dir;
	bool is_open;
};
enum {
	GPC_BENEATH_CREATE = 1 << 0,    /* make missing folders */
	GPC_BENEATH_REPLACE = 1 << 1,   /* and put one in place of a file or link */
};

/* root itself may be reached through links. */
int gpc_beneath_open(struct gpc_beneath *b, const char *root,
	struct gpc_error *err) gpc_must_check;
/* The folder of the first n bytes of dir ("" = root); borrowed until the next
 * call. Errors are those of gpc_fail_sys, with sys set. */
int gpc_beneath_dir(struct gpc_beneath *b, const char *dir, size_t n,
	unsigned flags, int *ret_fd, struct gpc_error *err) gpc_must_check;
/* The folder that holds path; *ret_name is path's last part, borrowed. */
int gpc_beneath_parent(struct gpc_beneath *b, const char *path, unsigned flags,
	int *ret_fd, const char **ret_name, struct gpc_error *err)
	gpc_must_check;
/* Whatever folder was opened last may be gone by now: it is opened anew. */
void gpc_beneath_forget(struct gpc_beneath *b);
void gpc_beneath_clear(struct gpc_beneath *b);
GPC_CLEANUP_VALUE(gpc_beneath);
