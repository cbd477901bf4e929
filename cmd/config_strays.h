/* GPUCLOUD_* variables that are no key. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* GPC_ECONFIG for a name among the keys of a command that is none of them. Any
 * other that is near a key goes to warnings (may be NULL) as a text. */
int gpc_config_strays(char *const *env, bool inside_job,
	struct gpc_strv *warnings, struct gpc_error *err) gpc_must_check;
