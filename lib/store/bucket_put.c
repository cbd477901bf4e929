/* What a store changes: a put is a request that brings all of a body, or an upload in
 * parts. */
#include "store/bucket.h"
#include "store/objects_task.h"

static int put_once(struct gpc_store *s, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err)
{
	struct gpc_objects o = { .bucket = s->state };
	const struct gpc_object_options options = { .if_absent = if_absent };
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	int r = gpc_objects_once_init(&once, o.bucket, err);

	if (r == 0)
		r = gpc_objects_put(&o, once.loop, key, body, &options,
			gpc_objects_once_done, &once, err);
	return gpc_objects_once_wait(&once, r, err);
}

int gpc_bucket_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	const struct gpc_bucket *b = s->state;
	bool if_absent = (flags & GPC_PUT_IF_ABSENT) != 0;
	int r = body->size > GPC_BUCKET_ONE_PUT ?
		b->rules->puts_large(s, key, body, if_absent, err) :
		put_once(s, key, body, if_absent, err);

	if (if_absent && r == -GPC_EUNSUPPORTED)
		s->caps &= ~(unsigned)GPC_STORE_IF_ABSENT;
	return r;
}

int gpc_bucket_del(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	const struct gpc_objects o = { .bucket = s->state };
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	int r = gpc_objects_once_init(&once, o.bucket, err);

	if (r == 0)
		r = gpc_objects_remove(&o, once.loop, key, gpc_objects_once_done,
			&once, err);
	return gpc_objects_once_wait(&once, r, err);
}

int gpc_bucket_del_many(struct gpc_store *s, const struct gpc_strv *keys,
	struct gpc_error *err)
{
	struct gpc_objects o = { .bucket = s->state };

	return gpc_objects_delete(&o, keys, NULL, NULL, err);
}
