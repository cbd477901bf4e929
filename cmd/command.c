/* Which subcommands there are: the list in cmd/meson.build. */
#include "cmd/command.h"
#include "cmd/habit.h"
#include "cmd/plugin.h"

#define GPC_COMMAND(name) extern const struct gpc_command gpc_command_##name;
#include "cmd/commands.inc"
#undef GPC_COMMAND

const struct gpc_command *const gpc_commands[] = {
#define GPC_COMMAND(name) &gpc_command_##name,
#include "cmd/commands.inc"
#undef GPC_COMMAND
	NULL,
};

const struct gpc_command *gpc_command_find(const char *name)
{
	for (size_t i = 0; gpc_commands[i]; i++) {
		if (gpc_eq(gpc_commands[i]->name, name))
			return gpc_commands[i];
	}
	return NULL;
}

bool gpc_cmd_given(const struct gpc_cmd *c, const char *option)
{
	return gpc_opt_is_set(&c->args, option);
}

static void add_plugin(void *names, const char *name, const char *path)
{
	(void)path;
	gpc_strv_add(names, name);
}

int gpc_command_unknown(const char *name, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	int r = gpc_fail(err, GPC_EUSAGE, "there is no command \"%s\"", name);

	for (size_t i = 0; gpc_commands[i]; i++) {
		if (gpc_commands[i]->group != GPC_GROUP_HIDDEN)
			gpc_strv_add(&names, gpc_commands[i]->name);
	}
	gpc_plugins(add_plugin, &names);
	const char *ours = gpc_habit_command(name);
	const char *near = gpc_nearest(name, (const char *const *)names.v,
		names.n);
	if (ours)
		gpc_hint(err, "here that is `gpucloud %s`", ours);
	else if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "`gpucloud help` lists the commands");
	return r;
}
