/* Help texts. Nothing is written twice: names, summaries and options come from
 * the command records, so a new command needs no edit here.
 */
#include "cmd/help.h"

#include "cmd/wrap.h"

enum { WIDTH = 80, NAME_COLUMN = 14 };

static void add_group(const char *title, enum gpc_command_group group,
	struct gpc_buf *out)
{
	gpc_buf_addf(out, "\n%s:\n", title);
	for (size_t i = 0; gpc_commands[i]; i++) {
		const struct gpc_command *c = gpc_commands[i];

		if (c->group == group)
			gpc_buf_addf(out, "  %-*s%s\n", NAME_COLUMN - 2,
				c->name, c->summary);
	}
}

void gpc_help_all(struct gpc_buf *out)
{
	gpc_buf_adds(out, "usage: gpucloud COMMAND [OPTION]... [ARGUMENT]...\n"
		"\nRuns GPU jobs: buys the machine once, streams the logs, "
		"saves checkpoints,\nsurvives interruptions, gives the machine "
		"back, and says what it cost.\n");
	add_group("Life cycle", GPC_GROUP_LIFE, out);
	add_group("Around it", GPC_GROUP_AROUND, out);
	gpc_buf_adds(out, "\nOptions of every command:\n");
	gpc_opt_help(gpc_opts_global, out);
	gpc_buf_adds(out, "\nOptions before a command:\n");
	gpc_opt_help(gpc_opts_first, out);
	gpc_opt_help(gpc_opts_store, out);
	gpc_buf_adds(out, "\nThe options of one command: gpucloud COMMAND "
		"--help. Manual: man gpucloud.\n");
}

void gpc_help_usage(const struct gpc_command *command, struct gpc_buf *out)
{
	struct gpc_str rest = gpc_str_of(command->usage), line;
	const char *lead = "usage:";

	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_buf_addf(out, "%s gpucloud %s", lead, command->name);
		if (line.len)
			gpc_buf_addf(out, " %.*s", (int)line.len, line.ptr);
		gpc_buf_addc(out, '\n');
		lead = "      ";
	}
}

void gpc_help_command(const struct gpc_command *command, struct gpc_buf *out)
{
	gpc_help_usage(command, out);
	gpc_buf_addc(out, '\n');
	if (command->about) {
		gpc_wrap_text(command->about, 0, 0, WIDTH, out);
	} else {
		/* a sentence out of the summary */
		char first = command->summary[0];
		if (first >= 'a' && first <= 'z')
			first = (char)(first - 'a' + 'A');
		gpc_buf_addf(out, "%c%s.\n", first, command->summary + 1);
	}
	gpc_buf_adds(out, "\nOptions:\n");
	gpc_opt_help(command->options, out);
	if (command->flags & GPC_CMD_OUTPUT)
		gpc_opt_help(gpc_opts_output, out);
	if (command->flags & GPC_CMD_STORE)
		gpc_opt_help(gpc_opts_store, out);
	gpc_opt_help(gpc_opts_global, out);
}
