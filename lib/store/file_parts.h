/* What the parts of file.c share. */
#pragma once
#include "store/store.h"

struct gpc_file_state {
	int root;
	unsigned share;               /* mode of a folder in a group's store; 0 = it
	                               * is one user's, and his umask decides */
	char *path;
	struct gpc_file_watch *watch;
};

/* Whether that errno says that this user may not. */
bool gpc_file_is_forbidden(int sys);
/* The errno of a failed call as the store's error: what verb did not do to key. */
int gpc_file_fail_at(const struct gpc_store *s, const char *verb,
	const char *key, int sys, struct gpc_error *err);

/* What to tell who may not write in another user's store. */
#define GPC_FILE_HOW_TO_SHARE "how users share one is told in " \
	"gpucloud-store(7), \"Sharing a folder\""

/* Whether others on this machine may not read this key. */
bool gpc_file_is_secret(const char *key);
/* The mode of all folders of a group's store with this root; 0: it is none. */
unsigned gpc_file_share_of(unsigned root_mode);
/* Of a key's file, and of a folder that its name runs through. In a group's store
 * they hold as they are, else less the umask. */
unsigned gpc_file_mode(const struct gpc_file_state *f, const char *key);
unsigned gpc_file_folder_mode(const struct gpc_file_state *f, const char *key);

/* The folder of a key, "." for the root. */
void gpc_file_folder_of(const char *key, char ret_dir[520]);
/* Makes the names in a folder of root durable: 0 or an errno. */
int gpc_file_sync_folder(int root, const char *dir);
/* Opens a new file beside where key will be, with that key's mode; makes the
 * folders that are missing, and their names durable, unless `later`: its descriptor,
 * or -errno. */
int gpc_file_open_beside(const struct gpc_file_state *f, const char *key,
	const char *name, int flags, bool later);

/* The operations of these names in gpc_store_ops. */
int gpc_file_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err);
int gpc_file_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err);
int gpc_file_sync(struct gpc_store *s, const char *key,
	struct gpc_error *err);
int gpc_file_append(struct gpc_store *s, const char *key, uint64_t offset,
	const void *data, size_t n, bool sync, struct gpc_error *err);
