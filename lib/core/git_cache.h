/* Commits of remote repositories, kept in XDG_CACHE_HOME; not for other rooms. */
#pragma once
#include "core/git_run.h"
#include "base/log.h"

struct gpc_git_found {
	char *repo;                   /* bare repository that has the commit */
	char commit[65];
	char *refname;                /* NULL = the commit was named itself */
	bool fetched;                 /* false: it was there */
};
/* Makes sure that the commit which url and ref (NULL = its HEAD) mean now is in
 * the cache below dir, whole. call: how git is run, with its url. *ret_lock
 * keeps others away from the repository until it is closed. */
int gpc_git_cache_get(const struct gpc_git_call *call, const char *dir,
	const char *ref, const struct gpc_log *log,
	struct gpc_git_found *ret_found, int *ret_lock, struct gpc_error *err)
	gpc_must_check;
void gpc_git_found_clear(struct gpc_git_found *f);
GPC_CLEANUP_VALUE(gpc_git_found);
