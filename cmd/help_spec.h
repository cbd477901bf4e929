/* `gpucloud help spec [FIELD]`: the fields of a spec, from the table that the
 * reader works from. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* A list of all fields (field NULL), or what one of them takes and what lies
 * below it. field is a path as in "limits.cost", or a name that occurs once. In
 * width columns. */
int gpc_help_spec(const char *field, size_t width, struct gpc_buf *out,
	struct gpc_error *err) gpc_must_check;

/* Calls fn with the path of every field and its one line of help. */
typedef void gpc_help_field_fn(void *arg, const char *path, const char *help);
void gpc_help_spec_each(gpc_help_field_fn *fn, void *arg);
