/* Whether checkpoints and workspaces are what their heads say, byte by byte. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "core/session.h"
#include "snapshot/snapshot.h"

struct gpc_verdict {
	char *id;                     /* of the checkpoint; "workspace"; a mount's
	                               * target */
	bool sound;
	bool gone;                    /* it was pruned while we looked */
	int64_t files, bytes;
	size_t n_damages;             /* all of them; the first ones as text: */
	struct gpc_strv damages;      /* "FILE: what is wrong (blob SHA256)" */
};
struct gpc_verdicts { struct gpc_verdict *v; size_t n, cap; };
void gpc_verdicts_clear(struct gpc_verdicts *x);
GPC_CLEANUP_VALUE(gpc_verdicts);

/* Appends the verdict of one checkpoint, all ranks' parts. A head that cannot be
 * read is damage, one that does not exist GPC_ENOTFOUND. */
int gpc_verify_checkpoint(struct gpc_session *s, const char *job, const char *id,
	const struct gpc_verify_options *o, struct gpc_verdicts *ret_x,
	struct gpc_error *err) gpc_must_check;
/* Appends those of the job's workspace and file mounts, if it has any. */
int gpc_verify_workspace(struct gpc_session *s, const char *job,
	const struct gpc_verify_options *o, struct gpc_verdicts *ret_x,
	struct gpc_error *err) gpc_must_check;
