/* What the files of one save share: plan.c says what belongs together, known.c
 * what the cache knows, pack.c and chunk.c make blobs in worker threads, save.c
 * drives them and writes lists and head. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "snapshot/beneath.h"
#include "snapshot/blob.h"
#include "snapshot/cache.h"
#include "snapshot/entry.h"
#include "snapshot/snapshot.h"

/* A save is tried this often on files that change while they are read. */
enum { GPC_SAVE_ROUNDS = 3 };

/* A packed file that was not what the scan had seen. */
struct gpc_seen {
	uint32_t member;
	bool gone;
	uint16_t mode;
	uint64_t size;
	int64_t mtime_ns;
};
struct gpc_pack {
	uint32_t first, n;      /* members */
	uint64_t bytes;
	uint8_t sum[GPC_SHA256_SIZE];
	uint32_t size;          /* of the blob; 0 = it holds nothing */
	bool known;             /* sum and size are the cache's */
	bool changed;           /* a member changed while it was read */
	GPC_VEC(struct gpc_seen) seen;  /* in order of members */
};
/* What tells whether a file is still the same. */
struct gpc_file_id { uint64_t dev, ino, size; int64_t mtime_ns, ctime_ns; };
struct gpc_big {
	uint32_t entry;
	uint32_t first;         /* number of its first piece among all */
	struct gpc_file_id id;  /* what the pieces are read as */
	uint16_t mode;
	uint32_t n_chunks;
	struct gpc_chunk *chunks;
	bool moved;             /* id is not the scan's */
	_Atomic bool changed, gone;
};
struct gpc_save_worker {
	struct gpc_beneath top;
	struct gpc_spool spool;
	struct gpc_sha256 *hash;
	char *piece;            /* GPC_PIECE_BYTES */
};
#define GPC_PIECE_BYTES ((size_t)128 << 10)

struct gpc_save {
	const struct gpc_tree *tree;
	const struct gpc_save_options *o;
	struct gpc_sender sender;
	GPC_VEC(uint32_t) members;              /* entries of small files */
	uint8_t (*hashes)[GPC_SHA256_SIZE];     /* of each member's content */
	bool *has_hash;
	GPC_VEC(struct gpc_pack) packs;
	GPC_VEC(struct gpc_big) bigs;
	uint32_t n_chunks;
	struct gpc_cache *cache;
	unsigned threads;
	struct gpc_spool_budget memory;
	struct gpc_save_worker *workers;        /* threads + 1 for the caller */
	unsigned round;                         /* from 1 */
	_Atomic uint64_t done_bytes, read_bytes;
	_Atomic bool unquiet;
};

/* plan.c */
int gpc_save_plan(struct gpc_save *s, struct gpc_error *err) gpc_must_check;
struct gpc_file_id gpc_file_id_of_entry(const struct gpc_entry *e);
struct gpc_file_id gpc_file_id_of_stat(const struct stat *st);
bool gpc_file_id_eq(const struct gpc_file_id *a, const struct gpc_file_id *b);

/* known.c */
void gpc_save_recall(struct gpc_save *s);
int gpc_save_remember(struct gpc_save *s, struct gpc_error *err) gpc_must_check;

/* pack.c, chunk.c: what a worker does. */
int gpc_save_pack(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_pack *p, struct gpc_error *err) gpc_must_check;
int gpc_save_chunk(struct gpc_save *s, struct gpc_save_worker *w,
	struct gpc_big *b, uint32_t number, struct gpc_error *err)
	gpc_must_check;
/* Names what of the tree could not be read, and why. */
int gpc_save_fail(const struct gpc_save *s, const char *path, int sys,
	struct gpc_error *err);
/* Whether an errno says that it is no longer there. */
bool gpc_save_is_gone(int sys);
/* Opens a file of the tree. *ret_fd = -1 when it is no longer there, or no
 * regular file. */
int gpc_save_open(struct gpc_save *s, struct gpc_save_worker *w,
	const char *path, int *ret_fd, struct stat *ret_st,
	struct gpc_error *err) gpc_must_check;
/* Up to n bytes at offset into w->piece; fewer only at the end. */
int gpc_save_read(struct gpc_save *s, struct gpc_save_worker *w, int fd,
	const char *path, uint64_t offset, size_t n, size_t *ret_n,
	struct gpc_error *err) gpc_must_check;
