/* What the verbs of `gpucloud checkpoint` share: its options, and the verbs that
 * have files of their own. */
#pragma once
#include "cmd/command.h"
#include "core/session.h"

struct checkpoint {
	const char *label;
	int64_t timeout;
	int rank, keep;
	bool overwrite, all, workspace, dry_run;
};
/* verify [JOB] [ID]...: words are those behind the verb. */
int gpc_checkpoint_verify(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_error *err) gpc_must_check;
/* What can be told before a store is opened. */
int gpc_checkpoint_prune_check(struct gpc_cmd *c, struct gpc_error *err)
	gpc_must_check;
/* prune of this job. */
int gpc_checkpoint_prune(struct gpc_cmd *c, struct gpc_session *s,
	const char *job, struct gpc_error *err) gpc_must_check;
