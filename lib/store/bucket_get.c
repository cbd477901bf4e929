/* Objects of a bucket, as stores read them: each is waited for. */
#include <string.h>

#include "store/bucket.h"
#include "store/objects_task.h"

static void describe(const struct gpc_object_info *i, struct gpc_object *ret_o)
{
	memset(ret_o, 0, sizeof(*ret_o));
	ret_o->size = i->size;
	ret_o->modified_ms = i->modified_ms;
	ret_o->now_ms = i->now_ms;
}

int gpc_bucket_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	const struct gpc_objects o = { .bucket = s->state };
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	int r = gpc_objects_once_init(&once, o.bucket, err);

	if (r == 0)
		r = gpc_objects_look(&o, once.loop, key, gpc_objects_once_done,
			&once, err);
	r = gpc_objects_once_wait(&once, r, err);
	if (r == 0)
		describe(&once.result.info, ret_o);
	return r;
}

int gpc_bucket_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	struct gpc_objects o = { .bucket = s->state };
	const struct gpc_object_get get = { .key = key, .sink = sink, .arg = arg,
		.offset = (uint64_t)offset, .length = length };
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	int r = gpc_objects_once_init(&once, o.bucket, err);

	if (r == 0)
		r = gpc_objects_get(&o, once.loop, &get, gpc_objects_once_done,
			&once, err);
	r = gpc_objects_once_wait(&once, r, err);
	if (r == -GPC_ECONFLICT)        /* no word of get's: try it again */
		return gpc_recode(err, GPC_ENET);
	if (r == 0)
		describe(&once.result.info, ret_o);
	return r;
}
