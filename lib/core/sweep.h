/* Sweeping common blobs that no job names any more. */
#pragma once
#include <stdint.h>

#include "core/census.h"
#include "core/remove.h"
#include "core/session.h"

struct gpc_sweep_options {
	bool dry_run;
	/* Jobs that count as gone: those of it that are done or go. May be NULL. */
	const struct gpc_removals *without;
	/* At most ten times a second; may be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};
struct gpc_sweep_result {
	uint64_t blobs, bytes;          /* deleted, or that would be */
	uint64_t young, young_bytes;    /* unneeded, but not old enough yet */
	uint64_t renewed;               /* put again at the last moment: kept */
	uint64_t total, total_bytes;
};
/* A blob goes when no job.json needs it (its workspace, mounts, bundle, and
 * what their heads and lists name) and it is older than 14 days by the store's
 * own two clocks, which is looked at once more right before its delete.
 * While it cannot be told what a job needs, nothing goes: the error names it. */
int gpc_sweep_blobs(struct gpc_session *s, const struct gpc_sweep_options *o,
	struct gpc_sweep_result *ret_x, struct gpc_error *err) gpc_must_check;
