/* See prune.h. Mark and sweep by listing, so that what an earlier crash left is
 * found as well. */
#include "record/prune.h"

#include <string.h>

#include "base/crash.h"
#include "base/map.h"
#include "dep/bind.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

#define FACT "prune.json"
#define FACT_MAX ((size_t)4 << 20)

void gpc_prune_choose(const struct gpc_checkpoint_ids *ids, int keep,
	const struct gpc_strv *pinned, struct gpc_strv *ret_drop)
{
	size_t n = (size_t)(keep < GPC_PRUNE_KEEP_MIN ? GPC_PRUNE_KEEP_MIN :
		keep);

	for (size_t i = 0; i + n < ids->n; i++)
		if (!gpc_strv_has(pinned, ids->v[i].id))
			gpc_strv_add(ret_drop, ids->v[i].id);
}

bool gpc_prune_may_drop(const struct gpc_checkpoint_ids *ids, const char *id)
{
	size_t from = ids->n < GPC_PRUNE_KEEP_MIN ? 0 :
		ids->n - GPC_PRUNE_KEEP_MIN;

	for (size_t i = from; i < ids->n; i++)
		if (gpc_eq(ids->v[i].id, id))
			return false;
	return true;
}

int gpc_prune_heads(struct gpc_store *s, const char *job,
	const struct gpc_strv *drop, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	char label[25];
	gpc_key key;
	int attempt, n, r = 0;

	/* Ids come from an event: only what is one is a key. */
	for (size_t i = 0; i < drop->n; i++)
		if (gpc_checkpoint_id_parse(drop->v[i], &attempt, &n, label))
			gpc_strv_add(&keys, gpc_key_checkpoint(key, job,
				drop->v[i]));
	for (size_t at = 0; r == 0 && at < keys.n;) {
		r = gpc_store_del_next(s, &keys, &at, err);
		GPC_CRASH("prune.head");
	}
	return gpc_wrap(err, r, "prune");
}

/* --- mark -------------------------------------------------------------- */

static int mark_blob(void *arg, const char *sha256, uint64_t size,
	struct gpc_error *err)
{
	(void)size;
	return gpc_map_try_set(arg, sha256, arg) ? 0
		: gpc_fail_memory(err, "the names of blobs");
}

static int mark_head(struct gpc_store *s, const char *job, const char *id,
	const char *prefix, struct gpc_map *needed, struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	struct gpc_error why = {0};
	gpc_key key;
	int r = gpc_checkpoint_get(s, job, id, &c, err);

	if (r == -GPC_ENOTFOUND)
		return 0;               /* another one deleted it */
	for (size_t i = 0; r == 0 && i < c.parts.n; i++)
		r = gpc_snapshot_blobs(s, c.parts.v[i].head, prefix, mark_blob,
			needed, &why);
	/* Another one may have deleted the head meanwhile, and its lists. */
	if ((r == -GPC_ENOTFOUND || r == -GPC_EPROTO) && gpc_store_head(s,
		gpc_key_checkpoint(key, job, id), NULL, NULL) == -GPC_ENOTFOUND)
		return 0;
	if (r < 0 && why.code != GPC_OK && err)
		*err = why;
	return gpc_wrap(err, r, "checkpoint %s", id);
}

static int mark(struct gpc_store *s, const char *job, int attempt,
	const char *prefix, const struct gpc_strv *without,
	struct gpc_map *needed, struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	int r = gpc_checkpoint_list(s, job, &ids, err);

	for (size_t i = 0; r == 0 && i < ids.n; i++)
		if (ids.v[i].attempt == attempt &&
			!(without && gpc_strv_has(without, ids.v[i].id)))
			r = mark_head(s, job, ids.v[i].id, prefix, needed, err);
	return r;
}

/* --- sweep ------------------------------------------------------------- */

struct sweep {
	const struct gpc_map *needed;
	struct gpc_strv keys;
	struct gpc_swept n;
};

static int note_unneeded(void *arg, const struct gpc_object *o)
{
	struct sweep *x = arg;
	const char *name = strrchr(o->key, '/');

	if (!name || gpc_map_has(x->needed, name + 1))
		return 0;
	if (!gpc_strv_try_add(&x->keys, o->key))
		return GPC_LIST_NO_MEMORY;
	x->n.blobs++;
	x->n.bytes += o->size;
	return 0;
}

static int delete_all(struct gpc_store *s, const struct gpc_strv *keys,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < keys->n;) {
		if (gpc_canceled(cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		r = gpc_store_del_next(s, keys, &at, err);
		GPC_CRASH("prune.blob");
	}
	return r;
}

int gpc_prune_sweep(struct gpc_store *s, const char *job, int attempt, bool dry,
	const struct gpc_strv *without, const struct gpc_cancel *cancel,
	struct gpc_swept *ret_swept, struct gpc_error *err)
{
	gpc_auto(gpc_map) struct gpc_map needed = {0};
	struct sweep x = { .needed = &needed };
	gpc_key prefix;
	int r;

	gpc_key_attempt(prefix, job, attempt, "blobs/");
	r = mark(s, job, attempt, prefix, without, &needed, err);
	if (r == 0)
		r = gpc_store_list(s, prefix, NULL, note_unneeded, &x, err);
	if (r == 0 && !dry)
		r = delete_all(s, &x.keys, cancel, err);
	gpc_strv_clear(&x.keys);
	if (r < 0)
		return gpc_wrap(err, r, "prune attempt %d", attempt);
	ret_swept->blobs += x.n.blobs;
	ret_swept->bytes += x.n.bytes;
	return 0;
}

/* --- the agent's fact -------------------------------------------------- */

static const struct gpc_bind fact_fields[] = {
	GPC_BIND(gpc_prune_fact, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_prune_fact, request, I64, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_prune_fact, removed, STRV),
	GPC_BIND(gpc_prune_fact, blobs, I64),
	GPC_BIND(gpc_prune_fact, bytes, I64),
	GPC_BIND(gpc_prune_fact, rest, REST),
	GPC_BIND_LAST
};

void gpc_prune_fact_clear(struct gpc_prune_fact *f)
{
	gpc_bind_clear(fact_fields, f);
}

int gpc_prune_fact_put(struct gpc_store *s, const char *job, int attempt,
	const struct gpc_prune_fact *f, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = gpc_bind_write(fact_fields, f);
	gpc_autostr *text = gpc_json_print(j);
	gpc_key key;

	return gpc_store_put(s, gpc_key_rank(key, job, attempt, 0, FACT), text,
		strlen(text), 0, err);
}

int gpc_prune_fact_get(struct gpc_store *s, const char *job, int attempt,
	struct gpc_prune_fact *ret_f, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = FACT_MAX };
	gpc_key key;
	int r = gpc_store_get(s, gpc_key_rank(key, job, attempt, 0, FACT),
		FACT_MAX, &b, err);

	if (r == -GPC_ENOTFOUND) {
		*ret_f = (struct gpc_prune_fact){0};
		return 0;
	}
	if (r == 0)
		r = gpc_bind_parse(gpc_buf_str(&b), b.len, fact_fields, ret_f,
			err);
	return gpc_wrap(err, r, "%s", key);
}
