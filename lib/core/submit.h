/* Submitting: snapshot, records, hand-over. After a crash anywhere nothing is
 * half-made that a reader would take for a job: job.json is the commit. */
#pragma once
#include "core/bucket_mounts.h"
#include "core/git.h"
#include "core/mounts.h"
#include "core/session.h"
#include "model/spec.h"
#include "record/tether.h"
#include "snapshot/snapshot.h"

struct gpc_submit_options {
	const char *once_key;         /* NULL = every submit makes a job */
	struct gpc_tether *tether;    /* NULL = the job needs no client */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
	unsigned archs;               /* of what the plan chose from, by GPC_ARCH_BIT;
	                               * 0 = this program's */
	const struct gpc_job_supervisor *supervisor;  /* NULL = an ordinary job */
	const struct gpc_bucket_mounts *buckets;      /* planned; NULL = none */
	const struct gpc_git_tree *git;       /* where the tree is from; NULL =
	                               * spec->workdir */
};
struct gpc_submit_result {
	char job[GPC_JOB_ID_SIZE];
	bool existed;                 /* --once: this job was there before */
	uint64_t files, bytes, sent_bytes;    /* of workdir and mounts */
};
/* Scans spec->workdir (GPC_ENOTFOUND, GPC_EIO with the file named); an empty
 * tree when there is none. with_git: keep .git. */
int gpc_submit_scan(struct gpc_session *s, const struct gpc_spec *spec,
	bool with_git, bool skip_unreadable, struct gpc_tree *ret_tree,
	struct gpc_error *err) gpc_must_check;
/* Adds the first event of a job whose submit died right after job.json. */
int gpc_submit_finish(struct gpc_session *s, const char *job,
	struct gpc_error *err) gpc_must_check;
/* spec: resolved and supported; tree and mounts: what was scanned for it. Makes
 * the job and returns; it does not start a supervisor (gpc_supervisor_ensure
 * does). */
int gpc_submit(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_tree *tree, const struct gpc_mounts *mounts,
	const struct gpc_submit_options *options,
	struct gpc_submit_result *ret_r, struct gpc_error *err) gpc_must_check;
