/* What a user names as input: a file, a pipe, `<(...)`, or "-" for stdin. */
#pragma once
#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"

/* All of it, refused above max bytes; appends to b. A pipe that nobody writes to
 * is waited for until cancel is set: GPC_ECANCELED. */
int gpc_input_read(const char *word, size_t max,
	const struct gpc_cancel *cancel, struct gpc_buf *b,
	struct gpc_error *err) gpc_must_check;
