/* Blobs in a store: put once and only when needed, got and checked. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "dep/json.h"
#include "snapshot/spool.h"
#include "store/store.h"

/* A blob under the common prefix counts as present while it is younger than
 * this by the store's own clocks; an older one is put again, which renews it,
 * so that no sweep takes it from under a new snapshot. */
#define GPC_BLOB_FRESH_MS ((int64_t)7 * 24 * 3600 * 1000)
/* A sweep takes only older ones: a save of up to a week in between is safe. */
#define GPC_BLOB_OLD_MS ((int64_t)14 * 24 * 3600 * 1000)
#define GPC_BLOBS_COMMON "blobs/"

struct gpc_sender {
	struct gpc_store *store;
	const char *prefix;
	bool ask;               /* the common prefix: presence is asked for */
	struct gpc_map have;    /* hex names: of the base, and of this save */
	struct gpc_strv unsynced; /* hex names that may not be durable yet */
	struct gpc_map old;     /* hex names that were there, but not fresh */
	struct gpc_strv renewed; /* those of them that were put again */
	pthread_mutex_t lock;
	_Atomic uint64_t sent_blobs, sent_bytes;
};
/* base: an older head whose blobs are there; NULL = none. Not used with the
 * common prefix, nor when its lists cannot be read. */
int gpc_sender_open(struct gpc_sender *s, struct gpc_store *store,
	const char *prefix, const struct gpc_json *base,
	struct gpc_error *err) gpc_must_check;
void gpc_sender_close(struct gpc_sender *s);
/* Safe from several threads. */
int gpc_sender_has(struct gpc_sender *s, const uint8_t sum[GPC_SHA256_SIZE],
	uint64_t size, bool *ret_has, struct gpc_error *err) gpc_must_check;
/* Puts what the spool holds, unless it is there. */
int gpc_sender_put(struct gpc_sender *s, const uint8_t sum[GPC_SHA256_SIZE],
	const struct gpc_body *body, struct gpc_error *err) gpc_must_check;
/* Makes all that was put durable: to be called before anything names it. A
 * sweep that looked at an old blob just before it was renewed may have deleted
 * it: GPC_ECONFLICT then, and the same save again puts it once more. */
int gpc_sender_sync(struct gpc_sender *s, struct gpc_error *err)
	gpc_must_check;

/* Gets a blob of exactly size bytes into the spool and checks its hash; the
 * spool is then ready to be read. */
int gpc_blob_get(struct gpc_store *store, const char *prefix,
	const uint8_t sum[GPC_SHA256_SIZE], uint64_t size,
	struct gpc_spool *spool, struct gpc_error *err) gpc_must_check;
