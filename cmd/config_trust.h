/* Which projects' files the user has read and allows to set every key: a list
 * in the user's state folder of absolute paths, each with the sha256 of what
 * was read, so that a changed file is a stranger again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/crypto.h"

struct gpc_trusted {
	char *path;
	char sum[GPC_SHA256_HEX];
};
struct gpc_trust { GPC_VEC(struct gpc_trusted) v; };

/* True when this very text at this path is trusted. Never fails: what cannot be
 * read is not trusted. */
bool gpc_trust_holds(const char *path, const char *text, size_t n);
/* The list, in the order of paths; no file is an empty one. */
int gpc_trust_read(struct gpc_trust *ret_t, struct gpc_error *err)
	gpc_must_check;
void gpc_trust_clear(struct gpc_trust *t);
GPC_CLEANUP_VALUE(gpc_trust);
/* Adds or renews a path; with text NULL removes it. GPC_ENOTFOUND when there
 * is nothing to remove. */
int gpc_trust_set(const char *path, const char *text, size_t n,
	struct gpc_error *err) gpc_must_check;
