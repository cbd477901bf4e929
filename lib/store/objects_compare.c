/* Whether an object has exactly the bytes of a body: that which a repeated put finds
 * may be what its first try had put. */
#include <string.h>

#include "store/objects_task.h"

struct comparison {
	struct gpc_objects_task t;
	struct gpc_body body;
	uint64_t at;                    /* compared so far */
	bool differs;
};

static int compare(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct comparison *c = arg;
	char part[16384];

	if (n > c->body.size - c->at)
		c->differs = true;
	for (size_t done = 0; done < n && !c->differs;) {
		size_t k = n - done < sizeof(part) ? n - done : sizeof(part);
		const void *ours;

		c->differs = gpc_bucket_bytes(&c->body, c->at, part, k, &ours,
			err) < 0 ||
			memcmp(ours, (const char *)data + done, k) != 0;
		done += k;
		c->at += k;
	}
	return c->differs;
}

static void compared(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct comparison *c = arg;
	struct gpc_error own;

	(void)result;
	if (c->differs || (r == 0 && c->at != c->body.size)) {
		r = gpc_fail(&own, GPC_ECONFLICT, "%s: it has other bytes",
			c->t.what);
		err = &own;
	}
	gpc_objects_task_end(&c->t, r, err);
}

int gpc_objects_compare(const struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, const struct gpc_body *body, gpc_object_done_fn *done,
	void *arg, struct gpc_error *err)
{
	struct gpc_objects view = *o;
	struct gpc_object_get get = { .key = key, .length = -1, .sink = compare };
	struct comparison *c;
	int r = gpc_objects_task_new(o, loop, sizeof(*c), "comparing", key, done,
		arg, &c, err);

	if (r < 0)
		return r;
	c->body = *body;
	get.arg = c;
	r = gpc_objects_get(&view, loop, &get, compared, c, err);
	return gpc_objects_task_started(&c->t, r);
}

bool gpc_bucket_holds(struct gpc_store *s, const char *key,
	const struct gpc_body *body)
{
	const struct gpc_objects o = { .bucket = s->state };
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	struct gpc_error err;
	int r = gpc_objects_once_init(&once, o.bucket, &err);

	if (r == 0)
		r = gpc_objects_compare(&o, once.loop, key, body,
			gpc_objects_once_done, &once, &err);
	return gpc_objects_once_wait(&once, r, &err) == 0;
}
