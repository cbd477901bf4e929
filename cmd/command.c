/* Which subcommands there are: the list in cmd/meson.build, and programs named
 * gpucloud-NAME on PATH for what it does not know.
 */
#include "cmd/command.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd/interrupt.h"

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
	gpc_command_plugins(add_plugin, &names);
	const char *near = gpc_nearest(name, (const char *const *)names.v,
		names.n);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "`gpucloud help` lists the commands");
	return r;
}

/* --- plug-ins --------------------------------------------------------------- */
#define PREFIX "gpucloud-"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		access(path, X_OK) == 0;
}

/* The next folder of PATH. An empty or relative part depends on the current
 * folder, where somebody else's files may lie: nobody asks for that on purpose,
 * so it is skipped. False at the end. */
static bool next_folder(struct gpc_str *path, char **ret_folder)
{
	struct gpc_str part;

	while (gpc_str_split(path, ':', &part)) {
		if (!part.len || part.ptr[0] != '/')
			continue;
		*ret_folder = gpc_strndup(part.ptr, part.len);
		return true;
	}
	return false;
}

static char *find_program(const char *name)
{
	gpc_autostr *file = gpc_format(PREFIX "%s", name);
	struct gpc_str rest = gpc_str_of(getenv("PATH"));
	char *folder;

	if (strchr(name, '/'))
		return NULL;
	while (next_folder(&rest, &folder)) {
		gpc_autostr *owned = folder;
		gpc_autostr *path = gpc_path_join(owned, file);

		if (is_program(path))
			return gpc_steal(&path);
	}
	return NULL;
}

/* Links to the built-in commands are no plug-ins. */
static void plugins_in(const char *folder, struct gpc_strv *seen,
	gpc_plugin_fn *fn, void *arg)
{
	DIR *dir = opendir(folder);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		const char *name = d->d_name + strlen(PREFIX);

		if (!gpc_starts_with(d->d_name, PREFIX) || !*name ||
			gpc_command_find(name) || gpc_strv_has(seen, name))
			continue;
		gpc_autostr *path = gpc_path_join(folder, d->d_name);
		if (!is_program(path))
			continue;
		gpc_strv_add(seen, name);
		fn(arg, name, path);
	}
	if (dir)
		closedir(dir);
}

void gpc_command_plugins(gpc_plugin_fn *fn, void *arg)
{
	gpc_auto(gpc_strv) struct gpc_strv seen = {0};
	struct gpc_str rest = gpc_str_of(getenv("PATH"));
	char *folder;

	while (next_folder(&rest, &folder)) {
		gpc_autostr *owned = folder;

		plugins_in(owned, &seen, fn, arg);
	}
}

int gpc_command_external(char *const *argv, struct gpc_error *err)
{
	gpc_autostr *path = find_program(argv[0]);
	size_t n = 0;

	if (!path)
		return gpc_command_unknown(argv[0], err);
	while (argv[n])
		n++;
	char **copy = gpc_array(n + 1, sizeof(*copy));
	memcpy(copy, argv, n * sizeof(*copy));
	copy[0] = path;
	gpc_signals_restore();
	execv(path, copy);
	int sys = errno;
	free(copy);
	return gpc_fail_sys(err, sys, "cannot run %s", path);
}
