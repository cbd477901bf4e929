/* What an object is, without its bytes. An answer to HEAD has no words: whether it is
 * the bucket that is missing, the login that has expired or the region that is wrong, a
 * list tells; and with what it has learned the object is looked at once more. */
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "store/objects_task.h"

struct look {
	struct gpc_objects_task t;
	bool again;                     /* the list went well */
};

static int64_t number_of(const char *text)
{
	int64_t n;

	if (!text || gpc_parse_i64(text, 0, INT64_MAX, "size", &n, NULL) < 0)
		return -1;
	return n;
}

/* NULL for an empty one. */
static const char *text_of(const struct gpc_reply *reply, const char *name)
{
	const char *text = gpc_reply_header(reply, name);

	return text && *text ? text : NULL;
}

int gpc_bucket_describe(const struct gpc_bucket_rules *rules,
	const struct gpc_reply *reply, struct gpc_object_info *ret_i,
	struct gpc_error *err)
{
	const char *range = gpc_reply_header(reply, "content-range");
	const char *slash = range ? strchr(range, '/') : NULL;
	const char *modified = gpc_reply_header(reply, "last-modified");
	int64_t size = number_of(slash ? slash + 1 :
		gpc_reply_header(reply, "content-length"));

	if (size < 0)
		return gpc_fail(err, GPC_EPROTO,
			"the server does not say how large the object is");
	*ret_i = (struct gpc_object_info){
		.size = (uint64_t)size, .now_ms = reply->date_ms,
		.modified_ms = modified ? gpc_http_date_ms(modified) : 0,
		.version = text_of(reply, rules->version),
		.storage_class = text_of(reply, rules->storage_class),
	};
	ret_i->has_sum = rules->sum && rules->told(reply, &ret_i->sum);
	return 0;
}

static int describe(struct gpc_objects_task *t, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = t->bucket->rules;
	int r;

	if (rules->describes)
		return rules->describes(reply, &t->result.info, &t->keep, err);
	r = gpc_bucket_describe(rules, reply, &t->result.info, err);
	if (r == 0)
		gpc_objects_keep(&t->result.info, &t->keep);
	return r;
}

/* What no table has a word for: from S3 a bare 301, 307 or 400. */
static bool is_mute(int r, const struct gpc_error *err)
{
	return (r == -GPC_EPROTO || r == -GPC_ECONFIG) && err->http >= 300 &&
		err->http <= 400;
}

static int look(struct gpc_objects_task *t, struct gpc_error *err);

static void listed(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct look *l = arg;
	bool absent = l->t.why.code == GPC_ENOTFOUND;
	const struct gpc_error *why = r == -GPC_ECONFIG || (r < 0 && !absent) ?
		err : &l->t.why;
	struct gpc_error own;

	(void)reply;
	if (r == 0 && !absent && !l->again) {
		l->again = true;
		gpc_objects_task_went_on(&l->t, look(&l->t, &own), &own);
		return;
	}
	gpc_objects_task_end(&l->t, -(int)why->code, why);
}

static void ask_list(struct gpc_objects_task *t, const struct gpc_error *err)
{
	struct gpc_error own;
	int r;

	t->why = *err;
	r = gpc_objects_task_op(t, "GET", NULL, &own);
	gpc_pairs_add(&t->op.request.url.query, "list-type", "2");
	gpc_pairs_add(&t->op.request.url.query, "max-keys", "1");
	if (r == 0)
		r = gpc_objects_task_send(t, listed, &own);
	gpc_objects_task_went_on(t, r, &own);
}

static void looked(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct look *l = arg;
	struct gpc_objects_task *t = &l->t;
	struct gpc_error own;

	if (t->bucket->rules->heads_are_mute && ((r == -GPC_ENOTFOUND &&
		!atomic_load(&t->bucket->is_there)) ||
		(is_mute(r, err) && !l->again))) {
		ask_list(t, err);
		return;
	}
	if (r == 0) {
		r = describe(t, reply, &own);
		err = &own;
		gpc_objects_task_tell_request(t, reply);
		if (r < 0)
			gpc_net_name_request(reply, &own);
	}
	gpc_objects_task_end(t, r, err);
}

static int look(struct gpc_objects_task *t, struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = t->bucket->rules;
	int r = gpc_objects_task_op(t, rules->describes ? "GET" : "HEAD", t->key,
		err);

	if (r == 0 && rules->looks)
		rules->looks(&t->op.request);
	return r < 0 ? r : gpc_objects_task_send(t, looked, err);
}

int gpc_objects_look(const struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, gpc_object_done_fn *done, void *arg, struct gpc_error *err)
{
	struct gpc_objects_task *t;
	int r = gpc_objects_task_new(o, loop, sizeof(struct look), "looking at", key,
		done, arg, &t, err);

	return r < 0 ? r : gpc_objects_task_started(t, look(t, err));
}
