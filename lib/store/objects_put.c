/* All of an object in one request. One whose answer was lost is sent again; when the
 * repeat finds the object there, its bytes decide whose it is. */
#include "store/objects_task.h"

struct put {
	struct gpc_objects_task t;
	struct gpc_body body;
	bool if_absent;
	bool has_class;
};

static void compared(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct put *p = arg;

	(void)result;
	(void)err;
	gpc_objects_task_end(&p->t, r == 0 ? 0 : -(int)p->t.why.code, &p->t.why);
}

static void look_whose(struct put *p, const struct gpc_error *err)
{
	const struct gpc_objects o = { .bucket = p->t.bucket };
	struct gpc_error own;
	int r;

	p->t.why = *err;
	r = gpc_objects_compare(&o, p->t.loop, p->t.key, &p->body, compared, p,
		&own);
	gpc_objects_task_went_on(&p->t, r, &own);
}

void gpc_objects_explain(const struct gpc_bucket *b, bool has_class,
	struct gpc_error *err)
{
	if (has_class && err->http == 400 && !err->hint[0])
		gpc_hint(err, "storage classes of %s: %s", b->rules->form->scheme,
			b->rules->storage_words);
}

static void written(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct put *p = arg;
	const struct gpc_bucket_rules *rules = p->t.bucket->rules;
	struct gpc_error own = {0};

	if (r == -GPC_ECONFLICT && reply->tries > 1) {
		look_whose(p, err);
		return;
	}
	if (r == 0 && p->if_absent && rules->kept)
		r = rules->kept(reply, &own);
	else if (r < 0)
		own = *err;
	gpc_objects_explain(p->t.bucket, p->has_class, &own);
	p->t.result.sum = p->t.op.sum;
	gpc_objects_task_end(&p->t, r, &own);
}

static int start(struct put *p, const char *storage_class, struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = p->t.bucket->rules;
	struct gpc_bucket_op *op = &p->t.op;
	int r = gpc_objects_task_op(&p->t, "PUT", p->t.key, err);

	if (r < 0)
		return r;
	op->request.body = p->body;
	gpc_pairs_add(&op->request.headers, "content-type",
		"application/octet-stream");
	if (storage_class)
		gpc_pairs_add(&op->request.headers, rules->storage_class,
			storage_class);
	op->tells = gpc_bucket_op_may_tell(op) &&
		atomic_load(&p->t.bucket->checks_sums);
	r = gpc_bucket_op_check(op, &p->body, err);
	if (r == 0 && rules->writes)
		rules->writes(op, storage_class);
	if (r == 0 && p->if_absent)
		r = rules->if_absent(&op->request, err);
	return r < 0 ? r : gpc_objects_task_send(&p->t, written, err);
}

int gpc_objects_put(struct gpc_objects *o, struct gpc_net_loop *loop, const char *key,
	const struct gpc_body *body, const struct gpc_object_options *options,
	gpc_object_done_fn *done, void *arg, struct gpc_error *err)
{
	const char *storage_class = options ? options->storage_class : NULL;
	struct put *p;
	int r = gpc_objects_task_new(o, loop, sizeof(*p), "writing", key, done, arg,
		&p, err);

	if (r < 0)
		return r;
	p->body = *body;
	p->if_absent = options && options->if_absent;
	p->has_class = storage_class != NULL;
	return gpc_objects_task_started(&p->t, start(p, storage_class, err));
}
