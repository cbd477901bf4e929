/* workdir: {url, ref}: a commit of a git repository as the tree of a job. */
#pragma once
#include <stdbool.h>

#include "core/session.h"
#include "model/spec.h"
#include "snapshot/snapshot.h"

struct gpc_git_options {
	const char *token;            /* for https; NULL = none */
	const char *ssh_key;          /* path of a private key; NULL = ssh's own */
	bool ask;                     /* git may ask at the terminal */
};
/* A checked-out commit in a private scratch folder, as long as this lives. */
struct gpc_git_tree {
	char *root;                   /* NULL = the spec names no repository */
	char commit[65];              /* hex */
	char *refname;                /* "refs/heads/main", "HEAD"; NULL = a commit */
	char *scratch;
	int scratch_lock;
};
/* Finds the commit that spec->workdir_git means now, fetches it into the cache
 * unless it is there, and checks it out. Two checkouts of a commit are equal in
 * names, bytes, modes and times. Neither submodules nor files of git-lfs are
 * fetched, which is logged. What a killed run left is removed here. Errors: see
 * gpc_git_run; GPC_ECONFIG also for a ref that is not there. */
int gpc_git_take(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_git_options *options, struct gpc_git_tree *ret_t,
	struct gpc_error *err) gpc_must_check;
/* The files to send: every one of the commit but what .gpucloudignore, if there
 * is one, leaves out, and checkpoint.path. */
int gpc_git_scan(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_git_tree *t, struct gpc_tree *ret_tree,
	struct gpc_error *err) gpc_must_check;
void gpc_git_tree_clear(struct gpc_git_tree *t);
GPC_CLEANUP_VALUE(gpc_git_tree);
/* "https://host/repo@main (1a2b3c4d5e6f)"; owned. ref may be NULL. */
char *gpc_git_describe(const char *url, const char *ref, const char *commit);
