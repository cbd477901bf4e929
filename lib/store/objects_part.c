/* One part of an upload (UploadPart). */
#include <string.h>

#include "base/str.h"
#include "store/objects_task.h"

#define ETAG_MAX 256

struct part {
	struct gpc_objects_task t;
	struct gpc_body body;
};

static void sent(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct part *p = arg;
	const char *etag = r == 0 ? gpc_reply_header(reply, "etag") : NULL;
	struct gpc_error own;

	if (r == 0 && (!etag || !*etag || strlen(etag) > ETAG_MAX)) {
		r = gpc_fail(&own, GPC_EPROTO, "%s: the server took a part without "
			"an ETag", p->t.what);
		err = &own;
	}
	gpc_set_str(&p->t.text, etag);
	p->t.result.sum = p->t.op.sum;
	gpc_objects_task_end(&p->t, r, err);
}

static int start(struct part *p, const char *upload, int number,
	struct gpc_error *err)
{
	struct gpc_bucket_op *op = &p->t.op;
	int r = gpc_objects_task_op(&p->t, "PUT", p->t.key, err);

	if (r < 0)
		return r;
	gpc_pairs_setf(&op->request.url.query, "partNumber", "%d", number);
	gpc_pairs_add(&op->request.url.query, "uploadId",
		gpc_objects_upload_id(upload, &op->tells));
	op->request.body = p->body;
	r = gpc_bucket_op_check(op, &p->body, err);
	if (r < 0)
		return r;
	if (p->t.bucket->rules->parts)
		p->t.bucket->rules->parts(op);
	return gpc_objects_task_send(&p->t, sent, err);
}

int gpc_objects_part(struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, const char *upload, int number, const struct gpc_body *body,
	gpc_object_done_fn *done, void *arg, struct gpc_error *err)
{
	struct part *p;
	int r;

	if (number < 1 || number > GPC_OBJECT_PARTS)
		return gpc_fail(err, GPC_EPROTO, "parts have numbers from 1 to %d, "
			"not %d", GPC_OBJECT_PARTS, number);
	r = gpc_objects_task_new(o, loop, sizeof(*p), "uploading a part of", key,
		done, arg, &p, err);
	if (r < 0)
		return r;
	p->body = *body;
	return gpc_objects_task_started(&p->t, start(p, upload, number, err));
}
