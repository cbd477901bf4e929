/* Getting results: artifacts and checkpoints into a folder. */
#pragma once
#include <stdint.h>

#include "core/session.h"
#include "record/checkpoint.h"

struct gpc_fetched {
	uint64_t files, bytes;          /* that came */
	uint64_t kept;                  /* files that were there, and stay */
};
/* Copies jobs/J/artifacts/ below dir (made if absent), each file atomically;
 * existing files are kept unless overwrite. None at all is not an error, and makes no
 * folder. */
int gpc_fetch_artifacts(struct gpc_session *s, const char *job, const char *dir,
	bool overwrite, struct gpc_fetched *ret_f, struct gpc_error *err)
	gpc_must_check;
/* id NULL = the newest complete one. rank >= 0: only that rank's part, straight
 * into dir; else one part goes into dir, several into dir/rank-N. */
int gpc_fetch_checkpoint(struct gpc_session *s, const char *job, const char *id,
	int rank, const char *dir, bool overwrite, struct gpc_fetched *ret_f,
	struct gpc_error *err) gpc_must_check;
