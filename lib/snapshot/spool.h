/* The bytes of one blob on their way: hashed as they come, kept in memory while
 * they are few, then in a temporary file that has no name, so that nothing is
 * left behind however the process ends. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "dep/crypto.h"
#include "store/store.h"

/* Memory that several spools share: each takes what its blobs need while there
 * is some left, and keeps it for the next ones. */
struct gpc_spool_budget { _Atomic int64_t left; };

struct gpc_spool {
	struct gpc_sha256 *hash;
	struct gpc_spool_budget *budget;        /* borrowed */
	char *mem;
	size_t cap;             /* of mem; taken from the budget */
	uint64_t max;           /* of the whole; more is GPC_EPROTO; 0 = any */
	uint64_t size;
	int fd;
	bool in_file;
	char *folder;           /* of the file, for messages */
	uint64_t at;            /* of reading */
	char *window;
};

void gpc_spool_init(struct gpc_spool *s, struct gpc_spool_budget *budget);
void gpc_spool_clear(struct gpc_spool *s);
GPC_CLEANUP_VALUE(gpc_spool);
/* Empties it for the next blob. */
void gpc_spool_reset(struct gpc_spool *s, uint64_t max);
/* A gpc_archive_out_fn and gpc_sink_fn; spool is a struct gpc_spool. */
int gpc_spool_add(void *spool, const void *data, size_t n,
	struct gpc_error *err);
/* The hash of all that was added; nothing may be added afterwards. */
void gpc_spool_end(struct gpc_spool *s, uint8_t ret_sum[GPC_SHA256_SIZE]);
struct gpc_body gpc_spool_body(const struct gpc_spool *s);
/* A gpc_archive_in_fn that reads it from the start. */
void gpc_spool_rewind(struct gpc_spool *s);
int gpc_spool_read(void *spool, const void **ret_data, size_t *ret_n,
	struct gpc_error *err);
