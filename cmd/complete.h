/* `gpucloud __complete WORD...`: what the shells' completion scripts call. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "cmd/command.h"

/* argv: the words after "gpucloud", the last one being the word under the
 * cursor (may be ""). Prints one candidate a line as "word\tdescription"; a line
 * ":file" or ":dir" asks the shell to complete paths itself. Never fails
 * loudly: a broken configuration completes nothing. */
int gpc_complete_run(struct gpc_cmd *c, int argc, char *const *argv,
	struct gpc_error *err) gpc_must_check;

/* Adds job names and ids of the store that start with prefix. */
int gpc_complete_jobs(const char *store_url, const char *prefix,
	struct gpc_strv *ret_jobs, struct gpc_error *err) gpc_must_check;
