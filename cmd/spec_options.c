/* What the command line can change in a spec, as rows for the option parser.
 * The meaning of each word is the model's (gpc_spec_options); here are only its
 * place in the context and the phrase for --help.
 */
#include "cmd/spec_load.h"

#define STR(word, field, arg, ...) \
	GPC_OPT_STR(0, word, struct gpc_spec_cli, field, arg, __VA_ARGS__)

const struct gpc_opt gpc_spec_cli_options[] = {
	STR("name", name, "NAME", "the job's name"),
	STR("workdir", workdir, "DIR", "the folder that is sent",
		.complete = GPC_COMPLETE_DIR),
	STR("infra", infra, "INFRA", "where to run: local"),
	GPC_OPT_STR('g', "gpus", struct gpc_spec_cli, gpus, "NAME[:COUNT]",
		"GPUs of each node"),
	STR("cpus", cpus, "N[+]", "CPUs of each node; + means at least"),
	STR("memory", memory, "GB[+]",
		"memory of each node; + means at least"),
	STR("nodes", nodes, "N", "how many nodes"),
	STR("spot", spot, "BOOL", "buy on the spot market",
		.implied = "true"),
	STR("image", image, "IMAGE", "the image of the nodes"),
	STR("time", time, "TIME", "longest running time over all attempts"),
	STR("max-cost", max_cost, "MONEY",
		"the most that the job may cost, over all attempts"),
	GPC_OPT_LIST('e', "env", struct gpc_spec_cli, env, "NAME[=VALUE]",
		"a variable; without =VALUE from the environment"),
	STR("env-file", env_file, "FILE",
		"variables and secrets from lines NAME=VALUE",
		.complete = GPC_COMPLETE_FILE),
	GPC_OPT_LIST(0, "secret", struct gpc_spec_cli, secret,
		"NAME[=@FILE]", "a secret, from the environment or from FILE"),
	GPC_OPT_END
};
