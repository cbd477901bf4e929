/* A store's large put: an upload in parts, from one event loop. Parts are read from
 * their place when they are sent, so memory does not grow with the body. */
#include "store/bucket_parts.h"

#include <string.h>

#include "store/objects_task.h"

#define PART_SIZE ((uint64_t)16 << 20)
#define AT_ONCE 6
#define SLICE_MS 200

struct part { struct upload *upload; int i; };

struct upload {
	struct gpc_objects o;
	const char *key;
	const struct gpc_body *body;
	struct gpc_object_options options;
	char *id;
	uint64_t part_size;
	int n, started, done;
	struct part *refs;
	struct gpc_object_part *parts;
	struct gpc_net_loop *loop;
	int failed;                     /* 0 or the first failure */
	struct gpc_error why;
};

static void upload_clear(struct upload *u)
{
	gpc_objects_loop_free(u->o.bucket, u->loop);
	for (int i = 0; u->parts && i < u->n; i++)
		free(u->parts[i].etag);
	free(u->parts);
	free(u->refs);
	free(u->id);
	memset(u, 0, sizeof(*u));
}
GPC_CLEANUP_VALUE(upload);

static int begin(struct upload *u, struct gpc_error *err)
{
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	int r = gpc_objects_once_init(&once, u->o.bucket, err);

	if (r == 0)
		r = gpc_objects_begin(&u->o, once.loop, u->key, &u->options,
			gpc_objects_once_done, &once, err);
	r = gpc_objects_once_wait(&once, r, err);
	if (r == 0)
		u->id = gpc_steal(&once.text);
	return r;
}

static void part_done(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	const struct part *p = arg;
	struct upload *u = p->upload;

	u->done++;
	if (r == 0) {
		u->parts[p->i].etag = gpc_strdup(result->text);
		u->parts[p->i].sum = result->sum;
	} else if (!u->failed) {
		u->failed = r;
		u->why = *err;
	}
}

static int start_part(struct upload *u, int i, struct gpc_error *err)
{
	uint64_t at = (uint64_t)i * u->part_size;
	uint64_t left = u->body->size - at;
	struct gpc_body body = *u->body;

	u->refs[i] = (struct part){ .upload = u, .i = i };
	if (body.data)
		body.data = (const char *)body.data + at;
	body.offset += (int64_t)at;
	body.size = left < u->part_size ? left : u->part_size;
	u->parts[i].size = body.size;
	return gpc_objects_part(&u->o, u->loop, u->key, u->id, i + 1, &body,
		part_done, &u->refs[i], err);
}

static int send_parts(struct upload *u, struct gpc_error *err)
{
	int r = 0, running;

	while (r == 0 && !u->failed && u->done < u->n) {
		while (r == 0 && u->started < u->n &&
			u->started - u->done < AT_ONCE)
			r = start_part(u, u->started++, err);
		if (r == 0)
			r = gpc_net_loop_run(u->loop, SLICE_MS, &running, err);
	}
	if (r == 0 && u->failed) {
		r = u->failed;
		if (err)
			*err = u->why;
	}
	return r;
}

static int finish(struct upload *u, struct gpc_error *err)
{
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	int r = gpc_objects_once_init(&once, u->o.bucket, err);

	if (r == 0)
		r = gpc_objects_end(&u->o, once.loop, u->key, u->id, u->parts, u->n,
			&u->options, gpc_objects_once_done, &once, err);
	return gpc_objects_once_wait(&once, r, err);
}

static void give_up(struct upload *u)
{
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	struct gpc_error err;
	int r;

	gpc_objects_loop_free(u->o.bucket, u->loop);    /* nothing is sent any more */
	u->loop = NULL;
	r = gpc_objects_once_init(&once, u->o.bucket, &err);
	if (r == 0)
		r = gpc_objects_drop(&u->o, once.loop, u->key, u->id,
			gpc_objects_once_done, &once, &err);
	r = gpc_objects_once_wait(&once, r, &err);
	if (r < 0)
		gpc_log(u->o.bucket->store->log, GPC_WARN,
			"parts of %s may stay in bucket %s: %s", u->key,
			u->o.bucket->address.bucket, err.msg);
}

int gpc_bucket_put_parts(struct gpc_store *s, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err)
{
	gpc_auto(upload) struct upload u = { .o.bucket = s->state, .key = key,
		.body = body, .options.if_absent = if_absent };
	uint64_t least = (body->size + GPC_OBJECT_PARTS - 1) / GPC_OBJECT_PARTS;
	int r;

	u.part_size = least > PART_SIZE ? least : PART_SIZE;
	u.n = (int)((body->size + u.part_size - 1) / u.part_size);
	u.parts = gpc_array((size_t)u.n, sizeof(*u.parts));
	u.refs = gpc_array((size_t)u.n, sizeof(*u.refs));
	r = begin(&u, err);
	if (r < 0)
		return r;
	u.loop = gpc_net_loop_new(u.o.bucket->net);
	r = send_parts(&u, err);
	if (r == 0)
		r = finish(&u, err);
	if (r < 0)
		give_up(&u);
	return r;
}
