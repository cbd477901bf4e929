/* One bucket of a cloud's object service: what s3, oss and gs have in common.
 *
 * A service says in its rules how it differs: where things are, who signs, what
 * replies mean. Calls, downloads that go on after a break, puts, uploads in parts
 * and lists are here once. Nothing is opened, looked for or paid for before the
 * first call. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "creds/creds.h"
#include "net/net.h"
#include "store/bucket_address.h"
#include "store/bucket_list.h"
#include "store/objects.h"
#include "store/store.h"

/* Bodies above this go in parts. */
#define GPC_BUCKET_ONE_PUT ((uint64_t)32 << 20)

struct gpc_bucket_op;
struct gpc_sha256;

struct gpc_bucket {
	const struct gpc_store *store;  /* borrowed: log, cancel, ops */
	const struct gpc_bucket_rules *rules;
	struct gpc_bucket_address address;
	atomic_bool has_no_batches;     /* of deletes, it turned out */
	atomic_bool has_no_sums;        /* of parts, it turned out */
	atomic_bool checks_sums;        /* of what is put, it turned out */
	atomic_bool wants_signed;       /* bodies, it turned out */
	atomic_bool is_there;           /* it answered something with a success */
	pthread_mutex_t lock;           /* of all below */
	struct gpc_net *net;
	bool net_is_lent;               /* by whoever opened the bucket */
	struct gpc_creds *creds;
	char *region;                   /* once known */
	char *ca_file;                  /* by the cloud's own tools; or NULL */
	bool anonymous;                 /* nothing is signed */
	struct gpc_objects_task *tasks; /* that did not end yet; owned */
};

struct gpc_bucket_rules {
	const struct gpc_bucket_form *form;
	enum gpc_cloud cloud;
	const char *region;             /* where neither URL nor cloud's tools say */

	/* Takes from environment and profile what the URL leaves open; once, with
	 * the lock held. May be NULL. */
	int (*settle)(struct gpc_bucket *b, struct gpc_error *err);
	/* The URL of a key (with prefix), or of the bucket for NULL. */
	int (*url)(const struct gpc_bucket_address *a, const char *region,
		const char *key, struct gpc_url *ret_u, struct gpc_error *err);
	/* For op->signed_region. */
	int (*sign)(const struct gpc_bucket_op *op, const struct gpc_identity *i,
		int64_t now_ms, struct gpc_request *r, struct gpc_error *err);
	/* Sets err for all but GPC_NET_DONE; *ret_region (owned) where the reply
	 * says in which region the bucket is. */
	enum gpc_net_verdict (*judge)(const struct gpc_bucket_op *op,
		const struct gpc_reply *reply, char **ret_region,
		struct gpc_error *err);

	/* Completes a request for an object's bytes. May be NULL. */
	void (*reads)(struct gpc_request *r, bool whole);
	const char *version;            /* header that names what is read: "etag" */
	const char *storage_class;      /* header that names its class */
	const char *storage_words;      /* classes, for people */
	/* Completes a request that looks at an object. May be NULL. */
	void (*looks)(struct gpc_request *r);
	/* Reads the reply, of a GET then; what ret_i points to is *keep. NULL: a
	 * HEAD and its headers tell. */
	int (*describes)(const struct gpc_reply *reply,
		struct gpc_object_info *ret_i, char **keep,
		struct gpc_error *err);
	/* What refuses a HEAD is its status alone: 404 does not tell a missing bucket
	 * from a missing key, 400 not an expired token from another region. */
	bool heads_are_mute;
	/* Only that version, else GPC_ECONFLICT. */
	void (*pin)(struct gpc_request *r, const char *version);

	bool signs_body;                /* sign hashes it, unless anonymous */
	/* Checksums of whole objects; NULL: none. told: what a reply says of it. */
	uint64_t (*sum)(uint64_t sum, const void *data, size_t n);
	bool (*told)(const struct gpc_reply *reply, uint64_t *ret_sum);
	/* That of A followed by B of n_b bytes; for uploads in parts. */
	uint64_t (*join)(uint64_t a, uint64_t b, uint64_t n_b);
	/* A try of an op that tells its sum says so in its request. */
	void (*tell)(const struct gpc_bucket_op *op, struct gpc_request *r);
	/* Over https the service takes bodies whose hash is not signed. Asks for an
	 * upload in which parts and whole tell their sums instead, and whether the
	 * answer grants it. Both NULL: bodies are signed, or never. */
	void (*ask_for_sums)(struct gpc_request *r);
	bool (*grants_sums)(const struct gpc_reply *reply);

	/* Completes a request that puts all of an object. May be NULL. */
	void (*writes)(struct gpc_bucket_op *op, const char *storage_class);
	/* Puts a body in several requests. */
	int (*puts_large)(struct gpc_store *s, const char *key,
		const struct gpc_body *body, bool if_absent,
		struct gpc_error *err);
	/* Of the one put, and of an upload's request that counts. */
	int (*if_absent)(struct gpc_request *r, struct gpc_error *err);
	/* Whether if-absent was honoured, from a success. May be NULL. */
	int (*kept)(const struct gpc_reply *reply, struct gpc_error *err);
	const char *parts_xmlns;        /* NULL: none */
	/* Completes each request of an upload in parts. May be NULL. */
	void (*parts)(struct gpc_bucket_op *op);
	bool parts_overwrite;           /* their end knows no if-absent */

	bool deletes_many;              /* in one request, as S3 has it */

	void (*asks_page)(struct gpc_request *r, const struct gpc_bucket_page *p);
	/* What stands in a page's text before the token that the next one is asked
	 * for by; NULL: it is asked for by other things. */
	const char *before_token;
	int (*reads_page)(const char *text, size_t n,
		const struct gpc_bucket_listing *l,
		struct gpc_bucket_page *ret_p, struct gpc_error *err);
};

/* A call that is prepared and sent. */
struct gpc_bucket_op {
	struct gpc_bucket *bucket;
	const char *what;               /* for messages; borrowed */
	const char *key;                /* with prefix; NULL: the bucket; owned */
	struct gpc_request request;
	gpc_sink_fn *sink;              /* of a successful body; or NULL */
	int (*head)(void *arg, const struct gpc_reply *reply,
		struct gpc_error *err);
	int (*rewind)(void *arg, struct gpc_request *r, struct gpc_error *err);
	/* Changes the request of every try but the first. */
	int (*again)(void *arg, struct gpc_request *r, struct gpc_error *err);
	void *arg;                      /* of all of these */
	bool is_open;                   /* the URL is secret enough: not signed */
	bool is_xml;                    /* of gs: by the XML API */
	const struct gpc_body *check;   /* the reply must tell its sum, if any */
	uint64_t sum;                   /* of check */
	bool tells;                     /* the sum, by the rules' `tell` */
	bool hashes, sums_later;        /* see gpc_bucket_op_check */
	bool is_unsigned;               /* the body: its sum has to do */
	size_t max_body;
	int max_tries;                  /* 0: as the net has it */
	char *signed_region;            /* of the newest try */
	bool moved;                     /* another region was found once */
	int tries;
};

/* Net and credentials are there, and it is known whom to ask. */
int gpc_bucket_ready(struct gpc_bucket *b, struct gpc_error *err) gpc_must_check;

/* rules must last; s->state is a struct gpc_bucket. */
int gpc_bucket_open(struct gpc_store *s, const struct gpc_bucket_rules *rules,
	const char *where, struct gpc_error *err) gpc_must_check;
void gpc_bucket_close(struct gpc_store *s);

/* op must be zero. key: without the store's prefix, NULL for the bucket. */
int gpc_bucket_op_init(struct gpc_bucket_op *op, struct gpc_bucket *b,
	const char *method, const char *what, const char *key,
	struct gpc_error *err) gpc_must_check;
void gpc_bucket_op_clear(struct gpc_bucket_op *op);
GPC_CLEANUP_VALUE(gpc_bucket_op);
/* Whether bodies may go with their sum alone: only TLS keeps what is not signed. */
bool gpc_bucket_op_may_tell(const struct gpc_bucket_op *op);
/* A success must tell the checksum of this body, or none; it is the request's, and must
 * stay where it is. The checksum of a large one is known once the op was sent. */
int gpc_bucket_op_check(struct gpc_bucket_op *op, const struct gpc_body *body,
	struct gpc_error *err) gpc_must_check;
/* The call of an op, for a loop; op must stay where it is until it is done. */
struct gpc_call gpc_bucket_op_call(struct gpc_bucket_op *op);
int gpc_bucket_send(struct gpc_bucket_op *op, struct gpc_reply *ret_reply,
	struct gpc_error *err) gpc_must_check;

/* Operations of stores, as store.h has them. */
int gpc_bucket_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err);
int gpc_bucket_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err);
int gpc_bucket_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err);
int gpc_bucket_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err);
int gpc_bucket_del(struct gpc_store *s, const char *key, struct gpc_error *err);
int gpc_bucket_del_many(struct gpc_store *s, const struct gpc_strv *keys,
	struct gpc_error *err);
/* See gpc_store_address. */
int gpc_bucket_where(struct gpc_store *s, const char *key, char **ret_url,
	char **ret_region, struct gpc_error *err);

/* Whether an object has exactly these bytes: that which a repeated put finds may be
 * what its first try had put. */
bool gpc_bucket_holds(struct gpc_store *s, const char *key,
	const struct gpc_body *body);
/* What the headers of an object say of it; ret_i borrows from reply. GPC_EPROTO. */
int gpc_bucket_describe(const struct gpc_bucket_rules *rules,
	const struct gpc_reply *reply, struct gpc_object_info *ret_i,
	struct gpc_error *err) gpc_must_check;
/* The n bytes of a body from `at`: its own, or read into part. GPC_EIO, GPC_EPROTO
 * when a file has become shorter. */
int gpc_bucket_bytes(const struct gpc_body *body, uint64_t at, void *part,
	size_t n, const void **ret_data, struct gpc_error *err) gpc_must_check;
/* A checksum of n_sum bytes as services write it: Base64, most significant first. */
bool gpc_bucket_read_sum(const char *text, size_t n, size_t n_sum,
	uint64_t *ret_sum);
/* Adds the MD5 of the body, which the service checks before it does anything. Where MD5
 * is forbidden here, adds none. GPC_EIO, GPC_EPROTO. */
int gpc_bucket_add_md5(struct gpc_request *r, struct gpc_error *err)
	gpc_must_check;
/* All of a body by the sum of a service, and added to h in the same go unless that is
 * NULL. GPC_ECANCELED once *stop (or NULL) is true. */
int gpc_bucket_sum(const struct gpc_bucket_rules *rules,
	const struct gpc_body *body, struct gpc_sha256 *h, const atomic_bool *stop,
	uint64_t *ret_sum, struct gpc_error *err) gpc_must_check;
