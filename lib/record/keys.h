/* The store's layout as code: every key of DESIGN section 4 is made here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/money.h"
#include "model/job.h"

#define GPC_KEY_SIZE 520
typedef char gpc_key[GPC_KEY_SIZE];

const char *gpc_key_job(gpc_key out, const char *job);           /* jobs/J/job.json */
const char *gpc_key_event(gpc_key out, const char *job, int64_t n);
const char *gpc_key_job_file(gpc_key out, const char *job, const char *name);
	/* jobs/J/<name>: head, supervisor, watch, tether, events/, checkpoints/ */
const char *gpc_key_rank(gpc_key out, const char *job, int attempt, int rank,
	const char *name);          /* jobs/J/A/R/<name>: exit.json, log/ */
const char *gpc_key_beat(gpc_key out, const char *job, int attempt,
	int rank);                  /* jobs/J/A/beats/R */
const char *gpc_key_attempt(gpc_key out, const char *job, int attempt,
	const char *name);          /* jobs/J/A/<name>: peers.json, verdict.json, blobs/ */
const char *gpc_key_checkpoint(gpc_key out, const char *job, const char *id);
	/* secrets/J of a submit, secrets/J.resume-NAME of a resume (secrets.h); what all
	 * of the latter begin with for "" */
const char *gpc_key_secrets(gpc_key out, const char *job, const char *name);
	/* secrets/J.notify-HASH, and what all of them begin with for NULL */
const char *gpc_key_hook(gpc_key out, const char *job, const char *hash);
const char *gpc_key_once(gpc_key out, const char *owner_hash, const char *key);

#define GPC_KEY_HOOK ".notify-"     /* no job's name has these */
#define GPC_KEY_RESUME ".resume-"

/* A file's path as the tail of a key: bytes that a key cannot hold (control,
 * space, not ASCII), % itself, and a leading `.tmp-` of a part become %XX. */
char *gpc_key_escape(const char *path);             /* owned */
/* The other way; NULL when it is no such text or would hold a NUL. Owned. */
char *gpc_key_unescape(const char *tail);
