/* One phase of the job as a process: a script run by bash. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"
#include "provider/cgroup.h"

struct gpc_child {
	const char *script;           /* path of the file */
	bool strict;                  /* -e -o pipefail */
	const char *cwd;
	const struct gpc_pairs *env;  /* the whole environment */
	int out_fd, err_fd;
	const struct gpc_cgroup *cgroup;  /* may be NULL */
	int cpus;                     /* by affinity; 0 = all */
	unsigned salt;
};
/* Starts it as leader of a session of its own. GPC_ECONFIG when its environment
 * or arguments are too large for this system. */
int gpc_child_start(const struct gpc_child *c, pid_t *ret_pid,
	struct gpc_error *err) gpc_must_check;
