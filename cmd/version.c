/* `gpucloud version`: which build this is, for people and for scripts. Touches
 * neither configuration nor store, so it works when they are broken.
 */
#include <sys/utsname.h>

#include "cmd/command.h"

struct version {
	const char *version, *system, *machine, *compiler;
};

static const struct gpc_col cols[] = {
	GPC_COL("version", STR, struct version, version, GPC_COL_F_NAME),
	GPC_COL("system", STR, struct version, system, 0),
	GPC_COL("machine", STR, struct version, machine, 0),
	GPC_COL("compiler", STR, struct version, compiler, 0),
	GPC_COL_LAST
};
static const struct gpc_table table = {"version", cols, sizeof(struct version)};

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	struct utsname host;
	struct version v = {
		.version = GPC_VERSION,
#ifdef __clang__
		.compiler = "clang " __clang_version__,
#else
		.compiler = "gcc " __VERSION__,
#endif
	};

	if (uname(&host) == 0) {
		v.system = host.sysname;
		v.machine = host.machine;
	}
	if (c->out.format == GPC_OUT_TABLE && !c->global.verbose)
		return gpc_out_print(&c->out, err, "gpucloud %s\n", v.version);
	return gpc_out_record(&c->out, &table, &v, err);
}

const struct gpc_command gpc_command_version = {
	.name = "version",
	.summary = "show the version of gpucloud",
	.usage = "[OPTION]...",
	.about = "Prints the version; with -v also the system and the compiler "
		"that it was built with.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_OUTPUT,
	.run = run,
};
