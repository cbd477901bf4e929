/* One put: a request that brings all of a body, or an upload in parts. A put whose
 * answer was lost is sent again; when the repeat finds the object there, its bytes
 * decide whose it is. */
#include "base/str.h"
#include "store/bucket.h"

static int put_once(struct gpc_store *s, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err)
{
	struct gpc_bucket *b = s->state;
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autostr *what = gpc_format("writing %s", key);
	int r = gpc_bucket_op_init(&op, b, "PUT", what, key, err);

	if (r < 0)
		return r;
	op.request.body = *body;
	gpc_pairs_add(&op.request.headers, "content-type",
		"application/octet-stream");
	r = gpc_bucket_op_check(&op, body, err);
	if (r == 0 && b->rules->writes)
		b->rules->writes(&op);
	if (r == 0 && if_absent)
		r = b->rules->if_absent(&op.request, err);
	if (r < 0)
		return r;
	r = gpc_bucket_send(&op, &reply, err);
	if (r == -GPC_ECONFLICT && reply.tries > 1 &&
		gpc_bucket_holds(s, key, body))
		return 0;
	return r == 0 && if_absent && b->rules->kept ?
		b->rules->kept(&reply, err) : r;
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
