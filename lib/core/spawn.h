/* A process of its own session that outlives this one. */
#pragma once
#include "base/err.h"

/* argv[0] is the program's path; stdin is /dev/null, the rest goes to log_path
 * (appended). Returns once the program has been executed. */
int gpc_spawn_detached(const char *const *argv, const char *log_path,
	struct gpc_error *err) gpc_must_check;
