/* Reads the configuration: defaults, the user's file, the project's file,
 * environment, options. */
#pragma once
#include "cmd/command.h"
#include "model/config.h"
#include "model/spec.h"

enum { GPC_CONFIG_FILE_MAX = 1 << 20 };

struct gpc_config_ask {
	const char *store, *profile;          /* options, or NULL */
	const struct gpc_command *command;    /* whose options the environment
	                                       * may set; NULL: no command's */
	bool every_command;                   /* those of all */
};
/* Warnings about what was read go to ret_warnings, if not NULL. */
int gpc_config_load_for(struct gpc_config *ret_c,
	const struct gpc_config_ask *ask, struct gpc_strv *ret_warnings,
	struct gpc_error *err) gpc_must_check;
/* Without a command and a profile. */
int gpc_config_load(struct gpc_config *ret_c, const char *store_option,
	struct gpc_strv *ret_warnings, struct gpc_error *err) gpc_must_check;
/* The absolute path that ca_file names; owned, NULL when it is not set. */
int gpc_config_ca_file(const struct gpc_config *c, char **ret_path,
	struct gpc_error *err) gpc_must_check;
/* "file:///..." of the store in use; owned. Only file stores need no scheme. */
int gpc_config_store_url(const struct gpc_config *c, char **ret_url,
	struct gpc_error *err) gpc_must_check;

/* $XDG_CONFIG_HOME/gpucloud/config.yaml, and .gpucloud.yaml of the current
 * folder as an absolute path; owned. */
int gpc_config_user_path(char **ret_path, struct gpc_error *err)
	gpc_must_check;
int gpc_config_project_path(char **ret_path, struct gpc_error *err)
	gpc_must_check;
/* The file's text, appended to b. GPC_ENOTFOUND when there is none; what cannot
 * be read is GPC_ECONFIG. *ret_open_to_others: somebody else may write it. */
int gpc_config_read_text(const char *path, struct gpc_buf *b,
	bool *ret_open_to_others, struct gpc_error *err) gpc_must_check;

/* Into a spec that has been parsed: what the configuration's files say about
 * submit.*, where the spec says nothing. machine_given: an option names the type
 * of machine, so neither its GPUs, processors nor memory are taken from files. */
int gpc_config_under_spec(const struct gpc_config *c, bool machine_given,
	struct gpc_spec *spec, const struct gpc_spec_host *host,
	struct gpc_strv *warnings, struct gpc_error *err) gpc_must_check;
