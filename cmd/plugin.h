/* Programs named gpucloud-NAME on PATH. */
#pragma once
#include "cmd/command.h"

/* Runs gpucloud-NAME of $PATH in place of this process, if there is one; argv[0] is
 * NAME. It finds what g says in the environment, as GPUCLOUD_STORE and the like.
 * Returns only when there is none or it cannot be run. */
int gpc_plugin_run(const struct gpc_globals *g, char *const *argv,
	struct gpc_error *err) gpc_must_check;
/* Calls fn for each gpucloud-NAME of $PATH that gpc_plugin_run would run, in no
 * order. */
typedef void gpc_plugin_fn(void *arg, const char *name, const char *path);
void gpc_plugins(gpc_plugin_fn *fn, void *arg);
