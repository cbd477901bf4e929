/* The files below a folder, in byte order of their keys, as a bucket lists them: a
 * folder's name counts as if it ended in "/". Links are followed, to files and to
 * folders. What cannot be read or is no file is told as a note (listed.h), since a list
 * that just lacks it would be believed. Names of the folders on the way down are in
 * memory, no others. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "transfer/filter.h"
#include "transfer/listed.h"

struct gpc_walk {
	const char *root;               /* a folder */
	const struct gpc_filter *filter;/* or NULL */
	/* Only what the folder itself has; folders are given as keys that end in
	 * "/", and not entered. */
	bool flat;
};
/* Non-zero ends the walk, and is returned. */
typedef int gpc_walk_fn(void *arg, const struct gpc_listed *l,
	struct gpc_error *err);
/* GPC_ENOTFOUND: there is no root. */
int gpc_walk_run(const struct gpc_walk *w, gpc_walk_fn *fn, void *arg,
	struct gpc_error *err) gpc_must_check;
/* What a note is about, for people; borrowed. */
const char *gpc_walk_note(const struct gpc_listed *l);
