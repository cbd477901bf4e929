/* See objects_task.h. A bucket knows the tasks that did not end, because a loop that
 * is freed drops its calls without a word. */
#include "store/objects_task.h"

#include <string.h>

#include "base/str.h"

#define KEY_MAX 1024                    /* bytes; of all services */
#define SHOWN_MAX ((size_t)200)         /* of them, in messages */

/* What no service takes, or its lists could not tell again. */
int gpc_objects_check_key(const char *key, struct gpc_error *err)
{
	size_t n = strlen(key);
	gpc_autostr *shown = gpc_str_brief(key, SHOWN_MAX);

	if (n == 0)
		return gpc_fail(err, GPC_EPROTO, "an object needs a name");
	if (n > KEY_MAX)
		(void)gpc_fail(err, GPC_EPROTO, "the name of an object has at "
			"most %d bytes, not %zu: %s", KEY_MAX, n, shown);
	else if (!gpc_utf8_valid(key, n))
		(void)gpc_fail(err, GPC_EPROTO, "the name of an object is UTF-8 "
			"text: %s is not", shown);
	else
		return 0;
	gpc_hint(err, "give it another name: copy it by itself to the URL that it is to "
		"have");
	return -GPC_EPROTO;
}

int gpc_objects_task_new(const struct gpc_objects *o, struct gpc_net_loop *loop,
	size_t size, const char *verb, const char *key, gpc_object_done_fn *done,
	void *arg, void *ret_task, struct gpc_error *err)
{
	struct gpc_objects_task *t;
	gpc_autostr *shown = gpc_str_brief(key, SHOWN_MAX);
	int r = gpc_objects_check_key(key, err);

	if (r < 0)
		return r;
	t = gpc_alloc(size);
	t->bucket = o->bucket;
	t->loop = loop;
	t->key = gpc_strdup(key);
	t->what = gpc_format("%s %s", verb, shown);
	t->done = done;
	t->arg = arg;
	pthread_mutex_lock(&t->bucket->lock);
	t->next = t->bucket->tasks;
	if (t->next)
		t->next->before = t;
	t->bucket->tasks = t;
	pthread_mutex_unlock(&t->bucket->lock);
	memcpy(ret_task, &t, sizeof(t));
	return 0;
}

static void take_out(struct gpc_objects_task *t)
{
	pthread_mutex_lock(&t->bucket->lock);
	if (t->before)
		t->before->next = t->next;
	else
		t->bucket->tasks = t->next;
	if (t->next)
		t->next->before = t->before;
	pthread_mutex_unlock(&t->bucket->lock);
}

void gpc_objects_task_free(struct gpc_objects_task *t)
{
	if (!t)
		return;
	take_out(t);
	if (t->clear)
		t->clear(t);
	gpc_bucket_op_clear(&t->op);
	free(t->key);
	free(t->what);
	free(t->keep);
	free(t->text);
	free(t);
}

void gpc_objects_tasks_free(struct gpc_bucket *b)
{
	while (b->tasks)
		gpc_objects_task_free(b->tasks);
}

static struct gpc_objects_task *find_task(struct gpc_bucket *b,
	const struct gpc_net_loop *loop)
{
	struct gpc_objects_task *t;

	pthread_mutex_lock(&b->lock);
	t = b->tasks;
	while (t && t->loop != loop)
		t = t->next;
	pthread_mutex_unlock(&b->lock);
	return t;
}

void gpc_objects_loop_free(struct gpc_bucket *b, struct gpc_net_loop *loop)
{
	struct gpc_objects_task *t;

	gpc_net_loop_free(loop);
	while (loop && (t = find_task(b, loop)))
		gpc_objects_task_free(t);
}

int gpc_objects_task_op(struct gpc_objects_task *t, const char *method,
	const char *key, struct gpc_error *err)
{
	gpc_bucket_op_clear(&t->op);
	return gpc_bucket_op_init(&t->op, t->bucket, method, t->what, key, err);
}

int gpc_objects_task_send(struct gpc_objects_task *t, gpc_net_done_fn *done,
	struct gpc_error *err)
{
	struct gpc_call call = gpc_bucket_op_call(&t->op);

	return gpc_net_loop_start(t->loop, &call, done, t, err);
}

void gpc_objects_task_end(struct gpc_objects_task *t, int r,
	const struct gpc_error *err)
{
	t->result.text = t->text;
	t->done(t->arg, r, &t->result, err);
	gpc_objects_task_free(t);
}

void gpc_objects_task_tell_request(struct gpc_objects_task *t,
	const struct gpc_reply *reply)
{
	struct gpc_error named = {0};

	gpc_net_name_request(reply, &named);
	memcpy(t->result.request_id, named.request_id, sizeof(named.request_id));
}

int gpc_objects_task_started(struct gpc_objects_task *t, int r)
{
	if (r < 0)
		gpc_objects_task_free(t);
	return r;
}

void gpc_objects_task_went_on(struct gpc_objects_task *t, int r,
	const struct gpc_error *err)
{
	if (r < 0)
		gpc_objects_task_end(t, r, err);
}

void gpc_objects_keep(struct gpc_object_info *i, char **keep)
{
	size_t n = i->version ? strlen(i->version) + 1 : 0;
	size_t k = i->storage_class ? strlen(i->storage_class) + 1 : 0;
	char *text = gpc_alloc(n + k + 1);

	if (n)
		i->version = memcpy(text, i->version, n);
	if (k)
		i->storage_class = memcpy(text + n, i->storage_class, k);
	free(*keep);
	*keep = text;
}

/* --- waiting --------------------------------------------------------------- */

int gpc_objects_once_init(struct gpc_objects_once *once, struct gpc_bucket *b,
	struct gpc_error *err)
{
	int r = gpc_bucket_ready(b, err);

	if (r < 0)
		return r;
	once->bucket = b;
	once->loop = gpc_net_loop_borrow(b->net);
	return 0;
}

void gpc_objects_once_done(void *arg, int r,
	const struct gpc_object_result *result, const struct gpc_error *err)
{
	struct gpc_objects_once *once = arg;

	once->r = r;
	if (r < 0)
		once->err = *err;
	once->result = *result;
	gpc_objects_keep(&once->result.info, &once->keep);
	gpc_set_str(&once->text, result->text);
	once->result.text = once->text;
}

int gpc_objects_once_wait(struct gpc_objects_once *once, int r,
	struct gpc_error *err)
{
	if (r < 0)
		return r;
	r = gpc_net_loop_run(once->loop, -1, NULL, err);
	once->failed = r < 0;
	if (r < 0)
		return r;
	if (once->r < 0 && err)
		*err = once->err;
	return once->r;
}

void gpc_objects_once_clear(struct gpc_objects_once *once)
{
	if (once->loop && once->failed)
		gpc_objects_loop_free(once->bucket, once->loop);
	else if (once->loop)
		gpc_net_loop_return(once->bucket->net, once->loop);
	free(once->keep);
	free(once->text);
	memset(once, 0, sizeof(*once));
}
