/* Programs that hand out credentials on their stdout: run without a shell, for a
 * limited time, with limited output. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/str.h"

#define GPC_PROCESS_MAX_OUT ((size_t)256 << 10)

/* Splits a command as a POSIX shell does, quotes and backslashes, and nothing
 * else: no variables, no globs, no operators. GPC_ECONFIG for an open quote and
 * for nothing at all. */
int gpc_process_split(const char *command, struct gpc_strv *ret_argv,
	struct gpc_error *err) gpc_must_check;

struct gpc_process {
	const struct gpc_strv *argv;
	const struct gpc_strv *env;     /* "A=b" to add or replace; NULL: none */
	bool may_ask;                   /* keeps our terminal */
	int timeout_ms;                 /* 0 = 60 s */
	const struct gpc_cancel *cancel;/* may be NULL */
};
/* Appends its stdout to out, at most GPC_PROCESS_MAX_OUT. GPC_EAUTH when it ends
 * otherwise than with 0; its stderr is the message then. GPC_ECONFIG when it
 * cannot be started. Wipe `out`. */
int gpc_process_run(const struct gpc_process *p, struct gpc_buf *out,
	struct gpc_error *err) gpc_must_check;
