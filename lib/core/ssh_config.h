/* The entries that let the system's ssh, and what is built on it, find nodes: a file of
 * ours beside the configuration, which the user's ~/.ssh/config may include. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct gpc_ssh_entry {           /* all borrowed */
	const char *store, *job;     /* whose it is */
	const char *alias;           /* "gpucloud-JOB": what ssh is told */
	const char *address, *user;
	int port;
	const char *key;             /* path of the private key */
	const char *known;           /* path of the file with the pinned host key */
};
/* Its path; owned. */
int gpc_ssh_config_path(char **ret_path, struct gpc_error *err) gpc_must_check;
/* Writes this entry, in the place of one of the same alias; the file is the old or the
 * new one at any time, and only its user may read it. GPC_ECONFIG for what could not be
 * written without meaning something else to ssh. */
int gpc_ssh_config_put(const char *path, const struct gpc_ssh_entry *e,
	struct gpc_error *err) gpc_must_check;
/* The jobs of a store that have entries; none where there is no such file. */
int gpc_ssh_config_jobs(const char *path, const char *store,
	struct gpc_strv *ret_jobs, struct gpc_error *err) gpc_must_check;
/* Removes the entries of a job; *ret_aliases names them. */
int gpc_ssh_config_drop(const char *path, const char *store, const char *job,
	struct gpc_strv *ret_aliases, struct gpc_error *err) gpc_must_check;
