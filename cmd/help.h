/* Help texts, made from the command records. */
#pragma once
#include "base/buf.h"
#include "cmd/command.h"

/* `gpucloud --help`: the commands by group. */
void gpc_help_all(struct gpc_buf *out);
/* `gpucloud CMD --help` */
void gpc_help_command(const struct gpc_command *command, struct gpc_buf *out);
/* "usage: gpucloud CMD ..." lines alone, for usage errors. */
void gpc_help_usage(const struct gpc_command *command, struct gpc_buf *out);
