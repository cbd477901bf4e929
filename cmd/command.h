/* What a subcommand is.
 *
 * cmd/<name>.c exports one symbol, `const struct gpc_command
 * gpc_command_<name>` ('-' becomes '_'), and its name stands in the list in
 * cmd/meson.build. Dispatch, help, completion and the man page check follow
 * from that. run() gets a zeroed private context filled from the options and
 * returns 0 or a negative gpc_code; main prints the error and chooses the exit
 * status, and nothing else exits.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cancel.h"
#include "base/errors.h"
#include "base/log.h"
#include "cmd/opt.h"
#include "cmd/out.h"
#include "cmd/progress.h"
#include "cmd/talk.h"
#include "model/config.h"

enum gpc_command_group {
	GPC_GROUP_LIFE,        /* "Life cycle" */
	GPC_GROUP_AROUND,      /* "Around it" */
	GPC_GROUP_HIDDEN,      /* neither in help nor in completion; no man page */
};

enum gpc_command_flags {
	GPC_CMD_CONFIG = 1,    /* loads the configuration first */
	GPC_CMD_STORE = 2,     /* the same, and resolves c->store_url; has --store */
	GPC_CMD_OUTPUT = 4,    /* has -o and --json, which set c->out.format */
	GPC_CMD_REST = 8,      /* takes a program after `--`, as c->rest */
	GPC_CMD_RAW = 16,      /* no option parsing at all: argv as it is */
	GPC_CMD_MEND = 32,     /* loads it, too, with the keys of every command;
	                        * when it is wrong, run() is told by c->wrong */
};

/* What the options of every command fill. */
struct gpc_globals {
	int verbose;
	bool quiet;
	enum gpc_tri color;
	bool help;
	const char *store, *profile;
	enum { GPC_LOG_TEXT, GPC_LOG_JSON } log_format;
	enum gpc_out_format format;
	bool json;
};

struct gpc_command;

struct gpc_cmd {
	const struct gpc_command *command;
	void *ctx;                      /* ctx_size bytes, filled from the options */
	const char *const *argv;        /* positionals; NULL at the end */
	int argc;
	const char *const *rest;        /* after `--` with GPC_CMD_REST, else NULL */
	int n_rest;
	struct gpc_globals global;
	struct gpc_out out;             /* data on stdout */
	struct gpc_talk talk;           /* talk on stderr */
	struct gpc_log log;             /* hand it to the library */
	const struct gpc_cancel *cancel;
	struct gpc_config config;
	struct gpc_error wrong;         /* GPC_CMD_MEND: .code is 0 when it loaded */
	struct gpc_errors also;         /* errors of the same cause as run's, that
	                                 * are printed after it */
	char *ca_file;                  /* config ca_file, absolute; or NULL */
	char *store_url;                /* with GPC_CMD_STORE: "file:///..." */
	struct gpc_opt_args args;
	/* 0 = from run's result. A command that must exit with a status of its
	 * own (a job's code, 124) sets it; an error is still printed. */
	int exit_status;
};

struct gpc_command {
	const char *name;
	const char *summary;            /* one line for the list, lower case */
	const char *usage;              /* lines after "gpucloud NAME", by \n */
	const char *about;              /* paragraphs for --help; may be NULL */
	enum gpc_command_group group;
	unsigned flags;
	const struct gpc_opt *options;  /* may be NULL */
	size_t ctx_size;
	int min_args, max_args;         /* positionals; max < 0 = any number */
	enum gpc_complete complete;     /* of positionals */
	/* What completes the positional after these n, where that differs. */
	enum gpc_complete (*complete_next)(const char *const *words, int n);
	const char *const *words;       /* of the first positional, NULL at the end */
	int (*run)(struct gpc_cmd *c, struct gpc_error *err);
};

/* True when the option of that long name has a value of its own, from the
 * command line or from its key in the configuration. */
bool gpc_cmd_given(const struct gpc_cmd *c, const char *option);

/* Every command, in the order of cmd/meson.build; NULL at the end. */
extern const struct gpc_command *const gpc_commands[];
const struct gpc_command *gpc_command_find(const char *name);  /* or NULL */
/* Fails with the nearest command as a hint. */
int gpc_command_unknown(const char *name, struct gpc_error *err);
extern const struct gpc_opt gpc_opts_global[];   /* of struct gpc_globals */
struct gpc_first { bool version; };
extern const struct gpc_opt gpc_opts_first[];    /* before a command only */
extern const struct gpc_opt gpc_opts_store[];
extern const struct gpc_opt gpc_opts_output[];
