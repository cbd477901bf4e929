/* `gpucloud data sync`: makes the target hold what the source holds, copying what is
 * missing or differs. Both lists are read side by side, so it takes no more memory for
 * more files, but for the names of what is to be deleted.
 *
 * --delete comes last, and only when everything before it has succeeded: a source that
 * could not be read whole looks as if it had less. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/path.h"
#include "cmd/data_verbs.h"
#include "cmd/phrase.h"
#include "transfer/compare.h"
#include "transfer/listing.h"
#include "transfer/packed.h"

enum { BATCH = 1000 };

struct sync {
	struct gpc_data_run *x;
	struct gpc_location from, to;
	struct gpc_packed surplus;
	uint64_t kept;                  /* surplus behind links */
	struct gpc_feed_counts source;  /* what the source has */
};

static void sync_clear(struct sync *s)
{
	gpc_data_cut(s->x);
	gpc_location_clear(&s->from);
	gpc_location_clear(&s->to);
	gpc_packed_clear(&s->surplus);
}
GPC_CLEANUP_VALUE(sync);

/* --- before ------------------------------------------------------------------ */

static int check_source(struct sync *s, struct gpc_error *err)
{
	struct stat st;

	gpc_location_make_folder(&s->from);
	if (!s->from.path)
		return 0;
	if (stat(s->from.path, &st) < 0)
		return gpc_fail_sys(err, errno, "%s", s->from.path);
	if (S_ISDIR(st.st_mode))
		return 0;
	gpc_fail(err, GPC_EUSAGE, "%s is no folder", s->from.path);
	gpc_hint(err, "`gpucloud data cp` copies a single file");
	return -GPC_EUSAGE;
}

static int check_target(struct sync *s, struct gpc_error *err)
{
	struct stat st;

	gpc_location_make_folder(&s->to);
	if (s->to.path && stat(s->to.path, &st) == 0 && !S_ISDIR(st.st_mode))
		return gpc_fail_no_folder(s->to.path, err);
	return 0;
}

static int check(struct sync *s, struct gpc_error *err)
{
	const struct data *o = s->x->o;

	if (gpc_location_overlap(&s->from, &s->to, NULL))
		return gpc_fail(err, GPC_EUSAGE, "%s and %s: one lies in the "
			"other", s->from.word, s->to.word);
	if (o->storage_class && s->to.path)
		return gpc_fail(err, GPC_EUSAGE, "--storage-class is for what "
			"is copied into a bucket");
	if (o->remove && o->shard) {
		gpc_fail(err, GPC_EUSAGE, "--delete does not go with --shard: "
			"what the source lacks is in nobody's part");
		gpc_hint(err, "one node can sync with --delete when all are "
			"done");
		return -GPC_EUSAGE;
	}
	return 0;
}

/* --- copying ----------------------------------------------------------------- */

static int keep_surplus(void *arg, const struct gpc_listed *l,
	struct gpc_error *err)
{
	struct sync *s = arg;

	/* what a link leads to is not the target's */
	if (l->flags & GPC_LISTED_LINKED) {
		s->kept++;
		return 0;
	}
	return gpc_packed_add(&s->surplus, l, err);
}

static int read_feeds(struct sync *s, struct gpc_feed *all,
	struct gpc_feed *own, struct gpc_feed *target, struct gpc_error *err)
{
	struct gpc_compare how = {
		.from = own ? own : all, .to = target,
		.times = s->to.path ? GPC_COMPARE_OTHER : GPC_COMPARE_NEWER,
		.surplus = s->x->o->remove,
	};
	const struct gpc_data_tree tree = {
		.from = &s->from, .to = &s->to, .to_prefix = "",
		.surplus = keep_surplus, .arg = s,
	};
	gpc_autoptr(gpc_feed) *f = NULL;
	int r = gpc_feed_start(gpc_compare_run, &how, s->x->c->cancel, &f, err);

	if (!r)
		r = gpc_data_add_feed(s->x, f, &tree, err);
	if (!r)
		gpc_feed_counts(all, &s->source);
	return r;
}

static int copy(struct sync *s, struct gpc_error *err)
{
	const struct gpc_cancel *cancel = s->x->c->cancel;
	struct gpc_listing from = { .location = &s->from,
		.filter = s->x->filter };
	struct gpc_listing to = { .location = &s->to, .filter = s->x->filter,
		.may_lack = true };
	struct gpc_shard_feed part = { .shard = s->x->shard };
	gpc_autoptr(gpc_feed) *all = NULL;
	gpc_autoptr(gpc_feed) *own = NULL;
	gpc_autoptr(gpc_feed) *target = NULL;
	int r = gpc_feed_start(gpc_listing_run, &from, cancel, &all, err);

	part.from = all;
	if (!r && s->x->shard.n)
		r = gpc_feed_start(gpc_shard_run, &part, cancel, &own, err);
	if (!r)
		r = gpc_feed_start(gpc_listing_run, &to, cancel, &target, err);
	if (!r)
		r = read_feeds(s, all, own, target, err);
	return r ? r : gpc_data_wait(s->x, err);
}

/* --- deleting ---------------------------------------------------------------- */

static void note_removed(struct sync *s, const char *key, uint64_t size)
{
	gpc_autostr *name = gpc_location_name(&s->to, key);

	s->x->n.removed++;
	gpc_data_did(s->x, NULL, name, size);
}

static void remove_file(struct sync *s, const struct gpc_listed *l)
{
	gpc_autostr *path = gpc_location_at(&s->to, l->key);
	struct gpc_error why = {0};

	if (unlink(path) == 0 || errno == ENOENT) {
		note_removed(s, l->key, l->size);
		return;
	}
	gpc_fail_sys(&why, errno, "cannot delete %s", path);
	gpc_data_failed(s->x, NULL, path, &why);
}

struct batch {
	struct sync *s;
	struct gpc_strv keys;           /* whole ones */
	struct gpc_map stay;            /* those that could not be deleted */
};

static void stays(void *arg, const char *key, const struct gpc_error *why)
{
	struct batch *b = arg;
	gpc_autostr *name = gpc_objects_name(b->s->to.objects, key);

	gpc_map_set(&b->stay, key, b);
	gpc_data_failed(b->s->x, NULL, name, why);
}

/* One that cannot be deleted holds up no other; a refusal of all ends it. */
static int remove_batch(struct batch *b, struct gpc_error *err)
{
	size_t skip = strlen(b->s->to.key);
	struct gpc_error why = {0};
	int r = gpc_objects_delete(b->s->to.objects, &b->keys, stays, b, &why);

	for (size_t i = 0; i < b->keys.n; i++)
		if (!r || (b->stay.n && !gpc_map_has(&b->stay, b->keys.v[i])))
			note_removed(b->s, b->keys.v[i] + skip, 0);
	if (b->stay.n && r != -GPC_ECANCELED)
		r = 0;                  /* they have been told */
	gpc_strv_clear(&b->keys);
	gpc_map_clear(&b->stay);
	if (r)
		*err = why;
	return r;
}

static int remove_objects(struct sync *s, struct gpc_packed_reader *reader,
	struct gpc_error *err)
{
	struct batch b = { .s = s };
	struct gpc_listed l;
	int r = 0;

	while (!r && gpc_packed_next(reader, &l)) {
		gpc_strv_take(&b.keys, gpc_location_at(&s->to, l.key));
		if (b.keys.n < BATCH)
			continue;
		r = remove_batch(&b, err);
		if (!s->x->n.removed)
			break;          /* nor will the next ones go */
	}
	if (!r && b.keys.n)
		r = remove_batch(&b, err);
	gpc_strv_clear(&b.keys);
	return r;
}

static int remove_all(struct sync *s, struct gpc_error *err)
{
	gpc_auto(gpc_packed_reader) struct gpc_packed_reader reader = {
		.p = &s->surplus };
	bool dry = s->x->o->dry_run;
	struct gpc_listed l;

	if (!dry && !s->to.path)
		return remove_objects(s, &reader, err);
	while (gpc_packed_next(&reader, &l)) {
		if (gpc_canceled(s->x->c->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (dry)
			note_removed(s, l.key, l.size);
		else
			remove_file(s, &l);
	}
	return 0;
}

/* A mistyped source looks just like one that was emptied. */
static int confirm(struct sync *s, struct gpc_error *err)
{
	gpc_autostr *files = gpc_phrase_count(s->surplus.n, s->to.path ?
		"file" : "object");
	gpc_autostr *from = gpc_location_name(&s->from, NULL);
	gpc_autostr *to = gpc_location_name(&s->to, NULL);
	int r;

	if (s->source.files || s->x->o->yes || s->x->o->dry_run)
		return 0;
	if (gpc_can_ask(&s->x->c->talk)) {
		if (gpc_ask(&s->x->c->talk, "%s is empty. Delete all of %s, "
			"%s?", from, to, files))
			return 0;
		return gpc_fail(err, GPC_ECANCELED, "nothing was deleted");
	}
	r = gpc_fail(err, GPC_EUSAGE, "%s is empty: --delete would delete all of "
		"%s, %s", from, to, files);
	gpc_hint(err, "if that is what you want, pass -y");
	return r;
}

static int delete_surplus(struct sync *s, struct gpc_error *err)
{
	int r;

	if (s->kept)
		gpc_log(&s->x->c->log, GPC_WARN, "files behind links in %s are "
			"not deleted: %" PRIu64, s->to.path, s->kept);
	if (!s->surplus.n)
		return 0;
	if (s->x->n.failed) {
		gpc_log(&s->x->c->log, GPC_WARN, "nothing is deleted, as not "
			"everything has succeeded");
		return 0;
	}
	r = confirm(s, err);
	return r ? r : remove_all(s, err);
}

int gpc_data_sync(struct gpc_cmd *c, const char *from, const char *to,
	struct gpc_error *err)
{
	gpc_auto(gpc_data_run) struct gpc_data_run x = { .c = c };
	gpc_auto(sync) struct sync s = { .x = &x };
	int r = gpc_data_open(&x, err);

	if (!r)
		r = gpc_data_location(&x, from, &s.from, err);
	if (!r)
		r = gpc_data_location(&x, to, &s.to, err);
	if (!r)
		r = check_source(&s, err);
	if (!r)
		r = check_target(&s, err);
	if (!r)
		r = check(&s, err);
	if (r)
		return r;
	r = copy(&s, err);
	if (!r && !s.source.files && !x.n.failed)
		gpc_log(&c->log, GPC_WARN, "%s: nothing is there", from);
	if (!r)
		r = delete_surplus(&s, err);
	return gpc_data_end(&x, r, err);
}
