/* `gpucloud data cp`: files and objects, one by one or whole folders, up, down, from
 * bucket to bucket and from folder to folder. All sources are looked at before the first byte moves, so that
 * a word that was mistyped costs nothing.
 *
 * A folder is copied as what is in it, to the target itself: so the same command can be
 * given again to go on. Of several sources each gets its own name below the target. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/path.h"
#include "base/vec.h"
#include "cmd/data_verbs.h"
#include "transfer/listing.h"

struct source {
	struct gpc_location at;
	char *base;                     /* its name */
	bool tree;
	bool may_be_one;                /* a tree whose key may be an object's */
	uint64_t size;                  /* of one file */
	int64_t modified_ms;
};

struct copy {
	struct gpc_data_run *x;
	GPC_VEC(struct source) from;
	struct gpc_location to;
	bool into;                      /* the target is a folder */
};

static void copy_clear(struct copy *k)
{
	gpc_data_cut(k->x);
	gpc_vec_each(s, &k->from) {
		gpc_location_clear(&s->at);
		free(s->base);
	}
	gpc_vec_free(&k->from);
	gpc_location_clear(&k->to);
}
GPC_CLEANUP_VALUE(copy);

/* --- sources ----------------------------------------------------------------- */

static int fail_folder(const char *word, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(word, strlen(word));
	int r = gpc_fail(err, GPC_EUSAGE, "%.300s is a folder", shown);

	gpc_hint(err, "-r copies all that is in it");
	return r;
}

static int look_at_file(struct copy *k, struct source *s, struct gpc_error *err)
{
	struct stat st;

	if (stat(s->at.path, &st) < 0)
		return gpc_fail_sys(err, errno, "%s", s->at.path);
	if (S_ISDIR(st.st_mode)) {
		s->tree = true;
		return k->x->o->recursive ? 0 : fail_folder(s->at.path, err);
	}
	if (!S_ISREG(st.st_mode))
		return gpc_fail(err, GPC_EUSAGE, "%s is no file and no folder",
			s->at.path);
	s->size = (uint64_t)st.st_size;
	s->modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 +
		st.st_mtim.tv_nsec / 1000000;
	return 0;
}

/* Nothing has this key: perhaps a folder was meant. */
static void hint_at_folder(const struct source *s, struct gpc_error *err)
{
	gpc_autostr *prefix = gpc_format("%s/", s->at.key);
	bool any, is_one;

	if (gpc_objects_first(s->at.objects, prefix, &any, &is_one, NULL,
		NULL) == 0 && any)
		gpc_hint(err, "there is a folder of that name; -r copies all "
			"that is in it");
}

static int look_at_one(struct source *s, struct gpc_error *err)
{
	int r = gpc_location_look(&s->at, &s->size, &s->modified_ms, err);

	if (r == -GPC_ENOTFOUND)
		hint_at_folder(s, err);
	return r;
}

static int look_at_object(struct copy *k, struct source *s,
	struct gpc_error *err)
{
	bool folder = gpc_location_says_folder(&s->at);

	if (!k->x->o->recursive)
		return folder ? fail_folder(s->at.word, err) :
			look_at_one(s, err);
	s->tree = true;
	s->may_be_one = !folder;
	return 0;
}

static int add_source(struct copy *k, const char *word, struct gpc_error *err)
{
	struct source *s = gpc_vec_push(&k->from);
	int r = gpc_data_location(k->x, word, &s->at, err);

	if (r)
		return r;
	s->base = gpc_location_base(&s->at);
	return s->at.path ? look_at_file(k, s, err) :
		look_at_object(k, s, err);
}

/* --- the target -------------------------------------------------------------- */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int fail_no_folder(const struct copy *k, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_EUSAGE, "%s: several sources need a folder as "
		"their target", k->to.word);

	gpc_hint(err, k->to.path ? "make it, or end its name in \"/\"" :
		"end its name in \"/\"");
	return r;
}

static int open_target(struct copy *k, const char *word, struct gpc_error *err)
{
	int r = gpc_data_location(k->x, word, &k->to, err);

	if (r)
		return r;
	k->into = gpc_location_says_folder(&k->to) ||
		(k->to.path && is_folder(k->to.path));
	return k->into || k->from.n == 1 ? 0 : fail_no_folder(k, err);
}

/* A name that a source could get below a folder. */
static bool has_name(const struct source *s)
{
	return *s->base && !gpc_eq(s->base, ".") && !gpc_eq(s->base, "..");
}

static int check_pair(const struct copy *k, const struct source *s,
	struct gpc_error *err)
{
	struct stat st;

	if (s->tree && k->to.path && stat(k->to.path, &st) == 0 &&
		!S_ISDIR(st.st_mode))
		return gpc_fail_no_folder(k->to.path, err);
	if (k->into && !has_name(s) && (!s->tree || k->from.n > 1))
		return gpc_fail(err, GPC_EUSAGE, "%s has no name that it could "
			"get below %s", s->at.word, k->to.word);
	if (s->tree && gpc_location_overlap(&s->at, &k->to, k->from.n > 1 ?
		s->base : NULL))
		return gpc_fail(err, GPC_EUSAGE, "%s and %s: one lies in the "
			"other", s->at.word, k->to.word);
	return 0;
}

/* Of two sources with one name the second would take the first one's place. */
static int check_names(const struct copy *k, struct gpc_error *err)
{
	gpc_auto(gpc_map) struct gpc_map seen = {0};

	for (size_t i = 0; i < k->from.n; i++) {
		const struct source *s = &k->from.v[i];
		const struct source *twin = gpc_map_get(&seen, s->base);
		int r = check_pair(k, s, err);

		if (r)
			return r;
		if (twin)
			return gpc_fail(err, GPC_ECONFLICT, "%s and %s would "
				"both become %s", twin->at.word, s->at.word,
				s->base);
		gpc_map_set(&seen, s->base, &k->from.v[i]);
	}
	return 0;
}

static int check_options(const struct copy *k, struct gpc_error *err)
{
	const struct data *o = k->x->o;

	if (o->storage_class && k->to.path)
		return gpc_fail(err, GPC_EUSAGE, "--storage-class is for what "
			"is copied into a bucket");
	if (o->shard && (k->from.n > 1 || !k->from.v[0].tree))
		return gpc_fail(err, GPC_EUSAGE, "--shard divides one folder, "
			"with -r");
	return 0;
}

/* --- copying ----------------------------------------------------------------- */

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
		x.st_ino == y.st_ino;
}

/* A copy of something onto itself would be one that is read while it is written. */
static int check_itself(const struct copy *k, const struct source *s,
	const char *below, struct gpc_error *err)
{
	gpc_autostr *from = gpc_location_name(&s->at, NULL);
	gpc_autostr *to = gpc_location_name(&k->to, below);

	if (s->at.path && k->to.path) {
		if (!same_file(from, to))
			return 0;
	} else if (s->at.path || k->to.path || !gpc_eq(from, to) ||
		!gpc_location_overlap(&s->at, &k->to, below)) {
		return 0;
	}
	return gpc_fail(err, GPC_EUSAGE, "%s would be copied onto itself", from);
}

static int copy_one(struct copy *k, const struct source *s,
	struct gpc_error *err)
{
	const char *below = k->into ? s->base : NULL;
	const struct gpc_data_move m = { &s->at, &k->to, NULL, below, s->size,
		s->modified_ms };
	int r = check_itself(k, s, below, err);

	return r ? r : gpc_data_add(k->x, &m, err);
}

/* Nothing lies below it: then it may be an object of that very name. */
static int copy_as_one(struct copy *k, struct source *s, struct gpc_error *err)
{
	char *end = s->at.key + strlen(s->at.key) - 1;
	int r;

	if (s->may_be_one) {
		*end = '\0';
		r = look_at_one(s, err);
	} else {
		r = gpc_location_fail_nothing(&s->at, NULL, err);
	}
	return r ? r : copy_one(k, s, err);
}

static int run_feed(struct copy *k, const struct source *s, struct gpc_feed *f,
	struct gpc_error *err)
{
	gpc_autostr *prefix = k->from.n > 1 ? gpc_format("%s/", s->base) :
		gpc_strdup("");
	const struct gpc_data_tree tree = { .from = &s->at, .to = &k->to,
		.to_prefix = prefix };

	return gpc_data_add_feed(k->x, f, &tree, err);
}

static int copy_tree(struct copy *k, struct source *s, struct gpc_error *err)
{
	struct gpc_listing list = { .location = &s->at,
		.filter = k->x->filter };
	struct gpc_shard_feed part = { .shard = k->x->shard };
	const struct gpc_cancel *cancel = k->x->c->cancel;
	gpc_autoptr(gpc_feed) *all = NULL;
	gpc_autoptr(gpc_feed) *own = NULL;
	struct gpc_feed_counts n;
	int r;

	gpc_location_make_folder(&s->at);
	gpc_location_make_folder(&k->to);
	r = gpc_feed_start(gpc_listing_run, &list, cancel, &all, err);
	part.from = all;
	if (!r && k->x->shard.n)
		r = gpc_feed_start(gpc_shard_run, &part, cancel, &own, err);
	if (!r)
		r = run_feed(k, s, own ? own : all, err);
	if (r)
		return r;
	gpc_feed_counts(all, &n);
	return n.files || s->at.path || k->x->o->patterns.n ? 0 :
		copy_as_one(k, s, err);
}

static int copy_all(struct copy *k, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < k->from.n; i++)
		r = k->from.v[i].tree ? copy_tree(k, &k->from.v[i], err) :
			copy_one(k, &k->from.v[i], err);
	return r ? r : gpc_data_wait(k->x, err);
}

static bool has_pipe(const char *const *argv, int argc)
{
	for (int i = 0; i < argc; i++)
		if (gpc_eq(argv[i], "-"))
			return true;
	return false;
}

int gpc_data_cp(struct gpc_cmd *c, const char *const *argv, int argc,
	struct gpc_error *err)
{
	if (argc > 2 && has_pipe(argv, argc))
		return gpc_fail(err, GPC_EUSAGE, "- is the only source, or the "
			"target of one");
	if (has_pipe(argv, argc))
		return gpc_data_pipe(c, argv[0], argv[1], err);
	gpc_auto(gpc_data_run) struct gpc_data_run x = { .c = c };
	gpc_auto(copy) struct copy k = { .x = &x };
	int r = gpc_data_open(&x, err);

	for (int i = 0; !r && i < argc - 1; i++)
		r = add_source(&k, argv[i], err);
	if (!r)
		r = open_target(&k, argv[argc - 1], err);
	if (!r)
		r = check_names(&k, err);
	if (!r)
		r = check_options(&k, err);
	if (r)
		return r;
	x.alone = k.from.n == 1 && !k.from.v[0].tree;
	r = copy_all(&k, err);
	return gpc_data_end(&x, r, err);
}
