/* Bytes of a job straight to one of our streams. */
#pragma once
#include <stddef.h>

#include "base/cancel.h"
#include "base/err.h"
#include "cmd/out.h"

/* Past stdio, so that nothing is left in a buffer when a reader that does not
 * read keeps us waiting and a signal ends the wait: GPC_ECANCELED then. A reader
 * that went away sets o->broken. */
int gpc_through_stdout(struct gpc_out *o, const void *data, size_t n,
	const struct gpc_cancel *cancel, struct gpc_error *err) gpc_must_check;
/* The same to stderr; one that cannot be written to is no error of the job. */
int gpc_through_stderr(const void *data, size_t n,
	const struct gpc_cancel *cancel, struct gpc_error *err) gpc_must_check;
