/* Checkpoint records: jobs/J/checkpoints/<attempt>-<n>-<label>.json. The record
 * is a JSON object {v, id, attempt, n, label, at_ms, quiet, bytes, files,
 * parts:[{rank, head}]}; its creation if-absent, by rank 0's agent, is the
 * commit. parts[].head is a snapshot's manifest head whose blobs lie under
 * jobs/J/<attempt>/blobs/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "dep/json.h"
#include "model/job.h"
#include "store/store.h"

struct gpc_checkpoint_part { int rank; struct gpc_json *head; };
struct gpc_checkpoint {
	int v;
	char *id;                  /* "2-3-auto" */
	int attempt, n;
	char *label;               /* [a-z0-9-]{1,24}: auto, user, final, notice */
	int64_t at_ms;
	bool quiet;
	int64_t bytes, files;
	GPC_VEC(struct gpc_checkpoint_part) parts;
	struct gpc_json *rest;
};
int gpc_checkpoint_put(struct gpc_store *s, const char *job,
	const struct gpc_checkpoint *c, struct gpc_error *err) gpc_must_check;
int gpc_checkpoint_get(struct gpc_store *s, const char *job, const char *id,
	struct gpc_checkpoint *ret_c, struct gpc_error *err) gpc_must_check;
void gpc_checkpoint_clear(struct gpc_checkpoint *c);
GPC_CLEANUP_VALUE(gpc_checkpoint);
bool gpc_checkpoint_id_parse(const char *id, int *ret_attempt, int *ret_n,
	char ret_label[25]);

struct gpc_checkpoint_id { char id[64]; int attempt, n; };
struct gpc_checkpoint_ids { struct gpc_checkpoint_id *v; size_t n, cap; };
/* Ids only (from keys), oldest first: by attempt, then n. */
int gpc_checkpoint_list(struct gpc_store *s, const char *job,
	struct gpc_checkpoint_ids *ret_ids, struct gpc_error *err) gpc_must_check;
void gpc_checkpoint_ids_clear(struct gpc_checkpoint_ids *x);
GPC_CLEANUP_VALUE(gpc_checkpoint_ids);
