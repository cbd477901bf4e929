/* The end of an upload that is not wanted (AbortMultipartUpload). Parts that were under
 * way can outlive it: so it is looked for afterwards, and dropped again. */
#include "store/objects_task.h"

#define MAX_ROUNDS 4

struct drop {
	struct gpc_objects_task t;
	char *upload;
	int rounds;
};

static void clear(struct gpc_objects_task *t)
{
	free(((struct drop *)t)->upload);
}

static int ask(struct drop *d, const char *method, gpc_net_done_fn *done,
	struct gpc_error *err)
{
	int r = gpc_objects_task_op(&d->t, method, d->t.key, err);

	if (r < 0)
		return r;
	gpc_pairs_add(&d->t.op.request.url.query, "uploadId", d->upload);
	if (d->t.bucket->rules->parts)
		d->t.bucket->rules->parts(&d->t.op);
	return gpc_objects_task_send(&d->t, done, err);
}

static void dropped(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err);

/* Only what is found is dropped again: who may not look has dropped it once. */
static void looked(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct drop *d = arg;
	struct gpc_error own = {0};

	(void)reply;
	(void)err;
	if (r < 0 || d->rounds >= MAX_ROUNDS) {
		gpc_objects_task_end(&d->t, 0, &own);
		return;
	}
	r = ask(d, "DELETE", dropped, &own);
	gpc_objects_task_went_on(&d->t, r, &own);
}

static void dropped(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct drop *d = arg;
	struct gpc_error own = {0};

	(void)reply;
	d->rounds++;
	if (r < 0) {
		gpc_objects_task_end(&d->t, r == -GPC_ENOTFOUND ? 0 : r, err);
		return;
	}
	r = ask(d, "GET", looked, &own);
	gpc_objects_task_went_on(&d->t, r, &own);
}

int gpc_objects_drop(struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, const char *upload, gpc_object_done_fn *done, void *arg,
	struct gpc_error *err)
{
	struct drop *d;
	int r = gpc_objects_task_new(o, loop, sizeof(*d), "dropping an upload of",
		key, done, arg, &d, err);

	if (r < 0)
		return r;
	d->t.clear = clear;
	d->upload = gpc_strdup(gpc_objects_upload_id(upload, NULL));
	return gpc_objects_task_started(&d->t, ask(d, "DELETE", dropped, err));
}
