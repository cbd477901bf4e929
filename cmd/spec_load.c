/* Reading a spec and changing it from the command line.
 *
 * The model knows the fields and does no I/O; this file is its outside world:
 * it reads files and the environment, and hands options on by their words. The
 * rows below exist because option tables are constants; a row whose word the
 * model does not know, or the other way round, fails a unit test.
 */
#include "cmd/spec_load.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "cmd/config_load.h"
#include "cmd/input.h"

#define SPEC_MAX ((size_t)16 << 20)
#define NOTIFY_MAX ((size_t)1 << 20)
#define SECRET_MAX ((size_t)1 << 20)

/* --- the outside world ----------------------------------------------------- */
static const char *look_up(const char *name, void *arg)
{
	(void)arg;
	return getenv(name);
}

static int read_text(const char *path, char **ret_text, void *arg,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_input_read(path, SECRET_MAX, arg, &b, err);

	if (r)
		return r;
	if (b.len && memchr(b.data, '\0', b.len))
		return gpc_fail(err, GPC_ECONFIG, "%s holds a NUL byte: "
			"environment variables cannot", path);
	/* what an editor adds at the end is not part of the value */
	if (b.len && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	return gpc_buf_finish(&b, ret_text, err);
}

void gpc_spec_host_init(struct gpc_spec_host_owned *h,
	const struct gpc_cancel *cancel)
{
	*h = (struct gpc_spec_host_owned){0};
	/* Both may be missing; who needs them then says so. */
	if (gpc_path_absolute(".", &h->cwd, NULL))
		h->cwd = NULL;
	if (gpc_home(&h->home, NULL))
		h->home = NULL;
	h->host = (struct gpc_spec_host){
		.cwd = h->cwd, .home = h->home,
		.lookup = look_up, .read_file = read_text,
		.arg = (void *)(uintptr_t)cancel,
	};
}

void gpc_spec_host_owned_clear(struct gpc_spec_host_owned *h)
{
	free(h->cwd);
	free(h->home);
	free(h->script);
	*h = (struct gpc_spec_host_owned){0};
}

/* "dir/train.yaml" names a job "train". */
static char *stem(const char *path)
{
	const char *base = gpc_path_base(path);
	const char *dot = strrchr(base, '.');

	return gpc_strndup(base, dot && dot > base ? (size_t)(dot - base) :
		strlen(base));
}

/* --- reading --------------------------------------------------------------- */
static bool looks_like_program(const char *path)
{
	return gpc_ends_with(path, ".py") || gpc_ends_with(path, ".sh");
}

/* Nothing is on the node but the workdir: it has to be the program's folder, where
 * that is not the current one or below it. */
static int refuse_program(const char *word, struct gpc_error *err)
{
	bool below = *word != '/' && !gpc_starts_with(word, "../");
	const char *file = below ? word : gpc_path_base(word);
	gpc_autostr *dir = below ? gpc_strdup(".") : gpc_path_dir(word);
	gpc_autostr *quoted_dir = gpc_shell_quote(dir);
	gpc_autostr *quoted = gpc_shell_quote(file);
	int r = gpc_fail(err, GPC_EUSAGE, "%s is a program, not a spec", word);

	gpc_hint(err, "gpucloud submit --workdir %s -- %s %s", quoted_dir,
		gpc_ends_with(word, ".sh") ? "bash" : "python3", quoted);
	return r;
}

static int read_spec(const char *word, const struct gpc_cancel *cancel,
	struct gpc_buf *b, struct gpc_error *err)
{
	if (looks_like_program(word))
		return refuse_program(word, err);
	int r = gpc_input_read(word, SPEC_MAX, cancel, b, err);
	if (r == -GPC_ENOTFOUND)
		gpc_hint(err, "`gpucloud init` writes a spec; a program runs "
			"by `gpucloud submit --workdir . -- PROGRAM ...`");
	if (!r || r == -GPC_ECANCELED || r == -GPC_EUSAGE)
		return r;
	if (err && err->sys == EISDIR)
		gpc_hint(err, "name the spec in it: gpucloud submit %s%sjob.yaml", word,
			gpc_ends_with(word, "/") ? "" : "/");
	/* whatever keeps it from being read, it is the spec that is wrong */
	return gpc_recode(err, GPC_ECONFIG);
}

static void warn_all(struct gpc_cmd *c, const struct gpc_strv *warnings)
{
	for (size_t i = 0; i < warnings->n; i++)
		gpc_log(&c->log, GPC_WARN, "%s", warnings->v[i]);
}

static int parse(struct gpc_cmd *c, const char *word,
	const char *const *command, int n_command, struct gpc_spec_file *file,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_spec from_words = {0};

	if (!word) {
		gpc_spec_init_command(gpc_vec_push(&file->tasks), command,
			(size_t)n_command);
		return 0;
	}
	int r = read_spec(word, c->cancel, &b, err);
	if (!r)
		r = gpc_spec_parse_all(gpc_buf_str(&b), b.len,
			gpc_eq(word, "-") ? "<stdin>" : word, file, &c->also,
			err);
	if (r || !command)
		return r;
	if (file->tasks.n != 1)
		return gpc_fail(err, GPC_EUSAGE, "a program after -- can "
			"replace `run` of one task, but %s has %zu", word,
			file->tasks.n);
	gpc_spec_init_command(&from_words, command, (size_t)n_command);
	gpc_set_str(&file->tasks.v[0].run, from_words.run);
	gpc_spec_clear(&from_words);
	return 0;
}

/* --- changing -------------------------------------------------------------- */
/* Owned; several are one text with commas. */
static char *option_value(const struct gpc_spec_cli *cli, const char *word)
{
	const struct gpc_opt *row = gpc_opt_find(gpc_spec_cli_options, word);
	const void *at = row ? (const char *)cli + row->offset : NULL;
	const struct gpc_strv *list = at;

	if (row && row->type == GPC_OPT_T_STR)
		return gpc_strdup(*(const char *const *)at);
	if (row && row->type == GPC_OPT_T_LIST && list->n)
		return gpc_strv_join(list, ",");
	return NULL;
}

int gpc_spec_notify_text(const char *value, const struct gpc_cancel *cancel,
	char **ret_text, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r;

	if (*value != '@') {
		*ret_text = gpc_strdup(value);
		return 0;
	}
	r = gpc_input_read(value + 1, NOTIFY_MAX, cancel, &b, err);
	if (!r && b.len && memchr(b.data, '\0', b.len))
		r = gpc_fail(err, GPC_ECONFIG, "%s holds a NUL byte", value + 1);
	return r ? gpc_wrap(err, r, "--notify") :
		gpc_buf_finish(&b, ret_text, err);
}

static int override_one(const char *word, const char *value,
	const struct gpc_cancel *cancel, struct gpc_spec *spec,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	gpc_autostr *text = NULL;
	int r = gpc_eq(word, "notify") ?
		gpc_spec_notify_text(value, cancel, &text, err) : 0;

	return r ? r : gpc_spec_override(spec, word, text ? text : value,
		warnings, err);
}

static int override(const struct gpc_spec_cli *cli,
	const struct gpc_cancel *cancel, struct gpc_spec *spec,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	size_t n;
	const struct gpc_spec_option *o = gpc_spec_options(&n);

	for (size_t i = 0; i < n; i++) {
		gpc_autostr *value = option_value(cli, o[i].word);
		int r = value ? override_one(o[i].word, value, cancel, spec,
			warnings, err) : 0;

		if (r)
			return r;
	}
	return 0;
}

static int read_env_file(const struct gpc_spec_cli *cli,
	const struct gpc_cancel *cancel, struct gpc_spec *spec,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (!cli->env_file)
		return 0;
	int r = gpc_input_read(cli->env_file, SECRET_MAX, cancel, &b, err);
	return r ? gpc_wrap(err, r, "--env-file") :
		gpc_spec_env_file(spec, gpc_buf_str(&b), b.len, cli->env_file,
			err);
}

static void warn_seen(struct gpc_cmd *c, const char *arg, int n)
{
	gpc_log(&c->log, GPC_WARN, "--secret %.*s: every user of this machine "
		"can read it on the command line; %.*s=@FILE, or %.*s alone "
		"(from the environment), is safe", n, arg, n, arg, n, arg);
}

static int add_secret(struct gpc_cmd *c, struct gpc_spec *spec,
	const char *arg, const struct gpc_spec_host *host,
	struct gpc_error *err)
{
	bool in_argv = false;
	int r = gpc_spec_secret(spec, arg, host, &in_argv, err);

	if (!r && in_argv)
		warn_seen(c, arg, (int)strcspn(arg, "="));
	return r;
}

/* The file of names and values first, so that single options win over it. */
static int change(struct gpc_cmd *c, const struct gpc_spec_cli *cli,
	struct gpc_spec *spec, const struct gpc_spec_host *host,
	struct gpc_strv *warnings, struct gpc_errors *unset,
	struct gpc_error *err)
{
	int r = override(cli, c->cancel, spec, warnings, err);

	if (!r && cli->workdir && cli->git_url)
		r = gpc_fail(err, GPC_EUSAGE, "--workdir and --git-url exclude "
			"each other");
	if (!r)
		r = read_env_file(cli, c->cancel, spec, err);
	for (size_t i = 0; !r && i < cli->env.n; i++)
		r = gpc_spec_env(spec, cli->env.v[i], host, err);
	for (size_t i = 0; !r && i < cli->secret.n; i++)
		r = add_secret(c, spec, cli->secret.v[i], host, err);
	return r ? r : gpc_spec_resolve_rest(spec, host, warnings, unset, err);
}

int gpc_spec_load(struct gpc_cmd *c, const struct gpc_spec_cli *cli,
	const char *word, const char *const *command, int n_command,
	struct gpc_spec_file *ret_file, struct gpc_errors *unset,
	struct gpc_error *err)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	gpc_auto(gpc_spec_host_owned) struct gpc_spec_host_owned h;
	gpc_auto(gpc_strv) struct gpc_strv warnings = {0};

	gpc_spec_host_init(&h, c->cancel);
	int r = parse(c, word, command, n_command, &file, err);
	if (r)
		return r;
	if (word && !gpc_eq(word, "-"))
		h.host.script = h.script = stem(word);
	warn_all(c, &file.warnings);
	for (size_t i = 0; !r && i < file.tasks.n; i++) {
		r = gpc_config_under_spec(&c->config,
			cli->instance_type != NULL, &file.tasks.v[i], &h.host,
			&warnings, err);
		if (!r)
			r = change(c, cli, &file.tasks.v[i], &h.host, &warnings,
				unset, err);
	}
	warn_all(c, &warnings);
	if (r)
		return r;
	*ret_file = file;
	file = (struct gpc_spec_file){0};
	return 0;
}

int gpc_spec_secrets(struct gpc_cmd *c, const struct gpc_strv *args,
	struct gpc_pairs *ret_pairs, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_spec_host_owned) struct gpc_spec_host_owned h;

	gpc_spec_host_init(&h, c->cancel);
	gpc_spec_init(&spec);
	for (size_t i = 0; i < args->n; i++) {
		int r = add_secret(c, &spec, args->v[i], &h.host, err);
		if (r)
			return r;
	}
	gpc_pairs_copy(ret_pairs, &spec.secrets);
	return 0;
}
