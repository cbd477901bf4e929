/* Files of a snapshot that look like credentials, before anything is stored. */
#pragma once
#include <stddef.h>

#include "base/cancel.h"
#include "core/mounts.h"
#include "snapshot/snapshot.h"

struct gpc_suspect {
	char *path;                   /* of the tree; of a mount, as on the node */
	bool mount;                   /* of file_mounts, else of the workdir */
	const char *looks;            /* "a private key"; static */
};
struct gpc_suspects { struct gpc_suspect *v; size_t n, cap; };
/* Opens only files whose name makes them candidates (model/credential.h), and
 * reads at most GPC_CREDENTIAL_READ bytes of each. What cannot be read is left
 * to those who pack it. Either may be NULL. */
int gpc_suspects_find(const struct gpc_tree *tree,
	const struct gpc_mounts *mounts, const struct gpc_cancel *cancel,
	struct gpc_suspects *ret_list, struct gpc_error *err) gpc_must_check;
void gpc_suspects_clear(struct gpc_suspects *s);
GPC_CLEANUP_VALUE(gpc_suspects);
