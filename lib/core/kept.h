/* What never changes in a store, kept on this machine where each look costs money:
 * files of $XDG_CACHE_HOME/gpucloud/KIND/STORE-ID/NAME. What cannot be read or
 * written is as if it were not there. */
#pragma once
#include <stdint.h>

#include "core/session.h"
#include "dep/json.h"

/* NULL: not there, or the store is of this machine. Owned. */
struct gpc_json *gpc_kept_get(struct gpc_session *s, const char *kind,
	const char *name);
/* Takes j. Files of that kind that are older than keep_ms go. */
void gpc_kept_put(struct gpc_session *s, const char *kind, const char *name,
	struct gpc_json *j, int64_t keep_ms);

/* job.json of a job; false: it is not here. */
bool gpc_kept_job(struct gpc_session *s, const char *id,
	struct gpc_job *ret_job);
void gpc_keep_job(struct gpc_session *s, const struct gpc_job *job);
