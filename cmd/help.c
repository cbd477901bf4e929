/* `gpucloud help [COMMAND]` */
#include "cmd/help.h"

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (c->argc == 0) {
		gpc_help_all(&b);
	} else {
		const struct gpc_command *command = gpc_command_find(c->argv[0]);
		if (!command)
			return gpc_command_unknown(c->argv[0], err);
		gpc_help_command(command, &b);
	}
	int r = gpc_buf_check(&b, err);
	return r ? r : gpc_out_print(&c->out, err, "%s", b.data);
}

const struct gpc_command gpc_command_help = {
	.name = "help",
	.summary = "show the commands, or the options of one",
	.usage = "[OPTION]... [COMMAND]",
	.about = "Without COMMAND lists all commands; with it shows what "
		"`gpucloud COMMAND --help` shows.",
	.group = GPC_GROUP_AROUND,
	.max_args = 1,
	.complete = GPC_COMPLETE_COMMAND,
	.run = run,
};
