/* One bucket of an S3 service, and calls to it: what s3.c and its uploads share.
 * Nothing is opened, looked for or paid for before the first call. */
#pragma once
#include <pthread.h>

#include "creds/creds.h"
#include "net/net.h"
#include "store/s3_address.h"
#include "store/store.h"

struct gpc_s3 {
	const struct gpc_store *store;  /* borrowed: log, cancel, url */
	struct gpc_s3_address address;
	pthread_mutex_t lock;           /* of all below */
	struct gpc_net *net;
	struct gpc_creds *creds;
	char *region;                   /* once known */
};

/* A call that is prepared and sent. */
struct gpc_s3_op {
	struct gpc_s3 *s3;
	const char *what;               /* for messages; borrowed */
	const char *key;                /* with prefix; NULL: the bucket; owned */
	struct gpc_request request;
	gpc_sink_fn *sink;              /* of a successful body; or NULL */
	void *sink_arg;
	int (*head)(void *arg, const struct gpc_reply *reply,
		struct gpc_error *err);
	int (*rewind)(void *arg, struct gpc_request *r, struct gpc_error *err);
	bool repeatable;
	size_t max_body;
	char *signed_region;            /* of the newest try */
	bool moved;                     /* another region was found once */
};

int gpc_s3_init(struct gpc_s3 *s3, const struct gpc_store *store,
	const char *where, struct gpc_error *err) gpc_must_check;
void gpc_s3_clear(struct gpc_s3 *s3);

/* op must be zero. key: without the store's prefix, NULL for the bucket. */
int gpc_s3_op_init(struct gpc_s3_op *op, struct gpc_s3 *s3, const char *method,
	const char *what, const char *key, struct gpc_error *err) gpc_must_check;
void gpc_s3_op_clear(struct gpc_s3_op *op);
GPC_CLEANUP_VALUE(gpc_s3_op);
/* The call of an op, for a loop; op must stay where it is until it is done. */
struct gpc_call gpc_s3_op_call(struct gpc_s3_op *op);
int gpc_s3_send(struct gpc_s3_op *op, struct gpc_reply *ret_reply,
	struct gpc_error *err) gpc_must_check;
