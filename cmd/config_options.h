/* Options that have a key: the other half of the configuration's keys, taken
 * from the commands' own tables. */
#pragma once
#include "cmd/command.h"

/* What struct gpc_config calls for keys that are not in its table. */
extern const struct gpc_config_extension gpc_config_options;

/* Whether a command's options have keys: one that people call. */
bool gpc_config_options_has_keys(const struct gpc_command *k);
/* GPUCLOUD_* of env for the options of one command (NULL: of every command). */
int gpc_config_options_env(struct gpc_config *c,
	const struct gpc_command *command, char *const *env,
	struct gpc_error *err) gpc_must_check;
/* Gives each option of the command at hand that is not on the command line the
 * value of its key. */
int gpc_config_options_apply(struct gpc_cmd *c, struct gpc_error *err)
	gpc_must_check;
