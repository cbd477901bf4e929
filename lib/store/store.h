/* Where state lives: immutable objects under keys, by URL scheme.
 *
 * A store offers get (with range), put (optionally if-absent), head, list and
 * delete, and nothing else is needed of it: no if-match, no clock comparison.
 * Keys are relative paths of printable ASCII without empty, `.` or `..` parts,
 * at most 512 bytes, at most 255 a part; no part begins with `.tmp-`, and no
 * key is a folder of another one. A plain put replaces at once: a reader sees the old bytes
 * or the new, never a mixture. An if-absent put of several writers has exactly
 * one winner.
 *
 * Error contract of every operation:
 *   GPC_ENOTFOUND   get, head: no such object (delete of an absent one is 0)
 *   GPC_ECONFLICT   put if-absent: it exists; nothing was changed
 *   GPC_EAUTH       refused, also for a folder that cannot be written
 *   GPC_EPROTO      a bad key, or more bytes than the caller takes
 *   GPC_EIO/ENET/ETIMEOUT/ERATE: the answer is unclear, a put may or may not
 *                   have happened: repeat the same bytes
 * append at another offset than the size is GPC_ECONFLICT, nothing changed.
 * Operations on one store are safe from several threads.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/body.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	GPC_STORE_IF_ABSENT = 1 << 0,   /* honours if-absent for racing writers */
	GPC_STORE_APPEND = 1 << 1,      /* offers append */
	GPC_STORE_LOCAL = 1 << 2,       /* only this machine reaches it */
};
enum {
	GPC_PUT_IF_ABSENT = 1 << 0,
	GPC_PUT_HINT = 1 << 1,          /* a power cut may undo it (head, beats) */
	GPC_PUT_UNSYNCED = 1 << 2,      /* gpc_store_sync will make it durable */
};
enum { GPC_STORE_CREATE = 1 << 0 };     /* open: make it if it is not there */

struct gpc_object {
	char key[520];                  /* list only */
	uint64_t size;
	int64_t modified_ms;            /* by the store's clock; 0 = not said */
	int64_t now_ms;                 /* the store's clock at the answer */
};

/* One object of a list, in byte order of keys; non-zero ends the list, which
 * then still succeeds. */
typedef int gpc_list_fn(void *arg, const struct gpc_object *object);
/* What such a function returns when it has no memory for another one: the list
 * fails and says so. */
#define GPC_LIST_NO_MEMORY (-1)

struct gpc_store;
struct gpc_store_ops {
	const char *scheme;             /* "file" */
	/* How the names of the variables begin that say who one is to it, ended by
	 * NULL; NULL: it asks nobody. A node of one's own machine inherits them. */
	const char *const *identity;
	/* Optional: the state is a struct gpc_bucket with these rules. */
	const struct gpc_bucket_rules *bucket;
	size_t state_size;              /* zeroed, at s->state */
	/* `where` is the URL behind "scheme://". Sets s->caps. With
	 * GPC_STORE_CREATE makes the container (folder) if it is absent. */
	int (*open)(struct gpc_store *s, const char *where, unsigned flags,
		struct gpc_error *err);
	void (*close)(struct gpc_store *s);
	/* length < 0 = to the end; a range beyond the end delivers less. */
	int (*get)(struct gpc_store *s, const char *key, int64_t offset,
		int64_t length, gpc_sink_fn *sink, void *arg,
		struct gpc_object *ret_o, struct gpc_error *err);
	int (*put)(struct gpc_store *s, const char *key,
		const struct gpc_body *body, unsigned flags,
		struct gpc_error *err);
	int (*head)(struct gpc_store *s, const char *key,
		struct gpc_object *ret_o, struct gpc_error *err);
	/* Every key that starts with prefix and is greater than after (if any). */
	int (*list)(struct gpc_store *s, const char *prefix, const char *after,
		gpc_list_fn *fn, void *arg, struct gpc_error *err);
	int (*del)(struct gpc_store *s, const char *key, struct gpc_error *err);
	/* Optional: all of these, up to GPC_STORE_BATCH, in any order; tries each,
	 * and fails with the first that stays. */
	int (*del_many)(struct gpc_store *s, const struct gpc_strv *keys,
		struct gpc_error *err);
	/* Optional (GPC_STORE_APPEND): writes at offset, which must be the
	 * object's size (creates it at 0); sync makes all of it durable. */
	int (*append)(struct gpc_store *s, const char *key, uint64_t offset,
		const void *data, size_t n, bool sync, struct gpc_error *err);
	/* Optional: makes a GPC_PUT_UNSYNCED put durable. Without it every put
	 * is durable at once. */
	int (*sync)(struct gpc_store *s, const char *key,
		struct gpc_error *err);
	/* Optional: see gpc_store_unfinished and gpc_store_drop. */
	int (*unfinished)(struct gpc_store *s, const char *prefix,
		gpc_list_fn *fn, void *arg, struct gpc_error *err);
	int (*drop)(struct gpc_store *s, const char *key, struct gpc_error *err);
	/* Optional: see gpc_store_follow. */
	int (*follow)(struct gpc_store *s, const char *key,
		struct gpc_error *err);
	/* Optional: see gpc_store_of_nodes. */
	struct gpc_store *(*of_nodes)(struct gpc_store *s);
	/* Optional: what holds it stands no more where it was opened. */
	bool (*is_gone)(struct gpc_store *s);
	/* Optional: see gpc_store_folders. */
	void (*folders)(struct gpc_store *s, struct gpc_strv *paths);
	/* Optional: see gpc_store_address. */
	int (*address)(struct gpc_store *s, const char *key, char **ret_url,
		char **ret_region, struct gpc_error *err);
	/* Optional: returns when something below the folder `prefix` (ends in
	 * "/") may have changed since this prefix was last waited for, at the
	 * latest after timeout_ms. A hint only: the first wait returns at once. */
	void (*wait)(struct gpc_store *s, const char *prefix, int timeout_ms);
};

struct gpc_store {
	const struct gpc_store_ops *ops;
	void *state;
	char *url;
	unsigned caps;
	char id[40];                    /* of store.json; "" until it is known */
	/* It keeps no writers apart, and need not: each of its objects has one
	 * writer. So a put if-absent looks before, and is a plain one then. */
	bool data_only;
	atomic_bool lost;               /* see lost.h: every operation fails */
	const struct gpc_log *log;      /* borrowed; may be NULL */
	/* Ends what waits for a service; borrowed, may be NULL. Set it before the
	 * first operation. */
	const struct gpc_cancel *cancel;
	/* What servers are checked by, as gpc_net_settings has it; borrowed, set
	 * likewise. */
	const char *ca_file;
};

/* Whether each request costs time and perhaps money: those who wait look less
 * often, and what may be remembered is. */
static inline bool gpc_store_is_far(const struct gpc_store *s)
{
	return !(s->caps & GPC_STORE_LOCAL);
}

/* Schemes of all backends, sorted. */
const char *const *gpc_store_schemes(size_t *ret_n);
/* Of the store that a URL names; NULL: the scheme is unknown, or lacks its
 * slashes. */
const struct gpc_store_ops *gpc_store_find(const char *url);
/* "s3:bucket": the scheme of a store without its slashes, which no folder can be
 * meant by. */
bool gpc_store_lacks_slashes(const char *url);
/* The `identity` of the store that a URL names, or NULL. */
const char *const *gpc_store_identity(const char *url);
/* Opens scheme://..., a bare path means file://. Unknown schemes are errors
 * that list the known ones. Does not read store.json: see
 * gpc_store_identify. */
int gpc_store_open(const char *url, unsigned flags, const struct gpc_log *log,
	struct gpc_store **ret_s, struct gpc_error *err) gpc_must_check;
void gpc_store_free(struct gpc_store *s);
GPC_CLEANUP_POINTER(gpc_store);
/* Opens a store given its ops: for tests and decorators. */
int gpc_store_open_ops(const struct gpc_store_ops *ops, const char *where,
	unsigned flags, const struct gpc_log *log, struct gpc_store **ret_s,
	struct gpc_error *err) gpc_must_check;

/* Reads store.json into s->id; with GPC_STORE_CREATE makes it if-absent first,
 * after finding out by races whether the store keeps if-absent, and where the journal
 * is elsewhere gives the data's store the same id, by which nodes know it. A newer
 * format is an error that says so, as is data of another store. */
int gpc_store_identify(struct gpc_store *s, unsigned flags,
	struct gpc_error *err) gpc_must_check;
/* The id that its store.json has now; s->id stays. GPC_ENOTFOUND: there is none. */
int gpc_store_read_id(struct gpc_store *s, char ret_id[40],
	struct gpc_error *err) gpc_must_check;
/* Finds out by races, below probe/, whether of several writers of one key exactly
 * one wins. Takes 48 puts, and deletes what they made. */
int gpc_store_probe(struct gpc_store *s, bool *ret_capable,
	struct gpc_error *err) gpc_must_check;

int gpc_store_get(struct gpc_store *s, const char *key, size_t max_bytes,
	struct gpc_buf *b, struct gpc_error *err) gpc_must_check;
int gpc_store_get_range(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err) gpc_must_check;
int gpc_store_put(struct gpc_store *s, const char *key, const void *data,
	size_t n, unsigned flags, struct gpc_error *err) gpc_must_check;
int gpc_store_put_body(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags,
	struct gpc_error *err) gpc_must_check;
int gpc_store_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err) gpc_must_check;
int gpc_store_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err) gpc_must_check;
int gpc_store_del(struct gpc_store *s, const char *key,
	struct gpc_error *err) gpc_must_check;
#define GPC_STORE_BATCH 1000
/* Deletes the next keys from *at on and moves *at behind them: as many as the store
 * takes at a time, in any order among themselves. That is one for a folder, a thousand
 * for a bucket. What must go before something else goes in a call of its own. On
 * failure some of them may be gone, and *at stays. To delete all:
 *	for (size_t at = 0; r == 0 && at < keys.n;)
 *		r = gpc_store_del_next(s, &keys, &at, err); */
int gpc_store_del_next(struct gpc_store *s, const struct gpc_strv *keys, size_t *at,
	struct gpc_error *err) gpc_must_check;
int gpc_store_sync(struct gpc_store *s, const char *key,
	struct gpc_error *err) gpc_must_check;
/* Of a store that keeps its journal elsewhere: sees to it that the data's store has
 * copies of this event, which is there, and of all before it. Others have nothing
 * to do. */
int gpc_store_follow(struct gpc_store *s, const char *key,
	struct gpc_error *err) gpc_must_check;
int gpc_store_append(struct gpc_store *s, const char *key, uint64_t offset,
	const void *data, size_t n, bool sync,
	struct gpc_error *err) gpc_must_check;
/* What begins the last part of an unfinished write's key. */
#define GPC_STORE_TEMP ".tmp-"
/* Shows what puts below the folder `prefix` have begun and not finished, under keys
 * that no other operation takes: of writers that live, and of those that were
 * killed. Nothing where a store keeps such things to itself. */
int gpc_store_unfinished(struct gpc_store *s, const char *prefix,
	gpc_list_fn *fn, void *arg, struct gpc_error *err) gpc_must_check;
/* Removes one of them. A writer that lives all the same begins anew; it loses
 * time, and nothing else. */
int gpc_store_drop(struct gpc_store *s, const char *key,
	struct gpc_error *err) gpc_must_check;
/* The part of it that nodes read and write, whose URL they are given: of a store that
 * keeps its journal elsewhere the data's, else all of it. Borrowed. */
struct gpc_store *gpc_store_of_nodes(struct gpc_store *s);
/* Appends the folders of this machine that it lies in; absolute. */
void gpc_store_folders(struct gpc_store *s, struct gpc_strv *paths);
/* Where a service has this object, for who asks for it without us: URL, and the region
 * that its requests are signed for; both owned. GPC_EUNSUPPORTED where no other
 * machine reaches it. */
int gpc_store_address(struct gpc_store *s, const char *key, char **ret_url,
	char **ret_region, struct gpc_error *err) gpc_must_check;
/* Sleeps where a store has no wait of its own. */
void gpc_store_wait(struct gpc_store *s, const char *prefix, int timeout_ms);
bool gpc_store_key_ok(const char *key);
