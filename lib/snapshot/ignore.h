/* The rules of gitignore(5), exactly as git applies them.
 *
 * A set of rules is one file's, and points at the set of the folder above; the
 * deepest file with a matching rule decides, and in it the last such rule. An
 * excluded folder is never entered, so nothing below it can come back: that is
 * the walker's part (scan.c), as it is in git.
 *
 * Which files count is decided once, at the root of the tree: the first of
 * .gpucloudignore, .skyignore and .gitignore that exists there is the one name
 * used. .gpucloudignore and .gitignore are also read in subfolders; .skyignore
 * only at the root, as SkyPilot does. Rules from outside the tree (folders
 * above the root, .git/info/exclude, the user's git configuration) do not
 * count: what is packed depends on the tree alone.
 *
 * Time is bounded: a match costs at most length of pattern times length of
 * path, whatever the pattern.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

#define GPC_IGNORE_MAX_BYTES ((size_t)1 << 20)     /* of one file */
#define GPC_IGNORE_MAX_LINE 4096

struct gpc_ignore;                                 /* opaque */
struct gpc_ignore_rule;                            /* opaque */

/* base: the folder of the file relative to the root, "" or "a/b/". file: its
 * name for messages. parent is borrowed, may be NULL and must live longer.
 * Fails on a line that is too long. */
int gpc_ignore_new(const char *text, size_t n, const char *base,
	const char *file, const struct gpc_ignore *parent,
	struct gpc_ignore **ret_x, struct gpc_error *err) gpc_must_check;
void gpc_ignore_free(struct gpc_ignore *x);
GPC_CLEANUP_POINTER(gpc_ignore);

/* The rule that decides about path (relative to the root, below base), or NULL.
 * x may be NULL. */
const struct gpc_ignore_rule *gpc_ignore_find(const struct gpc_ignore *x,
	const char *path, bool is_dir);
/* True when the rule excludes; false for NULL and for a rule with "!". */
bool gpc_ignore_excludes(const struct gpc_ignore_rule *rule);
/* "FILE:LINE: PATTERN"; borrowed from the rule. */
const char *gpc_ignore_rule_str(const struct gpc_ignore_rule *rule);
