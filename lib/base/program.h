/* Other people's programs, run as children of ours or in our place. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Our environment with vars ("NAME=value", may be NULL) added or in the place of
 * those of the same name; fit for exec: v ends with NULL. */
void gpc_program_env(const struct gpc_strv *vars, struct gpc_strv *ret_env);

enum gpc_program_place {
	GPC_PROGRAM_WITH_US,      /* in our process group: may ask at the terminal */
	GPC_PROGRAM_GROUP,        /* leads a group, so that it ends with its own */
	GPC_PROGRAM_SESSION,      /* leads a session, without a terminal; has three
	                           * descriptors, plain signals, and its stdout goes
	                           * where our stderr does */
};
struct gpc_program {
	char *const *argv;        /* NULL at the end; [0] is looked for on its PATH */
	char *const *env;         /* NULL at the end */
	const char *dir;          /* where it runs; NULL = where we do */
	const char *else_dir;     /* where it does if dir is not there; may be NULL */
	enum gpc_program_place place;
	bool reads_terminal;      /* stdin is ours if that is one, not /dev/null */
	bool open_files;          /* umask 022 */
};
struct gpc_program_run {
	pid_t pid;
	int out, said;            /* where we read its stdout and stderr; owned */
};
/* Starts it with pipes to read from; of a SESSION there are none (both -1), and it
 * is not waited for until it is executed: its exit status is 127 when it cannot be.
 * Of others *ret_sys is the errno that kept them from it, or from dir, and then
 * there is no child. */
int gpc_program_start(const struct gpc_program *p, struct gpc_program_run *ret_run,
	int *ret_sys, struct gpc_error *err) gpc_must_check;
/* Appends what can be read of a pipe now to `to`, up to max bytes in all; closes it
 * at its end. False: there was more. What is passed on is wiped here. */
bool gpc_program_take(int *fd, struct gpc_buf *to, size_t max);
/* Whether the child has ended; *ret_status is its status then. Not to be asked
 * again after that. */
bool gpc_program_is_ended(pid_t child, int *ret_status);
/* Asks a child, or the group that it leads, to end, kills what does not within 2 s,
 * and waits for the child, unless it was waited for before (reaped), and for the
 * group; *ret_status is the child's status then. */
void gpc_program_end(pid_t child, bool leads_group, bool reaped, int *ret_status);
