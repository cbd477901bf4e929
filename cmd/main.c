/* The one entry: find the command, parse, prepare what it asked for, run it,
 * and report. Errors are printed here and nowhere else, once, and only here an
 * exit status is chosen. Before a success is claimed, stdout is checked: a full
 * disk must not look like one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/complete.h"
#include "cmd/config_load.h"
#include "cmd/config_options.h"
#include "cmd/habit.h"
#include "cmd/help.h"
#include "cmd/interrupt.h"
#include "cmd/plugin.h"
#include "cmd/screen.h"

/* A file that took the place of a closed stdout would get our output. Reading
 * for 1 and 2, writing for 0: using them is then an error, as it should be. */
static void fill_std_fds(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			_exit(1);
	}
}

static bool env_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool want_color(const struct gpc_cmd *c, bool tty)
{
	enum gpc_config_color set = GPC_COLOR_AUTO;

	if (c->global.color != GPC_UNSET)
		return c->global.color == GPC_ON;
	if (env_set("NO_COLOR"))
		return false;
	if (gpc_config_is_set(&c->config, GPC_CONFIG_COLOR))
		set = (enum gpc_config_color)gpc_config_enum(&c->config,
			GPC_CONFIG_COLOR);
	if (set != GPC_COLOR_AUTO)
		return set == GPC_COLOR_ALWAYS;
	return tty && env_set("TERM") && !gpc_eq(getenv("TERM"), "dumb");
}

/* Called twice: before and after the configuration is known. */
static void set_up_streams(struct gpc_cmd *c)
{
	const struct gpc_globals *g = &c->global;
	bool out_tty = isatty(STDOUT_FILENO);
	int level = GPC_INFO;

	c->out.to = stdout;
	c->out.format = g->json ? GPC_OUT_JSON : g->format;
	c->out.width = gpc_terminal_width(STDOUT_FILENO);
	c->out.color = want_color(c, out_tty);
	c->talk.to = stderr;
	c->talk.tty = isatty(STDERR_FILENO);
	c->talk.width = gpc_terminal_width(STDERR_FILENO);
	c->talk.dumb = !env_set("TERM") || gpc_eq(getenv("TERM"), "dumb");
	c->talk.color = want_color(c, c->talk.tty);
	c->talk.quiet = g->quiet;
	c->talk.json = g->log_format == GPC_LOG_JSON;
	/* -q of a command that lists things: the names alone */
	if (g->quiet && c->command &&
		(c->command->flags & GPC_CMD_OUTPUT) && !g->json &&
		!gpc_opt_given(&c->args, "output"))
		c->out.format = GPC_OUT_NAME;

	if (gpc_config_is_set(&c->config, GPC_CONFIG_LOG_LEVEL))
		level = gpc_config_enum(&c->config, GPC_CONFIG_LOG_LEVEL);
	if (g->quiet)
		level = GPC_ERROR;
	else if (g->verbose)
		level = g->verbose > 1 ? GPC_TRACE : GPC_VERBOSE;
	c->log = (struct gpc_log){
		.level = (enum gpc_level)level,
		.json = c->talk.json,
		.color = c->talk.color,
		.sink = gpc_talk_log,
		.sink_arg = &c->talk,
	};
}

static int load_config(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv warnings = {0};
	unsigned flags = c->command->flags;
	const struct gpc_config_ask ask = {
		c->global.store, c->global.profile, c->command,
		flags & GPC_CMD_MEND,
	};
	int r;

	if (!(flags & (GPC_CMD_CONFIG | GPC_CMD_STORE | GPC_CMD_MEND)))
		return 0;
	r = gpc_config_load_for(&c->config, &ask, &warnings, err);
	if (!r)
		r = gpc_config_options_apply(c, err);
	if (r && (flags & GPC_CMD_MEND)) {
		c->wrong = *err;
		return 0;
	}
	if (r)
		return r;
	set_up_streams(c);
	for (size_t i = 0; i < warnings.n; i++)
		gpc_log(&c->log, GPC_WARN, "%s", warnings.v[i]);
	if (flags & GPC_CMD_MEND)
		return 0;
	r = gpc_config_ca_file(&c->config, &c->ca_file, err);
	if (r || !(flags & GPC_CMD_STORE))
		return r;
	return gpc_config_store_url(&c->config, &c->store_url, err);
}

static int check_count(const struct gpc_cmd *c, struct gpc_error *err)
{
	const struct gpc_command *k = c->command;
	gpc_auto(gpc_buf) struct gpc_buf usage = {0};
	int r = 0;

	if (c->argc < k->min_args)
		r = gpc_fail(err, GPC_EUSAGE, "%s: an argument is missing",
			k->name);
	else if (k->max_args >= 0 && c->argc > k->max_args)
		r = gpc_fail(err, GPC_EUSAGE, "%s: one argument too many: "
			"\"%s\"", k->name, c->argv[k->max_args]);
	if (!r)
		return 0;
	gpc_help_usage(k, &usage);
	if (usage.len)
		usage.len--;              /* its last newline */
	gpc_hint(err, "%.*s", (int)usage.len, usage.data);
	return r;
}

static int show_help(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	size_t width = gpc_help_width(&c->out);

	if (c->command)
		gpc_help_command(c->command, width, &b);
	else
		gpc_help_all(width, &b);
	return gpc_help_print(c, &b, err);
}

static void take_args(struct gpc_cmd *c, struct gpc_opt_args *args)
{
	gpc_opt_args_clear(&c->args);
	c->args = *args;
	*args = (struct gpc_opt_args){0};
	c->argv = c->args.argv;
	c->argc = c->args.argc;
	c->rest = c->args.rest;
	c->n_rest = c->args.n_rest;
}

/* The unknown option is among the words; that it is another tool's is known. */
static void hint_at_habit(const struct gpc_command *k, int argc,
	char *const *argv, struct gpc_error *err)
{
	for (int i = 1; i < argc && !gpc_eq(argv[i], "--"); i++) {
		gpc_autostr *name = gpc_strndup(argv[i], strcspn(argv[i], "="));
		const char *ours = gpc_starts_with(name, "--") ?
			gpc_habit_option(k->name, name + 2) : NULL;

		if (ours) {
			gpc_hint(err, "here that is %s", ours);
			return;
		}
	}
}

/* argv[0] is the command's name. */
static int parse_command(struct gpc_cmd *c, int argc, char *const *argv,
	struct gpc_error *err)
{
	const struct gpc_command *k = c->command;
	gpc_auto(gpc_opt_args) struct gpc_opt_args args = {0};
	const struct gpc_opt_set sets[] = {
		{k->options, c->ctx},
		{k->flags & GPC_CMD_OUTPUT ? gpc_opts_output : NULL, &c->global},
		{k->flags & GPC_CMD_STORE ? gpc_opts_store : NULL, &c->global},
		{gpc_opts_global, &c->global},
	};
	int r = gpc_opt_parse(sets, sizeof(sets) / sizeof(*sets), argc - 1,
		argv + 1, k->flags & GPC_CMD_REST ? GPC_OPT_SPLIT : 0, &args,
		err);

	if (r) {
		if (gpc_starts_with(err->msg, "unknown option"))
			hint_at_habit(k, argc, argv, err);
		if (err->hint[0] == '\0')
			gpc_hint(err, "`gpucloud %s --help` shows the options",
				k->name);
		return r;
	}
	take_args(c, &args);
	return 0;
}

static int run_command(struct gpc_cmd *c, int argc, char *const *argv,
	struct gpc_error *err)
{
	const struct gpc_command *k = c->command;
	int r = 0;

	c->ctx = gpc_alloc(k->ctx_size ? k->ctx_size : 1);
	if (k->flags & GPC_CMD_RAW) {
		c->argv = (const char *const *)argv + 1;
		c->argc = argc - 1;
	} else {
		r = parse_command(c, argc, argv, err);
	}
	set_up_streams(c);
	if (!r && c->global.help)
		return show_help(c, err);
	if (!r && !(k->flags & GPC_CMD_RAW))
		r = check_count(c, err);
	if (!r)
		r = load_config(c, err);
	return r ? r : k->run(c, err);
}

/* Options before the command; what follows them is left in ret_args. */
static int parse_first(struct gpc_cmd *c, int argc, char *const *argv,
	bool *ret_version, struct gpc_opt_args *ret_args, struct gpc_error *err)
{
	struct gpc_first first = {0};
	const struct gpc_opt_set sets[] = {
		{gpc_opts_first, &first}, {gpc_opts_store, &c->global},
		{gpc_opts_global, &c->global},
	};
	int r = gpc_opt_parse(sets, 3, argc, argv, GPC_OPT_STOP_AT_WORD,
		ret_args, err);

	if (!r)
		*ret_version = first.version;
	return r;
}

static int dispatch(struct gpc_cmd *c, int argc, char *const *argv,
	struct gpc_error *err)
{
	if (gpc_eq(argv[0], "__complete"))
		return gpc_complete_run(c, argc - 1, argv + 1, err);
	c->command = gpc_command_find(argv[0]);
	if (!c->command)
		return gpc_plugin_run(&c->global, argv, err);
	return run_command(c, argc, argv, err);
}

/* gpucloud-CMD, a link to the binary, is the command CMD. */
static const char *command_of_link(const char *argv0)
{
	const char *base = argv0 ? gpc_path_base(argv0) : "";

	if (!gpc_starts_with(base, "gpucloud-"))
		return NULL;
	return gpc_command_find(base + 9) ? base + 9 : NULL;
}

static int start(struct gpc_cmd *c, int argc, char **argv,
	struct gpc_error *err)
{
	gpc_auto(gpc_opt_args) struct gpc_opt_args first = {0};
	char version[] = "version";
	char *only_version[] = {version, NULL};
	const char *link = command_of_link(argc ? argv[0] : NULL);
	bool want_version = false;

	set_up_streams(c);
	if (link) {
		c->command = gpc_command_find(link);
		return run_command(c, argc, argv, err);
	}
	int r = parse_first(c, argc ? argc - 1 : 0, argv + 1, &want_version,
		&first, err);
	set_up_streams(c);
	if (r && err->hint[0] == '\0')
		gpc_hint(err, "the options of a command stand behind it; "
			"`gpucloud help` shows those before it");
	if (r)
		return r;
	if (want_version)
		return dispatch(c, 1, only_version, err);
	if (c->global.help)
		return show_help(c, err);
	if (first.argc == 0) {
		r = gpc_fail(err, GPC_EUSAGE, "no command given");
		gpc_hint(err, "`gpucloud help` lists the commands");
		return r;
	}
	/* the command's words are the last ones of argv */
	return dispatch(c, first.argc, argv + (argc - first.argc), err);
}

/* Further lines stand below the first, so that none can pass for an error of its
 * own: what is said may hold names from outside. */
static void say_lines(struct gpc_talk *talk, const char *lead, const char *text)
{
	struct gpc_str rest = gpc_str_of(text), line;

	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_say(talk, "%s%.*s", lead, (int)line.len, line.ptr);
		lead = "        ";
	}
}

static void print_error(struct gpc_cmd *c, const struct gpc_error *err)
{
	gpc_autostr *words = gpc_error_words(err);
	const char *advice = gpc_error_advice(err);
	struct gpc_talk talk = c->talk;

	talk.quiet = false;
	if (c->log.json) {
		gpc_log(&c->log, GPC_ERROR, "%s%s%s", err->msg[0] ? err->msg :
			gpc_code_to_str(err->code), *advice ? "; hint: " : "",
			advice);
		return;
	}
	say_lines(&talk, "gpucloud: ", *words ? words :
		gpc_code_to_str(err->code));
	if (*advice)
		say_lines(&talk, "  hint: ", advice);
}

/* Our reader has gone: end as every filter does, without a word. */
static int die_of_pipe(void)
{
	gpc_signals_restore();
	raise(SIGPIPE);
	return 128 + SIGPIPE;
}

static int finish(struct gpc_cmd *c, int r, struct gpc_error *err)
{
	struct gpc_error late = {0};
	int flush = gpc_out_finish(&c->out, &late);

	if (c->out.broken)
		return die_of_pipe();
	if (fclose(stdout) && !flush)
		flush = gpc_fail_sys(&late, errno, "cannot write to stdout");
	gpc_talk_clear_line(&c->talk);
	if (!r && flush) {
		print_error(c, &late);
		return c->exit_status ? c->exit_status : 1;
	}
	if (r)
		print_error(c, err);
	for (size_t i = 0; r && i < c->also.n; i++)
		print_error(c, &c->also.v[i]);
	if (c->exit_status)
		return c->exit_status;
	if (r == -GPC_ECANCELED && c->cancel->signal)
		return 128 + c->cancel->signal;
	if (!r)
		return 0;
	return r == -(int)err->code ? gpc_error_exit(err) :
		gpc_code_exit((enum gpc_code)-r);
}

static void cmd_clear(struct gpc_cmd *c)
{
	if (c->command && c->ctx)
		gpc_opt_release(c->command->options, c->ctx);
	free(c->ctx);
	free(c->ca_file);
	free(c->store_url);
	gpc_config_clear(&c->config);
	gpc_opt_args_clear(&c->args);
	gpc_vec_free(&c->also);
}

int main(int argc, char **argv)
{
	struct gpc_cmd c = {0};
	struct gpc_error err = {0};

	fill_std_fds();
	c.cancel = gpc_signals_install();
	int r = start(&c, argc, argv, &err);
	int status = finish(&c, r, &err);
	cmd_clear(&c);
	return status;
}
