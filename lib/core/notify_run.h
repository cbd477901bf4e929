/* Running one command that tells somebody: no shell, no terminal, no input, and
 * an end after a while whatever it does. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

#define GPC_NOTICE_MS 60000     /* then its processes are asked to end ... */
#define GPC_NOTICE_KILL_MS 5000 /* ... and so much later are killed */

struct gpc_notice_run {
	pid_t pid;                    /* also its process group; 0 = none */
	int64_t started_ms;           /* boot clock */
	bool asked;                   /* to end */
	char program[256];            /* for messages, perhaps cut */
};
/* In the user's home folder, with exactly this environment; its output goes
 * where our errors go. Returns at once. */
int gpc_notice_start(const struct gpc_strv *command, const struct gpc_strv *env,
	struct gpc_notice_run *ret_run, struct gpc_error *err) gpc_must_check;
/* False when it has ended: *ret_why (owned) then says what went wrong, or is
 * NULL. */
bool gpc_notice_runs(struct gpc_notice_run *run, char **ret_why);
/* Kills it, should it run. */
void gpc_notice_end(struct gpc_notice_run *run);
