/* The options that many commands share. */
#include "cmd/command.h"

static const char *const log_formats[] = {"text", "json", NULL};

const struct gpc_opt gpc_opts_output[] = {
	GPC_OPT_ENUM('o', "output", struct gpc_globals, format, "FORMAT",
		gpc_out_formats, "how to print it"),
	GPC_OPT_FLAG(0, "json", struct gpc_globals, json, "the same as -o json",
		.key = "output"),
	GPC_OPT_END
};

const struct gpc_opt gpc_opts_store[] = {
	GPC_OPT_STR(0, "store", struct gpc_globals, store, "URL",
		"where state lives: a folder, or s3:// oss:// gs://",
		.complete = GPC_COMPLETE_DIR, .key = "store"),
	GPC_OPT_STR(0, "profile", struct gpc_globals, profile, "NAME",
		"use this profile of the configuration",
		.complete = GPC_COMPLETE_PROFILE, .key = "profile"),
	GPC_OPT_END
};

const struct gpc_opt gpc_opts_first[] = {
	GPC_OPT_FLAG('V', "version", struct gpc_first, version,
		"the same as gpucloud version", .key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

const struct gpc_opt gpc_opts_global[] = {
	GPC_OPT_COUNT('v', "verbose", struct gpc_globals, verbose,
		"say more; twice: everything", .key = "log_level"),
	GPC_OPT_FLAG('q', "quiet", struct gpc_globals, quiet,
		"say only what went wrong", .key = "log_level"),
	GPC_OPT_TRI(0, "color", struct gpc_globals, color,
		"colours even without a terminal, or never", .key = "color"),
	GPC_OPT_ENUM(0, "log-format", struct gpc_globals, log_format, "FORMAT",
		log_formats, "messages on stderr as"),
	GPC_OPT_FLAG('h', "help", struct gpc_globals, help, "show this help",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};
