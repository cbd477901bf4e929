/* What the files of objects share: an operation on its way over a loop, which may
 * take several requests, one after the other, and the way to wait for one. */
#pragma once
#include "store/bucket.h"
#include "store/objects.h"

struct gpc_objects {
	struct gpc_bucket *bucket;
	struct gpc_store *store;        /* owned: what the bucket is the state of */
};

/* The first member of each kind of operation. */
struct gpc_objects_task {
	struct gpc_bucket *bucket;
	struct gpc_net_loop *loop;
	struct gpc_objects_task *next, *before; /* of the bucket's */
	char *key, *what;
	struct gpc_bucket_op op;        /* the request under way */
	struct gpc_object_result result;
	char *keep, *text;              /* what result points to; owned */
	gpc_object_done_fn *done;
	void *arg;
	struct gpc_error why;           /* for later: what the first request said */
	void (*clear)(struct gpc_objects_task *t);      /* of its kind; or NULL */
};

/* size: of the kind; "verb key" is for messages. GPC_EPROTO for a key that no service
 * takes. */
int gpc_objects_task_new(const struct gpc_objects *o, struct gpc_net_loop *loop,
	size_t size, const char *verb, const char *key, gpc_object_done_fn *done,
	void *arg, void *ret_task, struct gpc_error *err) gpc_must_check;
/* Without calling `done`. */
void gpc_objects_task_free(struct gpc_objects_task *t);
void gpc_objects_tasks_free(struct gpc_bucket *b);
/* Whether a service can have such a key. GPC_EPROTO. */
int gpc_objects_check_key(const char *key, struct gpc_error *err) gpc_must_check;
/* Another request; that of before is cleared. key: NULL for the bucket. */
int gpc_objects_task_op(struct gpc_objects_task *t, const char *method,
	const char *key, struct gpc_error *err) gpc_must_check;
/* `done` gets the task. Clears none of it on failure. */
int gpc_objects_task_send(struct gpc_objects_task *t, gpc_net_done_fn *done,
	struct gpc_error *err) gpc_must_check;
/* Calls `done` and frees the task. */
void gpc_objects_task_end(struct gpc_objects_task *t, int r,
	const struct gpc_error *err);
/* The result names the request of the reply that it comes from. */
void gpc_objects_task_tell_request(struct gpc_objects_task *t,
	const struct gpc_reply *reply);
/* For the last line of what starts one: frees it when that failed. Returns r. */
int gpc_objects_task_started(struct gpc_objects_task *t, int r);
/* For the last line of a step: ends it when the next request could not start. */
void gpc_objects_task_went_on(struct gpc_objects_task *t, int r,
	const struct gpc_error *err);

/* Frees a loop and the tasks that were under way on it. */
void gpc_objects_loop_free(struct gpc_bucket *b, struct gpc_net_loop *loop);

/* The strings of an info move into *keep. */
void gpc_objects_keep(struct gpc_object_info *i, char **keep);

/* One operation that is waited for:
 *	r = gpc_objects_once_init(&once, bucket, err);
 *	if (r == 0)
 *		r = gpc_objects_get(o, once.loop, ..., gpc_objects_once_done, &once, err);
 *	r = gpc_objects_once_wait(&once, r, err); */
struct gpc_objects_once {
	struct gpc_bucket *bucket;
	struct gpc_net_loop *loop;
	bool failed;                    /* the loop itself */
	int r;
	struct gpc_error err;
	struct gpc_object_result result;
	char *keep, *text;
};
int gpc_objects_once_init(struct gpc_objects_once *once, struct gpc_bucket *b,
	struct gpc_error *err) gpc_must_check;
gpc_object_done_fn gpc_objects_once_done;
int gpc_objects_once_wait(struct gpc_objects_once *once, int r,
	struct gpc_error *err) gpc_must_check;
void gpc_objects_once_clear(struct gpc_objects_once *once);
GPC_CLEANUP_VALUE(gpc_objects_once);

/* A refusal of what named a storage class gets the words of the service as a hint. */
void gpc_objects_explain(const struct gpc_bucket *b, bool has_class,
	struct gpc_error *err);

/* Operations that others are made of: removes an object, which need not be there; looks
 * at one; whether it has exactly these bytes (GPC_ECONFLICT: others). */
int gpc_objects_remove(const struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, gpc_object_done_fn *done, void *arg,
	struct gpc_error *err) gpc_must_check;
int gpc_objects_compare(const struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, const struct gpc_body *body, gpc_object_done_fn *done,
	void *arg, struct gpc_error *err) gpc_must_check;
int gpc_objects_look(const struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, gpc_object_done_fn *done, void *arg,
	struct gpc_error *err) gpc_must_check;
