/* See source.h. */
#include "transfer/source.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "transfer/feed.h"

struct opened {
	const struct gpc_source *how;
	struct gpc_objects *objects;
	char *key;                      /* of a tree: "" or ends in "/" */
	bool tree;
	uint64_t size;                  /* of one object */
	int64_t modified_ms;
};

static void opened_clear(struct opened *o)
{
	gpc_objects_free(o->objects);
	free(o->key);
}
GPC_CLEANUP_VALUE(opened);

/* --- one object or many ------------------------------------------------------- */

static void take(struct opened *o, const struct gpc_object_info *info)
{
	o->size = info->size;
	o->modified_ms = info->modified_ms;
}

static int look_in_list(struct opened *o, bool *ret_found, struct gpc_error *err)
{
	struct gpc_object_info info;
	bool any;
	int r = gpc_objects_first(o->objects, o->key, &any, ret_found, &info, err);

	if (r == 0 && *ret_found)
		take(o, &info);
	return r;
}

/* A refusal of HEAD has no words, and whoever may list needs no HEAD; one who may
 * not list can still read the object. */
static int look_for_one(struct opened *o, bool *ret_found, struct gpc_error *err)
{
	struct gpc_object_info info;
	struct gpc_error why = {0};
	gpc_autostr *keep = NULL;
	int r = gpc_objects_head(o->objects, o->key, &info, &keep, &why);

	*ret_found = r == 0;
	if (r == 0)
		take(o, &info);
	if (r == -GPC_EAUTH)
		return look_in_list(o, ret_found, err);
	if (r < 0 && r != -GPC_ENOTFOUND && err)
		*err = why;
	return r == -GPC_ENOTFOUND ? 0 : r;
}

static int fail_nothing(const struct opened *o, struct gpc_error *err)
{
	gpc_autostr *name = gpc_objects_name(o->objects, o->key);
	int r = gpc_fail(err, GPC_ENOTFOUND, "%s: nothing is there", name);

	gpc_hint(err, "`gpucloud data ls` shows what a bucket has");
	return r;
}

static int fail_one(const struct opened *o, struct gpc_error *err)
{
	gpc_autostr *name = gpc_objects_name(o->objects, o->key);
	int r = gpc_fail(err, GPC_ECONFIG, "%s is one object: only a bucket or a "
		"folder in it can be mounted", name);

	gpc_hint(err, "mode: COPY copies an object");
	return r;
}

static void make_folder(struct opened *o)
{
	char *key = gpc_format("%s/", o->key);

	free(o->key);
	o->key = key;
	o->tree = true;
}

/* A key without a slash at its end: the object of that name, else a folder. */
static int decide(struct opened *o, struct gpc_error *err)
{
	bool found = false;
	int r = look_for_one(o, &found, err);

	if (r < 0 || (found && !o->how->folder))
		return r;
	if (found)
		return fail_one(o, err);
	make_folder(o);
	return 0;
}

static int open_source(const struct gpc_source *s, struct gpc_net *net,
	struct opened *o, struct gpc_error *err)
{
	int r = gpc_objects_open(s->url, net, s->log, s->cancel, &o->objects,
		&o->key, err);

	o->how = s;
	if (r < 0)
		return r;
	o->tree = !*o->key || gpc_ends_with(o->key, "/");
	return o->tree ? 0 : decide(o, err);
}

/* Folders that somebody made by hand are empty objects; what is in them makes them
 * on the node. */
static bool is_file(const char *below, const struct gpc_object_info *info)
{
	return *below && (info->size || !gpc_ends_with(below, "/"));
}

/* --- counting ------------------------------------------------------------------ */

struct count { struct gpc_source_found *f; size_t skip; uint64_t most; };

static int count_one(void *arg, const char *key,
	const struct gpc_object_info *info)
{
	struct count *c = arg;

	if (!is_file(key + c->skip, info))
		return 0;
	if (c->f->files >= c->most) {
		c->f->complete = false;
		return 1;
	}
	c->f->files++;
	c->f->bytes += info->size;
	return 0;
}

static int count_all(const struct opened *o, uint64_t most,
	struct gpc_source_found *f, struct gpc_error *err)
{
	struct count c = { f, strlen(o->key), most };
	int r;

	if (!o->tree) {
		f->files = 1;
		f->bytes = o->size;
		return 0;
	}
	r = gpc_objects_list(o->objects, o->key, NULL, NULL, count_one, &c, err);
	return r == 0 && !f->files && !o->how->folder ? fail_nothing(o, err) : r;
}

int gpc_source_look(const struct gpc_source *s, uint64_t most,
	struct gpc_source_found *ret_f, struct gpc_error *err)
{
	const struct gpc_net_settings how = { .ca_file = s->ca_file,
		.cancel = s->cancel, .log = s->log };
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_auto(opened) struct opened o = {0};
	struct gpc_source_found f = { .complete = true };
	int r = open_source(s, net, &o, err);

	if (r == 0)
		r = count_all(&o, most, &f, err);
	if (r < 0)
		return r;
	f.tree = o.tree;
	*ret_f = f;
	return 0;
}

/* --- copying ------------------------------------------------------------------- */

struct fetch {
	struct opened o;
	const struct gpc_source_target *to;
	struct gpc_transfer *transfer;
	uint64_t kept;                  /* files that were there */
	uint64_t added;
	struct gpc_error first;         /* of what failed; code 0: nothing */
};

static void fetch_clear(struct fetch *x)
{
	if (x->transfer)
		gpc_transfer_cut(x->transfer);
	opened_clear(&x->o);
	gpc_transfer_free(x->transfer);
}
GPC_CLEANUP_VALUE(fetch);

static void done(void *arg, const struct gpc_transfer_item *item, int r,
	const struct gpc_error *err)
{
	struct fetch *x = arg;

	(void)item;
	if (r < 0 && !x->first.code)
		x->first = *err;
}

static void show(void *arg, const struct gpc_transfer_counts *counts)
{
	struct fetch *x = arg;

	if (x->to->progress)
		x->to->progress(x->to->arg, counts);
}

static int check(const struct fetch *x, struct gpc_error *err)
{
	if (!x->first.code)
		return 0;
	if (err)
		*err = x->first;
	return -(int)x->first.code;
}

/* A download gets its object's time, of which services tell whole seconds. */
static bool is_there(const char *path, uint64_t size, int64_t modified_ms)
{
	struct stat st;

	return modified_ms && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		(uint64_t)st.st_size == size &&
		(int64_t)st.st_mtime == modified_ms / 1000;
}

static int add(struct fetch *x, const char *key, const char *below,
	uint64_t size, int64_t modified_ms, struct gpc_error *err)
{
	gpc_autostr *at = below ? gpc_path_join(x->to->path, below) : NULL;
	const struct gpc_transfer_item item = {
		.from = { .objects = x->o.objects, .key = key },
		.to = { .path = x->to->path, .below = below },
		.size = (int64_t)size, .modified_ms = modified_ms,
	};
	int r;

	if (is_there(below ? at : x->to->path, size, modified_ms)) {
		x->kept++;
		return 0;
	}
	x->added++;
	r = gpc_transfer_add(x->transfer, &item, err);
	return r < 0 ? r : check(x, err);
}

static int fetch_one(struct fetch *x, struct gpc_error *err)
{
	gpc_autostr *dir = x->to->into ? gpc_strdup(x->to->path) :
		gpc_path_dir(x->to->path);
	int r = gpc_mkdirs(dir, 0755, err);

	return r < 0 ? r : add(x, x->o.key, x->to->into ?
		gpc_path_base(x->o.key) : NULL, x->o.size, x->o.modified_ms,
		err);
}

struct listing { struct fetch *x; struct gpc_feed *out; int r; struct gpc_error *err; };

static int put(void *arg, const char *key, const struct gpc_object_info *info)
{
	struct listing *l = arg;
	const struct gpc_listed one = { .key = key + strlen(l->x->o.key),
		.size = info->size, .modified_ms = info->modified_ms };

	if (!is_file(one.key, info))
		return 0;
	l->r = gpc_feed_put(l->out, &one, l->err);
	return l->r != 0;
}

static int list(void *arg, struct gpc_feed *out, struct gpc_error *err)
{
	struct listing l = { .x = arg, .out = out, .err = err };
	int r = gpc_objects_list(l.x->o.objects, l.x->o.key, NULL, NULL, put, &l,
		err);

	return r ? r : l.r;
}

static int fetch_tree(struct fetch *x, struct gpc_error *err)
{
	gpc_autoptr(gpc_feed) *feed = NULL;
	enum gpc_feed_state state = GPC_FEED_LATER;
	struct gpc_listed l;
	int r = gpc_mkdirs(x->to->path, 0755, err);

	if (r == 0)
		r = gpc_feed_start(list, x, x->o.how->cancel, &feed, err);
	while (r == 0 && state != GPC_FEED_END) {
		r = gpc_feed_next(feed, -1, &state, &l, err);
		if (r == 0 && state == GPC_FEED_ONE) {
			gpc_autostr *key = gpc_format("%s%s", x->o.key, l.key);

			r = add(x, key, l.key, l.size, l.modified_ms, err);
		}
	}
	return r == 0 && !x->added && !x->kept && !x->o.how->folder ?
		fail_nothing(&x->o, err) : r;
}

int gpc_source_fetch(const struct gpc_source *s, const struct gpc_source_target *to,
	struct gpc_transfer_counts *ret_c, struct gpc_error *err)
{
	gpc_auto(fetch) struct fetch x = { .to = to };
	const struct gpc_transfer_settings how = { .ca_file = s->ca_file,
		.cancel = s->cancel, .log = s->log, .done = done,
		.progress = show, .arg = &x };
	int r;

	x.transfer = gpc_transfer_new(&how);
	r = open_source(s, gpc_transfer_net(x.transfer), &x.o, err);
	if (r == 0)
		r = x.o.tree ? fetch_tree(&x, err) : fetch_one(&x, err);
	if (r == 0)
		r = gpc_transfer_finish(x.transfer, err);
	if (r == 0)
		r = check(&x, err);
	if (r == 0)
		gpc_transfer_counts(x.transfer, ret_c);
	return r;
}
