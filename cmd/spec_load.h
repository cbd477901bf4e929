/* A spec from a file, from stdin or from a command, with everything that the
 * command line changes in it. */
#pragma once
#include "base/map.h"
#include "cmd/command.h"
#include "model/spec.h"

/* Rows of gpc_spec_cli_options; every word of gpc_spec_options() has one. */
struct gpc_spec_cli {
	const char *name, *workdir, *git_url, *git_ref, *nodes, *infra, *gpus;
	const char *cpus, *memory;
	const char *spot, *instance_type, *image, *disk_size, *disk_tier;
	const char *network_tier, *max_hourly_cost, *max_cost, *time;
	const char *setup_time, *deadline, *checkpoint, *strict;
	const char *priority, *notify;
	struct gpc_strv ports, allow, env, secret;
	const char *env_file;
};
extern const struct gpc_opt gpc_spec_cli_options[];

/* word: a file, "-" or NULL; command: NULL or the words after `--`, which give
 * or replace `run`. Parsed, overridden and resolved; warnings are logged. Not
 * checked for what is not built: callers that run it do. unset, which may be NULL:
 * gets what is wrong with values of envs and secrets, which then ends nothing. */
int gpc_spec_load(struct gpc_cmd *c, const struct gpc_spec_cli *cli,
	const char *word, const char *const *command, int n_command,
	struct gpc_spec_file *ret_file, struct gpc_errors *unset,
	struct gpc_error *err) gpc_must_check;
/* The host as specs see it: folder, home, environment, and files, which it reads
 * until cancel is set. Free the owned strings with gpc_spec_host_clear. */
struct gpc_spec_host_owned {
	struct gpc_spec_host host;
	char *cwd, *home, *script;
};
void gpc_spec_host_init(struct gpc_spec_host_owned *h,
	const struct gpc_cancel *cancel);
void gpc_spec_host_owned_clear(struct gpc_spec_host_owned *h);
GPC_CLEANUP_VALUE(gpc_spec_host_owned);
/* The YAML that --notify means: its own text, or that of the file of @FILE.
 * Owned. */
int gpc_spec_notify_text(const char *value, const struct gpc_cancel *cancel,
	char **ret_text, struct gpc_error *err) gpc_must_check;
/* Values of --secret K, K=@FILE, K=V, as names and values. */
int gpc_spec_secrets(struct gpc_cmd *c, const struct gpc_strv *args,
	struct gpc_pairs *ret_pairs, struct gpc_error *err) gpc_must_check;
