/* `gpucloud help [COMMAND]` and `gpucloud help spec [FIELD]` */
#include "cmd/help.h"
#include "cmd/help_spec.h"
#include "cmd/plugin.h"

static const char *const topics[] = {"spec", NULL};

/* Of a program gpucloud-NAME only it can say how it is called. */
static int show_command(struct gpc_cmd *c, const char *name, size_t width,
	struct gpc_buf *b, struct gpc_error *err)
{
	const struct gpc_command *command = gpc_command_find(name);
	gpc_autostr *word = gpc_strdup(name);
	char help[] = "--help";
	char *argv[] = {word, help, NULL};

	if (!command)
		return gpc_plugin_run(&c->global, argv, err);
	gpc_help_command(command, width, b);
	return 0;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	size_t width = gpc_help_width(&c->out);
	int r = 0;

	if (c->argc == 0)
		gpc_help_all(width, &b);
	else if (gpc_eq(c->argv[0], "spec"))
		r = gpc_help_spec(c->argc > 1 ? c->argv[1] : NULL, width, &b,
			err);
	else if (c->argc > 1)
		r = gpc_fail(err, GPC_EUSAGE, "help: one argument too many: "
			"\"%s\"", c->argv[1]);
	else
		r = show_command(c, c->argv[0], width, &b, err);
	return r ? r : gpc_help_print(c, &b, err);
}

static enum gpc_complete next(const char *const *words, int n)
{
	if (n == 0)
		return GPC_COMPLETE_COMMAND;
	return n == 1 && gpc_eq(words[0], "spec") ? GPC_COMPLETE_FIELD :
		GPC_COMPLETE_NONE;
}

const struct gpc_command gpc_command_help = {
	.name = "help",
	.summary = "show the commands, the options of one, or a spec's fields",
	.usage = "[OPTION]... [COMMAND]\n[OPTION]... spec [FIELD]",
	.about = "Without COMMAND lists all commands; with it shows what "
		"`gpucloud COMMAND --help` shows; a program gpucloud-COMMAND "
		"is asked itself. spec lists the fields of a "
		"spec, or says what FIELD, such as limits.cost, means and "
		"takes.",
	.group = GPC_GROUP_AROUND,
	.max_args = 2,
	.complete_next = next,
	.words = topics,
	.run = run,
};
