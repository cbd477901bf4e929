/* See whole.h. A checkpoint shares blobs with the one before it, so what is
 * offered instead of a damaged one is looked at itself: quickly before anything
 * is paid for, deeply once a byte is known to be wrong. */
#include "record/whole.h"

#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "base/time.h"
#include "record/checkpoint.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

#define DEEP_MAX ((int64_t)8 << 30)

/* --- quick ----------------------------------------------------------------- */
struct looking {
	struct gpc_map sizes;           /* sha256 -> size + 1 */
};

static int note_size(void *arg, const struct gpc_object *o)
{
	struct looking *l = arg;
	const char *name = strrchr(o->key, '/');

	return gpc_map_try_set(&l->sizes, name ? name + 1 : o->key,
		(void *)((uintptr_t)o->size + 1)) ? 0 : GPC_LIST_NO_MEMORY;
}

static int check_blob(void *arg, const char *hex, uint64_t size,
	struct gpc_error *err)
{
	struct looking *l = arg;
	uintptr_t has = (uintptr_t)gpc_map_get(&l->sizes, hex);

	if (!has)
		return gpc_fail(err, GPC_EPROTO, "blob %s is missing", hex);
	if (has - 1 != size)
		return gpc_fail(err, GPC_EPROTO, "blob %s has %llu bytes "
			"instead of %llu", hex, (unsigned long long)(has - 1),
			(unsigned long long)size);
	return 0;
}

static int look_quickly(struct gpc_store *s, const char *prefix,
	const struct gpc_checkpoint *c, struct gpc_error *err)
{
	struct looking l = {0};
	int r = gpc_store_list(s, prefix, NULL, note_size, &l, err);

	for (size_t i = 0; r == 0 && i < c->parts.n; i++)
		r = gpc_snapshot_blobs(s, c->parts.v[i].head, prefix, check_blob,
			&l, err);
	gpc_map_clear(&l.sizes);
	return r;
}

/* --- deep ------------------------------------------------------------------ */
struct deep {
	const struct gpc_cancel *outer;
	struct gpc_cancel stop;
	int64_t until_ms;
	char *first;                    /* what is wrong */
};

static void keep_first(void *arg, const char *path, const char *blob,
	const char *what)
{
	struct deep *d = arg;

	if (!d->first)
		d->first = gpc_format("%s%s%s%s%s", path ? path : "",
			path ? ": " : "", what, blob ? ": blob " : "",
			blob ? blob : "");
}

static void watch_clock(void *arg, uint64_t done, uint64_t total)
{
	struct deep *d = arg;

	(void)done;
	(void)total;
	if (gpc_canceled(d->outer) || gpc_boot_ms() >= d->until_ms)
		d->stop.signal = 1;
}

static int look_deeply(struct gpc_store *s, const char *prefix,
	const struct gpc_checkpoint *c, int64_t until_ms,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_autoptr(gpc_verified) *known = gpc_verified_new();
	struct deep d = { .outer = cancel, .until_ms = until_ms };
	struct gpc_verify_options o = { .known = known, .cancel = cancel };
	int r = 0;

	if (until_ms < INT64_MAX) {
		o.cancel = &d.stop;
		o.progress = watch_clock;
		o.progress_arg = &d;
		watch_clock(&d, 0, 0);
	}
	for (size_t i = 0; r == 0 && !d.first && !d.stop.signal &&
		i < c->parts.n; i++)
		r = gpc_snapshot_verify(s, c->parts.v[i].head, prefix, &o,
			keep_first, &d, err);
	/* What the time did not suffice for counts as whole. */
	if (r == -GPC_ECANCELED && d.stop.signal && !gpc_canceled(cancel))
		r = 0;
	if (d.first && (r == 0 || r == -GPC_ECANCELED))
		r = gpc_fail(err, GPC_EPROTO, "%s", d.first);
	free(d.first);
	return r;
}

static int look(struct gpc_store *s, const char *job, const char *id,
	int64_t deep_until_ms, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	gpc_key prefix;
	int r = gpc_checkpoint_get(s, job, id, &c, err);

	if (r < 0)
		return r;
	gpc_key_attempt(prefix, job, c.attempt, "blobs/");
	r = look_quickly(s, prefix, &c, err);
	if (r == 0 && deep_until_ms && c.bytes <= DEEP_MAX)
		r = look_deeply(s, prefix, &c, deep_until_ms, cancel, err);
	/* A blob that went between the listing and its reading. */
	if (r == -GPC_ENOTFOUND)
		r = gpc_fail(err, GPC_EPROTO, "a blob is missing");
	return r;
}

int gpc_whole_look(struct gpc_store *s, const char *job, const char *id,
	enum gpc_whole how, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	return look(s, job, id, how == GPC_WHOLE_DEEP ? INT64_MAX : 0, cancel,
		err);
}

int gpc_whole_look_until(struct gpc_store *s, const char *job, const char *id,
	int64_t until_ms, const struct gpc_cancel *cancel, struct gpc_error *err)
{
	return look(s, job, id, until_ms, cancel, err);
}

/* --- blame ----------------------------------------------------------------- */
static char *newest_other(struct gpc_store *s, const char *job, const char *id,
	enum gpc_whole how, const struct gpc_cancel *cancel)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};

	if (gpc_checkpoint_list(s, job, &ids, NULL) < 0)
		return NULL;
	for (size_t i = ids.n; i-- > 0 && !gpc_canceled(cancel);)
		if (!gpc_eq(ids.v[i].id, id) && gpc_whole_look(s, job,
			ids.v[i].id, how, cancel, NULL) == 0)
			return gpc_strdup(ids.v[i].id);
	return NULL;
}

static void hint_next(const char *job, const char *other,
	enum gpc_whole_use use, struct gpc_error *err)
{
	if (!other)
		gpc_hint(err, "`gpucloud checkpoint verify --all %s` shows what "
			"is left of them; no other one is whole", job);
	else if (use == GPC_WHOLE_PULL)
		gpc_hint(err, "`gpucloud checkpoint pull %s %s` fetches the "
			"newest whole one; see `gpucloud checkpoint verify %s`",
			job, other, job);
	else
		gpc_hint(err, "`gpucloud resume %s --checkpoint %s` starts from "
			"the newest whole one; see `gpucloud checkpoint verify "
			"%s`", job, other, job);
}

int gpc_whole_blame(struct gpc_store *s, const char *job, const char *id,
	enum gpc_whole how, enum gpc_whole_use use,
	const struct gpc_cancel *cancel, int r, struct gpc_error *err)
{
	gpc_autostr *other = NULL;
	struct gpc_error why = {0};
	int seen;

	if (r == 0 || !err)
		return r;
	if (r != -GPC_EPROTO && r != -GPC_ENOTFOUND)
		return gpc_wrap(err, r, "checkpoint %s", id);
	/* Not found may also mean the place that it is restored to. */
	seen = r == -GPC_ENOTFOUND ? gpc_whole_look(s, job, id, GPC_WHOLE_QUICK,
		cancel, &why) : 0;
	if (seen == -GPC_EPROTO) {
		*err = why;
		r = seen;
	}
	if (r == -GPC_EPROTO)
		gpc_wrap(err, r, "checkpoint %s of job %s is damaged", id, job);
	else if (seen == -GPC_ENOTFOUND)
		*err = why;
	else
		return gpc_wrap(err, r, "checkpoint %s", id);
	other = newest_other(s, job, id, how, cancel);
	hint_next(job, other, use, err);
	return r;
}
