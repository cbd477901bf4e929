/* Folders that are gpucloud's own: no workdir or mount takes them along, for
 * they grow while they are packed and hold the secrets of other jobs. */
#pragma once
#include "base/str.h"
#include "core/session.h"

/* Appends them, absolute: those that the store lies in, state and cache. */
void gpc_own_folders_add(const struct gpc_session *s, struct gpc_strv *paths);
/* GPC_ECONFIG when path, absolute, is the store or lies in it. */
int gpc_own_folders_check(const struct gpc_session *s, const char *path,
	struct gpc_error *err) gpc_must_check;
