/* What the command line changes in a spec: fields by option words, read by the
 * same rows as in YAML; environment and secrets; and specs made of a command
 * with no file at all. */
#include <string.h>

#include "base/path.h"
#include "base/vec.h"
#include "model/spec_read.h"

#define N(a) (sizeof(a) / sizeof(*(a)))

/* --- fields ---------------------------------------------------------------------- */

static const struct gpc_spec_option options[] = {
	{"name", "task.name", "NAME", "name of the job"},
	{"workdir", "task.workdir", "DIR", "folder that is packed and sent"},
	{"git-url", "workdir.url", "URL", "git repository to send as workdir"},
	{"git-ref", "workdir.ref", "REF", "its branch, tag or commit"},
	{"nodes", "task.num_nodes", "N", "number of nodes"},
	{"infra", "resources.infra", "PROVIDER[/REGION[/ZONE]]",
		"where to run"},
	{"gpus", "resources.accelerators", "NAME[:COUNT]", "GPUs per node"},
	{"cpus", "resources.cpus", "N[+]", "processors per node"},
	{"memory", "resources.memory", "GB[+]", "memory per node"},
	{"spot", "resources.use_spot", NULL,
		"buy machines that may be taken away"},
	{"instance-type", "resources.instance_type", "TYPE",
		"exact machine type"},
	{"image", "resources.image_id", "IMAGE", "image of the nodes"},
	{"disk-size", "resources.disk_size", "GB", "size of the system disk"},
	{"disk-tier", "resources.disk_tier", "TIER",
		"speed of the system disk"},
	{"network-tier", "resources.network_tier", "TIER",
		"speed between nodes"},
	{"ports", "resources.ports", "PORT[-LAST]", "ports that are opened"},
	{"allow", "resources.allow", "CIDR", "who may reach the ports"},
	{"max-hourly-cost", "resources.max_hourly_cost", "AMOUNT",
		"cap on the hourly price of one node"},
	{"max-cost", "limits.cost", "AMOUNT", "cap on all that the job costs"},
	{"time", "limits.time", "TIME", "running time over all attempts"},
	{"setup-time", "limits.setup", "TIME", "time of one setup"},
	{"deadline", "limits.deadline", "DATE", "latest end"},
	{"checkpoint", "checkpoint.path", "DIR",
		"folder that is saved and resumed from"},
	{"priority", "resources.priority", "N",
		"which of several waiting jobs is bought first"},
	{"notify", "task.notify", "ITEM|@FILE|none",
		"who is told, as YAML of the spec's notify"},
	{"strict", "task.strict", NULL, "run bash with -e and pipefail"},
};

const struct gpc_spec_option *gpc_spec_options(size_t *ret_n)
{
	*ret_n = N(options);
	return options;
}

static const struct gpc_spec_option *find_option(const char *word)
{
	for (size_t i = 0; i < N(options); i++) {
		if (gpc_eq(options[i].word, word))
			return &options[i];
	}
	return NULL;
}

static void forget_place(struct gpc_spec *spec, const char *field)
{
	if (gpc_starts_with(field, "task."))
		field += strlen("task.");
	for (size_t i = 0; i < spec->places.n; i++) {
		if (!gpc_eq(spec->places.v[i].field, field))
			continue;
		free(spec->places.v[i].field);
		gpc_vec_remove(&spec->places, i);
		return;
	}
}

static int read_everywhere(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	struct gpc_spec *spec)
{
	struct gpc_resources *res = &spec->resources;
	int e = gpc_spec_read_value(r, f, node,
		gpc_spec_section_base(spec, f->section));

	if (!gpc_eq(f->section, "resources"))
		return e;
	r->warnings = NULL;             /* said once */
	for (size_t i = 0; i < res->any_of.n && !e; i++)
		e = gpc_spec_read_value(r, f, node, &res->any_of.v[i]);
	for (size_t i = 0; i < res->ordered.n && !e; i++)
		e = gpc_spec_read_value(r, f, node, &res->ordered.v[i]);
	return e;
}

/* Most values are one word. notify has maps, so its text is YAML. */
static int read_text(const char *word, const char *value,
	struct gpc_yaml_docs *docs, struct gpc_error *err)
{
	gpc_autostr *name = gpc_format("--%s", word);
	int e;

	if (!gpc_eq(word, "notify")) {
		gpc_yaml_from_text(value ? value : "true", docs);
		return 0;
	}
	if (gpc_eq(value, "none"))
		value = "[]";
	e = gpc_yaml_parse(value, strlen(value), name, docs, err);
	if (!e && (docs->n != 1 || !gpc_yaml_root(docs->v[0])))
		e = gpc_fail(err, GPC_EUSAGE, "--notify: expected one item or "
			"list, such as {command: [notify-send, done]}");
	return e ? gpc_recode(err, GPC_EUSAGE) : 0;
}

int gpc_spec_override(struct gpc_spec *spec, const char *word,
	const char *value, struct gpc_strv *warnings, struct gpc_error *err)
{
	const struct gpc_spec_option *o = find_option(word);
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	gpc_autostr *name = gpc_format("--%s", word);
	struct gpc_spec_reader r = {
		.name = name, .docs = &docs, .warnings = warnings, .err = err,
	};
	gpc_autostr *section = NULL;
	const struct gpc_spec_field *f;
	int e;

	if (!o)
		return gpc_fail(err, GPC_EUSAGE, "no option --%s changes a spec",
			word);
	section = gpc_strndup(o->field, strcspn(o->field, "."));
	f = gpc_spec_field_find(section, o->field + strlen(section) + 1);
	e = read_text(word, value, &docs, err);
	if (e)
		return e;
	if (gpc_spec_is_null(gpc_yaml_root(docs.v[0])))
		return gpc_fail(err, GPC_EUSAGE, "--%s: expected %s, got nothing",
			word, f->forms);
	e = read_everywhere(&r, f, gpc_yaml_root(docs.v[0]), spec);
	if (e)
		return gpc_recode(err, GPC_EUSAGE);
	forget_place(spec, o->field);
	if (gpc_eq(word, "git-url"))    /* instead of the folder of the spec */
		gpc_set_str(&spec->workdir, NULL);
	return 0;
}

/* --- environment and secrets ---------------------------------------------------- */

static bool is_name(const char *s, size_t n)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return n && !strchr("0123456789", *s) && strspn(s, chars) >= n;
}

/* Splits K or K=V; *ret_value is NULL without =. */
static int split_pair(const char *option, const char *arg, char **ret_key,
	const char **ret_value, struct gpc_error *err)
{
	size_t n = strcspn(arg, "=");
	gpc_autostr *shown = NULL;

	if (is_name(arg, n)) {
		*ret_key = gpc_strndup(arg, n);
		*ret_value = arg[n] ? arg + n + 1 : NULL;
		return 0;
	}
	/* never show what may be a secret: the name only */
	shown = gpc_str_printable(arg, n < 40 ? n : 40);
	return gpc_fail(err, GPC_EUSAGE, "%s: '%s' is not a variable name "
		"(letters, digits and _, no digit first)", option, shown);
}

static int lookup(const char *option, const char *key,
	const struct gpc_spec_host *host, const char **ret_value,
	struct gpc_error *err)
{
	const char *value = host && host->lookup
		? host->lookup(key, host->arg) : NULL;

	if (value) {
		*ret_value = value;
		return 0;
	}
	gpc_fail(err, GPC_EUSAGE, "%s: %s is not set in your environment",
		option, key);
	/* a value on the command line is for everyone to see */
	gpc_hint(err, "set it, or give %s %s=%s", option, key,
		gpc_eq(option, "--secret") ? "@FILE" : "VALUE");
	return -GPC_EUSAGE;
}

/* What a file could not say would not be read again from job.json either. */
static int check_envs(const struct gpc_spec *spec, const char *name,
	struct gpc_error *err)
{
	if (spec->envs.n <= GPC_SPEC_MAX_PAIRS)
		return 0;
	return gpc_fail(err, GPC_ECONFIG, "%s: more than %d variables", name,
		GPC_SPEC_MAX_PAIRS);
}

int gpc_spec_env(struct gpc_spec *spec, const char *arg,
	const struct gpc_spec_host *host, struct gpc_error *err)
{
	gpc_autostr *key = NULL;
	const char *value = NULL;
	int e = split_pair("--env", arg, &key, &value, err);

	if (!e && gpc_pairs_has(&spec->secrets, key)) {
		gpc_fail(err, GPC_EUSAGE, "--env: %s is a secret of this spec",
			key);
		gpc_hint(err, "give it with --secret %s", key);
		return -GPC_EUSAGE;
	}
	if (!e && !value)
		e = lookup("--env", key, host, &value, err);
	if (e)
		return e;
	gpc_pairs_set(&spec->envs, key, value);
	return check_envs(spec, "--env", err);
}

static void set_secret(struct gpc_spec *spec, const char *key,
	const char *value)
{
	gpc_vec_each(p, &spec->secrets) {
		if (gpc_eq(p->key, key))
			gpc_spec_wipe(p->value);
	}
	gpc_pairs_set(&spec->secrets, key, value);
}

static int read_secret_file(const struct gpc_spec_host *host, const char *path,
	char **ret_text, struct gpc_error *err)
{
	size_t n;
	int e;

	if (!host || !host->read_file)
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"files cannot be read here");
	e = host->read_file(path, ret_text, host->arg, err);
	if (e)
		return e;
	/* the line end that editors add belongs to the file, not the secret */
	n = strlen(*ret_text);
	if (n && (*ret_text)[n - 1] == '\n')
		(*ret_text)[--n] = '\0';
	if (n && (*ret_text)[n - 1] == '\r')
		(*ret_text)[--n] = '\0';
	return 0;
}

int gpc_spec_secret(struct gpc_spec *spec, const char *arg,
	const struct gpc_spec_host *host, bool *ret_value_in_argv,
	struct gpc_error *err)
{
	gpc_autostr *key = NULL, *text = NULL;
	const char *value = NULL;
	bool in_argv = false;
	int e = split_pair("--secret", arg, &key, &value, err);

	if (!e && !value) {
		e = lookup("--secret", key, host, &value, err);
	} else if (!e && *value == '@') {
		e = read_secret_file(host, value + 1, &text, err);
		if (e)
			return gpc_wrap(err, e, "--secret %s", key);
		value = text;
	} else if (!e) {
		in_argv = true;
	}
	if (e)
		return e;
	set_secret(spec, key, value);
	gpc_pairs_unset(&spec->envs, key);
	gpc_spec_wipe(text);
	if (ret_value_in_argv)
		*ret_value_in_argv = in_argv;
	return 0;
}

/* --- env files ---------------------------------------------------------------------- */

/* The value of a line: 'as it is', "with \" \\ \n \$", or plain up to " #". */
static int parse_value(struct gpc_str s, char **ret_value)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char quote = s.len && (*s.ptr == '"' || *s.ptr == '\'') ? *s.ptr : 0;
	size_t i = quote ? 1 : 0;

	for (; i < s.len && !(quote && s.ptr[i] == quote); i++) {
		char c = s.ptr[i];

		if (!quote && c == '#' && i && (s.ptr[i - 1] == ' ' ||
				s.ptr[i - 1] == '\t'))
			break;
		if (quote == '"' && c == '\\' && i + 1 < s.len) {
			c = s.ptr[++i];
			if (c == 'n')
				c = '\n';
			else if (!strchr("\"\\$`", c))
				gpc_buf_addc(&b, '\\');
		}
		gpc_buf_addc(&b, c);
	}
	if (quote) {
		struct gpc_str rest;

		if (i == s.len)
			return -GPC_EUSAGE;
		rest = gpc_str_trim((struct gpc_str){s.ptr + i + 1,
			s.len - i - 1});
		if (rest.len && *rest.ptr != '#')
			return -GPC_EUSAGE;
	}
	while (!quote && b.len && (b.data[b.len - 1] == ' ' ||
			b.data[b.len - 1] == '\t'))
		b.data[--b.len] = '\0';
	return gpc_buf_finish(&b, ret_value, NULL);
}

static int env_line(struct gpc_spec *spec, struct gpc_str line, const char *name,
	size_t number, struct gpc_error *err)
{
	gpc_autostr *key = NULL, *value = NULL;
	const char *equals;
	struct gpc_str word;

	line = gpc_str_trim(line);
	if (!line.len || *line.ptr == '#')
		return 0;
	if (line.len > 7 && !memcmp(line.ptr, "export", 6) &&
	    (line.ptr[6] == ' ' || line.ptr[6] == '\t'))
		line = gpc_str_trim((struct gpc_str){line.ptr + 7,
			line.len - 7});
	equals = memchr(line.ptr, '=', line.len);
	word = gpc_str_trim((struct gpc_str){line.ptr,
		equals ? (size_t)(equals - line.ptr) : 0});
	if (!equals || !is_name(word.ptr, word.len) ||
	    memchr(line.ptr, 0, line.len))
		return gpc_fail(err, GPC_ECONFIG, "%s:%zu: expected NAME=VALUE",
			name, number);
	key = gpc_strndup(word.ptr, word.len);
	if (parse_value(gpc_str_trim((struct gpc_str){equals + 1, line.len -
			(size_t)(equals + 1 - line.ptr)}), &value))
		return gpc_fail(err, GPC_ECONFIG, "%s:%zu: the quotes around the "
			"value of %s do not match", name, number, key);
	if (gpc_pairs_has(&spec->secrets, key))
		set_secret(spec, key, value);
	else
		gpc_pairs_set(&spec->envs, key, value);
	gpc_spec_wipe(value);
	return check_envs(spec, name, err);
}

int gpc_spec_env_file(struct gpc_spec *spec, const char *text, size_t n,
	const char *name, struct gpc_error *err)
{
	struct gpc_str rest = {text, n}, line;
	size_t number = 0;
	int e = 0;

	if (n > (size_t)4 << 20)
		return gpc_fail(err, GPC_ECONFIG, "%s: larger than 4 MiB", name);
	while (!e && gpc_str_split(&rest, '\n', &line))
		e = env_line(spec, line, name, ++number, err);
	return e;
}

/* --- no file at all ------------------------------------------------------------------- */

/* "train" of "exp/train.py"; owned. */
char *gpc_spec_script_name(const char *path)
{
	static const char *const ends[] = {
		".py", ".sh", ".bash", ".yaml", ".yml", ".json",
	};
	const char *base = gpc_path_base(path);

	for (size_t i = 0; i < N(ends); i++) {
		size_t n = strlen(base), end = strlen(ends[i]);

		if (n > end && gpc_ends_with(base, ends[i]))
			return gpc_strndup(base, n - end);
	}
	return gpc_strdup(base);
}

static bool is_script(const char *word)
{
	return *word != '-' && (gpc_ends_with(word, ".py") ||
		gpc_ends_with(word, ".sh") || gpc_ends_with(word, ".bash"));
}

void gpc_spec_init_command(struct gpc_spec *spec, const char *const *argv,
	size_t n)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	const char *script = n ? argv[0] : NULL;

	gpc_spec_init(spec);
	for (size_t i = n; i-- > 0;) {
		if (is_script(argv[i]))
			script = argv[i];
	}
	for (size_t i = 0; i < n; i++)
		gpc_strv_take(&words, gpc_shell_quote(argv[i]));
	spec->run = n ? gpc_strv_join(&words, " ") : NULL;
	spec->name = script ? gpc_spec_script_name(script) : NULL;
	spec->source = gpc_strdup("command line");
}
