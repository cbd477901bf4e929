/* See source.h. */
#include "transfer/source.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "transfer/listing.h"

struct opened {
	const struct gpc_source *how;
	struct gpc_location at;
	bool tree;
	uint64_t size;                  /* of one object */
	int64_t modified_ms;
};

static void opened_clear(struct opened *o)
{
	gpc_location_clear(&o->at);
}
GPC_CLEANUP_VALUE(opened);

/* --- one object or many ------------------------------------------------------- */

static int fail_one(const struct opened *o, struct gpc_error *err)
{
	gpc_autostr *name = gpc_location_name(&o->at, NULL);
	int r = gpc_fail(err, GPC_ECONFIG, "%s is one object: only a bucket or a "
		"folder in it can be mounted", name);

	gpc_hint(err, "mode: COPY copies an object");
	return r;
}

/* A key without a slash at its end: the object of that name, else a folder. */
static int decide(struct opened *o, struct gpc_error *err)
{
	int r = gpc_location_look(&o->at, &o->size, &o->modified_ms, err);

	if (r == 0 && o->how->folder)
		return fail_one(o, err);
	if (r != -GPC_ENOTFOUND)
		return r;
	gpc_location_make_folder(&o->at);
	o->tree = true;
	return 0;
}

static int open_source(const struct gpc_source *s, struct gpc_net *net,
	struct opened *o, struct gpc_error *err)
{
	int r = gpc_location_open(s->url, net, s->log, s->cancel, &o->at, err);

	o->how = s;
	if (r == 0 && !o->at.objects)
		return gpc_fail(err, GPC_ECONFIG, "%s is no bucket", s->url);
	if (r < 0)
		return r;
	o->tree = gpc_location_says_folder(&o->at);
	return o->tree ? 0 : decide(o, err);
}

/* --- all of a tree ------------------------------------------------------------- */

typedef int each_fn(void *arg, const struct gpc_listed *l, struct gpc_error *err);

/* 1 of fn ends it. */
static int each(const struct opened *o, each_fn *fn, void *arg, struct gpc_error *err)
{
	struct gpc_listing list = { .location = &o->at };
	gpc_autoptr(gpc_feed) *feed = NULL;
	enum gpc_feed_state state = GPC_FEED_LATER;
	struct gpc_listed l;
	int r = gpc_feed_start(gpc_listing_run, &list, o->how->cancel, &feed, err);

	while (r == 0 && state != GPC_FEED_END) {
		r = gpc_feed_next(feed, -1, &state, &l, err);
		if (r == 0 && state == GPC_FEED_ONE)
			r = fn(arg, &l, err);
	}
	return r > 0 ? 0 : r;
}

/* --- counting ------------------------------------------------------------------ */

struct count { struct gpc_source_found *f; uint64_t most; };

static int count_one(void *arg, const struct gpc_listed *l, struct gpc_error *err)
{
	struct count *c = arg;

	(void)err;
	if (c->f->files >= c->most) {
		c->f->complete = false;
		return 1;
	}
	c->f->files++;
	c->f->bytes += l->size;
	return 0;
}

static int count_all(const struct opened *o, uint64_t most,
	struct gpc_source_found *f, struct gpc_error *err)
{
	struct count c = { f, most };
	int r;

	if (!o->tree) {
		f->files = 1;
		f->bytes = o->size;
		return 0;
	}
	r = each(o, count_one, &c, err);
	return r == 0 && !f->files && !o->how->folder ?
		gpc_location_fail_nothing(&o->at, NULL, err) : r;
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

/* --- whether it may be written --------------------------------------------------- */

#define PROBE ".gpucloud-probe"

struct probe { int r; char *upload; struct gpc_error *err; };

static void answered(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct probe *p = arg;

	p->r = r;
	if (r < 0 && p->err)
		*p->err = *err;
	if (r == 0 && result && result->text)
		gpc_set_str(&p->upload, result->text);
}

/* Of the upload that is begun only its id is ever there. */
static int probe(struct opened *o, struct gpc_net *net, struct gpc_error *err)
{
	const struct gpc_object_options options = {0};
	gpc_autostr *key = gpc_location_at(&o->at, PROBE);
	gpc_autostr *name = gpc_location_name(&o->at, NULL);
	gpc_autoptr(gpc_net_loop) *loop = gpc_net_loop_new(net);
	struct probe p = { .err = err }, last = {0};
	int r = gpc_objects_begin(o->at.objects, loop, key, &options, answered, &p,
		err);

	if (r == 0)
		r = gpc_net_loop_run(loop, -1, NULL, err);
	r = r < 0 ? r : p.r;
	if (r == 0 && p.upload && (gpc_objects_drop(o->at.objects, loop, key, p.upload,
		answered, &last, NULL) < 0 || gpc_net_loop_run(loop, -1, NULL,
		NULL) < 0 || last.r < 0))
		gpc_log(o->how->log, GPC_VERBOSE, "%s: an upload that was begun "
			"as a trial is still there", name);
	free(p.upload);
	free(last.upload);
	return gpc_wrap(err, r, "%s cannot be written", name);
}

int gpc_source_try_write(const struct gpc_source *s, struct gpc_error *err)
{
	const struct gpc_net_settings how = { .ca_file = s->ca_file,
		.cancel = s->cancel, .log = s->log };
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_auto(opened) struct opened o = {0};
	int r = open_source(s, net, &o, err);

	return r < 0 ? r : probe(&o, net, err);
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
		.from = { .objects = x->o.at.objects, .key = key },
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

	return r < 0 ? r : add(x, x->o.at.key, x->to->into ?
		gpc_path_base(x->o.at.key) : NULL, x->o.size, x->o.modified_ms,
		err);
}

static int add_listed(void *arg, const struct gpc_listed *l, struct gpc_error *err)
{
	struct fetch *x = arg;
	gpc_autostr *key = gpc_location_at(&x->o.at, l->key);

	return add(x, key, l->key, l->size, l->modified_ms, err);
}

static int fetch_tree(struct fetch *x, struct gpc_error *err)
{
	int r = gpc_mkdirs(x->to->path, 0755, err);

	if (r == 0)
		r = each(&x->o, add_listed, x, err);
	return r == 0 && !x->added && !x->kept && !x->o.how->folder ?
		gpc_location_fail_nothing(&x->o.at, NULL, err) : r;
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
