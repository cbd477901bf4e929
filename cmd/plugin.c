/* Programs named gpucloud-NAME on PATH: commands that are not built in. They take
 * the place of this process, and learn what was said before their name by the
 * variables that stand for those options.
 */
#include "cmd/plugin.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/program.h"
#include "cmd/interrupt.h"

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

void gpc_plugins(gpc_plugin_fn *fn, void *arg)
{
	gpc_auto(gpc_strv) struct gpc_strv seen = {0};
	struct gpc_str rest = gpc_str_of(getenv("PATH"));
	char *folder;

	while (next_folder(&rest, &folder)) {
		gpc_autostr *owned = folder;

		plugins_in(owned, &seen, fn, arg);
	}
}

/* --- what they are told --------------------------------------------------- */
static void tell(struct gpc_strv *vars, const char *key, const char *value)
{
	gpc_autostr *name = gpc_config_env_name(key);

	if (value && *value)
		gpc_strv_addf(vars, "%s=%s", name, value);
}

/* The options before the name, as the variables of their keys. */
static void tell_all(const struct gpc_globals *g, struct gpc_strv *vars)
{
	tell(vars, "store", g->store);
	tell(vars, "profile", g->profile);
	if (g->color != GPC_UNSET)
		tell(vars, "color", g->color == GPC_ON ? "always" : "never");
	if (g->quiet)
		tell(vars, "log_level", "error");
	else if (g->verbose)
		tell(vars, "log_level", g->verbose > 1 ? "trace" : "verbose");
	if (g->log_format == GPC_LOG_JSON)
		tell(vars, "log_format", "json");
}

int gpc_plugin_run(const struct gpc_globals *g, char *const *argv,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv vars = {0}, env = {0};
	gpc_autostr *path = find_program(argv[0]);
	size_t n = 0;

	if (!path)
		return gpc_command_unknown(argv[0], err);
	tell_all(g, &vars);
	gpc_program_env(&vars, &env);
	while (argv[n])
		n++;
	char **copy = gpc_array(n + 1, sizeof(*copy));
	memcpy(copy, argv, n * sizeof(*copy));
	copy[0] = path;
	gpc_signals_restore();
	execve(path, copy, env.v);
	int sys = errno;
	free(copy);
	return gpc_fail_sys(err, sys, "cannot run %s", path);
}
