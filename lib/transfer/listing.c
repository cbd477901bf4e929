/* See listing.h. */
#include "transfer/listing.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "transfer/place.h"
#include "transfer/walk.h"

struct run {
	const struct gpc_listing *how;
	struct gpc_feed *out;
	size_t skip;                    /* bytes of keys that are the location's */
	int r;                          /* of a put, and its error */
	struct gpc_error *err;
};

static bool is_part_of_it(const char *key, uint64_t size)
{
	bool folder = !*key || gpc_ends_with(key, "/");

	return folder ? *key && size : !gpc_starts_with(gpc_path_base(key),
		GPC_PLACE_PREFIX);
}

static int put_object(void *arg, const char *key,
	const struct gpc_object_info *info)
{
	struct run *x = arg;
	struct gpc_listed l = { .key = key + x->skip, .size = info->size,
		.modified_ms = info->modified_ms };

	if (!is_part_of_it(l.key, info->size) ||
		!gpc_filter_takes(x->how->filter, l.key))
		return 0;
	x->r = gpc_feed_put(x->out, &l, x->err);
	return x->r != 0;
}

static int list_bucket(struct run *x, struct gpc_error *err)
{
	const struct gpc_location *at = x->how->location;
	int r;

	x->skip = strlen(at->key);
	r = gpc_objects_list(at->objects, at->key, NULL, NULL, put_object, x,
		err);
	return r ? r : x->r;
}

static int put_file(void *arg, const struct gpc_listed *l,
	struct gpc_error *err)
{
	struct run *x = arg;
	bool note = l->flags & GPC_LISTED_NOTE;

	return note || is_part_of_it(l->key, l->size) ?
		gpc_feed_put(x->out, l, err) : 0;
}

static int list_folder(struct run *x, struct gpc_error *err)
{
	const struct gpc_walk how = { .root = x->how->location->path,
		.filter = x->how->filter };
	struct gpc_error why = {0};
	int r = gpc_walk_run(&how, put_file, x, &why);

	if (r == -GPC_ENOTFOUND && x->how->may_lack)
		return 0;
	if (r && err)
		*err = why;
	return r;
}

int gpc_listing_run(void *arg, struct gpc_feed *out, struct gpc_error *err)
{
	struct run x = { .how = arg, .out = out, .err = err };

	return x.how->location->path ? list_folder(&x, err) :
		list_bucket(&x, err);
}
