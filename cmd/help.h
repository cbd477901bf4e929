/* Help texts, made from the command records. */
#pragma once
#include "base/buf.h"
#include "cmd/command.h"

/* How wide help is on that output: 80 columns, less on a narrow terminal. */
size_t gpc_help_width(const struct gpc_out *o);
/* `gpucloud --help`: the commands by group. */
void gpc_help_all(size_t width, struct gpc_buf *out);
/* `gpucloud CMD --help` */
void gpc_help_command(const struct gpc_command *command, size_t width,
	struct gpc_buf *out);
/* Prints it; lines that are still too long for the terminal are broken. */
int gpc_help_print(struct gpc_cmd *c, const struct gpc_buf *text,
	struct gpc_error *err) gpc_must_check;
/* "usage: gpucloud CMD ..." lines alone, for usage errors. */
void gpc_help_usage(const struct gpc_command *command, struct gpc_buf *out);
