/* What the command line can change in a spec, as rows for the option parser.
 * The words are the model's (gpc_spec_options), which gives them their meaning;
 * option tables are constants, so they stand here again, and a unit test sees
 * that both say the same.
 */
#include "cmd/spec_load.h"

#define STR(word, field, arg, ...) \
	GPC_OPT_STR(0, word, struct gpc_spec_cli, field, arg, __VA_ARGS__)

static const char *const booleans[] = {"true", "false", NULL};
static const char *const disk_tiers[] = {
	"low", "medium", "high", "ultra", "best", NULL,
};
static const char *const network_tiers[] = {"standard", "best", NULL};

const struct gpc_opt gpc_spec_cli_options[] = {
	STR("name", name, "NAME", "name of the job", .key = GPC_OPT_NO_KEY),
	STR("workdir", workdir, "DIR",
		"folder that is packed and sent", .complete = GPC_COMPLETE_DIR,
		.guarded = true),
	STR("git-url", git_url, "URL", "git repository to send as workdir",
		.key = GPC_OPT_NO_KEY),
	STR("git-ref", git_ref, "REF", "its branch, tag or commit",
		.key = GPC_OPT_NO_KEY),
	STR("nodes", nodes, "N", "number of nodes", .guarded = true),
	STR("infra", infra, "PROVIDER[/REGION[/ZONE]]", "where to run",
		.complete = GPC_COMPLETE_INFRA, .guarded = true),
	GPC_OPT_STR('g', "gpus", struct gpc_spec_cli, gpus, "NAME[:COUNT]",
		"GPUs per node", .complete = GPC_COMPLETE_GPU,
		.guarded = true),
	STR("cpus", cpus, "N[+]", "processors per node", .guarded = true),
	STR("memory", memory, "GB[+]", "memory per node", .guarded = true),
	STR("spot", spot, "BOOL",
		"buy machines that may be taken away", .implied = "true",
		.words = booleans),
	STR("instance-type", instance_type, "TYPE", "exact machine type",
		.key = GPC_OPT_NO_KEY),
	STR("image", image, "IMAGE", "image of the nodes"),
	STR("disk-size", disk_size, "GB", "size of the system disk"),
	STR("disk-tier", disk_tier, "TIER", "speed of the system disk",
		.words = disk_tiers),
	STR("network-tier", network_tier, "TIER", "speed between nodes",
		.words = network_tiers),
	GPC_OPT_LIST(0, "ports", struct gpc_spec_cli, ports, "PORT[-LAST]",
		"ports that are opened", .key = GPC_OPT_NO_KEY),
	GPC_OPT_LIST(0, "allow", struct gpc_spec_cli, allow, "CIDR",
		"who may reach the ports", .guarded = true),
	STR("max-hourly-cost", max_hourly_cost, "AMOUNT",
		"cap on the hourly price of one node", .guarded = true),
	STR("max-cost", max_cost, "AMOUNT", "cap on all that the job costs",
		.guarded = true),
	STR("time", time, "TIME", "running time over all attempts",
		.guarded = true),
	STR("setup-time", setup_time, "TIME", "time of one setup",
		.guarded = true),
	STR("deadline", deadline, "DATE", "latest end", .guarded = true),
	STR("checkpoint", checkpoint, "DIR",
		"folder that is saved and resumed from",
		.complete = GPC_COMPLETE_DIR),
	STR("priority", priority, "N",
		"which of several waiting jobs is bought first"),
	STR("notify", notify, "ITEM|@FILE|none",
		"who is told, as YAML of the spec's notify", .guarded = true),
	STR("strict", strict, "BOOL",
		"run bash with -e and pipefail", .implied = "true",
		.words = booleans),
	GPC_OPT_LIST('e', "env", struct gpc_spec_cli, env, "NAME[=VALUE]",
		"a variable; without =VALUE from the environment",
		.complete = GPC_COMPLETE_ENV, .guarded = true),
	STR("env-file", env_file, "FILE",
		"variables and secrets from lines NAME=VALUE",
		.complete = GPC_COMPLETE_FILE, .key = GPC_OPT_NO_KEY),
	GPC_OPT_LIST(0, "secret", struct gpc_spec_cli, secret,
		"NAME[=@FILE]", "a secret, from the environment or from FILE",
		.complete = GPC_COMPLETE_ENV, .guarded = true),
	GPC_OPT_END
};
