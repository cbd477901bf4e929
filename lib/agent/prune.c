/* Removing old checkpoints, in rank 0's worker and only between saves.
 *
 * First the record, so that nobody finds a checkpoint whose bytes are going;
 * then the blobs that no remaining record of that attempt needs. The newest two
 * stay whatever is asked, and the one that this attempt resumed from. */
#include <string.h>

#include "agent/saver.h"
#include "base/crash.h"
#include "base/map.h"
#include "base/str.h"
#include "record/checkpoint.h"
#include "record/keys.h"
#include "record/prune.h"
#include "snapshot/snapshot.h"

struct blobs { struct gpc_map map; };

static int add_blob(void *arg, const char *sha256, uint64_t size,
	struct gpc_error *err)
{
	struct blobs *b = arg;

	(void)size;
	return gpc_map_try_set(&b->map, sha256, b) ? 0
		: gpc_fail_memory(err, "the names of blobs");
}

static int add_blobs_of(struct gpc_saver *s, const struct gpc_checkpoint *c,
	const char *prefix, struct blobs *to, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->parts.n; i++)
		r = gpc_snapshot_blobs(s->store, c->parts.v[i].head, prefix,
			add_blob, to, err);
	return r;
}

/* What the other records of this attempt need. */
static int needed(struct gpc_saver *s, const struct gpc_checkpoint_ids *ids,
	const struct gpc_checkpoint_id *without, const char *prefix,
	struct blobs *to, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ids->n; i++) {
		gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};

		if (&ids->v[i] == without || ids->v[i].attempt != without->attempt)
			continue;
		r = gpc_checkpoint_get(s->store, s->job, ids->v[i].id, &c, err);
		if (r == -GPC_ENOTFOUND)
			r = 0;        /* removed before */
		else if (r == 0)
			r = add_blobs_of(s, &c, prefix, to, err);
	}
	return r;
}

static int remove_one(struct gpc_saver *s, const struct gpc_checkpoint_ids *ids,
	const struct gpc_checkpoint_id *which, struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	struct blobs old = {0}, rest = {0};
	gpc_key key, prefix;
	int r = gpc_checkpoint_get(s->store, s->job, which->id, &c, err);

	if (r < 0)
		return r == -GPC_ENOTFOUND ? 0 : r;
	gpc_key_attempt(prefix, s->job, which->attempt, "blobs/");
	r = add_blobs_of(s, &c, prefix, &old, err);
	if (r == 0)
		r = needed(s, ids, which, prefix, &rest, err);
	if (r == 0)
		r = gpc_store_del(s->store, gpc_key_checkpoint(key, s->job,
			which->id), err);
	GPC_CRASH("prune.record_deleted");
	for (size_t i = 0; r == 0 && i < old.map.n; i++) {
		if (gpc_map_has(&rest.map, old.map.entries[i].key))
			continue;
		gpc_blob_key(prefix, old.map.entries[i].key, key);
		gpc_strv_add(&keys, key);
	}
	for (size_t at = 0; r == 0 && at < keys.n;) {
		r = gpc_store_del_next(s->store, &keys, &at, err);
		GPC_CRASH("prune.blob_deleted");
	}
	gpc_map_clear(&old.map);
	gpc_map_clear(&rest.map);
	return gpc_wrap(err, r, "prune %s", which->id);
}

int gpc_saver_prune_now(struct gpc_saver *s, int keep,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	int r = gpc_checkpoint_list(s->store, s->job, &ids, err);

	keep = keep < GPC_SPEC_KEEP_DEFAULT ? GPC_SPEC_KEEP_DEFAULT : keep;
	for (size_t i = 0; r == 0 && i + (size_t)keep < ids.n; i++) {
		if (gpc_canceled(cancel))
			break;
		if (gpc_eq(ids.v[i].id, s->pinned))
			continue;
		r = remove_one(s, &ids, &ids.v[i], err);
		if (r != -GPC_EPROTO && r != -GPC_ENOTFOUND)
			continue;
		/* A damaged one stays, as somebody may mend it, and holds up
		 * no other. */
		gpc_log(s->log, GPC_WARN, "%s stays: %s", ids.v[i].id,
			err->msg);
		r = 0;
	}
	return r;
}

/* --- by request ---------------------------------------------------------- */

int64_t gpc_saver_prunes_served(struct gpc_agent *a)
{
	int64_t newest = 0;

	for (int i = 1; a->state.prune_n && i < a->attempt; i++) {
		gpc_auto(gpc_prune_fact) struct gpc_prune_fact f = {0};

		if (gpc_prune_fact_get(a->store, a->job.id, i, &f, NULL) == 0 &&
			f.request > newest)
			newest = f.request;
	}
	return newest;
}

/* What cannot be read shows less than there is: its attempt is left alone. */
static int sweep(struct gpc_saver *s, int attempt,
	const struct gpc_cancel *cancel, struct gpc_swept *swept,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = gpc_prune_sweep(s->store, s->job, attempt, false, NULL, cancel,
		swept, &why);

	if (r == -GPC_EPROTO || r == -GPC_ENOTFOUND) {
		gpc_log(s->log, GPC_WARN, "%s: its blobs stay", why.msg);
		return 0;
	}
	if (r < 0)
		*err = why;
	return r;
}

/* Other ranks save where this one cannot see it: then each checkpoint goes with
 * what only it needed, and nothing is swept. */
static int remove_each(struct gpc_saver *s,
	const struct gpc_checkpoint_ids *ids, const struct gpc_strv *drop,
	struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ids->n; i++)
		if (gpc_strv_has(drop, ids->v[i].id))
			r = remove_one(s, ids, &ids->v[i], err);
	return r;
}

static int sweep_all(struct gpc_saver *s, const struct gpc_cancel *cancel,
	struct gpc_swept *swept, struct gpc_error *err)
{
	int r = 0;

	for (int i = 1; r == 0 && i <= s->attempt; i++)
		if (i < s->held_attempt || (i == s->attempt && !s->all_ranks))
			r = sweep(s, i, cancel, swept, err);
	return r;
}

int gpc_saver_task_prune(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	struct gpc_saver *s = arg;
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_auto(gpc_strv) struct gpc_strv pinned = {0};
	gpc_auto(gpc_prune_fact) struct gpc_prune_fact f = { .v = 1,
		.request = s->prune_n };
	struct gpc_swept swept = {0};
	int r = gpc_checkpoint_list(s->store, s->job, &ids, err);

	if (s->pinned)
		gpc_strv_add(&pinned, s->pinned);
	if (r == 0) {
		gpc_prune_choose(&ids, s->prune_keep, &pinned, &f.removed);
		r = s->all_ranks ? remove_each(s, &ids, &f.removed, err) :
			gpc_prune_heads(s->store, s->job, &f.removed, err);
	}
	if (r == 0)
		r = sweep_all(s, cancel, &swept, err);
	f.blobs = (int64_t)swept.blobs;
	f.bytes = (int64_t)swept.bytes;
	if (r == 0)
		r = gpc_prune_fact_put(s->store, s->job, s->attempt, &f, err);
	return r;
}
