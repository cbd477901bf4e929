/* What file.c, file_error.c, file_folder.c and file_write.c share. */
#pragma once
#include "store/store.h"

struct gpc_file_state {
	int root;
	char *path;
	struct gpc_file_watch *watch;
};

/* Whether that errno says that this user may not. */
bool gpc_file_is_forbidden(int sys);
/* The errno of a failed call as the store's error: what verb did not do to key. */
int gpc_file_fail_at(const struct gpc_store *s, const char *verb,
	const char *key, int sys, struct gpc_error *err);

/* The folder of a key, "." for the root. */
void gpc_file_folder_of(const char *key, char ret_dir[520]);
/* Whether others on this machine may not read this key. */
bool gpc_file_is_secret(const char *key);
/* Makes the names in a folder of root durable: 0 or an errno. */
int gpc_file_sync_folder(int root, const char *dir);
/* Opens a new file beside where key will be, with mode; makes the folders that are
 * missing, and their names durable, unless `later`: its descriptor, or -errno. */
int gpc_file_open_beside(int root, const char *key, const char *name,
	int flags, unsigned mode, bool later);

/* The operations of these names in gpc_store_ops. */
int gpc_file_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err);
int gpc_file_sync(struct gpc_store *s, const char *key,
	struct gpc_error *err);
int gpc_file_append(struct gpc_store *s, const char *key, uint64_t offset,
	const void *data, size_t n, bool sync, struct gpc_error *err);
