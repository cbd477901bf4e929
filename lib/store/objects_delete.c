/* Many objects, deleted: in batches (DeleteObjects) where the service has them, and one
 * by one where it has not, for keys that XML cannot hold, and for what a batch refuses,
 * whose own answer then says why. */
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "dep/xml.h"
#include "store/bucket_error.h"
#include "store/objects_task.h"

#define BATCH 1000                      /* keys; of the services */
#define BATCHES_AT_ONCE 4
#define SINGLES_AT_ONCE 16

/* --- one ---------------------------------------------------------------------- */

static void removed(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct gpc_objects_task *t = arg;

	(void)reply;
	gpc_objects_task_end(t, r == -GPC_ENOTFOUND ? 0 : r, err);
}

int gpc_objects_remove(const struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, gpc_object_done_fn *done, void *arg, struct gpc_error *err)
{
	struct gpc_objects_task *t;
	int r = gpc_objects_task_new(o, loop, sizeof(*t), "deleting", key, done, arg,
		&t, err);

	if (r < 0)
		return r;
	r = gpc_objects_task_op(t, "DELETE", key, err);
	if (r == 0)
		r = gpc_objects_task_send(t, removed, err);
	return gpc_objects_task_started(t, r);
}

/* --- many ---------------------------------------------------------------------- */

struct deletion {
	const struct gpc_objects *o;
	struct gpc_net_loop *loop;
	const struct gpc_strv *keys;
	size_t next;                    /* that no request was made for */
	GPC_VEC(size_t) singles;        /* keys that go one by one */
	size_t next_single;
	int batches_running, singles_running;
	void (*failed)(void *arg, const char *key, const struct gpc_error *err);
	void *arg;
	int r;                          /* the first failure */
	struct gpc_error err;
	bool stopped;                   /* nothing can be started any more */
};

struct single { struct deletion *d; size_t i; };

struct batch {
	struct deletion *d;
	struct gpc_bucket_op op;
	struct gpc_buf xml;
	struct gpc_body body;
	size_t n, keys[BATCH];
};

static void go_on(struct deletion *d);

static void note(struct deletion *d, size_t i, int r, const struct gpc_error *err)
{
	if (d->r == 0) {
		d->r = r;
		d->err = *err;
	}
	if (d->failed)
		d->failed(d->arg, d->keys->v[i], err);
}

static void single_done(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct single *s = arg;
	struct deletion *d = s->d;

	(void)result;
	if (r < 0)
		note(d, s->i, r, err);
	free(s);
	d->singles_running--;
	go_on(d);
}

static void start_single(struct deletion *d, size_t i)
{
	struct single *s = gpc_alloc(sizeof(*s));
	struct gpc_error err;
	int r;

	*s = (struct single){ .d = d, .i = i };
	r = gpc_objects_remove(d->o, d->loop, d->keys->v[i], single_done, s, &err);
	if (r == 0) {
		d->singles_running++;
		return;
	}
	note(d, i, r, &err);
	d->stopped = r != -GPC_EPROTO;
	free(s);
}

/* --- batches -------------------------------------------------------------------- */

static void batch_free(struct batch *b)
{
	gpc_bucket_op_clear(&b->op);
	gpc_buf_clear(&b->xml);
	free(b);
}

static void one_by_one(struct batch *b)
{
	for (size_t k = 0; k < b->n; k++)
		*gpc_vec_push(&b->d->singles) = b->keys[k];
}

/* What of a batch was refused; false: the reply does not say. */
static bool read_refused(struct batch *b, const struct gpc_reply *reply)
{
	const char *prefix = b->d->o->bucket->address.prefix;
	gpc_autoptr(gpc_xml) *root = NULL;
	const struct gpc_xml *x;

	if (gpc_xml_parse(gpc_buf_str(&reply->body), reply->body.len, &root, NULL) <
		0 || !gpc_eq(root->name, "DeleteResult"))
		return false;
	for (x = gpc_xml_get(root, "Error"); x; x = gpc_xml_again(x)) {
		const char *key = gpc_xml_text(x, "Key");
		size_t k = 0;

		if (!gpc_starts_with(key, prefix))
			return false;
		key += strlen(prefix);
		while (k < b->n && !gpc_eq(b->d->keys->v[b->keys[k]], key))
			k++;
		if (k == b->n)
			return false;
		*gpc_vec_push(&b->d->singles) = b->keys[k];
	}
	return true;
}

static bool knows_none(int r)
{
	return r == -GPC_EUNSUPPORTED || r == -GPC_EPROTO || r == -GPC_ENOTFOUND;
}

static void batch_done(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct batch *b = arg;
	struct deletion *d = b->d;

	if (knows_none(r))
		atomic_store(&d->o->bucket->has_no_batches, true);
	if (knows_none(r) || (r == 0 && !read_refused(b, reply)))
		one_by_one(b);
	else if (r < 0)
		for (size_t k = 0; k < b->n; k++)
			note(d, b->keys[k], r, err);
	batch_free(b);
	d->batches_running--;
	go_on(d);
}

/* The next keys, up to a whole batch. */
static void fill(struct batch *b)
{
	struct deletion *d = b->d;
	const char *prefix = d->o->bucket->address.prefix;
	const char *xmlns = d->o->bucket->rules->parts_xmlns;

	gpc_buf_addf(&b->xml, "<Delete%s%s%s><Quiet>true</Quiet>",
		xmlns ? " xmlns=\"" : "", xmlns ? xmlns : "", xmlns ? "\"" : "");
	for (; d->next < d->keys->n && b->n < BATCH; d->next++) {
		const char *key = d->keys->v[d->next];

		if (gpc_objects_check_key(key, NULL) < 0 ||
			!gpc_xml_can_hold(key)) {
			*gpc_vec_push(&d->singles) = d->next;
			continue;
		}
		gpc_buf_adds(&b->xml, "<Object><Key>");
		gpc_xml_add_text(&b->xml, prefix);
		gpc_xml_add_text(&b->xml, key);
		gpc_buf_adds(&b->xml, "</Key></Object>");
		b->keys[b->n++] = d->next;
	}
	gpc_buf_adds(&b->xml, "</Delete>");
}

static int send(struct batch *b, struct gpc_error *err)
{
	struct gpc_bucket_op *op = &b->op;
	struct gpc_call call;
	int r = gpc_bucket_op_init(op, b->d->o->bucket, "POST", "deleting objects",
		NULL, err);

	if (r < 0)
		return r;
	gpc_pairs_add(&op->request.url.query, "delete", "");
	gpc_pairs_add(&op->request.headers, "content-type", "application/xml");
	op->request.body = (struct gpc_body){ .data = gpc_buf_str(&b->xml),
		.fd = -1, .size = b->xml.len };
	r = gpc_bucket_add_md5(&op->request, err);
	if (r < 0)
		return r;
	call = gpc_bucket_op_call(op);
	return gpc_net_loop_start(b->d->loop, &call, batch_done, b, err);
}

static void start_batch(struct deletion *d)
{
	struct batch *b = gpc_alloc(sizeof(*b));
	struct gpc_error err;
	int r;

	b->d = d;
	fill(b);
	r = b->n ? send(b, &err) : 0;
	if (b->n && r == 0) {
		d->batches_running++;
		return;
	}
	for (size_t k = 0; k < b->n; k++)
		note(d, b->keys[k], r, &err);
	d->stopped = r < 0;
	batch_free(b);
}

/* --- both ------------------------------------------------------------------------ */

static bool in_batches(const struct deletion *d)
{
	const struct gpc_bucket *b = d->o->bucket;

	return b->rules->deletes_many && !atomic_load(&b->has_no_batches) &&
		d->keys->n > 1;
}

static void go_on(struct deletion *d)
{
	while (!d->stopped && in_batches(d) && d->next < d->keys->n &&
		d->batches_running < BATCHES_AT_ONCE)
		start_batch(d);
	while (!d->stopped && d->singles_running < SINGLES_AT_ONCE) {
		if (d->next_single < d->singles.n)
			start_single(d, d->singles.v[d->next_single++]);
		else if (!in_batches(d) && d->next < d->keys->n)
			start_single(d, d->next++);
		else
			break;
	}
}

int gpc_objects_delete(struct gpc_objects *o, const struct gpc_strv *keys,
	void (*failed)(void *arg, const char *key, const struct gpc_error *err),
	void *arg, struct gpc_error *err)
{
	struct deletion d = { .o = o, .keys = keys, .failed = failed, .arg = arg };
	int r = gpc_bucket_ready(o->bucket, err);

	if (r < 0)
		return r;
	d.loop = gpc_net_loop_borrow(o->bucket->net);
	go_on(&d);
	r = gpc_net_loop_run(d.loop, -1, NULL, err);
	if (r < 0)
		gpc_objects_loop_free(o->bucket, d.loop);
	else
		gpc_net_loop_return(o->bucket->net, d.loop);
	gpc_vec_free(&d.singles);
	if (r == 0 && d.r < 0) {
		r = d.r;
		if (err)
			*err = d.err;
	}
	return r;
}
