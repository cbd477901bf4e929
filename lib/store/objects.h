/* Objects of a bucket under any key that its service takes, many at once: what moves
 * users' data works on these. A store (store.h) is stricter about keys, and has one
 * operation at a time.
 *
 * Requests run on an event loop of the caller's and end in a `done`; what they borrow
 * must stay until then. What still runs when its loop or the objects are freed ends
 * without a word; a loop must not be run again once objects are gone that it has
 * requests of. Errors are those of store.h; they name the request id. */
#pragma once
#include "base/body.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/net.h"
#include "store/store.h"                /* GPC_LIST_NO_MEMORY */

struct gpc_objects;                     /* opaque: one bucket */

/* url: SCHEME://BUCKET[/KEY][?OPTION=VALUE&...], options as in bucket_address.h; a
 * `?` that begins no option that the scheme knows belongs to the key. *ret_key is
 * owned, "" when there is none, and may be any bytes. net, log and cancel are
 * borrowed. Asks nobody. GPC_ECONFIG. */
int gpc_objects_open(const char *url, struct gpc_net *net, const struct gpc_log *log,
	const struct gpc_cancel *cancel, struct gpc_objects **ret_o, char **ret_key,
	struct gpc_error *err) gpc_must_check;
void gpc_objects_free(struct gpc_objects *o);
GPC_CLEANUP_POINTER(gpc_objects);
/* Whether a URL names a bucket. */
bool gpc_objects_is_url(const char *url);
/* SCHEME://BUCKET/KEY, for messages; owned. */
char *gpc_objects_name(const struct gpc_objects *o, const char *key);

struct gpc_object_info {
	uint64_t size;
	int64_t modified_ms;            /* 0: not said */
	int64_t now_ms;                 /* the service's clock at the answer; the same */
	const char *version;            /* that `pin` takes: ETag or generation; or NULL */
	const char *storage_class;      /* or NULL */
	bool has_sum;                   /* the service tells the checksum of the whole */
	uint64_t sum;
};

/* --- at once: they run a loop of their own ----------------------------------- */

/* info: what it points to is owned by *keep, which the caller frees. */
int gpc_objects_head(struct gpc_objects *o, const char *key,
	struct gpc_object_info *ret_i, char **keep, struct gpc_error *err)
	gpc_must_check;
/* In byte order of keys. info is NULL for a common prefix (that ends in the
 * delimiter). Non-zero ends the list, which then still succeeds, unless it is
 * GPC_LIST_NO_MEMORY. */
typedef int gpc_objects_fn(void *arg, const char *key,
	const struct gpc_object_info *info);
/* Every key that starts with prefix and is greater than after (or NULL). With
 * delimiter ("/" or NULL) what lies deeper is one common prefix. Memory does not
 * grow with the number of keys. */
int gpc_objects_list(struct gpc_objects *o, const char *prefix, const char *after,
	const char *delimiter, gpc_objects_fn *fn, void *arg, struct gpc_error *err)
	gpc_must_check;
/* Looks with a list of one where HEAD is refused: *ret_any when some key starts with
 * prefix, *ret_is_one when prefix itself is one, of which *ret_i (NULL: not wanted) is
 * told then, without version and class. */
int gpc_objects_first(struct gpc_objects *o, const char *prefix, bool *ret_any,
	bool *ret_is_one, struct gpc_object_info *ret_i, struct gpc_error *err)
	gpc_must_check;
/* In batches as the service has them; absent keys are no failure. `failed` is told
 * each key that stays; the first failure is returned after all were tried. */
int gpc_objects_delete(struct gpc_objects *o, const struct gpc_strv *keys,
	void (*failed)(void *arg, const char *key, const struct gpc_error *err),
	void *arg, struct gpc_error *err) gpc_must_check;

/* --- on a loop ---------------------------------------------------------------- */

struct gpc_object_result {
	struct gpc_object_info info;    /* get: of the whole object; others: unset */
	const char *text;               /* begin: the upload's name; part: its ETag */
	uint64_t sum;                   /* part, put: of the bytes sent */
	char request_id[64];            /* get: the service's, "" if it told none */
};
/* What helps when bytes do not have the checksum that was told of them. */
#define GPC_OBJECT_DAMAGED "run the same again; if it stays so, what is stored there, or " \
	"something between, is damaged"
/* r and err as gpc_net_done_fn; result is the callee's to read, not to keep. */
typedef void gpc_object_done_fn(void *arg, int r,
	const struct gpc_object_result *result, const struct gpc_error *err);

/* A range of an object. A try that breaks off goes on from where it was, as long as
 * the object is the same; another one is GPC_ECONFLICT. */
struct gpc_object_get {
	const char *key;
	uint64_t offset;
	int64_t length;                 /* < 0: to the end */
	const char *pin;                /* only this version; NULL: any */
	gpc_sink_fn *sink;              /* gets the bytes in order, each once */
	/* Sees the whole object's info before the sink gets a byte; may be NULL. */
	int (*head)(void *arg, const struct gpc_object_info *info,
		struct gpc_error *err);
	void *arg;                      /* of sink and head */
};
int gpc_objects_get(struct gpc_objects *o, struct gpc_net_loop *loop,
	const struct gpc_object_get *get, gpc_object_done_fn *done, void *arg,
	struct gpc_error *err) gpc_must_check;

struct gpc_object_options {
	const char *storage_class;      /* in the service's word; NULL: its default */
	bool if_absent;
};
/* The whole of an object in one request (up to GPC_OBJECT_ONE_PUT bytes); checksum as
 * the service offers it. */
#define GPC_OBJECT_ONE_PUT ((uint64_t)5 << 30)
int gpc_objects_put(struct gpc_objects *o, struct gpc_net_loop *loop, const char *key,
	const struct gpc_body *body, const struct gpc_object_options *options,
	gpc_object_done_fn *done, void *arg, struct gpc_error *err) gpc_must_check;

/* Uploads in parts: begin, part (any order, several at a time, 5 MiB to 5 GiB but for
 * the last, numbers from 1 to GPC_OBJECT_PARTS), end or drop. */
#define GPC_OBJECT_PARTS 10000
#define GPC_OBJECT_PART_MIN ((uint64_t)5 << 20)
int gpc_objects_begin(struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, const struct gpc_object_options *options,
	gpc_object_done_fn *done, void *arg, struct gpc_error *err) gpc_must_check;
int gpc_objects_part(struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, const char *upload, int number, const struct gpc_body *body,
	gpc_object_done_fn *done, void *arg, struct gpc_error *err) gpc_must_check;
struct gpc_object_part {
	char *etag;                     /* owned by whoever has the parts */
	uint64_t size, sum;
};
/* All parts from 1 in order. A lost answer is settled by what is there. */
int gpc_objects_end(struct gpc_objects *o, struct gpc_net_loop *loop, const char *key,
	const char *upload, const struct gpc_object_part *parts, int n,
	const struct gpc_object_options *options, gpc_object_done_fn *done, void *arg,
	struct gpc_error *err) gpc_must_check;
/* The service's id of an upload in parts, of the name that gpc_objects_begin gives it,
 * which says also whether its parts and whole tell their sums (ret_summed may be NULL).
 * Borrowed; NULL for NULL. */
const char *gpc_objects_upload_id(const char *upload, bool *ret_summed);
/* Nothing of it stays; one that is not there is no failure. */
int gpc_objects_drop(struct gpc_objects *o, struct gpc_net_loop *loop,
	const char *key, const char *upload, gpc_object_done_fn *done, void *arg,
	struct gpc_error *err) gpc_must_check;

/* Checksums of whole objects as the service has them; false: it has none. sum_join is
 * that of A followed by B of n_b bytes. */
bool gpc_objects_sums(const struct gpc_objects *o);
uint64_t gpc_objects_sum(const struct gpc_objects *o, uint64_t sum, const void *data,
	size_t n);
uint64_t gpc_objects_sum_join(const struct gpc_objects *o, uint64_t a, uint64_t b,
	uint64_t n_b);
