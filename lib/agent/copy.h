/* Plain copies of trees on one machine. */
#pragma once
#include "base/cancel.h"
#include "base/err.h"

/* A folder's contents go into `to`, a file becomes `to` (or goes into it when
 * to ends in "/"). Links stay links, modes and times are kept, files are
 * replaced one by one and whole; sockets and devices are passed by. */
int gpc_copy_tree(const char *from, const char *to,
	const struct gpc_cancel *cancel, struct gpc_error *err) gpc_must_check;
