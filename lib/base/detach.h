/* Processes that outlive this one and that nobody has to wait for: of a session
 * of their own, without a terminal, and nobody's zombie. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Returns twice, as fork does: in the new process with *ret_child = true, where
 * only async-signal-safe calls are allowed until exec or _exit if the caller
 * has threads. */
int gpc_fork_detached(bool *ret_child, struct gpc_error *err) gpc_must_check;

/* The descriptor on which a program that was told so reports. */
#define GPC_REPORT_FD 3
struct gpc_detached {
	const char *path;                /* of the program */
	const char *const *argv;
	char *const *envp;               /* NULL = ours */
	int log_fd;                      /* its stdout and stderr */
	bool reports;                    /* GPC_REPORT_FD stays open in it */
};
/* Runs a program: in the folder /, with /dev/null as stdin, default signals and
 * no other descriptors. *ret_fd (owned) is read by gpc_detached_report. */
int gpc_detach(const struct gpc_detached *d, int *ret_fd,
	struct gpc_error *err) gpc_must_check;
/* Waits for the program's word: *ret_word is what it wrote first, or 0 when it
 * closed the descriptor without, which one that does not report does as soon as
 * it runs. Fails when it could not be executed, and GPC_ETIMEOUT after ms
 * milliseconds. */
int gpc_detached_report(int fd, const char *path, int ms, char *ret_word,
	struct gpc_error *err) gpc_must_check;
