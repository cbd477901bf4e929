/* See sweep.h.
 *
 * Against a submit at the same time: it takes a blob for present only when it is
 * younger than 7 days, and puts it again otherwise. A blob that we delete is
 * older than 14 days at the last look, so no submit of the last week counts on
 * it. Between that look and the delete a submit may still renew it: the look is
 * repeated when the delete comes late, the submit looks once more after it has
 * put everything, and jobs that appeared meanwhile are checked at the end. */
#include "core/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/crypto.h"
#include "record/job.h"
#include "record/keys.h"
#include "snapshot/blob.h"
#include "snapshot/snapshot.h"

#define LATE_MS 2000
#define LOOKS 5

_Static_assert(GPC_BLOB_OLD_MS >= 2 * GPC_BLOB_FRESH_MS,
	"a submit needs the time between both");

struct blob {
	uint8_t sum[GPC_SHA256_SIZE];
	uint64_t size;
	bool old, needed, gone;
};
struct sweep {
	struct gpc_session *s;
	const struct gpc_sweep_options *o;
	struct gpc_sweep_result n;
	GPC_VEC(struct blob) blobs;     /* in the order of names */
	struct gpc_map heads;           /* seen: jobs share workspaces */
	struct gpc_strv lost;           /* late check: blobs of new jobs */
	int64_t shown_ms;
};

static void sweep_clear(struct sweep *x)
{
	gpc_vec_free(&x->blobs);
	gpc_map_clear(&x->heads);
	gpc_strv_clear(&x->lost);
}
GPC_CLEANUP_VALUE(sweep);

/* --- what there is --------------------------------------------------------- */

static bool is_old(const struct gpc_object *o)
{
	return o->modified_ms > 0 &&
		o->now_ms - o->modified_ms > GPC_BLOB_OLD_MS;
}

static int note_blob(void *arg, const struct gpc_object *o)
{
	struct sweep *x = arg;
	const char *name = strrchr(o->key, '/');
	struct blob b = { .size = o->size, .old = is_old(o) }, *slot;

	/* What does not look like a blob is not ours to delete. */
	if (!name || !gpc_is_hex(name + 1, 2 * GPC_SHA256_SIZE) ||
		!gpc_unhex(name + 1, b.sum, sizeof(b.sum)))
		return 0;
	slot = gpc_vec_try_push(&x->blobs);
	if (!slot)
		return GPC_LIST_NO_MEMORY;
	*slot = b;
	x->n.total++;
	x->n.total_bytes += o->size;
	return 0;
}

static int by_sum(const void *a, const void *b)
{
	const struct blob *x = a, *y = b;

	return memcmp(x->sum, y->sum, sizeof(x->sum));
}

static struct blob *find(struct sweep *x, const char *hex)
{
	struct blob key;

	if (!x->blobs.n || !gpc_is_hex(hex, 2 * GPC_SHA256_SIZE) ||
		!gpc_unhex(hex, key.sum, sizeof(key.sum)))
		return NULL;
	return bsearch(&key, x->blobs.v, x->blobs.n, sizeof(*x->blobs.v),
		by_sum);
}

/* --- what is needed -------------------------------------------------------- */

static int need(void *arg, const char *hex, uint64_t size,
	struct gpc_error *err)
{
	struct sweep *x = arg;
	struct blob *b = find(x, hex);
	char key[520];
	int r;

	(void)size;
	if (!b)
		return 0;               /* put after we looked: it is young */
	b->needed = true;
	if (!b->gone)
		return 0;
	gpc_blob_key(GPC_BLOBS_COMMON, hex, key);
	r = gpc_store_head(x->s->store, key, NULL, err);
	b->gone = r == -GPC_ENOTFOUND;  /* else it was put again since */
	if (b->gone && !gpc_strv_has(&x->lost, hex) &&
		!gpc_strv_try_add(&x->lost, hex))
		return gpc_fail_memory(err, "the names of blobs");
	return b->gone ? 0 : r;
}

static int need_head(struct sweep *x, const char *hex, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *head = NULL;
	int r;

	if (!hex || gpc_map_has(&x->heads, hex))
		return 0;
	r = need(x, hex, 0, err);
	if (r == 0)
		r = gpc_snapshot_get_head(x->s->store, GPC_BLOBS_COMMON, hex,
			&head, err);
	if (r == 0)
		r = gpc_snapshot_blobs(x->s->store, head, GPC_BLOBS_COMMON,
			need, x, err);
	if (r == 0 && !gpc_map_try_set(&x->heads, hex, x))
		r = gpc_fail_memory(err, "the names of blobs");
	return r;
}

static int need_all_of(struct sweep *x, const struct gpc_job *job,
	struct gpc_error *err)
{
	int r = need_head(x, job->workspace, err);

	if (r == 0 && job->bundle)
		r = need(x, job->bundle, 0, err);
	gpc_vec_each(b, &job->bundles)
		if (r == 0)
			r = need(x, b->value, 0, err);
	for (size_t i = 0; r == 0 && i < job->mounts.n; i++)
		r = need_head(x, job->mounts.v[i].head, err);
	return r;
}

static int mark_job(struct sweep *x, const char *id, struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_key key;
	int r = gpc_job_get(x->s->store, id, &job, err);

	if (r == -GPC_ENOTFOUND)
		return 0;               /* another one removed it meanwhile */
	if (r == 0)
		r = need_all_of(x, &job, err);
	if (r == 0 || gpc_canceled(x->s->cancel))
		return r;
	/* Removed while we looked at what it needs? */
	if (gpc_store_head(x->s->store, gpc_key_job(key, id), NULL, NULL) ==
		-GPC_ENOTFOUND)
		return 0;
	r = gpc_wrap(err, r, "no blob is deleted, as it cannot be told what job "
		"%s needs", id);
	gpc_hint(err, "put the object back from a copy, or remove the job once "
		"it has ended: `gpucloud prune --jobs --older-than 0`");
	return r;
}

static bool goes(const struct sweep *x, const char *id)
{
	if (!x->o->without)
		return false;
	for (size_t i = 0; i < x->o->without->n; i++)
		if (gpc_eq(x->o->without->v[i].job, id))
			return !x->o->without->v[i].left;
	return false;
}

static void show(struct sweep *x, uint64_t done, uint64_t total)
{
	int64_t now = gpc_boot_ms();

	if (!x->o->progress || now - x->shown_ms < 100)
		return;
	x->shown_ms = now;
	x->o->progress(x->o->progress_arg, done, total);
}

static int mark_all(struct sweep *x, const struct gpc_census *c,
	const struct gpc_census *before, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->jobs.n; i++) {
		const char *id = c->jobs.v[i].id;

		if (gpc_canceled(x->s->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (!c->jobs.v[i].has_job || goes(x, id) ||
			(before && gpc_census_find(before, id)))
			continue;
		r = mark_job(x, id, err);
		if (before && r == -GPC_ENOTFOUND && x->lost.n > 0)
			r = 0;          /* that one is lost: go on to the rest */
		show(x, i, c->jobs.n);
	}
	return r;
}

/* --- sweeping -------------------------------------------------------------- */

/* The last look, and at once the delete. */
static int delete_one(struct sweep *x, struct blob *b, struct gpc_error *err)
{
	char hex[GPC_SHA256_HEX], key[520];

	gpc_hex(b->sum, sizeof(b->sum), hex);
	gpc_blob_key(GPC_BLOBS_COMMON, hex, key);
	for (int i = 0; i < LOOKS; i++) {
		struct gpc_object o = {0};
		int64_t asked = gpc_boot_ms();
		int r = gpc_store_head(x->s->store, key, &o, err);

		if (r == -GPC_ENOTFOUND)
			return 0;       /* another sweep was faster */
		if (r < 0)
			return r;
		if (!is_old(&o)) {
			x->n.renewed++;
			return 0;
		}
		if (gpc_boot_ms() - asked > LATE_MS)
			continue;       /* we were stopped: look again */
		GPC_CRASH("sweep.look");
		r = gpc_store_del(x->s->store, key, err);
		GPC_CRASH("sweep.blob");
		if (r < 0)
			return r;
		b->gone = true;
		x->n.blobs++;
		x->n.bytes += b->size;
		return 0;
	}
	return 0;                       /* too slow here: the next time */
}

static int delete_unneeded(struct sweep *x, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < x->blobs.n; i++) {
		struct blob *b = &x->blobs.v[i];

		if (b->needed)
			continue;
		if (!b->old) {
			x->n.young++;
			x->n.young_bytes += b->size;
			continue;
		}
		if (gpc_canceled(x->s->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (!x->o->dry_run) {
			r = delete_one(x, b, err);
			show(x, i, x->blobs.n);
			continue;
		}
		x->n.blobs++;
		x->n.bytes += b->size;
	}
	return r;
}

/* Jobs that came while we swept: their submits looked at their blobs again
 * before job.json, so this finds what can only happen when a delete lay in the
 * network for longer than that. It must not pass in silence. */
static int check_new_jobs(struct sweep *x, const struct gpc_census *before,
	struct gpc_error *err)
{
	gpc_auto(gpc_census) struct gpc_census now = {0};
	gpc_autostr *names = NULL;
	int r = gpc_census_take(x->s, &now, err);

	if (r == 0)
		r = mark_all(x, &now, before, err);
	if (r < 0 || x->lost.n == 0)
		return r;
	names = gpc_strv_join(&x->lost, ", ");
	r = gpc_fail(err, GPC_ECONFLICT, "a job that was submitted at this "
		"moment needs blobs that are deleted: %s", names);
	gpc_hint(err, "submit that job again");
	return r;
}

int gpc_sweep_blobs(struct gpc_session *s, const struct gpc_sweep_options *o,
	struct gpc_sweep_result *ret_x, struct gpc_error *err)
{
	gpc_auto(sweep) struct sweep x = { .s = s, .o = o };
	gpc_auto(gpc_census) struct gpc_census c = {0};
	int r = gpc_store_list(s->store, GPC_BLOBS_COMMON, NULL, note_blob, &x,
		err);

	/* Jobs after blobs: what is put later is younger than what goes. */
	if (r == 0 && x.blobs.n)
		qsort(x.blobs.v, x.blobs.n, sizeof(*x.blobs.v), by_sum);
	if (r == 0)
		r = gpc_census_take(s, &c, err);
	if (r == 0)
		r = mark_all(&x, &c, NULL, err);
	if (r == 0)
		r = delete_unneeded(&x, err);
	if (r == 0 && x.n.blobs > 0 && !o->dry_run)
		r = check_new_jobs(&x, &c, err);
	if (r < 0)
		return gpc_wrap(err, r, "sweep");
	*ret_x = x.n;
	return 0;
}
