/* Repositories in the cache of this user (core/git_cache.h) that nobody has used
 * for long: they are only copies, and the next submit fetches one again. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/session.h"

#define GPC_GIT_OLD_MS (INT64_C(30) * 24 * 3600 * 1000)

struct gpc_git_old { char *repo; uint64_t bytes; };
struct gpc_git_olds { struct gpc_git_old *v; size_t n, cap; };
void gpc_git_olds_clear(struct gpc_git_olds *x);
GPC_CLEANUP_VALUE(gpc_git_olds);
/* Those that no submit has used for GPC_GIT_OLD_MS, by the local clock; none
 * where there is no cache. */
void gpc_git_old_find(const struct gpc_session *s, struct gpc_git_olds *ret_x);
/* Removes a repository, or the half of one, whose lock the caller holds, and the
 * lock file: whoever waits for that makes a new one. May be cut short anywhere. */
int gpc_git_old_remove(const char *repo, struct gpc_error *err) gpc_must_check;
/* Removes it; GPC_ECONFLICT when a submit uses it just now. May be cut short
 * anywhere: what is left is removed by the next fetch or the next drop. */
int gpc_git_old_drop(const struct gpc_git_old *x, struct gpc_error *err)
	gpc_must_check;
