/* What a submit sends: workdir or git commit, file mounts, and what of it looks
 * like credentials. */
#pragma once
#include "cmd/command.h"
#include "core/bucket_mounts.h"
#include "core/git.h"
#include "core/mounts.h"
#include "core/suspects.h"
#include "model/spec.h"
#include "snapshot/snapshot.h"

enum gpc_credentials {
	GPC_CREDENTIALS_WARN, GPC_CREDENTIALS_REFUSE, GPC_CREDENTIALS_ALLOW,
};
extern const char *const gpc_credentials_words[];

struct gpc_sent_options {
	bool with_git, skip_unreadable;
	enum gpc_credentials credentials;
};
struct gpc_sent {
	struct gpc_git_tree git;      /* root NULL: the tree is spec->workdir */
	struct gpc_tree tree;
	struct gpc_mounts mounts;
	struct gpc_bucket_mounts buckets;     /* are not sent, but looked at */
	struct gpc_suspects suspects;
};
/* Scans it, after fetching the commit when the spec names a repository; stores
 * nothing. Files that look like credentials are an error (GPC_ECONFIG) if the
 * options say so. */
int gpc_sent_scan(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_spec *spec, const struct gpc_sent_options *options,
	struct gpc_sent *sent, struct gpc_error *err) gpc_must_check;
/* The warning about them; nothing when there are none. */
void gpc_sent_warn(struct gpc_cmd *c, const struct gpc_sent *sent);
void gpc_sent_clear(struct gpc_sent *s);
GPC_CLEANUP_VALUE(gpc_sent);
