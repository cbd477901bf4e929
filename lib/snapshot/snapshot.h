/* Trees <-> store: the one form of workspaces and checkpoints (DESIGN section
 * "Snapshots"). scan -> pack -> blobs + lists + a manifest head; restore goes
 * the other way, verified, and never outside its target. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/json.h"
#include "store/store.h"

/* --- scan ------------------------------------------------------------- */
#define GPC_PATH_MAX_BYTES 4095         /* of a path in a snapshot */

enum gpc_entry_kind { GPC_ENTRY_FILE, GPC_ENTRY_DIR, GPC_ENTRY_LINK };
enum gpc_unreadable { GPC_UNREADABLE_FAIL, GPC_UNREADABLE_SKIP };

struct gpc_scan_options {
	bool ignore_files;          /* honour .gpucloudignore, .skyignore, .gitignore */
	bool with_git;              /* keep .git */
	const struct gpc_strv *exclude; /* absolute paths never taken; may be NULL */
	/* What may not be read (EACCES): an error that names it, or skipped. */
	enum gpc_unreadable unreadable;
	const struct gpc_cancel *cancel;
};
struct gpc_entry {
	char *path;                 /* relative, bytes as on disk; in the arena */
	uint8_t kind;
	uint16_t mode;              /* permission bits, at most 0777 */
	uint64_t size;              /* files */
	int64_t mtime_ns;
	uint64_t dev, ino;
	int64_t ctime_ns;
	/* links: target text is read when packing */
};
/* rule: "FILE:LINE: PATTERN", or "built in: ..." (.git, reserved paths, sockets,
 * devices). Both strings lie in the arena. */
struct gpc_excluded { char *path; char *rule; bool dir; };
struct gpc_tree {
	char *root;
	GPC_VEC(struct gpc_entry) entries;      /* in byte order of path */
	GPC_VEC(struct gpc_excluded) excluded;
	struct gpc_strv unreadable;             /* skipped ones, by policy */
	uint64_t n_files, n_bytes;
	int64_t started_ns;         /* wall clock when the scan began */
	struct gpc_arena *arena;    /* holds the strings; see arena.h */
};
/* Walks root without following links below it. Which ignore files count:
 * ignore.h. A root that is missing or no folder is an error. */
int gpc_scan(const char *root, const struct gpc_scan_options *options,
	struct gpc_tree *ret_tree, struct gpc_error *err) gpc_must_check;
/* The tree of one regular file: root is its folder, the only entry is its name;
 * links to it are followed. Another kind of file is GPC_ECONFIG. */
int gpc_scan_file(const char *path, struct gpc_tree *ret_tree,
	struct gpc_error *err) gpc_must_check;
void gpc_tree_clear(struct gpc_tree *t);
GPC_CLEANUP_VALUE(gpc_tree);

/* --- save ------------------------------------------------------------- */
struct gpc_save_options {
	const char *prefix;         /* "blobs/" or "jobs/J/1/blobs/" */
	/* Blobs known to be present under prefix: those of this older head (may
	 * be NULL). For "blobs/" presence is asked of the store. */
	const struct gpc_json *base;
	const char *cache_path;     /* file that knows unchanged files; NULL = none */
	unsigned threads;           /* 0 = as many as cores */
	const struct gpc_cancel *cancel;
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};
struct gpc_save_result {
	struct gpc_json *head;      /* the manifest head; owned */
	char head_blob[65];         /* its sha256, when it was put as a blob */
	uint64_t n_files, n_bytes;  /* of the tree */
	uint64_t sent_blobs, sent_bytes, read_bytes;
	bool quiet;                 /* nothing changed while it was read */
};
/* Packs and uploads; the caller commits by putting result.head somewhere.
 * head_as_blob: it is also put under prefix, and head_blob names it. */
int gpc_snapshot_save(struct gpc_store *s, const struct gpc_tree *tree,
	const struct gpc_save_options *options, bool head_as_blob,
	struct gpc_save_result *ret_r, struct gpc_error *err) gpc_must_check;
void gpc_save_result_clear(struct gpc_save_result *r);
GPC_CLEANUP_VALUE(gpc_save_result);

/* --- restore ---------------------------------------------------------- */
struct gpc_restore_kept { uint64_t files, bytes; };
struct gpc_restore_options {
	bool overwrite;             /* default: existing files are kept */
	unsigned threads;
	const struct gpc_cancel *cancel;
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
	struct gpc_restore_kept *ret_kept;  /* of files that were there; or NULL */
};
int gpc_snapshot_restore(struct gpc_store *s, const struct gpc_json *head,
	const char *prefix, const char *target,
	const struct gpc_restore_options *options,
	struct gpc_error *err) gpc_must_check;
/* Gets a head that was put as a blob; checks its hash. */
int gpc_snapshot_get_head(struct gpc_store *s, const char *prefix,
	const char *sha256, struct gpc_json **ret_head,
	struct gpc_error *err) gpc_must_check;
/* Every blob that a head needs (lists, packs, chunks), each once: sha256, size.
 * Reads the lists from the store. */
typedef int gpc_blob_fn(void *arg, const char *sha256, uint64_t size,
	struct gpc_error *err);
int gpc_snapshot_blobs(struct gpc_store *s, const struct gpc_json *head,
	const char *prefix, gpc_blob_fn *fn, void *arg,
	struct gpc_error *err) gpc_must_check;
/* "blobs/ab/abcd..." of a blob; prefix ends in "/". */
void gpc_blob_key(const char *prefix, const char *sha256, char ret_key[520]);

/* --- verify ----------------------------------------------------------- */
/* Something that is not as the head says, in words for people. path: the file
 * that lost by it, NULL for a list or the whole. blob: sha256 of the one to
 * blame, or NULL. From any thread, but never two at once. */
typedef void gpc_damage_fn(void *arg, const char *path, const char *blob,
	const char *what);
/* What has been found sound, so that the next snapshot of the same blobs need
 * not read them again. */
struct gpc_verified;
struct gpc_verified *gpc_verified_new(void);
void gpc_verified_free(struct gpc_verified *v);
GPC_CLEANUP_POINTER(gpc_verified);
struct gpc_verify_options {
	unsigned threads;
	struct gpc_verified *known; /* may be NULL */
	const struct gpc_cancel *cancel;
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};
/* Reads every list, pack and piece: names against bytes, sizes, order, and that
 * each file's bytes lie where its line says. Memory does not grow with the
 * snapshot, but for a word for each blob that is known. 0: all of it was looked
 * at, sound or not; an error: it could not be. */
int gpc_snapshot_verify(struct gpc_store *s, const struct gpc_json *head,
	const char *prefix, const struct gpc_verify_options *options,
	gpc_damage_fn *fn, void *arg, struct gpc_error *err) gpc_must_check;
